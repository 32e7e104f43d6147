// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The run directory: where it stands, how it is made, what lies in it. */
#ifndef BEZEL_ECS_RUNDIR_H
#define BEZEL_ECS_RUNDIR_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { RUNDIR_PRIVATE_MAX = 80 }; /* so that the path of a socket within it fits into sun_path */

struct rundir {
    char path[PATH_MAX];              /* absolute */
    char private[RUNDIR_PRIVATE_MAX]; /* folder of mode 0700 for sockets and the folders of nodes; gone with the run */
    char uuid[37];                    /* the run's id */
    int lock;    /* descriptor: as long as some process of the run holds it, the private folder is in use; -1: none */
    int running; /* descriptor: as long as it is open, rundir_is_running(); -1: none */
};

/** The folder of runs: `option` where not NULL, else $BEZEL_RUNS, else "runs". Not copied. */
const char *rundir_runs(const char *option);

/**
 * The run that a command's argument names: `argument` as it is; where NULL, the newest, `<runs>/latest`, with `runs` as
 * rundir_runs() gave it. Returns 0, or BEZEL_ENOENT where no such directory is.
 */
int rundir_find(const char *argument, const char *runs, char *path, size_t size) BEZEL_MUST_CHECK;

/**
 * Gives the run its id, and nothing else yet. Returns 0 with *run for rundir_close(), or an error after saying why on
 * stderr.
 */
int rundir_init(struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Makes `<runs>/<YYYYmmdd-HHMMSS>-<experiment>` (with "-2", "-3" ... where it is taken), its folders log, output and
 * trace, its README, versions.txt and experiment.yaml with the `n` bytes at `text`; then lets `<runs>/latest` point to
 * it, in one step. Returns 0, or an error after saying why on stderr.
 */
int rundir_make(const char *runs, const char *experiment, const char *text, size_t n,
                struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Makes the private folder within the default folder of segments (file_bezel_dir()), and removes those that runs before
 * left behind when they were killed. Returns 0, or an error after saying why on stderr.
 */
int rundir_make_private(struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Lets other terminals find the private folder while the run lives: `<run>/control` points to it. Returns 0, or an
 * error after saying why on stderr.
 */
int rundir_publish(const struct rundir *run) BEZEL_MUST_CHECK;

/**
 * The private folder of run directory `run`, which somebody else has made: 0 with its path, BEZEL_EUNREACH where the
 * run does not go on, BEZEL_EPERM where the folder is not this user's alone, BEZEL_EINVAL where its path is too long.
 */
int rundir_control(const char *run, char private[RUNDIR_PRIVATE_MAX]) BEZEL_MUST_CHECK;

/**
 * Lets rundir_is_running() say so of `run` for as long as this process lives and rundir_close() is not called: a lock
 * on its experiment.yaml, which no child may inherit that outlives this process. Where the file system has no locks, a
 * warning tells what follows.
 */
void rundir_mark_running(struct rundir *run);

/** Whether somebody runs run directory `run` now. Also for other users, who may read there. */
bool rundir_is_running(const char *run);

/** Removes the private folder with all that is in it. Idempotent. */
void rundir_close(struct rundir *run);

/** Versions and host as `key: value` lines, one for each call from i = 0 on; false at the end. */
bool rundir_version(unsigned i, const char **key, char *value, size_t size);

#endif
