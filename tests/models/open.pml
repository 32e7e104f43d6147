// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A place for open spans (sensor/shm/open_place.h): two spans have it, one after the other, while the external sensor reads
 * it once. The first one ends with a record, which is a store of RECORD here.
 *
 * Held: a span that is read is one span; a place that is free, or has the second span, shows the record of the first one.
 *
 * Checked: plain : Y0 Y1 Y2 Y3
 */
#define THREADS 2
#define DEPTH   6
#define PLACES  4

#define WORD   0
#define TICKS  1
#define THREAD 2
#define RECORD 3

#define Y0 1
#define Y1 2
#define Y2 3
#define Y3 4

#include "memory.pml"

#define PROGRAM 0
#define SENSOR  1

/* Words: taken for span n without and with its aspect; free after it. */
#define TAKEN(n)  (1 + 3 * ((n) - 1))
#define OPEN(n)   (2 + 3 * ((n) - 1))
#define FREE(n)   (3 + 3 * ((n) - 1))
#define TICKS_OF(n)  (10 + (n))
#define THREAD_OF(n) (20 + (n))

inline span(n) {
    store(PROGRAM, WORD, RELAXED, TAKEN(n)); /* the exchange */
    store(PROGRAM, TICKS, Y2, TICKS_OF(n));
    store(PROGRAM, THREAD, Y2, THREAD_OF(n));
    store(PROGRAM, WORD, Y0, OPEN(n))
}

proctype program() {
    span(1);
    store(PROGRAM, RECORD, RELAXED, 1);
    store(PROGRAM, WORD, Y0, FREE(1));
    span(2)
}

proctype sensor() {
    byte word, ticks, thread, again, record;
    load(SENSOR, WORD, Y1, word);
    if
    :: word == OPEN(1) ->
        load(SENSOR, TICKS, Y3, ticks);
        load(SENSOR, THREAD, Y3, thread);
        load(SENSOR, WORD, RELAXED, again);
        assert(again != OPEN(1) || (ticks == TICKS_OF(1) && thread == THREAD_OF(1)))
    :: word == FREE(1) || word == OPEN(2) ->
        load(SENSOR, RECORD, RELAXED, record);
        assert(record)
    :: else
    fi
}

init {
    atomic {
        start_memory();
        run program();
        run sensor()
    }
}
