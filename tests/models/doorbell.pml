// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The external sensor goes to sleep while a process sets its wake bit. The process sets the mark and then asks whether
 * the sensor sleeps; the sensor declares its sleep and then checks the mark. Both declare and ask by one
 * read-modify-write of the same word, so one of them is second, and sees what the first one did. Likewise a receiver
 * that reads a window goes to sleep while the sender offers a packet (X6).
 *
 * Held: the external sensor does not sleep on after a wake bit that it has not seen.
 *
 * Checked: plain : A0 X6
 */
#define THREADS 2
#define DEPTH   4
#define PLACES  2

#define MARK   0
#define ASLEEP 1

#define A0 1
#define X6 2

#include "memory.pml"

#define PROCESS 0
#define SENSOR  1

bool sleeps, woken;
byte ended;

proctype process(byte both) {
    byte was;
    store(PROCESS, MARK, RELAXED, true);
    modify(PROCESS, ASLEEP, both, both, was, false);
    woken = was;
    ended++
}

proctype sensor(byte both) {
    byte was, mark;
    modify(SENSOR, ASLEEP, both, both, was, true);
    load(SENSOR, MARK, RELAXED, mark);
    sleeps = !mark;
    ended++
}

init {
    atomic {
        start_memory();
        if
        :: run process(A0); run sensor(A0)
        :: run process(X6); run sensor(X6)
        fi
    };
    ended == 2;
    assert(!sleeps || woken)
}
