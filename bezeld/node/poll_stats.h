// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The effective polling period: the measured time between polls. Pure: the caller passes the time. All zeros: nothing
 * is measured yet.
 */
#ifndef BEZEL_BEZELD_NODE_POLL_STATS_H
#define BEZEL_BEZELD_NODE_POLL_STATS_H

#include <stdint.h>

struct poll_stats {
    int64_t last; /* time of the last poll; 0: none since the start, or since poll_stats_restart() */
    int64_t gaps, sum, longest;
    int64_t mean, worst; /* ns, of the last interval; 0: not measured */
};

/** Notes a poll at `now`, which is not before the last one. */
void poll_stats_poll(struct poll_stats *p, int64_t now);

/** Measurement starts again with the next poll: polling was off, or its period changed. */
void poll_stats_restart(struct poll_stats *p);

/**
 * Ends an interval at `now`: `mean` and `worst` become those of the gaps between polls that ended in it. If none ended,
 * they grow with the gap that is still open.
 */
void poll_stats_take(struct poll_stats *p, int64_t now);

#endif
