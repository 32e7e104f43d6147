// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a client of Foxglove's protocol asks for: a text of JSON, by the parser of libwebsockets. The client is foreign:
 * everything is checked. Pure.
 *
 *     {"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}]}
 *     {"op": "unsubscribe", "subscriptionIds": [0]}
 */
#ifndef BEZEL_MEDIATORS_FOXGLOVE_REQUEST_H
#define BEZEL_MEDIATORS_FOXGLOVE_REQUEST_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FOXGLOVE_REQUEST_BYTES = 128 << 10,
    FOXGLOVE_REQUEST_ITEMS = 4096,
    FOXGLOVE_REQUEST_OP = 32, /* bytes of an operation's name that are kept, with a NUL */
};

enum foxglove_op { FOXGLOVE_OTHER, FOXGLOVE_SUBSCRIBE, FOXGLOVE_UNSUBSCRIBE };

struct foxglove_item {
    uint32_t id, channel; /* of a subscription; its channel, to subscribe */
};

struct foxglove_request {
    enum foxglove_op op;
    char name[FOXGLOVE_REQUEST_OP]; /* of the operation */
    struct foxglove_item items[FOXGLOVE_REQUEST_ITEMS];
    size_t count;
};

/** Reads the `n` bytes at `text`. Returns 0; or BEZEL_EMALFORMED with *why a static sentence. */
int foxglove_request_read(const char *text, size_t n, struct foxglove_request *q, const char **why) BEZEL_MUST_CHECK;

#endif
