// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rate of an aspect over a sliding window, from the timestamps of its records: (n - 1) / (t_last - t_first). While
 * collection is off the records' times are not known; then the cumulative attempt counter, read at the agent's own period,
 * takes their place with the times of reading: never blind, only coarser. Pure: the caller brings the time. One owner.
 */
#ifndef BEZEL_METRIC_RATE_H
#define BEZEL_METRIC_RATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct rate;

/**
 * A rate over `window` ns of which the first full value exists `window` after the first record. Memory is bounded: at high
 * rates neighbouring records are merged into cells of window / 256. Returns 0 with *r to be freed by rate_free, or
 * BEZEL_ENOMEM.
 */
int rate_new(int64_t window, struct rate **r) BEZEL_MUST_CHECK;
void rate_free(struct rate *r);

/** A record at `timestamp` (not before the one before it: earlier ones count as at the same time). */
void rate_record(struct rate *r, int64_t timestamp);

/** The counter stood at `attempts` at time `now`; the growth since the last call happened in between. */
void rate_count(struct rate *r, uint64_t attempts, int64_t now);

/**
 * The rate at `now`, per second, with *resolution the half-width of its uncertainty. False where it is unknown: no
 * full window has passed since the first record. A source that fell silent has a rate that goes to 0 within a window.
 */
bool rate_value(struct rate *r, int64_t now, double *per_second, double *resolution);

#endif
