// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A token bucket: what a peer may send at a rate, and how far it went beyond. It holds what one second brings, and
 * takes every frame that comes: below nothing it is overdrawn until time has filled it again. Pure; all zeros is a full
 * one.
 */
#ifndef BEZEL_COLLECTOR_BUCKET_H
#define BEZEL_COLLECTOR_BUCKET_H

#include <stddef.h>
#include <stdint.h>

struct bucket {
    double taken; /* bytes that are missing from a full one */
    int64_t at;   /* when it was looked at last, ns */
};

/** Takes `bytes` at `now` (ns, never back); `rate` in bytes a second, 0: unbounded. */
void bucket_take(struct bucket *b, uint64_t rate, size_t bytes, int64_t now);

/** How many bytes it is overdrawn by at `now`; 0: it is not. */
uint64_t bucket_overdrawn(const struct bucket *b, uint64_t rate, int64_t now);

#endif
