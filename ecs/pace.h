// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The effective polling period: the time between polls that really happened. Pure: the caller brings the time. All
 * zeros: nothing measured yet.
 */
#ifndef BEZEL_ECS_PACE_H
#define BEZEL_ECS_PACE_H

#include <stdint.h>

struct pace {
    int64_t last; /* time of the last poll; 0: none, or what follows is another pace */
    int64_t gaps, sum, longest;
    int64_t mean, worst; /* ns, of the last interval; 0: not measured */
};

/** A poll at `now`, which is not before the poll before. */
void pace_poll(struct pace *p, int64_t now);

/** The next poll begins anew, and nothing is measured: polling was off, or its period changed. */
void pace_restart(struct pace *p);

/**
 * An interval ends at `now`: `mean` and `worst` become those of the gaps between polls that ended in it. Where none
 * ended, they grow with the gap that is open.
 */
void pace_take(struct pace *p, int64_t now);

#endif
