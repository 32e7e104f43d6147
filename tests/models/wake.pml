// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A process that is asked to knock, with two writing threads, and the external sensor that then looks at the doorbell
 * alone. Time is no part of the memory; what the code gives time for has come to pass here: a record takes less than the
 * watch, and an enable word is seen by a record that begins after it.
 *
 * Held: at rest, whatever was recorded is told by the mark: once the threads are through and there is none, all records
 * were taken; who finds the mark finds the record that it tells of.
 *
 * Checked: plain : K0 K1 Q0 Q1
 */
#define THREADS 3
#define DEPTH   9
#define PLACES  5

#define HEAD(w) (w)
#define ENABLE  2
#define QUIET   3
#define MARK    4

#define K0 1
#define K1 2
#define Q0 3
#define Q1 4

#include "memory.pml"

#define READER  2 /* the writers are 0 and 1 */
#define RECORDS 2 /* of each */
#define RESTS   2

#define RECORD 0
#define KNOCK  1

/* What really happened. */
bool inside[2];    /* a record of this writer is under way */
byte told[2];      /* records of this writer that a mark told of, so far */
byte through;

inline knock(me) {
    load(me, QUIET, RELAXED, seen);
    if
    :: seen ->
        d_step {
            load_last(me, MARK, RELAXED, seen);
            append_(me, MARK, K0, true);
            continue_(MARK);
            told[me] = head
        };
        store(me, QUIET, RELAXED, false)
    :: else
    fi
}

proctype writer(byte me) {
    byte head, seen;
    do
    :: head < RECORDS ->
        inside[me] = true;
        load(me, ENABLE, RELAXED, seen);
        head++;
        if
        :: seen == RECORD -> store(me, HEAD(me), RELAXED, head) /* inline */
        :: else ->
            load(me, ENABLE, Q1, seen);
            store(me, HEAD(me), RELAXED, head);
            seen = 0;
            knock(me)
        fi;
        d_step { seen = 0; inside[me] = false }
    :: else -> break
    od;
    through++
}

/* Long enough for what writer w was at, and for it to see the enable word. */
inline wait_for(w) {
    d_step { !inside[w] -> least[LEAST(w, ENABLE)] = last[ENABLE] }
}

proctype reader() {
    byte rests, heard, promised[2], head, taken[2];
    do
    :: rests < RESTS ->
        wait_for(0);
        wait_for(1);
        store(READER, QUIET, RELAXED, true);
        store(READER, ENABLE, Q0, KNOCK);
        wait_for(0);
        wait_for(1);
        load_last(READER, HEAD(0), RELAXED, taken[0]);
        load_last(READER, HEAD(1), RELAXED, taken[1]);
        do
        :: d_step { through == 2 && value[AT(MARK, last[MARK])] == false -> heard = 0 };
            load_last(READER, HEAD(0), RELAXED, head);
            assert(head == taken[0]);
            load_last(READER, HEAD(1), RELAXED, head);
            assert(head == taken[1]);
            goto done
        :: value[AT(MARK, last[MARK])] ->
            d_step {
                modify(READER, MARK, K1, RELAXED, heard, false);
                promised[0] = told[0];
                promised[1] = told[1]
            };
            load(READER, HEAD(0), RELAXED, head);
            assert(head >= promised[0]);
            load(READER, HEAD(1), RELAXED, head);
            assert(head >= promised[1]);
            break
        od;
        store(READER, QUIET, RELAXED, false);
        store(READER, ENABLE, Q0, RECORD);
        d_step { head = 0; heard = 0; promised[0] = 0; promised[1] = 0; taken[0] = 0; taken[1] = 0; rests++ }
    :: else -> break
    od;
done:
    skip
}

init {
    atomic {
        start_memory();
        run writer(0);
        run writer(1);
        run reader()
    }
}
