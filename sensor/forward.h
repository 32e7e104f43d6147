// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The forwarder: sends what stands in an external sensor's window up the link and takes acknowledgements back. At least
 * once on the link, exactly once in the store: packets stay in the window until the receiver says that they are
 * written, are sent again after a reconnection, and the receiver knows them by stream and sequence number. One owner,
 * one thread; nothing blocks.
 */
#ifndef BEZEL_SENSOR_FORWARD_H
#define BEZEL_SENSOR_FORWARD_H

#include "mdr/link.h"
#include "mdr/message.h"
#include "sensor/external.h"

enum {
    FORWARD_ALIVE_NS = 250000000,    /* a sign of life when nothing else was sent */
    FORWARD_SILENCE_NS = 2000000000, /* a receiver that is silent this long is gone */
    FORWARD_BOOKS_NS = 1000000000,
};

struct forward;

/**
 * A forwarder from `x` to the collector at `endpoint`, with `keys` (NULL: none), introducing itself with `hello`
 * (copied). Borrows x and keys. Returns 0 with *f for forward_close(), or link_connect()'s errors.
 */
int forward_open(struct external *x, const char *endpoint, const struct link_keys *keys,
                 const struct message_hello *hello, struct forward **f) BEZEL_MUST_CHECK;

/** Closes; packets that ZeroMQ still holds are let go of before it returns. */
void forward_close(struct forward *f);

/**
 * Takes what arrived, sends what can be sent, frees what is acknowledged. With `bye`, once nothing waits any more and
 * the final books are sent, says so and waits for the answer.
 */
void forward_step(struct forward *f, int64_t now, bool bye);

/** Whether the receiver has welcomed us. */
bool forward_connected(const struct forward *f);

/** Whether the receiver has everything, the final books included, and said so. */
bool forward_done(const struct forward *f);

/** Why the receiver refused us, or NULL. A refusal is final. */
const char *forward_refused(const struct forward *f);

/** The link, to wait on. */
struct link *forward_link(const struct forward *f);

#endif
