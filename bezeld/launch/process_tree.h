// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The tree of processes below the caller, read from /proc, also where /proc has the numbers of an outer pid namespace.
 */
#ifndef BEZEL_BEZELD_LAUNCH_PROCESS_TREE_H
#define BEZEL_BEZELD_LAUNCH_PROCESS_TREE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Sends SIGTERM to every descendant of the caller that is not a zombie, and SIGCONT to those that are stopped. Returns
 * how many got SIGTERM; 0 also if /proc cannot be read. Processes forked meanwhile may be missed.
 */
size_t process_tree_terminate(void);

/**
 * Kills every descendant of the caller, except its `spare_count` children of `spare` and their descendants. Stops all
 * of them first, so that none forks while the others are killed. Returns how many were alive. A process that forks and
 * ends all the time may be overlooked, even if the result is 0; but it leaves zombies: *dead is the number of zombies.
 * If two calls with a pause between them find no process alive and the same *dead, none is left.
 */
size_t process_tree_kill(const pid_t *spare, size_t spare_count, size_t *dead);

/** The running process whose executable matches glob `pattern` (as in an experiment's `attach`), or 0. */
pid_t process_tree_find_executable(const char *pattern);

#endif
