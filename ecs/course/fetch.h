// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Brings home a run whose collector was on a node, once it has ended: a mirror of it (collector/remote/mirror.h), with
 * the run directory here as its home, that is waited for and then verified. Where the collector did not end in good
 * order, another one completes the run first. The copy there is removed only when all of it is here. It can be
 * interrupted at any moment; the next one goes on from what is here. One thread.
 */
#ifndef BEZEL_ECS_COURSE_FETCH_H
#define BEZEL_ECS_COURSE_FETCH_H

#include "collector/remote/mirror.h"
#include "ecs/course/remote_collector.h"

struct fetch_options {
    const char *run;                                                /* run directory here */
    struct remote_collector *place;                                 /* whose collector has ended */
    bool (*stop)(void *context);                                    /* whether to give up; called often; may be NULL */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* bytes; may be NULL */
    void *context;
};

enum { FETCH_WHY_MAX = MIRROR_WHY_MAX };

struct fetch_result {
    bool home;               /* it is here */
    char why[FETCH_WHY_MAX]; /* of an error: the reason */
};

/**
 * Returns 0, and the run is home; or an error: the run stays away, or it is home and lacks something, which is damaged
 * there: then the copy there stays. Blocks.
 */
int fetch_run(const struct fetch_options *o, struct fetch_result *result) BEZEL_MUST_CHECK;

#endif
