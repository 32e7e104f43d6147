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

struct figure {
    enum figure_kind kind;
    double share;
    int64_t window, length; /* of a grain */
    int64_t newest;
    bool any;
    double last;
    struct quantile *quantile; /* of that kind; else NULL */
    int64_t end;               /* of that kind: the latest grain that time has come to; else as at the start */
    struct figure_grain grains[FIGURE_GRAINS];
};

/* Which grain is that of `time`. */
static inline int64_t figure_grain_of(const struct figure *s, int64_t time)
{
    int64_t number = time / s->length;
    return time % s->length < 0 ? number - 1 : number;
}

static inline void figure_drop(struct figure *s, int grain)
{
    quantile_drop(s->quantile, (unsigned)grain);
    s->grains[grain].count = 0;
}

/* Of a quantile: takes out the grains that are not in the window at `now`. */
static inline void figure_advance(struct figure *s, int64_t now)
{
    int64_t end = figure_grain_of(s, now);
    if (end <= s->end)
        return;
    bool turns = end / FIGURE_GRAINS != s->end / FIGURE_GRAINS;
    s->end = end;
    for (int i = 0; i < FIGURE_GRAINS; i++)
        if (s->grains[i].count > 0 && s->grains[i].number <= end - FIGURE_GRAINS)
            figure_drop(s, i);
    if (turns)
        quantile_turn(s->quantile);
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
