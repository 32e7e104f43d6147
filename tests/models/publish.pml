// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The plain publications: data is written, and then a flag or a count shows it. And their counterpart: a count shows
 * that data is not read any more, and its memory is used again. One pair of labels after the other.
 *
 * Held: a reader that sees the flag finds the data; data is not overwritten while it is read.
 *
 * Checked: plain : N0 N1 N2 N3 B0 B1 G0 G1 W0 W1 W2 W3 F0 F1 T0 T1 V0 V1 V2 V3 I0 I1 X0 X1 X2 X3 X4 X5 X8 X7 Y0 Y1
 */
#define THREADS 2
#define DEPTH   2
#define PLACES  2

#define THING 0
#define FLAG  1

#define N0 1
#define N1 2
#define N2 3
#define N3 4
#define B0 5
#define B1 6
#define G0 7
#define G1 8
#define W0 9
#define W1 10
#define W2 11
#define W3 12
#define F0 13
#define F1 14
#define T0 15
#define T1 16
#define V0 17
#define V1 18
#define V2 19
#define V3 20
#define I0 21
#define I1 22
#define X0 23
#define X1 24
#define X2 25
#define X3 26
#define X4 27
#define X5 28
#define X8 29
#define X7 30
#define Y0 31
#define Y1 32

#include "memory.pml"

proctype first(byte publishes; bool gives_back) {
    byte thing;
    if
    :: gives_back ->
        load_slot(0, THING, thing);
        assert(!thing)
    :: else -> store(0, THING, RELAXED, true)
    fi;
    store(0, FLAG, publishes, true)
}

proctype second(byte sees; bool gives_back) {
    byte flag, thing;
    load(1, FLAG, sees, flag);
    if
    :: flag && gives_back -> store(1, THING, RELAXED, true)
    :: flag && !gives_back ->
        load(1, THING, RELAXED, thing);
        assert(thing)
    :: else
    fi
}

inline pair(publishes, sees, gives_back) {
    run first(publishes, gives_back);
    run second(sees, gives_back)
}

init {
    atomic {
        start_memory();
        if
        :: pair(N0, N1, false)
        :: pair(N2, N3, false)
        :: pair(B0, B1, false)
        :: pair(G0, G1, false)
        :: pair(W0, W1, false)
        :: pair(W2, W3, false)
        :: pair(T0, T1, false)
        :: pair(V0, V1, false)
        :: pair(V2, V3, false)
        :: pair(X0, X1, false)
        :: pair(X2, X3, false)
        :: pair(X4, X5, false)
        :: pair(X8, X7, false)
        :: pair(Y0, Y1, false)
        :: pair(F0, F1, true)
        :: pair(I0, I1, true)
        fi
    }
}
