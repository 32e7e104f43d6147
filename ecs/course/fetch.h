// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Copies a run home whose collector was on a node: all its files, each by its parts, several at a time; checks each
 * against its checksum there; joins the two databases; and only then has the copy there removed. What is home already
 * is not copied again, so it can be interrupted at any moment. Nothing that the other machine sends is trusted: only
 * names of mdr/run_file.h, no links, bounded numbers and sizes. One thread.
 */
#ifndef BEZEL_ECS_COURSE_FETCH_H
#define BEZEL_ECS_COURSE_FETCH_H

#include "ecs/course/remote_collector.h"

struct fetch_options {
    const char *run;                                                /* run directory here */
    struct remote_collector *place;                                 /* whose collector has ended */
    bool (*stop)(void *context);                                    /* whether to give up; called often; may be NULL */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* bytes; may be NULL */
    void *context;
};

enum { FETCH_WHY_MAX = 512 };

/** Returns 0, and the run is home; or an error, with the reason in `why`. Blocks. */
int fetch_run(const struct fetch_options *o, char why[FETCH_WHY_MAX]) BEZEL_MUST_CHECK;

/** What to do with a file of which `here` bytes are here and `there` bytes there. Pure. */
enum fetch_step { FETCH_FROM_START, FETCH_REST, FETCH_CHECK };
enum fetch_step fetch_next_step(uint64_t here, uint64_t there);

#endif
