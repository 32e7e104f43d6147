// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Monitoring latencies of records, in ns: their number, the largest one, and a coarse histogram. Negative ones count as
 * 0. Takes at most 20 KiB; where there is no memory, latencies are left out. One owner.
 */
#ifndef BEZEL_RUN_MODEL_LATENCY_H
#define BEZEL_RUN_MODEL_LATENCY_H

#include "metric/histogram.h"

#include <stdint.h>

/* Steps of latency_steps(): step i has latencies below 1 << (LATENCY_STEP_FIRST + LATENCY_STEP_BITS * i) ns. */
enum { LATENCY_STEPS = 14, LATENCY_STEP_FIRST = 10, LATENCY_STEP_BITS = 2 };

/** All zeros: none. */
struct latency {
    uint64_t count;
    int64_t max;
    struct histogram values;
};

/** Adds `n` latencies that lie in one bucket, of which `ns` is the largest. */
void latency_add(struct latency *l, int64_t ns, uint64_t n);

/** The smallest latency in the bucket of `ns`; INT64_MIN for 0 and negative ones. */
int64_t latency_bucket_start(int64_t ns);

/**
 * The smallest latency that a share `q` (0 .. 1) of all does not exceed, or up to 1/32 more, and never above the
 * maximum; 0 if there is none.
 */
int64_t latency_quantile(const struct latency *l, double q);

/** Adds to `counts` how many are in each step, and not in the one before; behind them those that are in none. */
void latency_steps(const struct latency *l, uint64_t counts[LATENCY_STEPS + 1]);

/**
 * As a blob: the maximum (u64), then the histogram, packed. latency_pack() returns the number of bytes written into
 * `blob`, which has room for LATENCY_PACKED_MAX. latency_unpack() adds a blob; it returns 0, BEZEL_EMALFORMED or
 * BEZEL_ENOMEM.
 */
enum { LATENCY_PACKED_MAX = 8 + HISTOGRAM_PACKED * HISTOGRAM_STEPS * 66 };
size_t latency_pack(const struct latency *l, uint8_t *blob);
int latency_unpack(struct latency *l, const uint8_t *blob, size_t n) BEZEL_MUST_CHECK;

/** Frees what it took; then it is empty. */
void latency_free(struct latency *l);

#endif
