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

struct spawning {
    struct launch_environment environment; /* its scheduling */
    int home;   /* the working directory from which it starts; -1: that of the caller, which then stays there */
    int output; /* where its output goes with LAUNCH_OUTPUT_SPOOL; else it is not used */
};

/**
 * Starts `l` as a child, which dies with this thread: default signals and mask, no descriptors but 0 to 2. Waits until
 * the program runs. A scheduling setting that was refused is no failure. The caller's working directory is then the
 * BEZEL_DIR of `l`, where there is one that can be entered.
 */
struct spawned spawn(const struct launch *l, const struct spawning *how);

#endif
