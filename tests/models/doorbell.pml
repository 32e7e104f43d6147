// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The external sensor falls asleep while somebody knocks. Both say so first, and look then: the one at the mark, the other
 * whether there is sleep to end. Both say and ask by one read-modify-write of the same word, so that one of them is the
 * second, and learns of the first.
 *
 * Held: there is no sleep over a knock that nobody heard.
 *
 * Checked: plain : A0
 */
#define THREADS 2
#define DEPTH   4
#define PLACES  2

#define MARK   0
#define ASLEEP 1

#define A0 1

#include "memory.pml"

#define PROCESS 0
#define SENSOR  1

bool sleeps, woken;
byte ended;

proctype process() {
    byte was;
    store(PROCESS, MARK, RELAXED, true);
    modify(PROCESS, ASLEEP, A0, A0, was, false);
    woken = was;
    ended++
}

proctype sensor() {
    byte was, mark;
    modify(SENSOR, ASLEEP, A0, A0, was, true);
    load(SENSOR, MARK, RELAXED, mark);
    sleeps = !mark;
    ended++
}

init {
    atomic {
        start_memory();
        run process();
        run sensor()
    };
    ended == 2;
    assert(!sleeps || woken)
}
