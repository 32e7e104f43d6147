// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A histogram of finite numbers for each grain of a window, and the histogram of the whole window, from which a
 * quantile is read. The window's is kept up to date by adding new values and subtracting grains that leave; both are
 * exact.
 *
 * Every power of two, of either sign, is divided into HISTOGRAM_STEPS = 32 buckets of equal width; zero has a bucket of
 * its own. So a bucket is at most 1/32 of its smallest magnitude wide, from the least subnormal number to the largest
 * one. A bucket of the window also has the largest number that came into it since it was last empty, or since the last
 * turn but one (quantile_turn), and that is the answer where the quantile lies in it. With x the exact quantile, of
 * rank `histogram_rank()` in ascending order,
 *
 *     x <= answer <= x + |x| / 32,
 *
 * and answer == x where all these numbers of a bucket are equal. So it is exact for constants, for integers of a
 * magnitude below 64, and for numbers that lie more than 1/32 apart. The buckets do not depend on the numbers added:
 * histograms of other windows, processes or nodes are merged by adding the counts and taking the larger of the largest
 * numbers.
 *
 * Memory: a grain has counters for the powers of two that came in it and for no others, 128 bytes each, for at most
 * 8,256 pairs of grain and power of two, which is enough for all integers of 64 bits in all grains (1.0 MiB). The
 * window has 904 bytes for each power of two that it holds, of which there are 4,197 (3.6 MiB); the rest is 8.5 KiB.
 * Memory that a grain leaves is used for the next ones and is returned by quantile_free(). No threads; one owner.
 */
#ifndef BEZEL_METRIC_QUANTILE_H
#define BEZEL_METRIC_QUANTILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { QUANTILE_GRAINS = 64 };

struct histogram;
struct quantile;

/** Returns 0 with *q to be freed by quantile_free, or BEZEL_ENOMEM. */
int quantile_new(struct quantile **q) BEZEL_MUST_CHECK;

/** Frees a quantile; NULL is allowed. */
void quantile_free(struct quantile *q);

/**
 * Adds the `n` finite `values` to `grain` (0 .. QUANTILE_GRAINS - 1), which may have up to UINT32_MAX in all. Returns
 * how many it added: less than `n` where there is no memory for the next one until quantile_drop() makes room. A few ns
 * for each; allocates where a power of two is new in a grain and no memory is left over.
 */
uint32_t quantile_add(struct quantile *q, unsigned grain, const double *values, uint32_t n);

/** Removes all numbers of `grain`. */
void quantile_drop(struct quantile *q, unsigned grain);

/**
 * Call once per window, after the grains that have left it were dropped: an answer is never a number that was added
 * before the last turn but one.
 */
void quantile_turn(struct quantile *q);

/**
 * The quantile of `share` (0 .. 1): the smallest number that so many do not exceed, within the error above. Takes some
 * 20 ns for each power of two. False, and nothing written, where there is no number.
 */
bool quantile_value(const struct quantile *q, double share, double *value);

/** Adds all numbers to `h`, which is a coarse histogram. Returns 0 or BEZEL_ENOMEM. */
int quantile_histogram(const struct quantile *q, struct histogram *h) BEZEL_MUST_CHECK;

#endif
