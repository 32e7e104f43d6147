// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sequences of places that the paths of slow instances go through again and again: where time is spread over many
 * places, none of which has much, the sequence has it (the frequent sequences of IPS-2). A place is a span of the
 * processes of one name on a node, whatever the path is there. Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_SEQUENCE_H
#define BEZEL_ANALYSIS_SEQUENCE_H

#include "analysis/slow.h"

enum {
    SEQUENCE_STEPS = 8,
    SEQUENCE_MOST = 3,
    SEQUENCE_INSTANCES = 100, /* the longest are looked at */
    SEQUENCE_FOUND = 1 << 16  /* different ones are counted */
};

struct sequence {
    size_t count;                      /* of its places, at least 2, each of which is there once */
    struct term steps[SEQUENCE_STEPS]; /* thread and span; of a path in the order of time */
    uint64_t times;                    /* in all instances, at least 2, which do not overlap */
    double ns;                         /* in them, mean of the instances */
};

struct sequences {
    size_t count, instances;
    struct sequence list[SEQUENCE_MOST]; /* those that take most, the most first; no two have a place in common */
    uint64_t left_out;                   /* different ones for which there was no room were met so often */
};

/** Of the slow instances of `c`; `a`: settled, of c->windows. Returns 0 or BEZEL_ENOMEM. */
int sequence_find(const struct activity *a, const struct slow_choice *c, struct sequences *s) BEZEL_MUST_CHECK;

#endif
