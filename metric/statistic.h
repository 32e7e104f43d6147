// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Mean, least, largest, latest, first value or a quantile of numbers over a sliding window. A window has
 * STATISTIC_GRAINS grains of time: the window at `now` begins with a grain, so it is shorter than its nominal length by
 * less than one. Numbers that are not finite are left out. Where the sum overflows, the mean is unknown.
 *
 * Or windows follow one another (statistic_tumble()): window number k is time [k, k + 1) * `window`, whole, and the
 * value at `now` is that of the last one that has ended. A number that comes later, within the next window, still
 * counts in its own.
 *
 * A quantile takes every number into account. It is never below the exact one, above it by 1/32 of its magnitude at
 * most, and exact where the numbers of two windows are equal or further apart than that (metric/quantile.h).
 * Exceptions: only 4,294,967,295 numbers of a grain count; and where numbers have more than 8,256 pairs of grain and
 * power of two, which integers of one unit cannot have, the oldest grains are dropped early.
 *
 * Memory is bounded: 3.1 KiB, all of it taken by statistic_new(). Of a quantile 13 KiB more then; later, as numbers
 * come, 76 KiB where they span a factor of 30, at most 1.2 MiB where they are integers and 4.7 MiB in any case. So 64
 * of them take 4.8, 76 and 298 MiB. It is used again and returned by statistic_free(). Pure: the caller brings the
 * time, which does not go back. One owner.
 */
#ifndef BEZEL_METRIC_STATISTIC_H
#define BEZEL_METRIC_STATISTIC_H

#include "base/err.h"
#include "mdr/dict.h"
#include "mdr/packet.h"
#include "metric/quantile.h"

#include <stdbool.h>
#include <stdint.h>

enum { STATISTIC_GRAINS = QUANTILE_GRAINS };

enum statistic_kind {
    STATISTIC_MEAN,
    STATISTIC_MIN,
    STATISTIC_MAX,
    STATISTIC_LAST,
    STATISTIC_FIRST,
    STATISTIC_QUANTILE
};

struct statistic;

enum { STATISTIC_NO_FIELD = -1 };

/** The place, in the records of a run, of the number that a statistic takes. */
struct statistic_field {
    int at;       /* in a record's values; STATISTIC_NO_FIELD: they have none */
    double scale; /* the statistic takes the number times this */
    bool is_float;
    bool unknown_below; /* negative numbers are unknown, and left out: statistic_unknown_below() */
};

/**
 * Whether a negative number in field `i` of `a` is an unknown one: a duration of dict_is_duration(), or what a sampler
 * could not read. Pure.
 */
bool statistic_unknown_below(const struct dict_aspect *a, uint32_t i);

/**
 * A statistic over `window` ns (1 us or more). `share` (0 .. 1) is for a quantile: its rank is histogram_rank().
 * Returns 0 with *s to be freed by statistic_free, or BEZEL_ENOMEM.
 */
int statistic_new(enum statistic_kind kind, double share, int64_t window, struct statistic **s) BEZEL_MUST_CHECK;

/** Before the first number: its windows follow one another. Of a quantile they need twice the memory. BEZEL_ENOMEM: no
 * memory for that. */
int statistic_tumble(struct statistic *s) BEZEL_MUST_CHECK;

/** Whether all of the window whose value is that at `now` lies behind `since`, or it is one that slides. */
bool statistic_is_whole(const struct statistic *s, int64_t since, int64_t now);
void statistic_free(struct statistic *s);

/** Drops all values. */
void statistic_reset(struct statistic *s);

/**
 * Takes in the values of the records of a run, which arrived at `now`: a later timestamp counts as `now`. Runs come in
 * any order. Values older than the window are ignored. The result is the same, to the last bit, however records are
 * grouped into runs. Takes some instructions a record, next to none for the latest value. Only a quantile allocates;
 * where memory is missing the oldest grains are dropped, and the quantile is that of the rest.
 */
void statistic_records(struct statistic *s, const struct packet_run *run, const struct statistic_field *field,
                       int64_t now);

/** Takes in one finite value of time `time`, which arrived at `now`; else as statistic_records(). Not for a first one.
 */
void statistic_add(struct statistic *s, double value, int64_t time, int64_t now);

/** The value of record `i` of a run; if it has none, a number that is not finite. */
double statistic_read(const struct packet_run *run, uint32_t i, const struct statistic_field *field);

/** Takes in `value` for each record of a run, which arrived at `now`; else as statistic_records(). Not for a quantile.
 */
void statistic_constant(struct statistic *s, const struct packet_run *run, double value, int64_t now);

/** Takes in `n` values at `now`, or earlier, known by their mean, minimum and maximum. Not for a quantile. */
void statistic_add_many(struct statistic *s, int64_t now, uint64_t n, double mean, double min, double max);

/**
 * The statistic at `now`; *newest (NULL is allowed) gets the time of its latest value, or the end of a window that was
 * followed by another one. False, and nothing written, where the window holds no value.
 */
bool statistic_value(struct statistic *s, int64_t now, double *value, int64_t *newest);

/** The number of values in the window at `now`; not for a latest value, of which there is 1 at most. */
uint64_t statistic_count(const struct statistic *s, int64_t now);

/** For a quantile: as statistic_value(), of another `share`. */
bool statistic_quantile(struct statistic *s, double share, int64_t now, double *value);

/** For a mean: the sum and number of its values at `now`. False where the window holds no value. */
bool statistic_sum(const struct statistic *s, int64_t now, double *sum, uint64_t *count);

/**
 * For a quantile: writes the histogram of its values at `now`, as histogram_pack() does a coarse one, into the `room`
 * bytes at `to`. Returns the number of its buckets; 0: it has none, or there is no room, or no memory.
 */
uint32_t statistic_histogram(struct statistic *s, int64_t now, uint8_t *to, uint32_t room);

#endif
