// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Where curves change, so that what is true of one part of a run is not mixed with what is true of another. A boundary
 * at number i lies between values i - 1 and i. Two methods: steep changes of smoothed curves above a threshold (IPS-2,
 * 1990), and the partition with the least squares and a penalty for each boundary (PELT; Killick et al. 2012). Pure.
 */
#ifndef BEZEL_ANALYSIS_PHASES_H
#define BEZEL_ANALYSIS_PHASES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct phases_curve {
    const double *values; /* at equal steps */
    double most;          /* above 0: what a value can be at most */
};

/**
 * How much all curves change at each number, from 0 to `n` - 1, into `b`: for each curve its difference to the value
 * before, by what it rises or falls there altogether. A step of height s, of `most`, has 0.2 s^2. Returns 0 or
 * BEZEL_ENOMEM.
 */
int phases_changes(const struct phases_curve *curves, size_t count, size_t n, double *b) BEZEL_MUST_CHECK;

/**
 * Boundaries where changes peak above `threshold`; 0: above a tenth of the largest one, and above that of a step of 15
 * %. They go into `at`, which has room for `n`; *found is their number. Returns 0 or BEZEL_ENOMEM.
 */
int phases_find(const struct phases_curve *curves, size_t count, size_t n, double threshold, size_t *at,
                size_t *found) BEZEL_MUST_CHECK;

/**
 * The boundaries between which the values have the least squared distance to their means, each of which costs
 * `penalty`, in variances of the curves' noise; 0: what suits `n`. Otherwise as phases_find().
 */
int phases_split(const struct phases_curve *curves, size_t count, size_t n, double penalty, size_t *at,
                 size_t *found) BEZEL_MUST_CHECK;

/**
 * Sorts `count` boundaries in time, drops those that are not between `from` and `until`, and while they make more than
 * `most` phases joins the shortest one to that before it, the first one to the next. Returns how many are left.
 */
size_t phases_join(int64_t *at, size_t count, int64_t from, int64_t until, size_t most);

#endif
