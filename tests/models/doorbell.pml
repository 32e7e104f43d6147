// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The external sensor goes to sleep while a process sets its wake bit. The process sets the mark and then asks whether
 * the sensor sleeps; the sensor declares its sleep and then checks the mark. Both declare and ask by one
 * read-modify-write of the same word, so one of them is second, and sees what the first one did.
 *
 * Held: the external sensor does not sleep on after a wake bit that it has not seen.
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
