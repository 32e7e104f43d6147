// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How much of the work on paths is due to an uneven spread: in each span the time for which the paths of the slow
 * instances ran in it, beyond the mean of all threads that were in it meanwhile (the critical-path imbalance of
 * Scalasca). Where that is much, balancing the work helps; where it is nothing, making it faster does. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_IMBALANCE_H
#define BEZEL_ANALYSIS_IMBALANCE_H

#include "analysis/slow.h"

enum { IMBALANCE_MOST = 8 };

struct imbalance_span {
    uint32_t name;    /* an index in activity.names */
    uint64_t threads; /* that were in a span of that name in some slow instance */
    double path;      /* ns: mean of the slow instances, as the next ones */
    double mean;      /* of the threads, the CPU time in the span, at most: with the time of which it is not known */
    double least;     /* path - mean, if that is more than 0 */
};

struct imbalance {
    size_t count;
    struct imbalance_span spans[IMBALANCE_MOST]; /* those that take most of the paths, the most first */
};

/** Of each span in which paths ran for a hundredth of their time. `t`: what slow_compare() made of the same. */
void imbalance_find(const struct activity *a, const struct slow_choice *c, const struct slow_terms *t,
                    struct imbalance *is);

#endif
