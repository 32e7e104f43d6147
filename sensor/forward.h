// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The forwarder: sends what stands in an external sensor's window and spool up the link and takes acknowledgements
 * back. At least once on the link, exactly once in the store: packets stay there until the receiver says that they are
 * written, and on each new connection it says from where on it wants them. What it says is believed as far as it can be
 * true: a packet that was never sent is never acknowledged. One owner, one thread; nothing blocks; the caller brings
 * the time.
 */
#ifndef BEZEL_SENSOR_FORWARD_H
#define BEZEL_SENSOR_FORWARD_H

#include "mdr/link.h"
#include "mdr/message.h"
#include "sensor/external.h"

enum {
    FORWARD_ALIVE_NS = 250000000,    /* a sign of life when nothing else was sent */
    FORWARD_SILENCE_NS = 2000000000, /* a receiver that is silent this long is gone; so is one that does not welcome */
    FORWARD_LOOK_NS = 5000000,       /* acknowledgements may wait so long, where there is room enough without them */
    FORWARD_BOOKS_NS = 1000000000,
    FORWARD_QUEUE = 1 << 20, /* frames that ZeroMQ may hold: above any credit, so that the credit is the bound */
};

/** Pauses between attempts to connect: from, to. */
#define FORWARD_PAUSE_FIRST_NS INT64_C(100000000)
#define FORWARD_PAUSE_LAST_NS  INT64_C(5000000000)

/** Pauses between new connections to a receiver that is there, and goes on asking for what was sent: from, to. */
#define FORWARD_AGAIN_FIRST_NS INT64_C(200000000)
#define FORWARD_AGAIN_LAST_NS  INT64_C(1000000000)

/** What happened so far, and how it stands; cumulative but for `unacknowledged` and `credit`. */
struct forward_counts {
    uint64_t attempts, welcomes;
    uint64_t packets, bytes;         /* of packets: sent, each as often as it took */
    uint64_t disbelieved;            /* positions that could not be true */
    uint64_t unacknowledged, credit; /* bytes: sent on this connection; allowed on it, at least one packet */
};

struct forward;

/**
 * A forwarder from `x` to the collector at `endpoint`, with `keys` (NULL: none), introducing itself with `hello`
 * (copied). Pauses follow from hello->uuid and hello->pid. Borrows x and keys. Returns 0 with *f for forward_close(),
 * link_connect()'s errors, or spool_open()'s.
 */
int forward_open(struct external *x, const char *endpoint, const struct link_keys *keys,
                 const struct message_hello *hello, struct forward **f) BEZEL_MUST_CHECK;

/** Bytes of packets that are not acknowledged: in window and spool; in the spool alone. */
uint64_t forward_waiting(const struct forward *f);
uint64_t forward_spooled(const struct forward *f);

/**
 * Closes; packets that ZeroMQ still holds are let go of before it returns. With `discard` nobody will come back for
 * what is in the spool: it is removed.
 */
void forward_close(struct forward *f, bool discard);

/**
 * Takes what arrived, sends what can be sent, frees what is acknowledged. On a connection that is up it looks for what
 * arrived every FORWARD_LOOK_NS, or as soon as much waits for an acknowledgement: to ask ZeroMQ in each millisecond
 * costs as much as to poll the rings. With `bye`, once nothing waits any more and
 * the final books are sent, says so and waits for the answer.
 */
void forward_step(struct forward *f, int64_t now, bool bye);

/** When the next step is due where nothing was cut since the last one, nor has anything else to be said. */
int64_t forward_due(const struct forward *f);

/** Something may have arrived: the next step looks. */
void forward_attend(struct forward *f);

/**
 * Gives up what waits: no packet is sent any more, but the final books of all processes that have ended or were left,
 * whatever of them is not stored. What they tell of and the store has not is lost then. Idempotent.
 */
void forward_give_up(struct forward *f);

/** Whether the receiver has saved the final books of all processes. */
bool forward_booked(const struct forward *f);

/** Whether the receiver has welcomed us. */
bool forward_connected(const struct forward *f);

/** Whether the receiver has everything, the final books included, and said so. */
bool forward_done(const struct forward *f);

/** Why the receiver refused us, or NULL. A refusal is final. */
const char *forward_refused(const struct forward *f);

/** Why no connection comes about, as link_trouble() has it, or NULL. It may come about yet. */
const char *forward_trouble(const struct forward *f);

const struct forward_counts *forward_counts(const struct forward *f);

/** The link, to wait on; NULL between two attempts. */
struct link *forward_link(const struct forward *f);

#endif
