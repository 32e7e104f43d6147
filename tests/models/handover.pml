// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A ring that changes its owner: two threads claim it, write records and release it; one reader takes the records.
 *
 * Held: the ring's memory is not touched before it is reserved; the next owner continues where the previous one
 * stopped; the reader takes all records, complete, each once, in order, and with the right thread.
 *
 * Checked: plain -DSLOTS=2 : C0 C1 H0 H1 R0 R1 R2 R3
 */
#define THREADS 3
#define DEPTH   8
#define PLACES  (8 + SLOTS)

#define STATE      0
#define MEMORY     1 /* 1: reserved */
#define HEAD       2
#define TAIL       3
#define ATTEMPTS   4
#define GENERATION 5
#define THREAD(g)  (6 + (g))
#define SLOT(n)    (8 + (n) % SLOTS)

#define C0 1
#define C1 2
#define H0 3
#define H1 4
#define R0 5
#define R1 6
#define R2 7
#define R3 8

#include "memory.pml"

#define FRESH    0
#define CLAIMED  1
#define OWNED    2
#define RELEASED 3

#define READER  2 /* the writers are 0 and 1 */
#define RECORDS 2 /* of each writer */

#define WORD(ordinal, generation) (1 + 2 * (ordinal) + (generation))
#define NAME(me)                  (10 + (me))

/* What really happened. */
byte stored;             /* records published */
byte words[2 * RECORDS]; /* the words of each */

inline claim_state(me, from, to, done) {
    d_step {
        if
        :: value[AT(STATE, last[STATE])] == from -> modify(me, STATE, C1, RELAXED, n, to); n = 0; done = true
        :: else
        fi
    }
}

inline claim(me) {
    do
    :: claim_state(me, RELEASED, OWNED, done);
        if
        :: done -> generation = 1; break
        :: else
        fi;
        claim_state(me, FRESH, CLAIMED, done);
        if
        :: done -> store(me, MEMORY, RELAXED, true); break
        :: else
        fi
    od;
    load(me, MEMORY, RELAXED, n);
    assert(n);
    load(me, GENERATION, RELAXED, n);
    generation = generation + n;
    assert(generation < 2);
    store(me, THREAD(generation), RELAXED, NAME(me));
    store(me, GENERATION, RELAXED, generation);
    store(me, STATE, H0, OWNED);
    load(me, HEAD, RELAXED, head);
    load(me, TAIL, R3, tail);
    load(me, ATTEMPTS, RELAXED, ordinal)
}

inline record(me) {
    do
    :: head - tail == SLOTS -> load(me, TAIL, R3, tail) /* without room it waits: losses are not modelled here */
    :: else -> break
    od;
    store(me, SLOT(head), RELAXED, WORD(ordinal, generation));
    store(me, ATTEMPTS, RELAXED, ordinal + 1);
    head++;
    d_step {
        append_(me, HEAD, R0, head);
        words[stored] = WORD(ordinal, generation);
        stored++
    };
    ordinal++
}

proctype writer(byte me) {
    byte head, tail, ordinal, generation, n;
    bool done;
    claim(me);
    n = 0;
    do
    :: n < RECORDS -> record(me); n++
    :: else -> break
    od;
    store(me, STATE, C0, RELEASED)
}

inline take() {
    load_slot(READER, SLOT(tail), word);
    assert(tail < stored && word == words[tail]);
    assert((word - 1) / 2 == tail); /* no ordinal is lost or comes twice */
    load(READER, GENERATION, RELAXED, n);
    assert(n >= (word - 1) % 2);
    load(READER, THREAD((word - 1) % 2), RELAXED, n);
    assert(n == author[AT(SLOT(tail), 1 + tail / SLOTS)] + NAME(0));
    load(READER, ATTEMPTS, RELAXED, n);
    assert(n > tail);
    word = 0;
    n = 0;
    tail++;
    store(READER, TAIL, R2, tail)
}

proctype reader() {
    byte head, tail, word, n;
    do /* until the ring is somebody's */
    :: load(READER, STATE, H1, n);
        if
        :: n == OWNED || n == RELEASED -> break
        :: else
        fi
    od;
    load(READER, MEMORY, RELAXED, n);
    assert(n);
    n = 0;
    do
    :: tail < 2 * RECORDS ->
        load(READER, HEAD, R1, head);
        do
        :: tail != head -> take()
        :: else -> break
        od
    :: else -> break
    od
}

init {
    atomic {
        start_memory();
        run writer(0);
        run writer(1);
        run reader()
    }
}
