// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/histogram.h"

/*
 * Values below 64 have a bucket each. Above, every power of two is divided into 32 buckets of equal width, so that a
 * bucket is at most 1/32 of its smallest value wide. The octaves 6 .. 62 cover all of int64.
 */
enum { EXACT = 64, STEPS_LOG2 = 5, STEPS = HISTOGRAM_STEPS, FIRST_OCTAVE = 6 };

static unsigned histogram_bucket(int64_t value)
{
    if (value < EXACT)
        return value < 0 ? 0 : (unsigned)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)value);
    unsigned step = (unsigned)(value >> (octave - STEPS_LOG2)) - STEPS;
    return EXACT + (octave - FIRST_OCTAVE) * STEPS + step;
}

/* The largest value of a bucket. */
static int64_t histogram_bucket_end(unsigned bucket)
{
    if (bucket < EXACT)
        return bucket;
    unsigned octave = (bucket - EXACT) / STEPS + FIRST_OCTAVE, step = (bucket - EXACT) % STEPS;
    uint64_t next = (uint64_t)(STEPS + step + 1) << (octave - STEPS_LOG2);
    return (int64_t)(next - 1);
}

int64_t histogram_bucket_start(int64_t value)
{
    unsigned bucket = histogram_bucket(value);
    return bucket == 0 ? INT64_MIN : histogram_bucket_end(bucket - 1) + 1;
}

void histogram_add_many(struct histogram *h, int64_t value, uint64_t n)
{
    h->buckets[histogram_bucket(value)] += n;
    h->count += n;
    if (value > h->max)
        h->max = value;
}

void histogram_add(struct histogram *h, int64_t value)
{
    histogram_add_many(h, value, 1);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
}

uint64_t histogram_rank(uint64_t count, double q)
{
    if (!(q > 0))
        return 1;
    if (q >= 1)
        return count;
    double share = q * (double)count;
    uint64_t rank = (uint64_t)share;
    rank += (double)rank < share * (1 - 1e-12); /* 7 % of 100 are 7, though 0.07 * 100 is a little more */
    return rank < 1 ? 1 : rank > count ? count : rank;
}

int64_t histogram_quantile(const struct histogram *h, double q)
{
    uint64_t rank = histogram_rank(h->count, q), seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank && seen > 0) {
            int64_t end = histogram_bucket_end(i);
            return end < h->max ? end : h->max;
        }
    }
    return 0;
}
