// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * An aspect's declaration: one thread makes the segment and declares, another one records the aspect or counts records
 * that have no ring, a reader explains records by the dictionary.
 *
 * Held: a thread that sees the aspect declared finds the segment and all of the aspect; the dictionary has entries up
 * to its length, and a reader of a record finds its entry; records counted before the declaration are counted for the
 * aspect in the end, once.
 *
 * Checked: plain : D0 D1 E0 E1 L0 L1 L2 R0 R1
 */
#define THREADS 3
#define DEPTH   8
#define PLACES  8

#define SEGMENT  0 /* where it is */
#define ENTRY    1 /* of the dictionary */
#define USED     2 /* how much of the dictionary there is */
#define ID       3
#define ENABLE   4
#define EARLY    5 /* records counted before there was an id */
#define UNRINGED 6 /* records counted for the aspect */
#define HEAD     7

#define D0 1
#define D1 2
#define E0 3
#define E1 4
#define L0 5
#define L1 6
#define L2 7
#define R0 8
#define R1 9

#include "memory.pml"

#define DECLARER 0
#define RECORDER 1
#define READER   2
#define LIVES    2 /* records of the recorder */

byte counted;       /* records that had no ring */
byte ended;

inline needs(me, place) {
    load(me, place, RELAXED, seen);
    assert(seen);
    seen = 0
}

inline count_unringed(me, n) {
    needs(me, SEGMENT);
    modify(me, UNRINGED, RELAXED, RELAXED, seen, seen + n);
    seen = 0
}

inline count_early(me, n) {
    modify(me, EARLY, L2, L2, seen, seen + n);
    load(me, ID, L1, seen);
    if
    :: seen ->
        modify(me, EARLY, RELAXED, RELAXED, early, 0);
        count_unringed(me, early);
        early = 0
    :: else
    fi
}

proctype declarer() {
    byte seen, early;
    store(DECLARER, SEGMENT, RELAXED, true);
    store(DECLARER, ENTRY, RELAXED, true);
    store(DECLARER, USED, D0, true);
    store(DECLARER, ID, L0, true);
    store(DECLARER, ENABLE, E0, true);
    count_early(DECLARER, 0);
    ended++
}

proctype recorder() {
    byte seen, early, n;
    do
    :: n < LIVES ->
        n++;
        if
        :: load(RECORDER, ENABLE, E1, seen);
            if
            :: seen ->
                needs(RECORDER, SEGMENT);
                needs(RECORDER, ID);
                store(RECORDER, HEAD, R0, n)
            :: else /* it declares, under the lock: as the other thread does */
            fi
        :: counted++;
            load(RECORDER, ID, L1, seen);
            if
            :: seen -> count_unringed(RECORDER, 1)
            :: else -> count_early(RECORDER, 1)
            fi
        fi
    :: else -> break
    od;
    ended++
}

proctype reader() {
    byte head, used, seen;
    do
    :: head == 0 ->
        load(READER, HEAD, R1, head);
        load(READER, USED, D1, used);
        assert(used || !head);
        if
        :: used -> needs(READER, ENTRY)
        :: else
        fi
    :: break
    od
}

init {
    byte in_the_end;
    atomic {
        start_memory();
        run declarer();
        run recorder();
        run reader()
    };
    ended == 2;
    load_last(DECLARER, UNRINGED, RELAXED, in_the_end);
    assert(in_the_end == counted)
}
