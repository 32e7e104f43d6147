// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/token_bucket.h"

#include "base/clock.h"

static double taken_at(const struct token_bucket *b, uint64_t rate, int64_t now)
{
    double left = b->taken - (double)rate * ((double)(now - b->at) / (double)CLOCK_S);
    return left > 0 ? left : 0;
}

void token_bucket_take(struct token_bucket *b, uint64_t rate, size_t bytes, int64_t now)
{
    if (rate == 0)
        return;
    b->taken = taken_at(b, rate, now) + (double)bytes;
    b->at = now;
}

uint64_t token_bucket_overdrawn(const struct token_bucket *b, uint64_t rate, int64_t now)
{
    double taken = rate ? taken_at(b, rate, now) : 0;
    return taken > (double)rate ? (uint64_t)(taken - (double)rate) + 1 : 0;
}
