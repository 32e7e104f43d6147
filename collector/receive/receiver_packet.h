// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Checks a packet that arrives, to its last byte, and stores it. Of each stream only the next packet is stored, so a
 * packet that is sent again is stored once.
 */
#ifndef BEZEL_COLLECTOR_RECEIVE_RECEIVER_PACKET_H
#define BEZEL_COLLECTOR_RECEIVE_RECEIVER_PACKET_H

#include "collector/evaluate/evaluate.h"
#include "run/model/validate.h"
#include "run/store/store.h"

enum received_as {
    RECEIVED_STORED,
    RECEIVED_DUPLICATE, /* stored before: acknowledge again */
    RECEIVED_AHEAD,     /* an earlier one is missing: send our position */
    RECEIVED_UNKNOWN,   /* its process or dictionary is not known */
    RECEIVED_REFUSED,   /* it can never be stored as it is: `reason` */
    RECEIVED_THROWN,    /* its process is refused for good: acknowledge it, or it holds up the others */
    RECEIVED_FAILED,    /* the store fails, or memory is short */
};

struct received {
    enum received_as what;
    const char *reason;          /* of REFUSED; static storage */
    struct packet_header header; /* as it came; unless REFUSED */
    struct model_stream *stream; /* of STORED, DUPLICATE, AHEAD, FAILED; of THROWN, where the model has its process */
    struct validate_found found; /* of STORED */
    struct evaluate_thinned thinned; /* of STORED: what was stored, if that is not what came; its bytes to be freed */
};

/**
 * Checks the frame of `n` bytes that `node` sent, and stores it if it is the next packet of its stream; *a says which.
 * `evaluate`, which may be NULL, takes in the records that end here. Touches the stream where its position is to be
 * sent to the node, and marks it as behind where a packet was not taken.
 */
void receiver_take_packet(struct model_node *node, struct store *store, struct evaluate *evaluate, const void *frame,
                          size_t n, struct received *a);

#endif
