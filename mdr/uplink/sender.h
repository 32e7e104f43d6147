// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The sender: sends the packets of a source (mdr/uplink/uplink.h) to the receiver, and takes acknowledgements. Packets
 * are sent at least once and stored exactly once: they stay in window and spool until the receiver acknowledges them as
 * stored, and on each new connection the receiver states from which packet on it needs each stream. Impossible
 * statements are ignored: a packet that was never sent is never acknowledged. One owner, one thread; nothing blocks;
 * the caller passes the time, in ns of CLOCK_MONOTONIC.
 */
#ifndef BEZEL_MDR_UPLINK_SENDER_H
#define BEZEL_MDR_UPLINK_SENDER_H

#include "mdr/link/link.h"
#include "mdr/parts.h"
#include "mdr/uplink/uplink.h"

enum {
    SENDER_ALIVE_NS = 250000000,     /* a heartbeat is sent after this time without another message */
    SENDER_SILENCE_NS = 2000000000,  /* without a message for this long, or a WELCOME, the connection is given up */
    SENDER_LOW_NS = 50000000,        /* time between two low watermarks at least ... */
    SENDER_LOW_ALONE_NS = 75000000,  /* ... where no other message goes with it ... */
    SENDER_LOW_QUIET_NS = 240000000, /* ... and there was no packet for SENDER_QUIET_NS */
    SENDER_QUIET_NS = 300000000,
    SENDER_LOOK_NS = 5000000,        /* time between two looks for acknowledgements, while there is room without them */
    SENDER_IDLE_LOOK_NS = 100000000, /* the same while none is expected, or nobody asks when packets are stored */
    SENDER_BOOKS_NS = 1000000000,
    SENDER_ENDPOINTS_MAX = 4,
    SENDER_QUEUE = 1 << 20, /* frames in ZeroMQ's queue: more than any credit allows, so that the credit is the bound */
};

/** Shortest and longest pause between attempts to connect. */
#define SENDER_PAUSE_FIRST_NS INT64_C(100000000)
#define SENDER_PAUSE_LAST_NS  INT64_C(5000000000)

/** Shortest and longest pause between new connections to a receiver that is there, but lacks packets that were sent. */
#define SENDER_AGAIN_FIRST_NS INT64_C(200000000)
#define SENDER_AGAIN_LAST_NS  INT64_C(1000000000)

/** Counts since sender_open(); `unacknowledged` and `credit` are present values. */
struct sender_counts {
    uint64_t attempts, welcomes;
    uint64_t impossible;             /* positions in acknowledgements that were ignored */
    uint64_t unacknowledged, credit; /* bytes: sent on this connection; allowed on it, at least one packet */
};

struct sender;

struct sender_options {
    const char *endpoints;        /* the receiver's; or several, separated by blanks, of which one is used at a time */
    const struct link_keys *keys; /* NULL: none; borrowed until sender_close() */
    struct message_hello hello;   /* its HELLO; `run` and `uuid` are set from the source */
    const char *spool_dir;
    uint64_t spool_bytes; /* size of the spool; 0: no spool */
    bool by_link;         /* packets never pass directly (mdr/uplink/direct.h) */
    bool asks_when;       /* the source asks when packets are stored: acknowledgements are looked for often */
};

/**
 * Opens a sender of the packets of `source`, which is copied. The trace's uuid and hello.pid are the seed of the pauses
 * between attempts. Returns 0 with *f, which the caller passes to sender_close(); BEZEL_EINVAL if there is no endpoint,
 * if there are too many, or one is too long; BEZEL_ENOMEM; or an error of link_connect() or send_queue_open().
 */
int sender_open(const struct uplink_source *source, const struct sender_options *options,
                struct sender **f) BEZEL_MUST_CHECK;

/** Bytes of packets in the spool that are not acknowledged. */
uint64_t sender_spooled(const struct sender *f);

/**
 * Closes and frees it. ZeroMQ holds no packet any more when it returns. With `discard`, the spool and its packets are
 * removed; after sender_done() the spool is removed in any case.
 */
void sender_close(struct sender *f, bool discard);

/**
 * One step: receives messages, sends packets as far as the credit allows, frees acknowledged packets, connects again if
 * needed. On a connection that is up, it receives only every SENDER_LOOK_NS, or sooner if many packets wait for an
 * acknowledgement, and later if none does: a call of ZeroMQ every millisecond would cost as much as polling the rings.
 * With `bye`, it sends BYE once no packet waits and the final books are sent, and waits for the answer.
 */
void sender_step(struct sender *f, int64_t now, bool bye);

/** When the source is polled next, ns; 0: not known. A receiver on this machine looks then, and need not be woken. */
void sender_next(struct sender *f, int64_t next);

/** When the next step is due, if there are no new packets and no other message to send. */
int64_t sender_due(const struct sender *f);

/**
 * Messages may have arrived: the next step receives them. sender_attend_within(): so it does if a step is due within
 * `time` ns; returns whether.
 */
void sender_attend(struct sender *f);
bool sender_attend_within(struct sender *f, int64_t now, int64_t time);

/**
 * Gives up the packets that wait: none is sent any more. The final books of all processes that have ended or are
 * detached are still sent, so that their records that are not stored count as lost. Idempotent.
 */
void sender_give_up(struct sender *f);

/**
 * Connects to another receiver, at one of `endpoints`. It may lack packets that the last one has stored, and that are
 * not here any more: what follows them in their streams is not sent. Does nothing if they are the same ones, or would
 * be refused by sender_open().
 */
void sender_redirect(struct sender *f, const char *endpoints, int64_t now);

/** The endpoint in use, or that is tried next. */
const char *sender_endpoint(const struct sender *f);

/** Whether the receiver has saved the final books of all processes. */
bool sender_booked(const struct sender *f);

/** Whether the connection is up: WELCOME has arrived. */
bool sender_connected(const struct sender *f);

/** The receiver's clock, by its last WELCOME. */
struct sender_clock {
    uint8_t identity[16]; /* clock_identity() */
    uint32_t port;        /* where it answers questions for the time; 0: nowhere, or there was no WELCOME */
};
const struct sender_clock *sender_clock(const struct sender *f);

/**
 * Whether packets pass directly (mdr/uplink/direct.h). If not, *why is the reason that the receiver gave, "" where
 * there is none: it is on another machine.
 */
bool sender_is_direct(const struct sender *f, const char **why);

/** Whether the receiver has confirmed that it has everything, the final books included. */
bool sender_done(const struct sender *f);

/** Why the receiver refused the connection, or NULL. A refusal is final. */
const char *sender_refused(const struct sender *f);

/** Why there is no connection yet, by link_trouble(), or NULL. Attempts continue. */
const char *sender_trouble(const struct sender *f);

const struct sender_counts *sender_counts(const struct sender *f);

/** The link, for polling; NULL between two attempts. */
struct link *sender_link(const struct sender *f);

#endif
