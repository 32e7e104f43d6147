// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What becomes of a packet that arrives: checked to its last byte, then stored or not. Of each stream exactly the next
 * packet is taken, so that whatever is sent again is stored once.
 */
#ifndef BEZEL_COLLECTOR_ACCEPT_H
#define BEZEL_COLLECTOR_ACCEPT_H

#include "collector/model.h"
#include "collector/store.h"

enum accept {
    ACCEPT_STORED,
    ACCEPT_DUPLICATE, /* stored before: acknowledge again */
    ACCEPT_AHEAD,     /* one before it is missing: say where we stand */
    ACCEPT_NEED,      /* its process or dictionary is not known */
    ACCEPT_REFUSED,   /* it can never be stored as it is, for the reason told */
    ACCEPT_THROWN,    /* its process is refused for good: acknowledge it all the same, or it stops all others */
    ACCEPT_FAILED,    /* the store fails */
};

/** What checking a packet found. */
struct accept_found {
    uint64_t lost;         /* records that it counts as lost */
    struct packet_run all; /* its records, where they are of one aspect; else a run of 0 */
};

struct accepted {
    enum accept what;
    const char *reason;          /* of REFUSED; static storage */
    struct packet_header header; /* unless REFUSED */
    struct model_stream *stream; /* of STORED, DUPLICATE, AHEAD, FAILED; of THROWN, where the model has its process */
    struct accept_found found;   /* of STORED */
};

/**
 * Checks the frame of `n` bytes that `node` sent and stores it where it is the next packet of its stream. The stream is
 * touched, or marked as behind, as its sender must hear.
 */
void accept_packet(struct model_node *node, struct store *store, const void *frame, size_t n, struct accepted *a);

/**
 * Whether packet `p`, its header `h` read, is whole, belongs to `process` and follows what stream `s` has (h->seq is
 * s->at.next_seq). NULL and *found where it does; else the reason why not.
 */
const char *accept_check(const struct model_process *process, const struct model_stream *s,
                         const struct packet_header *h, const uint8_t *p, struct accept_found *found) BEZEL_MUST_CHECK;

/**
 * Moves a stream's position (not its bytes) and the totals over a packet that accept_check() passed and that is stored.
 */
void accept_advance(struct model_stream *s, const struct packet_header *h, uint64_t lost);

#endif
