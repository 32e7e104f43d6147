// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A histogram of non-negative int64 values with a relative error of at most 1/32: log-linear buckets, fixed size, no
 * allocation (the idea is HdrHistogram's). Values below 64 are exact; negative ones count as 0. Pure; one owner.
 */
#ifndef BEZEL_METRIC_HISTOGRAM_H
#define BEZEL_METRIC_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 32, HISTOGRAM_BUCKETS = 64 + 57 * HISTOGRAM_STEPS };

/** All zeros is an empty histogram. */
struct histogram {
    uint64_t count;
    int64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, int64_t value);

/** Adds `n` values that lie in one bucket, of which `value` is the largest. */
void histogram_add_many(struct histogram *h, int64_t value, uint64_t n);

/** The smallest value in the bucket of `value`; INT64_MIN for 0 and negative values. */
int64_t histogram_bucket_start(int64_t value);

/** Adds all of `from` to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/**
 * The rank, from 1, of quantile `q` (0 .. 1) among `count` values in ascending order: q * count rounded up, at least 1
 * and at most `count`.
 */
uint64_t histogram_rank(uint64_t count, double q);

/**
 * The smallest value that a share `q` (0 .. 1) of all values does not exceed, rounded up to its bucket's end and never
 * above the maximum; 0 where the histogram is empty.
 */
int64_t histogram_quantile(const struct histogram *h, double q);

#endif
