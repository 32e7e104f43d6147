// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Asks a bezeld for a session, as `bezel run` does: for tests that do without `bezel run`. One thread. */
#ifndef BEZEL_TESTS_LIB_BEGIN_H
#define BEZEL_TESTS_LIB_BEGIN_H

#include "mdr/link/link.h"
#include "mdr/message.h"

struct begin {
    struct link *link;
    struct message message; /* BEGIN is what the caller filled into message.begin; then the answer */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** Fills the BEGIN; `uuid` as text. False: it is none. */
bool begin_fill(struct begin *b, const char *experiment, const char *node, const char *folder, const char *uuid,
                const char *collector);

/** Connects to the bezeld at `control`, and asks it once. `keys` NULL: none. */
bool begin_ask(struct begin *b, const char *control, const struct link_keys *keys);

/**
 * Asks again until there is an answer, for `patience` ns at most. True: the session serves, and
 * message.reply.session.endpoint is its endpoint; false: it was refused, with the reason in message.reply.text, or ""
 * where no answer came.
 */
bool begin_await(struct begin *b, int64_t patience);

/** Lets go of the link. */
void begin_close(struct begin *b);

#endif
