// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A collector that lies: it welcomes who comes, stores nothing, and acknowledges what it never got. For tests of nodes.
 * One link, one thread.
 */
#ifndef BEZEL_TESTS_LIB_FAKE_COLLECTOR_H
#define BEZEL_TESTS_LIB_FAKE_COLLECTOR_H

#include "mdr/link/link.h"
#include "mdr/message.h"
#include "mdr/packet.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_STREAMS = 64 };

struct fake_collector {
    struct link *link;
    uint64_t seed;
    uint64_t hellos, packets, lies, garbage;       /* that came; that were told */
    struct message_position streams[FAKE_STREAMS]; /* those that were seen, behind what came of them */
    uint32_t stream_count;
    struct message in, out;
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/** Binds to `endpoint`, with `keys` or (NULL) without; borrows them. NULL where that is not possible. */
struct fake_collector *fake_collector_new(const char *endpoint, const struct link_keys *keys, uint64_t seed);
void fake_collector_free(struct fake_collector *f);

/**
 * Takes what came, waiting up to `wait_ns` for it. A HELLO is answered by a WELCOME that claims packets beyond those
 * that came; a packet, which is thrown away, by one of many lies: positions far beyond it, of streams that nobody has,
 * final books that nobody sent, or bytes that are no message. What came is never acknowledged as such.
 */
void fake_collector_round(struct fake_collector *f, int64_t wait_ns);

#endif
