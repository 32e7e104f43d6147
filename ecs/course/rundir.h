// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The run directory: its place, its files, its private folder, and the lock that marks it as running. */
#ifndef BEZEL_ECS_COURSE_RUNDIR_H
#define BEZEL_ECS_COURSE_RUNDIR_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNDIR_KEYS ".keys" /* in the private folder: a link to the folder of keys, where the experiment has one */

enum { RUNDIR_PRIVATE_MAX = 80 }; /* so that the path of a socket within it fits into sun_path */

struct rundir {
    char path[PATH_MAX];              /* absolute */
    char private[RUNDIR_PRIVATE_MAX]; /* folder of mode 0700 for sockets and folders of nodes; removed with the run */
    char uuid[37];                    /* the run's id */
    int lock;    /* descriptor: as long as some process of the run holds it, the private folder is in use; -1: none */
    int running; /* descriptor: as long as it is open, rundir_is_running(); -1: none */
};

/** The folder of runs: `option` where not NULL, else $BEZEL_RUNS, else "runs". Not copied. */
const char *rundir_runs(const char *option);

/**
 * Finds the run that a command's argument names: `argument` itself or, if it is NULL, the newest, `<runs>/latest`, with
 * `runs` as of rundir_runs(). Where `latest` leads to what is gone, it is the newest run that is there. Returns 0 with
 * its path; BEZEL_ENOENT if it is no directory; or BEZEL_EINVAL, with its path, where it is a directory without a part
 * of a run: experiment.yaml, run.db or trace.
 */
int rundir_find(const char *argument, const char *runs, char *path, size_t size) BEZEL_MUST_CHECK;

/**
 * Gives the run its id, and nothing else yet. Returns 0 with *run for rundir_close(), or an error, logged to stderr.
 */
int rundir_init(struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Makes `<runs>/<YYYYmmdd-HHMMSS>-<experiment>` (with "-2", "-3" ... where it is taken), its folders log, output and
 * trace, its README, versions.txt and experiment.yaml with the `n` bytes at `text`. Returns 0, or an error, logged to
 * stderr.
 */
int rundir_make(const char *runs, const char *experiment, const char *text, size_t n,
                struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Points `<runs>/latest` to the run, atomically; once it is marked as running and has its database, since who followed
 * the link before would find a run that was killed. A folder of that name stays, after a warning. Returns 0, or an
 * error, logged to stderr.
 */
int rundir_point_latest(const struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Makes the private folder within the default folder of segments (file_bezel_dir()), and removes those of killed runs.
 * Returns 0, or an error, logged to stderr.
 */
int rundir_make_private(struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Takes over run directory `path` of run `uuid`, whose `bezel run` is gone: marks it as running, as
 * rundir_mark_running() does. Returns 0; BEZEL_EBUSY where it is running; or another error, with errno.
 */
int rundir_take_over(const char *path, const char *uuid, struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Makes the private folder of a run that was taken over, or takes the one that is there, once no process of the run
 * uses it any more; waits for up to `wait` ns. Returns 0, or an error, logged to stderr.
 */
int rundir_take_private(struct rundir *run, int64_t wait) BEZEL_MUST_CHECK;

/**
 * Links `<run>/control` to the private folder, so that other terminals find it while the run goes on. Returns 0, or an
 * error, logged to stderr.
 */
int rundir_publish(const struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Finds the private folder of run directory `run`, which another process made. Returns 0 with its path and
 * the run's id; BEZEL_EUNREACH if the run is not running, BEZEL_EBUSY if `run` is a copy of one that is, BEZEL_EPERM if
 * the folder is not this user's alone, BEZEL_EINVAL where its path is too long.
 */
int rundir_control(const char *run, char private[RUNDIR_PRIVATE_MAX], uint8_t uuid[16]) BEZEL_MUST_CHECK;

/**
 * Marks `run` as running until rundir_close() or the end of this process, with a lock on its experiment.yaml. A child
 * that may outlive this process must not inherit its descriptor. Logs a warning where the file system has no locks.
 */
void rundir_mark_running(struct rundir *run);

/** Whether run directory `run` is running now. Works for every user who may read it. */
bool rundir_is_running(const char *run);

/**
 * Takes the new path of a run directory that somebody moved since it was marked as running. Returns 0: it is where it
 * was; 1: it was moved; or BEZEL_ENOENT: it is not there, and was removed, or it is unknown where it is now.
 */
int rundir_follow(struct rundir *run) BEZEL_MUST_CHECK;

/**
 * Notes in `run` that its trace and database lie elsewhere, at `place`, a sentence without its dot; or with NULL that
 * they are home. Returns 0, or an error with errno.
 */
int rundir_note_away(const char *run, const char *place) BEZEL_MUST_CHECK;

/** Whether they lie elsewhere; then `place`, of `size` bytes, says where. */
bool rundir_is_away(const char *run, char *place, size_t size);

/** Removes the private folder with all that is in it. Idempotent. */
void rundir_close(struct rundir *run);

/** From now on nothing is changed in the run directory, which another `bezel run` has taken over. */
void rundir_leave(struct rundir *run);

/** Version or host property `i`, from 0; false after the last. *key is static. */
bool rundir_version(unsigned i, const char **key, char *value, size_t size);

#endif
