// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The inside of a figure: figure_add.c takes values in, figure.c says what they come to. */
#ifndef BEZEL_METRIC_FIGURE_OWN_H
#define BEZEL_METRIC_FIGURE_OWN_H

#include "metric/figure.h"

#include <math.h>

/*
 * Values are folded into lanes by turns, each into that of the number of those before it in its grain: so many of them
 * can be folded at once, with the same result as one by one.
 */
enum { FIGURE_LANES = 4 };

/* What came in a grain; its number tells which: grain `number` is time [number, number + 1) * length. */
struct figure_grain {
    int64_t number;
    uint64_t count;
    double lanes[FIGURE_LANES]; /* sums, least or largest values */
};

struct figure_sample {
    int64_t time;
    double value;
};

/* The samples of a quantile: a ring, oldest first, in the order in which they came. */
struct figure_samples {
    uint32_t first, count;
    uint32_t stride, left_out; /* every stride-th value is kept; how many were not since the last one */
    struct figure_sample at[FIGURE_SAMPLES];
    double scratch[FIGURE_SAMPLES];
};

struct figure {
    enum figure_kind kind;
    double share;
    int64_t window, length; /* of a grain */
    int64_t newest;
    bool any;
    double last;
    struct figure_samples *samples; /* of a quantile; else NULL */
    struct figure_grain grains[FIGURE_GRAINS];
};

/* Which grain is that of `time`. */
static inline int64_t figure_grain_of(const struct figure *s, int64_t time)
{
    int64_t number = time / s->length;
    return time % s->length < 0 ? number - 1 : number;
}

/* What a lane holds before the first value. */
static inline double figure_neutral(enum figure_kind kind)
{
    return kind == FIGURE_MIN ? (double)INFINITY : kind == FIGURE_MAX ? -(double)INFINITY : 0;
}

static inline double figure_fold(enum figure_kind kind, double lane, double value)
{
    if (kind == FIGURE_MIN)
        return value < lane ? value : lane;
    if (kind == FIGURE_MAX)
        return value > lane ? value : lane;
    return lane + value;
}

#endif
