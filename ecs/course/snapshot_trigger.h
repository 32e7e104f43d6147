// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Decides which firings of triggers start a snapshot of the run: a pure function of (state, firing, now). One snapshot
 * is under way at a time, so a trigger starts at most one within its duration. Firings meanwhile are refused, and
 * counted.
 */
#ifndef BEZEL_ECS_COURSE_SNAPSHOT_TRIGGER_H
#define BEZEL_ECS_COURSE_SNAPSHOT_TRIGGER_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct snapshot_trigger {
    uint32_t number;  /* of the latest snapshot, from 1; 0: there was none */
    int64_t until;    /* when it is over */
    uint64_t refused; /* firings while one was under way */
};

/**
 * Trigger `trigger` fired `times` times, the last time at `at`; this is known at `now` (both ns, monotonic clock).
 * Returns whether a snapshot begins, with number t->number. A trigger that `e` does not have, or that asks for no
 * snapshot, is ignored: it comes from a link.
 */
bool snapshot_trigger_take(struct snapshot_trigger *t, const struct experiment *e, int64_t trigger, uint64_t times,
                           int64_t at, int64_t now);

/** The time left of the snapshot under way, ns; 0: none is. */
int64_t snapshot_trigger_left(const struct snapshot_trigger *t, int64_t now);

#endif
