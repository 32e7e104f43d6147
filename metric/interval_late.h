// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Pairs of the records of an interval that were further apart than its matcher remembers them (interval_tell_late()):
 * the longest times of all. Known behind a run alone, when both were forgotten, so that a key that is used again has
 * found its nearer counterpart first. Memory is bounded: the newest beginnings count. Pure. One owner.
 */
#ifndef BEZEL_METRIC_INTERVAL_LATE_H
#define BEZEL_METRIC_INTERVAL_LATE_H

#include "metric/interval.h"

struct interval_late;

/** For `memory` beginnings. Returns 0 with *l to be freed by interval_late_free(), or BEZEL_ENOMEM. */
int interval_late_new(uint32_t memory, struct interval_late **l) BEZEL_MUST_CHECK;
void interval_late_free(struct interval_late *l);

/**
 * Takes in a record that was forgotten. True, with the whole time in *time: it is the end of an earlier one, which none
 * of its process has ended; *first: which had no end at all.
 */
bool interval_late_take(struct interval_late *l, const struct interval_event *e, struct interval_time *time,
                        bool *first);

#endif
