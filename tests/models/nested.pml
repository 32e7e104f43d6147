// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A thread's records, a signal handler's that interrupts them anywhere, and those of another one that interrupts both.
 * One thread: its memory is in order for itself, but the compiler may move accesses that no signal fence orders. S0 is
 * the fence after the mark that a level is busy, S1 the one before the mark is removed.
 *
 * Held: no two records meet in a slot; no ring is written beyond its room; attempts = stored + dropped, in each ring.
 *
 * Checked: plain : S0 S1
 */
#define S0 1
#define S1 2

#include "off.pml"

#define LEVELS  3
#define ROOM    2 /* slots of a ring, which is not read here */
#define RECORDS 2 /* of the thread itself; a handler makes one */

#define SLOT(level, n) ((level) * ROOM + (n))

byte running; /* 0: the thread, else the handler that interrupted last */
byte busy[LEVELS], attempts[LEVELS], dropped[LEVELS], head[LEVELS];
byte slot[LEVELS * ROOM]; /* how many records were written there */
byte ended;

/* A single-writer counter: an addition between its load and its store is lost. */
inline count(counter) {
    n = counter;
    counter = n + 1
}

inline put() {
    slot[SLOT(level, head[level])]++;
    assert(slot[SLOT(level, head[level])] == 1);
    if
    :: off == S0 -> busy[level] = true
    :: off == S1 -> busy[level] = false
    :: else
    fi;
    count(head[level])
}

inline record() {
    level = 0;
    do
    :: busy[level] -> level++
    :: else -> break
    od;
    if
    :: off != S0 -> busy[level] = true
    :: else
    fi;
    count(attempts[level]);
    if /* only now: a handler's record may have taken room before */
    :: head[level] < ROOM -> put()
    :: else -> count(dropped[level])
    fi;
    busy[level] = false
}

proctype thread() provided (running == 0) {
    byte level, n, i;
    do
    :: i < RECORDS -> record(); i++
    :: else -> break
    od;
    ended++
}

proctype handler() provided (running <= _pid) {
    byte level, n, interrupted;
    d_step { interrupted = running; running = _pid };
    record();
    d_step { ended++; running = interrupted }
}

init {
    byte level;
    atomic {
        read_off();
        run thread();
        run handler();
        run handler()
    };
    ended == 3;
    do
    :: level < LEVELS -> assert(attempts[level] == head[level] + dropped[level] && !busy[level]); level++
    :: else -> break
    od;
    assert(attempts[0] + attempts[1] + attempts[2] == RECORDS + 2)
}
