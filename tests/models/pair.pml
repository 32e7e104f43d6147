// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A pair of clock readings that the external sensor requests from the program (sensor/shm/segment_pair.h): the program
 * answers request 1, and request 2 if it sees it, while the sensor waits for the answer to 1.
 *
 * Held: an answer that is taken is complete.
 *
 * Checked: plain : P0 P1 P2 P3
 */
#define THREADS 3
#define DEPTH   3
#define PLACES  5

#define WANTED 0
#define BEGUN  1
#define TICKS  2
#define NS     3
#define GIVEN  4

#define P0 1
#define P1 2
#define P2 3
#define P3 4

#include "memory.pml"

#define PROGRAM 0
#define SENSOR  1
#define OTHER   2 /* whoever may write the segment */

#define QUESTIONS    2
#define TICKS_OF(n)  (10 + (n))
#define NS_OF(n)     (20 + (n))

proctype program() {
    byte wanted, begun;
    do
    :: begun < QUESTIONS ->
        load(PROGRAM, WANTED, RELAXED, wanted);
        if
        :: wanted != begun ->
            begun = wanted;
            store(PROGRAM, BEGUN, RELAXED, begun);
            store(PROGRAM, TICKS, P2, TICKS_OF(begun));
            store(PROGRAM, NS, P2, NS_OF(begun));
            store(PROGRAM, GIVEN, P0, begun)
        :: else
        fi
    :: break
    od
}

proctype other() {
    store(OTHER, WANTED, RELAXED, 2)
}

proctype sensor() {
    byte given, ticks, ns, begun;
    load(SENSOR, GIVEN, P1, given);
    if
    :: given == 1 ->
        load(SENSOR, TICKS, P3, ticks);
        load(SENSOR, NS, P3, ns);
        load(SENSOR, BEGUN, RELAXED, begun);
        assert(begun != 1 || (ticks == TICKS_OF(1) && ns == NS_OF(1)))
    :: else
    fi
}

init {
    atomic {
        start_memory();
        store(SENSOR, WANTED, RELAXED, 1);
        run program();
        run other();
        run sensor()
    }
}
