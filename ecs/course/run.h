// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `bezel run`: one experiment from the run directory to the report. */
#ifndef BEZEL_ECS_COURSE_RUN_H
#define BEZEL_ECS_COURSE_RUN_H

#include "config/experiment.h"

struct run_options {
    const char *runs; /* folder of runs, as of rundir_runs() */
    bool interactive; /* the one process keeps the terminal */
    bool quiet;       /* no progress, errors only */
    bool json;        /* the report as JSON */
};

/**
 * Runs `e`, whose file holds the `n` bytes at `text`, and prints its report. Returns the exit code. Call with one
 * thread and no ZeroMQ context; blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, and ignores SIGPIPE, for good.
 */
int run_experiment(const struct experiment *e, const char *text, size_t n, const struct run_options *options);

#endif
