// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A clock's reading beside CLOCK_MONOTONIC's: the input of a timebase. */
#ifndef BEZEL_BASE_CLOCK_PAIR_H
#define BEZEL_BASE_CLOCK_PAIR_H

#include "base/clock.h"

#include <stdint.h>

/** The clock was at `ticks` at a moment within `uncertainty` ns of `ns` (CLOCK_MONOTONIC). */
struct clock_pair {
    uint64_t ticks;
    int64_t ns;
    int64_t uncertainty;
};

/**
 * Reads `clock` between two readings of CLOCK_MONOTONIC, `tries` times, and returns the narrowest: its half width is
 * the uncertainty. As thread- and signal-safe as `clock`.
 */
static inline struct clock_pair clock_pair_read(uint64_t (*clock)(void), int tries)
{
    struct clock_pair best = {.uncertainty = INT64_MAX};
    for (int i = 0; i < tries; i++) {
        int64_t before = clock_now();
        uint64_t ticks = clock();
        int64_t after = clock_now(), half = (after - before) / 2;
        if (half < best.uncertainty)
            best = (struct clock_pair){ticks, before + half, half + 1};
    }
    return best;
}

#endif
