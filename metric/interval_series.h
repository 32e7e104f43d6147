// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The values of one end of an interval (metric/interval.h) in its window, and how many of them may be missing. Times
 * are ns of the run's time. Pure. One owner.
 */
#ifndef BEZEL_METRIC_INTERVAL_SERIES_H
#define BEZEL_METRIC_INTERVAL_SERIES_H

#include "metric/interval.h"

struct interval_series;

/** Whether an interval of `positions` has `part`: of two positions there is no stage but the whole. */
static inline bool interval_has_part(uint32_t positions, uint32_t part)
{
    return part == INTERVAL_WHOLE || (positions > 2 && part < positions - 1);
}

/** NULL: no memory. */
struct interval_series *interval_series_new(const struct experiment_metric *m);
void interval_series_free(struct interval_series *s);

/** Takes in a value of an end at `time`. */
void interval_series_add(struct interval_series *s, uint32_t part, struct clock_reading took, int64_t time,
                         int64_t now);

/** An end at `time` has no beginning; with `less`: it is none of these any more. */
void interval_series_wait(struct interval_series *s, int64_t time, bool less);

/** `count` ends were lost until `time`; INT64_MIN: nobody knows when. */
void interval_series_lose(struct interval_series *s, int64_t time, uint64_t count);

/** interval_value(); `begun`: ends without a beginning may have had one. */
bool interval_series_value(struct interval_series *s, uint32_t part, bool begun, int64_t settle, int64_t now,
                           struct interval_value *v);

#endif
