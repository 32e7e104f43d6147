// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A memory that reorders, for the models beside it. It is C11's without consume, fences and seq_cst: it has stores and
 * loads that are relaxed, release or acquire, and read-modify-writes.
 *
 * Every place keeps all values ever stored to it. A load returns any of these that is not older than one which the
 * thread has loaded, stored, or must see: stores become visible in any order, loads are satisfied early in any order.
 * An acquire determines what a thread must see: all stores before the release, and all that the releasing thread had to
 * see. Time is a vector clock: a store has that of its thread, and a thread must see the store if its own clock is not
 * less.
 *
 * Loads that are satisfied late, after stores that follow them in the program, are the third reordering: load_slot() is
 * under way until the thread that stores there next has acquired a release of the loading thread. A store that meets a
 * load under way is an error.
 *
 * The reorderings are those of the language, not of one processor, and somewhat more: a chain of relaxed accesses
 * orders nothing, and only read-modify-writes continue a release sequence.
 *
 * A model defines THREADS, PLACES and DEPTH (stores to one place, the first value included), and numbers its labels
 * from 1. The label that off.pml takes away counts as relaxed.
 */
#include "off.pml"

#define RELAXED       0
#define ORDERS(label) (label != RELAXED && label != off)

#define AT(place, n)       ((place) * DEPTH + (n))
#define BORNE(place, n, t) (((place) * DEPTH + (n)) * THREADS + (t))
#define OF(thread, what)   ((thread) * THREADS + (what))
#define LEAST(thread, at)  ((thread) * PLACES + (at))

byte last[PLACES];            /* the newest store */
byte value[PLACES * DEPTH];   /* what was stored, */
byte author[PLACES * DEPTH];  /* by whom, */
byte stamp[PLACES * DEPTH];   /* when on its clock (0: the first value), */
byte borne[PLACES * DEPTH * THREADS]; /* and what a release published with it */
byte clock[THREADS * THREADS];        /* clock[OF(t, u)]: what t has seen of u; its own begins with 1 */
byte least[THREADS * PLACES];         /* the oldest store that a thread may still load */
byte under_way[PLACES * THREADS];     /* clock of a load_slot() that nothing has ended yet */
byte n_, u_;                          /* 0 outside the steps below */

inline start_memory() {
    d_step {
        read_off();
        do
        :: n_ < THREADS -> clock[OF(n_, n_)] = 1; n_++
        :: else -> n_ = 0; break
        od
    }
}

inline acquire_(t, place, n) {
    u_ = 0;
    do
    :: u_ < THREADS ->
        if
        :: borne[BORNE(place, n, u_)] > clock[OF(t, u_)] -> clock[OF(t, u_)] = borne[BORNE(place, n, u_)]
        :: else
        fi;
        u_++
    :: else -> u_ = 0; break
    od
}

/* `to` is what thread t loads from `place`: any store that it may see. */
inline load(t, place, label, to) {
    atomic {
        n_ = last[place];
        do
        :: n_ > least[LEAST(t, place)] && clock[OF(t, author[AT(place, n_)])] < stamp[AT(place, n_)] -> n_--
        :: break
        od;
        least[LEAST(t, place)] = n_;
        to = value[AT(place, n_)];
        if
        :: ORDERS(label) -> acquire_(t, place, n_)
        :: else
        fi;
        n_ = 0
    }
}

/* A load that sees the newest store, because another event than memory ordered it: the end of a process. */
inline load_last(t, place, label, to) {
    d_step {
        least[LEAST(t, place)] = last[place];
        to = value[AT(place, last[place])];
        if
        :: ORDERS(label) -> acquire_(t, place, last[place])
        :: else
        fi
    }
}

/* A relaxed load that is satisfied at any time until a release of thread t ends it. */
inline load_slot(t, place, to) {
    atomic {
        load(t, place, RELAXED, to);
        under_way[OF(place, t)] = clock[OF(t, t)]
    }
}

inline append_(t, place, label, v) {
    u_ = 0;
    do
    :: u_ < THREADS ->
        assert(u_ == t || under_way[OF(place, u_)] <= clock[OF(t, u_)]); /* else the load may return this store */
        u_++
    :: else -> u_ = 0; break
    od;
    last[place]++;
    assert(last[place] < DEPTH); /* else DEPTH is too small */
    value[AT(place, last[place])] = v;
    author[AT(place, last[place])] = t;
    stamp[AT(place, last[place])] = clock[OF(t, t)];
    least[LEAST(t, place)] = last[place];
    if
    :: ORDERS(label) ->
        do
        :: u_ < THREADS -> borne[BORNE(place, last[place], u_)] = clock[OF(t, u_)]; u_++
        :: else -> u_ = 0; break
        od;
        clock[OF(t, t)]++
    :: else
    fi
}

inline store(t, place, label, v) {
    d_step { append_(t, place, label, v) }
}

/* A relaxed store to a place to which another thread stores, too: that one's last store must have come before it. */
inline store_after(t, place, v) {
    d_step {
        assert(stamp[AT(place, last[place])] <= clock[OF(t, author[AT(place, last[place])])]);
        append_(t, place, RELAXED, v)
    }
}

/* Adds to the newest store what the store before it published: read-modify-writes continue a release. */
inline continue_(place) {
    do
    :: u_ < THREADS ->
        if
        :: borne[BORNE(place, last[place] - 1, u_)] > borne[BORNE(place, last[place], u_)] ->
            borne[BORNE(place, last[place], u_)] = borne[BORNE(place, last[place] - 1, u_)]
        :: else
        fi;
        u_++
    :: else -> u_ = 0; break
    od
}

/* Reads the newest store into `old` and stores `v` (which may use it) as the next, as one step. */
inline modify(t, place, acquiring, releasing, old, v) {
    d_step {
        load_last(t, place, acquiring, old);
        append_(t, place, releasing, v);
        continue_(place)
    }
}
