// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `bezel attach`: a run whose `bezel run` is gone is taken over, to its report. */
#ifndef BEZEL_ECS_COURSE_RUN_ATTACH_H
#define BEZEL_ECS_COURSE_RUN_ATTACH_H

#include "ecs/course/run.h"

/**
 * Takes over the run in directory `path` (`options->runs` is not looked at), and goes on with it as `bezel run` would.
 * Returns the exit code: that of the run, or EXIT_USAGE or EXIT_FAILED, with the reason on stderr, where it cannot be
 * taken over. Call as run_experiment(); changes to the folder in which the run was started, where that is there.
 */
int run_attach(const char *path, const struct run_options *options);

#endif
