// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Packets that pass directly (mdr/uplink/direct.h), all of it: the sender puts packets into a window of SLOTS, offers
 * them with a low watermark, and rings the bell of a receiver that sleeps; the receiver copies what is offered, stores
 * it, acknowledges, and sleeps while nothing is offered; the sender frees what was acknowledged, and uses its room again.
 * With -DWITHDRAWS, where the receiver never sleeps, the sender ends the offer once, at any moment, moves its oldest
 * packet elsewhere, and uses the room; then it says HELLO, and begins anew behind what the receiver has stored. A kill
 * of either side is where its steps end.
 *
 * Held: packets are stored in order, once, as they were offered; room is not used again while it is read, or what was
 * read is not used; nothing is acknowledged that is not stored; a low watermark never covers a packet that is not
 * stored; the receiver never sleeps on before what is offered.
 *
 * FROM is relaxed here but for X9: the tag suffices. X0 and X1 are for when tags begin again.
 *
 * Checked: plain -DPACKETS=2 -DSLOTS=1 : X2 X3 X4 X5 X6 X7 X8
 * Checked: withdrawn -DPACKETS=2 -DSLOTS=1 -DWITHDRAWS : X9
 */
#define THREADS 2
#define DEPTH   16
#define PLACES  (6 + SLOTS)

#define FROM    0
#define TO      1
#define LOW     2
#define ASLEEP  3
#define TURN    4
#define ACK     5
#define SLOT(n) (6 + (n) % SLOTS)

#define X2 1
#define X3 2
#define X4 3
#define X5 4
#define X6 5
#define X7 6
#define X8 7
#define X9 8

#include "memory.pml"

#define SENDER   0
#define RECEIVER 1

#define TAGS            8 /* positions times this, plus the tag */
#define TAG(word)       ((word) % TAGS)
#define POSITION(word)  ((word) / TAGS)
#define WORD(at, tag)   ((at) * TAGS + (tag))

byte stored; /* by the receiver: packets before this */
byte rung;   /* the sender has offered packets before this, and rung if it had to */
byte bell;   /* bytes in the pipe */
bool hello, welcome, copying;

/* ---- the sender -------------------------------------------------------------------------------------------------- */

inline begin(at) {
    tag++;
    modify(SENDER, FROM, X9, X9, n, 0);
    store(SENDER, LOW, RELAXED, tag);
    store(SENDER, TO, RELAXED, WORD(at, tag));
    store(SENDER, FROM, RELAXED, WORD(at, tag));
    offered = at
}

inline put() {
    store(SENDER, SLOT(written), RELAXED, written + 1);
    written++
}

inline offer() {
    offered = written;
    store(SENDER, TO, X2, WORD(offered, tag));
    store(SENDER, LOW, X4, WORD(offered, tag));
    modify(SENDER, ASLEEP, X6, X6, n, false);
    if
    :: n -> bell++ /* a step later */
    :: else
    fi;
    rung = offered
}

inline look() {
    load(SENDER, TURN, X7, n);
    if
    :: n != turn ->
        turn = n;
        load(SENDER, ACK, RELAXED, n);
        assert(n <= stored && n <= offered);
        if
        :: n > freed -> freed = n
        :: else
        fi
    :: else
    fi
}

/* One packet goes elsewhere, and its room is used again; then all that was moved is stored, by another way. */
inline withdraw() {
    rung = 0;
    modify(SENDER, FROM, X9, X9, n, 0);
    freed++;
    d_step {
        if
        :: copying -> under_way[OF(SLOT(written), RECEIVER)] = 0 /* it looks at FROM after that */
        :: else
        fi;
        append_(SENDER, SLOT(written), RELAXED, written + 1)
    };
    written++;
    hello = true;
    welcome;
    d_step {
        if
        :: stored < freed -> stored = freed
        :: else -> freed = stored
        fi
    };
    begin(freed)
}

proctype sender() {
    byte written, offered, freed, turn, tag, n;
    begin(0);
    do
    :: written < PACKETS && written - freed < SLOTS -> put()
    :: offered < written -> offer()
    :: freed < offered -> look()
#ifdef WITHDRAWS
    :: tag == 1 && freed < written && written < PACKETS -> withdraw()
#endif
    :: freed == PACKETS -> break
    od
}

/* ---- the receiver ------------------------------------------------------------------------------------------------ */

inline read_offer() {
    load(RECEIVER, FROM, RELAXED, from);
    load(RECEIVER, LOW, X5, low);
    load(RECEIVER, TO, X3, to);
    if
    :: TAG(from) && TAG(to) == TAG(from) && TAG(low) == TAG(from) ->
        is = true;
        if
        :: from != session -> session = from; at = POSITION(from)
        :: else
        fi
    :: else -> is = false
    fi
}

/* One packet at a time. */
inline take() {
    n = session;
    copying = true;
    load_slot(RECEIVER, SLOT(at), word);
#ifdef WITHDRAWS
    modify(RECEIVER, FROM, X9, X9, n, n);
#endif
    if
    :: n == session ->
        copying = false;
        at++;
        assert(word == at); /* as it was offered */
        assert(at <= stored + 1); /* and in order */
        if
        :: at > stored -> stored = at
        :: else
        fi
    :: else -> under_way[OF(SLOT(at), RECEIVER)] = 0; copying = false; is = false /* the copy is not used */
    fi
}

inline acknowledge() {
    if
    :: at > acknowledged ->
        store(RECEIVER, ACK, RELAXED, at);
        modify(RECEIVER, TURN, RELAXED, X8, n, n + 1);
        acknowledged = at
    :: else
    fi
}

/* Nothing of the offer before HELLO is taken after its answer. */
inline answer() {
    hello = false;
    session = 0;
    is = false;
    welcome = true
}

inline sleep() {
    modify(RECEIVER, ASLEEP, X6, X6, n, true);
    read_offer();
    if
    :: is && (POSITION(to) != at || POSITION(low) != known)
    :: else ->
        do
        :: bell || hello || stored == PACKETS -> break
        :: atomic { !bell && !hello && stored < rung -> assert(false) } /* and nobody rings for that any more */
        od
    fi;
    modify(RECEIVER, ASLEEP, RELAXED, RELAXED, n, false);
    if
    :: !n || bell -> bell = 0 /* a byte that was written after the look before is read a few waits later: here at once */
    :: else
    fi
}

proctype receiver() {
    byte from, low, to, session, at, known, acknowledged, word, n;
    bool is;
    do
    :: stored == PACKETS && acknowledged == PACKETS -> break
    :: else ->
        read_offer();
        do
        :: is && at < POSITION(to) -> take()
        :: else -> break
        od;
        if
        :: is -> known = POSITION(low); assert(known <= stored); acknowledge()
        :: else
        fi;
        if
        :: hello -> answer()
        :: else
        fi
#ifndef WITHDRAWS
        ; sleep()
#endif
    od
}

init {
    atomic {
        start_memory();
        run sender();
        run receiver()
    }
}
