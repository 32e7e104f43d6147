// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The run directory: where it stands, how it is made, what lies in it. */
#ifndef BEZEL_ECS_RUNDIR_H
#define BEZEL_ECS_RUNDIR_H

#include "base/err.h"

#include <limits.h>
#include <stddef.h>

struct rundir {
    char path[PATH_MAX];    /* absolute */
    char private[PATH_MAX]; /* folder of mode 0700, for sockets and folders of nodes; short, and gone with the run */
    char uuid[37];          /* the run's id */
};

/** The folder of runs: `option` where not NULL, else $BEZEL_RUNS, else "runs". Not copied. */
const char *rundir_runs(const char *option);

/**
 * The run that a command's argument names: `argument` as it is; where NULL, the newest, `<runs>/latest`, with `runs` as
 * rundir_runs() gave it. Returns 0, or BEZEL_ENOENT where no such directory is.
 */
int rundir_find(const char *argument, const char *runs, char *path, size_t size) BEZEL_MUST_CHECK;

/**
 * Makes `<runs>/<YYYYmmdd-HHMMSS>-<experiment>` (with "-2", "-3" ... where it is taken), its folders log, output and trace,
 * its README, versions.txt and experiment.yaml with the `n` bytes at `text`; then lets `<runs>/latest` point to it, in one
 * step. Returns 0, or an error with errno set, with nothing left behind.
 */
int rundir_make(const char *runs, const char *experiment, const char *text, size_t n,
                struct rundir *run) BEZEL_MUST_CHECK;

/** Removes the private folder with all that is in it. */
void rundir_close(struct rundir *run);

#endif
