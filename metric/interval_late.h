// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Beginnings that a matcher (metric/interval.h) has forgotten: of each key the latest. Memory is bounded: the newest
 * count. Pure. One owner.
 */
#ifndef BEZEL_METRIC_INTERVAL_LATE_H
#define BEZEL_METRIC_INTERVAL_LATE_H

#include "metric/interval.h"

struct interval_late;

struct interval_late_beginning {
    struct interval_event is;
    uint64_t answered; /* bit `source % 64` of each process that ended it */
    int64_t before;    /* run's time of the latest one with its key before it, of another process; INT64_MIN: none */
};

/** For `memory` beginnings. Returns 0 with *l to be freed by interval_late_free(), or BEZEL_ENOMEM. */
int interval_late_new(uint32_t memory, struct interval_late **l) BEZEL_MUST_CHECK;
void interval_late_free(struct interval_late *l);

void interval_late_keep(struct interval_late *l, const struct interval_event *e, uint64_t answered);

/** The one with that key, which the caller may change; NULL: none. */
struct interval_late_beginning *interval_late_find(struct interval_late *l, struct interval_key key);

#endif
