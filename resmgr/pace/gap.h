// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The gap between two looks of a reader that nobody gave a period: how long it leaves the rings alone after a look at
 * them. Each look at a ring takes cache lines from its writer, and costs a wake-up where the reader sleeps between two.
 * So the time grows while looks find little, and shrinks as a ring fills: it settles where a look finds less than
 * GAP_MUCH of the fullest ring. Pure. One owner.
 */
#ifndef BEZEL_RESMGR_PACE_GAP_H
#define BEZEL_RESMGR_PACE_GAP_H

#include <stdint.h>

/** How full a ring is: parts of GAP_FULL. */
enum {
    GAP_FULL = 256,
    GAP_MUCH = GAP_FULL / 16,    /* from here on the time does not grow, but is halved */
    GAP_PRESSING = GAP_FULL / 2, /* from here on it is the shortest at once */
};

/** How full a ring is, 0 .. GAP_FULL: `waiting` of its `bytes`, at least RING_SLOTS_MIN slots, are to be read. */
static inline uint32_t gap_fill(uint32_t waiting, uint32_t bytes)
{
    return waiting < bytes ? waiting / (bytes / GAP_FULL) : GAP_FULL;
}

/**
 * ns until the next look, from `shortest` (which may be 0) to `longest`. `fill`: how full the last look found the
 * fullest ring; `gap`: ns between that look and the one before.
 */
int64_t gap_next(int64_t gap, uint32_t fill, int64_t shortest, int64_t longest);

/**
 * The longest time between two looks of a reader that spins, ns: a small part of `latency`, the latency that is asked
 * for; 0: none is.
 */
int64_t gap_spin_longest(int64_t latency);

#endif
