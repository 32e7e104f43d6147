// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Guests: connections to a bound link whose senders nobody knows (yet). ZeroMQ keeps any connection for as long as the
 * other side likes, and tells its user nothing of it; so they are looked for among the process's descriptors, and those
 * that are too many, or stay too long, are shut down under it. Who is ended wrongly connects again.
 *
 * One thread; it reads /proc/self/fd, and does nothing where that is missing.
 */
#ifndef BEZEL_MDR_GUESTS_H
#define BEZEL_MDR_GUESTS_H

#include <stddef.h>
#include <stdint.h>

enum { GUESTS_MAX = 64 }; /* at a time: beyond that the oldest go */

#define GUESTS_PATIENCE INT64_C(5000000000) /* ns that one may stay */
#define GUESTS_EVERY    INT64_C(1000000000) /* ns between two looks: so much older one can grow */

struct guests;

/** For the link bound at `endpoint`, as link_endpoint() tells it. NULL: no memory. */
struct guests *guests_new(const char *endpoint);
void guests_free(struct guests *g);

/**
 * Looks at all connections but those in `known`, in ascending order, of link_connection(). Returns how many it ended.
 * Time counts as far as looks were GUESTS_EVERY apart or so: who was stopped finds what came meanwhile unread.
 */
unsigned guests_look(struct guests *g, const uint64_t *known, size_t known_count, int64_t now);

#endif
