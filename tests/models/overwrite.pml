// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The ring that overwrites its oldest records, and a reader that takes snapshots of it. A slot is a single word here: a
 * record of two slots is torn if they do not belong together.
 *
 * Held: a snapshot accepts complete consecutive records, up to the last one that it saw published; the writer, which
 * may be killed at any step, never waits.
 *
 * Checked: plain -DSLOTS=2 -DRECORDS=4 : R0 R1 O0 O1
 * Checked: larger -DSLOTS=4 -DRECORDS=4 -DLONG : R0 R1 O0 O1
 */
#define THREADS 2
#define DEPTH   (RECORDS + 3)
#define PLACES  (2 + SLOTS)

#define HEAD    0
#define OLDEST  1
#define SLOT(n) (2 + (n) % SLOTS)

#define R0 1
#define R1 2
#define O0 3
#define O1 4

#include "memory.pml"

/* Head and oldest count modulo this, and begin where they are about to wrap. */
#define MODULUS     16
#define FIRST       (MODULUS - 1)
#define AHEAD(a, b) (((a) + MODULUS - (b)) % MODULUS)

#define WRITER 0
#define READER 1

#define FIRST_WORD(ordinal, slots) (2 * (ordinal) + (slots))
#define SECOND_WORD(ordinal)       (100 + (ordinal))
#define SLOTS_OF(first)            (2 - (first) % 2)

byte truth[MODULUS]; /* what slot `n` of all slots ever written received; no number comes twice */
bool killed, ended;

inline write() {
    do
    :: ordinal < RECORDS ->
        if
        :: slots = 1
        :: slots = 2
        fi;
        if
        :: AHEAD(head, oldest) + slots > SLOTS ->
            d_step {
                do /* past whole records */
                :: AHEAD(head, oldest) + slots > SLOTS ->
                    oldest = (oldest + SLOTS_OF(value[AT(SLOT(oldest), last[SLOT(oldest)])])) % MODULUS
                :: else -> break
                od;
                append_(WRITER, OLDEST, RELAXED, oldest)
            }
        :: else
        fi;
        d_step {
            truth[head] = FIRST_WORD(ordinal, slots);
            append_(WRITER, SLOT(head), O0, FIRST_WORD(ordinal, slots))
        };
        if
        :: slots == 2 ->
            d_step {
                truth[(head + 1) % MODULUS] = SECOND_WORD(ordinal);
                append_(WRITER, SLOT(head + 1), O0, SECOND_WORD(ordinal))
            }
        :: else
        fi;
        head = (head + slots) % MODULUS;
        store(WRITER, HEAD, R0, head);
        ordinal++
    :: else -> break
    od;
    ended = true
}

active proctype killer() { d_step { killed = true; ended = true } }

proctype writer() {
    byte head = FIRST, oldest = FIRST, ordinal, slots;
    { write() } unless { killed }
}

proctype reader() {
    byte head, start, from, at, slots, copy[SLOTS];
    bool over;
    do
    :: !over ->
        over = ended;
        if
        :: over -> load_last(READER, HEAD, R1, head); load_last(READER, OLDEST, RELAXED, start)
        :: else -> load(READER, HEAD, R1, head); load(READER, OLDEST, RELAXED, start)
        fi;
        if
        :: AHEAD(head, start) > SLOTS -> start = head /* the writer has overwritten the whole ring since that head */
        :: else
        fi;
        at = head;
        do /* newest first */
        :: at != start -> at = (at + MODULUS - 1) % MODULUS; load(READER, SLOT(at), O1, copy[at % SLOTS])
        :: else -> break
        od;
        load(READER, OLDEST, RELAXED, from);
        d_step {
            if
            :: AHEAD(head, from) > AHEAD(head, start) -> from = head /* all of it is destroyed */
            :: else
            fi;
            do
            :: from != head ->
                assert(copy[from % SLOTS] == truth[from]);
                slots = SLOTS_OF(copy[from % SLOTS]);
                assert(AHEAD(head, from) >= slots);
                assert(slots == 1 || copy[(from + 1) % SLOTS] == truth[(from + 1) % MODULUS]);
                from = (from + slots) % MODULUS
            :: else -> break
            od;
            at = 0; start = 0; from = 0; head = 0; slots = 0;
            do
            :: at < SLOTS -> copy[at] = 0; at++
            :: else -> at = 0; break
            od
        }
    :: else -> break
    od
}

init {
    atomic {
        start_memory();
        value[AT(HEAD, 0)] = FIRST;
        value[AT(OLDEST, 0)] = FIRST;
        run writer();
        run reader()
    }
}
