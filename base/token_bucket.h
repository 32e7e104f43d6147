// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A token bucket: measures how far a peer exceeds a rate. It holds the bytes of one second. Every frame takes its
 * bytes, even below zero; the bucket is then overdrawn until time has filled it again. Pure; all zeros is a full one.
 */
#ifndef BEZEL_BASE_TOKEN_BUCKET_H
#define BEZEL_BASE_TOKEN_BUCKET_H

#include <stddef.h>
#include <stdint.h>

struct token_bucket {
    double taken; /* bytes that are missing from a full one */
    int64_t at;   /* time of the last frame, ns */
};

/** Takes `bytes` at `now` (ns, never back); `rate` in bytes a second, 0: unbounded. */
void token_bucket_take(struct token_bucket *b, uint64_t rate, size_t bytes, int64_t now);

/** By how many bytes the bucket is overdrawn at `now`, at `rate` as above; 0: it is not. */
uint64_t token_bucket_overdrawn(const struct token_bucket *b, uint64_t rate, int64_t now);

#endif
