// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The scheduling and OOM settings that a program would have inherited from the shell in which `bezel run` was started.
 * Settings of `bezel run` itself (by nice, taskset, chrt, choom) are for the monitor; the programs under test start
 * without them. Programs do inherit those of `bezel-launcher`: whoever starts that service chooses them.
 */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCH_ENVIRONMENT_H
#define BEZEL_BEZELD_LAUNCH_LAUNCH_ENVIRONMENT_H

#include <sched.h>

enum launch_environment_part {
    LAUNCH_ENVIRONMENT_POLICY,
    LAUNCH_ENVIRONMENT_NICE,
    LAUNCH_ENVIRONMENT_CPUS,
    LAUNCH_ENVIRONMENT_SLACK,
    LAUNCH_ENVIRONMENT_OOM,
    LAUNCH_ENVIRONMENT_PARTS,
};

struct launch_environment {
    int policy; /* SCHED_OTHER, SCHED_BATCH or SCHED_IDLE: never a real-time one */
    int nice;
    cpu_set_t cpus;
    unsigned long slack; /* ns */
    int oom_score_adj;
};

/** Reads them from process `of`; 0: from the caller. */
struct launch_environment launch_environment_read(pid_t of);

/**
 * Applies them to the calling process. Returns 0, or, if a part was refused, its errno value, with *part the last such
 * part; the other parts are applied.
 */
int launch_environment_give(const struct launch_environment *i, enum launch_environment_part *part);

/** The name of a part: "nice", "CPUs"; static. */
const char *launch_environment_word(enum launch_environment_part part);

#endif
