// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Unidentified peers: connections to a bound link that have not sent their HELLO. ZeroMQ keeps a
 * connection for as long as the other side does, and does not report it. So this looks among the process's descriptors,
 * and shuts down connections that are too many or stay too long. A peer that is shut down wrongly connects again.
 *
 * One thread; it reads /proc/self/fd, and does nothing where that is missing.
 */
#ifndef BEZEL_MDR_LINK_UNIDENTIFIED_PEERS_H
#define BEZEL_MDR_LINK_UNIDENTIFIED_PEERS_H

#include <stddef.h>
#include <stdint.h>

enum { UNIDENTIFIED_PEERS_MAX = 64 }; /* at a time: beyond that the oldest are shut down */

#define UNIDENTIFIED_PEERS_PATIENCE INT64_C(5000000000) /* ns that a peer may stay */
#define UNIDENTIFIED_PEERS_EVERY    INT64_C(1000000000) /* ns between two looks: a peer may stay longer by this */

struct unidentified_peers;

/** For the link bound at `endpoint`, as link_endpoint() returns it. NULL: no memory. */
struct unidentified_peers *unidentified_peers_new(const char *endpoint);
void unidentified_peers_free(struct unidentified_peers *g);

/**
 * Looks at all connections except those in `known`: numbers of link_connection(), which it sorts. Returns how many it
 * shut down. After a gap of more than two UNIDENTIFIED_PEERS_EVERY (this process was stopped) peers are given that
 * time, since what they sent meanwhile is still unread.
 */
unsigned unidentified_peers_look(struct unidentified_peers *g, uint64_t *known, size_t known_count, int64_t now);

#endif
