// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the forwarder's files share; forward.h is the others' view of it. */
#ifndef BEZEL_SENSOR_FORWARD_OWN_H
#define BEZEL_SENSOR_FORWARD_OWN_H

#include "sensor/backlog.h"
#include "sensor/backoff.h"
#include "sensor/forward.h"

/*
 * States of the connection:
 *
 *     WAITING   no link; the next attempt is due at `until`
 *     GREETING  a new link, HELLO sent; given up at `until`
 *     UP        WELCOME came, so both sides know what is stored: sending starts at the oldest packet that is not
 *     REFUSED, DONE  the end
 *
 * Invariants: (1) every attempt has a link of its own, and says HELLO on it once, so that whatever comes back belongs
 * to this attempt, and what a former one left in queues is gone with its link; (2) a packet is sent at most once on a
 * connection: who misses one gets a new connection, on which WELCOME says from where; (3) at most `credit` bytes of
 * packets are sent on a connection and not acknowledged, but always one packet; (4) a packet is acknowledged only by a
 * position that is not beyond what was ever sent of its stream.
 */
enum forward_state { WAITING, GREETING, UP, REFUSED, DONE };

struct forward {
    struct external *x;
    struct window *window;
    struct backlog backlog;
    struct link *link; /* NULL while waiting */
    char endpoint[LINK_ENDPOINT_MAX];
    const struct link_keys *keys;
    struct message_hello hello;
    enum forward_state state;
    bool bye_sent;
    bool given_up; /* what waits is not sent any more, final books are */
    int64_t until; /* of WAITING and GREETING; 0: from the next step on */
    int64_t heard, said, books_at;
    int64_t look_at;               /* of UP: when to look for what arrived */
    int64_t again_at;              /* before this nobody is asked again for where it stands */
    struct backoff attempts, asks; /* pauses between attempts; between new connections of one that is there */
    uint32_t noted;                /* notes that were told on this connection */
    uint64_t unobserved_told;      /* of the node's own books, on this connection */
    uint64_t unobserved_saved;     /* likewise, as far as the receiver has saved it */
    uint64_t node_books_at;        /* `at` of the node's last books */
    uint64_t credit;               /* bytes */
    struct forward_counts counts;
    char refused[MESSAGE_TEXT_MAX + 1];
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** Sends f->message. False: the queue is full, or it cannot be encoded, which is logged. */
bool forward_message(struct forward *f, int64_t now);

/** Sends the packets that the credit allows for, each with its process ahead of it. */
void forward_packets(struct forward *f, int64_t now);

/** Every note, once on each connection. False: some are left. */
bool forward_notes(struct forward *f, int64_t now);

/**
 * Books of the living once a second; final ones once on a connection, when all packets before them are acknowledged.
 * Their process is kept until they are known to be saved. The node's own ahead of them, where there is something new
 * in them. True: all are final, and sent.
 */
bool forward_books(struct forward *f, int64_t now);

/** Takes what arrived; what it asks for is in `state` and `until` then. */
void forward_receive(struct forward *f, int64_t now);

/**
 * Where a former life's packets were lost with the disk: finds by the positions of a complete WELCOME whose, and gives
 * those streams up.
 */
void forward_tear(struct forward *f, int64_t now);

/** WELCOME is complete. */
void forward_come_up(struct forward *f, int64_t now);

/** The receiver lacks packets that were sent: has it say, on a new connection, where it stands. Not too often. */
void forward_ask_again(struct forward *f, int64_t now);

#endif
