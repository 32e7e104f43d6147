// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Process trees, read from /proc. */
#ifndef BEZEL_ECS_TREE_H
#define BEZEL_ECS_TREE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Sends SIGTERM to every descendant of `root` that is not a zombie, not to `root` itself, and SIGCONT to those that are
 * stopped. Returns how many there were: 0 also where /proc cannot be read. What is forked meanwhile may be missed.
 */
size_t tree_terminate(pid_t root);

/**
 * Kills every descendant of `root`, but for the `spare_count` processes of `spare` and what is below them: stops all of
 * them first, so that none forks on while the others are killed. Returns how many were alive. One that forks and ends
 * all the time may have been overlooked even where that is none, but leaves its dead: *dead is how many nobody has
 * waited for, and two calls with a pause between them that find nobody alive, and the same number of dead, leave
 * nobody.
 */
size_t tree_kill(pid_t root, const pid_t *spare, size_t spare_count, size_t *dead);

/** The running process whose executable matches glob `pattern` (as in an experiment's `attach`), or 0. */
pid_t tree_find_executable(const char *pattern);

#endif
