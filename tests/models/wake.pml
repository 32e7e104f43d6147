// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A process that is idle, with two writing threads, and the external sensor, which then checks the doorbell only. Time
 * is no part of the memory. The model assumes what the code allows time for: a record takes less than the watch, and a
 * record that begins after the watch sees the enable word.
 *
 * Held: while the process is idle, the mark (its wake bit) shows all its records: when the threads have ended and there
 * is no mark, all records were taken; a reader that finds the mark finds the record that set it.
 *
 * Checked: plain -DLONG : K0 K1 Q0 Q1
 */
#define THREADS 3
#define DEPTH   9
#define PLACES  5

#define HEAD(w) (w)
#define ENABLE  2
#define WAKE_BIT   3
#define MARK    4

#define K0 1
#define K1 2
#define Q0 3
#define Q1 4

#include "memory.pml"

#define READER  2 /* the writers are 0 and 1 */
#define RECORDS 2 /* of each */
#define IDLES   2

#define RECORD 0
#define WAKE  1

/* What really happened. */
bool inside[2];    /* a record of this writer is under way */
byte marked[2];      /* records of this writer that a mark shows, so far */
byte through;

inline set_wake_bit(me) {
    load(me, WAKE_BIT, RELAXED, seen);
    if
    :: seen ->
        d_step {
            load_last(me, MARK, RELAXED, seen);
            append_(me, MARK, K0, true);
            continue_(MARK);
            marked[me] = head
        };
        store(me, WAKE_BIT, RELAXED, false)
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
            set_wake_bit(me)
        fi;
        d_step { seen = 0; inside[me] = false }
    :: else -> break
    od;
    through++
}

/* Waits until writer w has ended its record; from then on it sees the enable word. */
inline wait_for(w) {
    d_step { !inside[w] -> least[LEAST(w, ENABLE)] = last[ENABLE] }
}

proctype reader() {
    byte idles, found, promised[2], head, taken[2];
    do
    :: idles < IDLES ->
        wait_for(0);
        wait_for(1);
        store(READER, WAKE_BIT, RELAXED, true);
        store(READER, ENABLE, Q0, WAKE);
        wait_for(0);
        wait_for(1);
        load_last(READER, HEAD(0), RELAXED, taken[0]);
        load_last(READER, HEAD(1), RELAXED, taken[1]);
        do
        :: d_step { through == 2 && value[AT(MARK, last[MARK])] == false -> found = 0 };
            load_last(READER, HEAD(0), RELAXED, head);
            assert(head == taken[0]);
            load_last(READER, HEAD(1), RELAXED, head);
            assert(head == taken[1]);
            goto done
        :: value[AT(MARK, last[MARK])] ->
            d_step {
                modify(READER, MARK, K1, RELAXED, found, false);
                promised[0] = marked[0];
                promised[1] = marked[1]
            };
            load(READER, HEAD(0), RELAXED, head);
            assert(head >= promised[0]);
            load(READER, HEAD(1), RELAXED, head);
            assert(head >= promised[1]);
            break
        od;
        store(READER, WAKE_BIT, RELAXED, false);
        store(READER, ENABLE, Q0, RECORD);
        d_step { head = 0; found = 0; promised[0] = 0; promised[1] = 0; taken[0] = 0; taken[1] = 0; idles++ }
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
