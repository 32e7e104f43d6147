// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What waits to be sent, or to be acknowledged: the spool, where there is one, and behind it the window, as one queue
 * in order. Of each stream the spool holds the older packets. Where the window is nearly full its oldest packets move
 * to the spool: first they stand in both, then they leave the window. The forwarder's; one owner, one thread.
 */
#ifndef BEZEL_SENSOR_BACKLOG_H
#define BEZEL_SENSOR_BACKLOG_H

#include "sensor/external.h"
#include "sensor/spool.h"

struct backlog {
    struct external *x;
    struct window *window;
    struct spool *spool;              /* NULL: none */
    uint64_t spool_sending, sending;  /* positions: packets before them were sent on this connection */
    uint64_t spool_next, window_next; /* behind the packet that backlog_next() found */
    int64_t now;                      /* of the turn that gives back */
    int64_t retry_at;                 /* when a disk that gave an error is tried again */
    bool full;                        /* the last move found no room in the spool */
    bool damaged;                     /* a former life's packets were lost with the disk's bytes */
    uint8_t *buffer;                  /* of the packet that was read back; NULL without a spool */
};

/** The packet that is to be sent next. */
struct backlog_packet {
    struct packet_header header;
    uint32_t stream; /* its number in the window */
    const uint8_t *data;
    uint32_t bytes;
    struct window_packet *in_window; /* NULL: it stands in the spool, `data` until the next call */
};

/**
 * Opens the backlog of `x`; with options->spool_bytes also the spool, in which packets of a former life may wait. What
 * was lost of it is told. Returns 0, or spool_open()'s errors, BEZEL_ENOMEM.
 */
int backlog_open(struct backlog *b, struct external *x, int64_t now) BEZEL_MUST_CHECK;

/** Closes it. What is in the spool stays for a next life, or (`discard`) goes. */
void backlog_close(struct backlog *b, bool discard);

/** Begins a connection: nothing was sent on it. */
void backlog_rewind(struct backlog *b);

/** Whether there is a packet that is neither sent on this connection nor acknowledged; *p is it. */
bool backlog_next(struct backlog *b, struct backlog_packet *p, int64_t now);

/** It was sent. */
void backlog_sent(struct backlog *b, const struct backlog_packet *p);

/** Bytes sent on this connection and not given back; the same with the packet that backlog_next() found. */
uint64_t backlog_unacknowledged(const struct backlog *b);
uint64_t backlog_with_next(const struct backlog *b);

/** Bytes that are not given back yet: in both; in the spool. */
uint64_t backlog_waiting(const struct backlog *b);
uint64_t backlog_spooled(const struct backlog *b);

/** Gives back what is acknowledged, of the spool at most BACKLOG_TURN packets. */
void backlog_free(struct backlog *b, int64_t now);

/** Where the window is nearly full, moves packets to the spool, at most BACKLOG_TURN_BYTES. */
void backlog_move(struct backlog *b, int64_t now);

enum { BACKLOG_TURN = 256, BACKLOG_TURN_BYTES = 256 << 10 };

#endif
