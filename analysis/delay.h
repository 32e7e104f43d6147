// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * For what threads waited for messages while slow instances lasted, over all threads: each wait is charged to what the
 * sender did meanwhile, or to what that one waited for in its turn (the delay costs of Scalasca, direct and
 * propagated). What makes many wait has more than it has on the path, which goes through one of them. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_DELAY_H
#define BEZEL_ANALYSIS_DELAY_H

#include "analysis/slow.h"

enum { DELAY_INSTANCES = 100 }; /* the longest are looked at */

struct delay {
    struct term of; /* what a sender did */
    double ns;      /* for which others waited meanwhile: mean of the instances, over all that waited */
    uint64_t waiters;
};

/** Begins as zeros. */
struct delays {
    size_t count;
    struct delay *list; /* the most first */
};

/** Of the slow instances of `c`; `a`: settled, of c->windows. Returns 0 or BEZEL_ENOMEM; delay_fini() in both cases. */
int delay_find(const struct activity *a, const struct slow_choice *c, struct delays *d) BEZEL_MUST_CHECK;
void delay_fini(struct delays *d);

#endif
