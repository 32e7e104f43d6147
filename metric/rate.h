// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rate of an aspect over a sliding window, from two sources. The attempt counter, read at each sampling instant whether
 * collection is on or off, is always fresh: it gives the number, to within one record per window. The records give the
 * exact times, but arrive up to a polling period late, and not at all while collection is off or the ring is full.
 *
 * The window at a reading is the time back to the latest reading that is at least `window` before; of the first one
 * that has passed, to the first reading. With n records in it, the first `a` after its start, the last `b` before its
 * end and `s` after the first, the rate is
 *
 *     0 for n = 0, 1 / window for n = 1, and above that the smallest of
 *     (n - 1) / s,   n / (s + b),   n / (a + s),   (n + 1) / window:
 *
 * the mean interval between records, and an open interval at either end counts as soon as it is longer than the mean.
 * So a silent source falls to 0 within a window, and the rate is never further than 1 / window from n / window. That
 * makes the two sources agree: a count alone gives n / window, and 1 / window is the half-width of what it leaves open.
 *
 * Records are used for the latest window, ending no more than a window ago, for which they are complete: at least as
 * many as the counter counted. Their rate is the value, exact, unless the fresh count excludes it; then, and where no
 * such window exists, the count is the value. Therefore late records do not make a source appear silent, lost records
 * do not make it appear slow, and turning collection on or off moves the value by no more than the resolution.
 *
 * Or windows follow one another (rate_tumble()): window number k begins with the first reading at or after k * `window`
 * and ends with the first one of the next, so each record is in one window. The rate is that of the last window that
 * has ended, unknown where no reading fell into it.
 *
 * Memory is bounded: readings closer than about window / RATE_GRAINS are merged. It is 12 KiB, and 16 KiB more
 * with rate_refine(). Pure: the caller brings the time. One owner.
 */
#ifndef BEZEL_METRIC_RATE_H
#define BEZEL_METRIC_RATE_H

#include "base/err.h"
#include "mdr/packet.h"

#include <stdbool.h>
#include <stdint.h>

enum { RATE_GRAINS = 120, RATE_FINE = 128 };

struct rate;

/**
 * A rate over `window` ns (1 us or more). `is_chosen`: of those records alone that rate_records() gets. The counter
 * does not tell those from others, so such a rate is known only where as many records of a window came as it counted.
 * A record that was counted before the window and came in it can so hide one of the window that was lost. Returns 0
 * with *r to be freed by rate_free, or BEZEL_ENOMEM.
 */
int rate_new(int64_t window, bool is_chosen, struct rate **r) BEZEL_MUST_CHECK;

/**
 * Before the first reading, of windows that slide: rate_number(), or if not `is_number` rate_limit(), uses the times
 * of records. Returns 0 or BEZEL_ENOMEM.
 */
int rate_refine(struct rate *r, bool is_number) BEZEL_MUST_CHECK;

/** Before the first reading: its windows follow one another. */
void rate_tumble(struct rate *r);
void rate_free(struct rate *r);

/** Drops all records and readings: the rate is unknown until a full window has passed again. */
void rate_reset(struct rate *r);

/**
 * Records that follow, behind counter `attempts`, are another source's: the first one of them counts as first, and what
 * was made before stays.
 */
void rate_begin(struct rate *r, uint64_t attempts);

/**
 * Takes in the times of the records of a run. Runs may come in any order, at any time after their records. Records
 * before the first reading, and those older than two windows, are ignored. Its time hardly depends on the number of
 * records; it does not allocate.
 */
void rate_records(struct rate *r, const struct packet_run *run);

/** Takes in, in the same way, that records came that a chosen rate is not of. */
void rate_others(struct rate *r, const struct packet_run *run);

/**
 * A reading: the counter was at `attempts` at `now` (a time before the last reading counts as that reading's). Call it
 * before each rate_value(), collection on or off. A counter that runs backwards starts the rate anew.
 */
void rate_count(struct rate *r, uint64_t attempts, int64_t now);

/**
 * The rate at the last reading, per second, with *resolution the half-width of its uncertainty: 0 where records give
 * it, 1 / window where the count does. False, and nothing written, where it is unknown: no full window has passed since
 * the first reading, or the last reading is more than a window before `now`; or it is of chosen records, and of no
 * window that ended less than a window ago all records came.
 */
bool rate_value(const struct rate *r, int64_t now, double *per_second, double *resolution);

/**
 * The same for a limit from above (`at_most`), or below, with rate_refine(): the largest rate of all windows of which
 * all records have come since the reading before, or, where records give the rate, that of the last one. These are
 * `window` long, to a part in RATE_FINE, and consist of whole parts. In all other cases it is as rate_value(), and so
 * it is for a limit from below where that is longer by no more than window / RATE_GRAINS; for one from above it is no
 * less than that, to *resolution, unless that is longer and its records are all in the parts, and where records are
 * missing before its window, it is of the parts of this. Of more than EXPERIMENT_WINDOWS_TIMED windows before a reading
 * nothing is known.
 */
bool rate_limit(const struct rate *r, int64_t now, bool at_most, double *per_second, double *resolution);

/**
 * The number of records in the latest window; of chosen ones, in the latest of which all records came. That reaches
 * back to a reading, so it is longer than `window`. With rate_refine() it is the most of any part of it that is
 * `window` long, to 2 / RATE_FINE of that, and of any window of which all records have come since the reading before:
 * no time goes unobserved, and no record counts that is further away. Records whose times are not known, as they are
 * late or lost, count all the same. False, and nothing written, where the rate is unknown. *all: the number in all of
 * the latest window, as far as it reaches back. *lowest: with rate_refine() of the part of it that is its last
 * `window`, to 3 / RATE_FINE of that; else as *all.
 */
bool rate_number(const struct rate *r, int64_t now, uint64_t *n, uint64_t *all, uint64_t *lowest);

/** Whether it is of chosen records, and unknown since not all that the counter counted came (yet). */
bool rate_is_open(const struct rate *r, int64_t now);

/**
 * Of a rate that is known: whether its window began before the reading that found the first record. It is all that was
 * made in that time, and no measure of how fast the source is.
 */
bool rate_starts(const struct rate *r, int64_t now);

/**
 * Where the rate is unknown: the number of records of which it is known that they lie in the latest window, of chosen
 * ones that they came; there may be more. Of windows that follow one another that is the one that has begun, or the one
 * before, which has no value as it is the first one. False, and nothing written, where there is no reading before the
 * last one from the last `window`, or in such a window.
 */
bool rate_least(const struct rate *r, int64_t now, uint64_t *n);

#endif
