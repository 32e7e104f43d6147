// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Makes the report's data in a process of its own, `bezel-view --report`, so that pages get pictures meanwhile: a
 * report costs what the run is long. One at a time; nothing blocks.
 */
#ifndef BEZEL_VIEWS_PAGE_REPORT_MAKER_H
#define BEZEL_VIEWS_PAGE_REPORT_MAKER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** All zeros, but for the program and the run, which are borrowed. */
struct report_maker {
    const char *program, *run;
    pid_t pid;      /* 0: none is made */
    int output;     /* a file in memory */
    bool made;      /* one was made: what later ones complain of was said */
    int64_t cpu_ns; /* of all of them */
};

/** Begins a report; `live`: the run goes on. Returns 0 or an error with errno. */
int report_maker_start(struct report_maker *m, bool live) BEZEL_MUST_CHECK;

/** Whether the report that was begun has ended: then *text, of *n bytes, is for free(), or NULL where it failed. */
bool report_maker_step(struct report_maker *m, char **text, size_t *n);

/** Ends what is being made. */
void report_maker_stop(struct report_maker *m);

#endif
