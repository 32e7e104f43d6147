// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Mean, least, largest, latest value or a quantile of numbers over a sliding window. Time is cut into FIGURE_GRAINS
 * grains a window: the window at `now` reaches back to the start of a grain, and is shorter than said by less than
 * one. Numbers that are not finite are left out; of what adds up to more than the largest number no mean is known.
 *
 * A quantile takes every number into account. It is never below the exact one, above it by 1/32 of its magnitude at
 * most, and exact where the numbers of two windows are equal or further apart than that (metric/quantile.h).
 * Exceptions: of a grain 4,294,967,295 numbers count; and of numbers that come in more than 8,256 pairs of grain and
 * power of two, which integers of one unit cannot, the oldest grains go early.
 *
 * Memory is bounded: 3.1 KiB, all of it taken by figure_new(). Of a quantile 13 KiB more then; later, as numbers come,
 * 76 KiB where they span a factor of 30, at most 1.2 MiB where they are integers and 4.7 MiB in any case. So 64 of them
 * take 4.8, 76 and 298 MiB. It is used again and returned by figure_free(). Pure: the caller brings the time, which
 * does not go back. One owner.
 */
#ifndef BEZEL_METRIC_FIGURE_H
#define BEZEL_METRIC_FIGURE_H

#include "base/err.h"
#include "mdr/packet.h"
#include "metric/quantile.h"

#include <stdbool.h>
#include <stdint.h>

enum { FIGURE_GRAINS = QUANTILE_GRAINS };

enum figure_kind { FIGURE_MEAN, FIGURE_MIN, FIGURE_MAX, FIGURE_LAST, FIGURE_QUANTILE };

struct figure;

enum { FIGURE_NO_FIELD = -1 };

/** Where the records of a run have the number that a figure is made of. */
struct figure_field {
    int at;       /* in a record's values; FIGURE_NO_FIELD: they have none */
    double scale; /* the number times this is what counts */
    bool is_float;
    bool is_duration; /* below 0 it is unknown, and left out */
};

/**
 * A figure over `window` ns (1 us or more); `share` (0 .. 1) is that of a quantile: the smallest value that so many do
 * not exceed (histogram_rank). Returns 0 with *s to be freed by figure_free, or BEZEL_ENOMEM.
 */
int figure_new(enum figure_kind kind, double share, int64_t window, struct figure **s) BEZEL_MUST_CHECK;
void figure_free(struct figure *f);

/** Forgets everything. */
void figure_reset(struct figure *f);

/**
 * The values of the records of a run; runs come in any order. `now` is when they came: a timestamp after it counts as
 * `now`. What is older than the window is ignored. The figure does not depend on how records are put together to runs,
 * to the last bit. Some instructions a record, next to none where it is the latest value that is wanted. Only a
 * quantile allocates; where there is no memory for it the oldest grains go, and it is right of what is left.
 */
void figure_records(struct figure *f, const struct packet_run *run, const struct figure_field *field, int64_t now);

/** `n` values at once, whose mean is `mean` and of which none is above `max` or below `min`. Of no quantile. */
void figure_add_many(struct figure *f, int64_t now, uint64_t n, double mean, double min, double max);

/**
 * The figure at `now`, and in *newest, which may be NULL, the time of the latest value that it is made of. False, and
 * nothing written, where the window holds no value.
 */
bool figure_value(struct figure *f, int64_t now, double *value, int64_t *newest);

/** What the mean at `now`, of a mean, divides: false where the window holds no value. */
bool figure_sum(const struct figure *f, int64_t now, double *sum, uint64_t *count);

#endif
