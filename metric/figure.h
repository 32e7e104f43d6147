// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Mean, least, largest, latest value or a quantile of numbers over a sliding window. Time is cut into FIGURE_GRAINS
 * grains a window: the window at `now` reaches back to the start of a grain, and is shorter than said by less than
 * one. A quantile is of FIGURE_SAMPLES values at most: of more, every second, fourth ... one is kept, evenly over the
 * window. Numbers that are not finite are left out; of what adds up to more than the largest number no mean is known.
 * Memory is bounded, and none is allocated after figure_new(). Pure: the caller brings the time. One owner.
 */
#ifndef BEZEL_METRIC_FIGURE_H
#define BEZEL_METRIC_FIGURE_H

#include "base/err.h"
#include "mdr/packet.h"

#include <stdbool.h>
#include <stdint.h>

enum { FIGURE_GRAINS = 64, FIGURE_SAMPLES = 1024 };

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
 * not exceed. Returns 0 with *s to be freed by figure_free, or BEZEL_ENOMEM.
 */
int figure_new(enum figure_kind kind, double share, int64_t window, struct figure **s) BEZEL_MUST_CHECK;
void figure_free(struct figure *f);

/** Forgets everything. */
void figure_reset(struct figure *f);

/**
 * The values of the records of a run; runs come in any order. `now` is when they came: a timestamp after it counts as
 * `now`. What is older than the window is ignored. The figure does not depend on how records are put together to runs,
 * to the last bit. Some instructions a record, next to none where it is the latest value that is wanted.
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
