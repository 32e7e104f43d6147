// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Accumulating: records wait in their rings until there are enough of them, then polls take them all: Paradyn's
 * batch-and-forward, with a time-out. Pure: the caller passes the time, ns of CLOCK_MONOTONIC, and what waits.
 *
 * A record is known to wait only since a poll saw it, so it counts from the poll before, which did not. Therefore no
 * record waits longer than `longest` plus the time between two polls. One owner.
 */
#ifndef BEZEL_RESMGR_PACE_ACCUMULATE_H
#define BEZEL_RESMGR_PACE_ACCUMULATE_H

#include <stdbool.h>
#include <stdint.h>

struct accumulate {
    uint32_t records; /* to wait for; up to 1: a poll takes whatever waits */
    int64_t longest;  /* ns that a record may wait for others */
    int64_t since;    /* no record that waits is older; at first the beginning of time, so the first poll takes */
    bool taking;      /* there were enough: polls take records until none of these is left */
};

/** Makes the next polls take all that waits, however little it is. */
void accumulate_end(struct accumulate *a);

/** Whether the poll at `now` has to count what waits, for accumulate_takes(). If not, it takes records. */
bool accumulate_asks(const struct accumulate *a);

/**
 * Whether the poll at `now` takes records, if `records` wait. `pressing`: some of them must not wait. `records` need
 * not be exact where it is too small for both to matter, or large enough for both.
 */
bool accumulate_takes(struct accumulate *a, int64_t now, uint64_t records, bool pressing);

/** The poll at `now` took records; `all` that it found when it began, or more. */
void accumulate_took(struct accumulate *a, int64_t now, bool all);

#endif
