// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Counts of numbers of any size and sign in buckets, from which quantiles are read: those of all values of a field over
 * a run. Every power of two, of either sign, is divided into DISTRIBUTION_STEPS buckets of equal width (the idea is
 * HdrHistogram's), and has counters once a number came into it. With x the exact quantile, of rank histogram_rank() in
 * ascending order,
 *
 *     x <= distribution_quantile() <= x + |x| / 128,
 *
 * and for whole numbers, once the caller has rounded down, exact below 256; also for 0. Other numbers nearer to 0 than
 * 1e-308, the subnormal ones, have an error of less than 2e-310 instead, up or down.
 *
 * Memory: 1 KiB for each power of two, and some 200 bytes. Pure, but for that; one owner.
 */
#ifndef BEZEL_METRIC_DISTRIBUTION_H
#define BEZEL_METRIC_DISTRIBUTION_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    DISTRIBUTION_STEPS = 128,
    DISTRIBUTION_OCTAVES_MAX = 256, /* of one distribution: all of int64 have 129 */
};

struct distribution_octave {
    uint64_t *counts; /* DISTRIBUTION_STEPS of them; NULL: a free slot */
    uint32_t octave;  /* sign and exponent, as a double has them */
};

/** All zeros is an empty distribution. */
struct distribution {
    struct distribution_octave *slots; /* a hash table of `capacity` slots, at most half of which are used */
    uint32_t capacity, used;
};

/**
 * Adds the `n` `values`, none of them NaN. Returns how many it added: less than `n` where the next one needs memory
 * that there is not, or that `*memory` does not have: the bytes that all distributions with this pointer may still
 * take. Some 2 ns for each.
 */
uint32_t distribution_add(struct distribution *d, const double *values, uint32_t n, size_t *memory);

/** The quantile of `share` (0 .. 1) within the error above; NaN where there is no number. */
double distribution_quantile(const struct distribution *d, double share);

/** The bytes that distribution_pack() writes. */
size_t distribution_pack_bytes(const struct distribution *d);

/** Writes a distribution into `to`, in no particular order of its buckets. Returns the bytes. */
size_t distribution_pack(const struct distribution *d, uint8_t *to);

/**
 * Adds a distribution of `n` bytes at `from`, as distribution_pack() wrote it, to the empty `d`. Returns 0;
 * BEZEL_EMALFORMED; or BEZEL_ENOMEM, as distribution_add(). distribution_free() in any case.
 */
int distribution_unpack(struct distribution *d, const uint8_t *from, size_t n, size_t *memory) BEZEL_MUST_CHECK;

/** Frees what it took, which `*memory` gets back; then it is empty. */
void distribution_free(struct distribution *d, size_t *memory);

#endif
