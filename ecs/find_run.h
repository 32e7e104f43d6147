// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The RUN argument of the commands that look at runs. */
#ifndef BEZEL_ECS_FIND_RUN_H
#define BEZEL_ECS_FIND_RUN_H

#include "base/err.h"

#include <stddef.h>

/**
 * Finds the run that `argument` names: a run directory, or the name of one below the folder of runs; NULL is the
 * newest. `runs` is the folder that the command line gave, NULL where it gave none. Returns 0 with `path`, or
 * BEZEL_ENOENT after saying so on stderr.
 */
int find_run(const char *argument, const char *runs, char *path, size_t size) BEZEL_MUST_CHECK;

#endif
