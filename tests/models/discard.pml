// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The ring that discards what it has no room for: one writer, one reader. A slot is a single word here: a record of two
 * slots is torn if they do not belong together.
 *
 * The reader stores each word again that it has read, before it gives the slot back.
 *
 * Held: the records that the reader takes are those that were stored, whole, each once, in order; no slot is stored to
 * before it was given back and the reader's loads and stores are done; the counters are never behind the records; in the
 * end, attempts = taken + dropped, and at most one more where the writer was killed.
 *
 * Checked: plain -DSLOTS=2 -DRECORDS=4 : R0 R1 R2 R3
 * Checked: larger -DSLOTS=4 -DRECORDS=5 -DLONG : R0 R1 R2 R3
 * Checked: killed -DSLOTS=2 -DRECORDS=3 -DKILLED : R0 R1 R2 R3
 * Checked: liar -DSLOTS=2 -DRECORDS=4 -DLIAR :
 */
#define THREADS 2
#define DEPTH   (2 * RECORDS + 3)
#define PLACES  (4 + SLOTS)

#define HEAD     0
#define TAIL     1
#define ATTEMPTS 2
#define DROPPED  3
#define SLOT(n)  (4 + (n) % SLOTS)

#define R0 1
#define R1 2
#define R2 3
#define R3 4

#include "memory.pml"

/* Head and tail count modulo this, and begin where they are about to wrap. */
#define MODULUS     16
#define FIRST       (MODULUS - 1)
#define AHEAD(a, b) (((a) + MODULUS - (b)) % MODULUS)

#define WRITER 0
#define READER 1

#define FIRST_WORD(ordinal, slots) (2 * (ordinal) + (slots))
#define SECOND_WORD(ordinal)       (100 + (ordinal))

/* What really happened. */
byte stored;           /* records published */
byte words[RECORDS];   /* the first word of each */
bool ended;            /* the writer returned or was killed */

#ifdef KILLED
bool killed;
active proctype killer() { d_step { killed = true; ended = true } }
#endif

inline write() {
    do
    :: ordinal < RECORDS ->
        if
        :: slots = 1
        :: slots = 2
        fi;
        if
        :: AHEAD(head, tail) + slots > SLOTS ->
            load(WRITER, TAIL, R3, seen);
            if
            :: AHEAD(head, seen) <= SLOTS -> tail = seen
            :: else /* a wrong tail: the ring counts as full */
            fi
        :: else
        fi;
        seen = 0;
        assert(AHEAD(head, tail) <= SLOTS);
        if
        :: AHEAD(head, tail) + slots > SLOTS ->
            dropped++;
            store(WRITER, ATTEMPTS, RELAXED, ordinal + 1);
            store(WRITER, DROPPED, RELAXED, dropped)
        :: else ->
            store_after(WRITER, SLOT(head), FIRST_WORD(ordinal, slots));
            if
            :: slots == 2 -> store_after(WRITER, SLOT(head + 1), SECOND_WORD(ordinal))
            :: else
            fi;
            store(WRITER, ATTEMPTS, RELAXED, ordinal + 1);
            head = (head + slots) % MODULUS;
            d_step {
                append_(WRITER, HEAD, R0, head);
                words[stored] = FIRST_WORD(ordinal, slots);
                stored++
            }
        fi;
        ordinal++
    :: else -> break
    od;
    ended = true
}

proctype writer() {
    byte head = FIRST, tail = FIRST, ordinal, dropped, slots, seen;
#ifdef KILLED
    { write() } unless { killed }
#else
    write()
#endif
}

#ifdef LIAR
/* Another process that may write the tail: anything, and then a value with which the writer can continue. */
proctype liar() {
    byte lie, head, n;
    do
    :: n < 2 ->
        lie = 0;
        do
        :: lie < MODULUS - 1 -> lie++
        :: break
        od;
        store(READER, TAIL, R2, lie);
        n++
    :: else -> break
    od;
    ended;
    load_last(READER, HEAD, R1, head);
    load_last(READER, ATTEMPTS, RELAXED, n);
    load_last(READER, DROPPED, RELAXED, lie);
    assert(n == RECORDS && n == stored + lie)
}
#else
proctype reader() {
    byte head, tail = FIRST, taken, next, first, second, counted;
    bool over;
    do
    :: !over ->
        over = ended;
        if
        :: over -> load_last(READER, HEAD, R1, head)
        :: else -> load(READER, HEAD, R1, head)
        fi;
        assert(AHEAD(head, tail) <= SLOTS);
        do
        :: tail != head ->
            load_slot(READER, SLOT(tail), first);
            assert(first == words[taken]); /* size and ordinal: the next that was stored */
            if
            :: first % 2 == 0 ->
                load_slot(READER, SLOT(tail + 1), second);
                assert(second == SECOND_WORD((first - 1) / 2));
                store_after(READER, SLOT(tail + 1), second)
            :: else
            fi;
            store_after(READER, SLOT(tail), first);
            d_step {
                taken++;
                next = (first - 1) / 2 + 1;
                tail = (tail + 2 - first % 2) % MODULUS;
                second = 0
            }
            load(READER, ATTEMPTS, RELAXED, counted);
            assert(counted >= next);
            load(READER, DROPPED, RELAXED, counted);
            assert(counted >= next - taken);
            counted = 0;
            if
            :: store(READER, TAIL, R2, tail)
            :: tail != head /* more at once */
            fi
        :: else -> break
        od
    :: else -> break
    od;
    load_last(READER, ATTEMPTS, RELAXED, next);
    load_last(READER, DROPPED, RELAXED, counted);
    assert(taken == stored);
#ifdef KILLED
    assert(next - counted - taken <= 1);
#else
    assert(next == RECORDS && next == taken + counted)
#endif
}
#endif

init {
    atomic {
        start_memory();
        value[AT(HEAD, 0)] = FIRST;
        value[AT(TAIL, 0)] = FIRST;
        run writer();
#ifdef LIAR
        run liar()
#else
        run reader()
#endif
    }
}
