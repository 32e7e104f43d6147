// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Starts one program, and learns whether that worked. */
#ifndef BEZEL_BEZELD_LAUNCH_SPAWN_H
#define BEZEL_BEZELD_LAUNCH_SPAWN_H

#include "bezeld/launch/launch.h"
#include "bezeld/launch/launch_environment.h"

#include <sys/types.h>

struct spawned {
    pid_t pid; /* 0: it was not started */
    int error; /* 0, or why `stage` failed */
    char stage[MESSAGE_STAGE_MAX + 1];
};

/**
 * Starts `l` as a child, which dies with this thread: default signals and mask, the scheduling `environment`, no
 * descriptors but 0 to 2. `output` is where its output goes with LAUNCH_OUTPUT_SPOOL; else it is not used. Waits until
 * the program runs. A scheduling setting that was refused is no failure.
 */
struct spawned spawn(const struct launch *l, const struct launch_environment *environment, int output);

#endif
