// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a program would have inherited from the shell that `bezel run` was started from: scheduling, that is, and how
 * soon it is killed when memory runs out. Whatever `bezel run` was given besides (nice, taskset, chrt, choom) is for
 * the monitor, and the programs under test start without it.
 */
#ifndef BEZEL_ECS_INHERITANCE_H
#define BEZEL_ECS_INHERITANCE_H

#include <sched.h>

enum inheritance_part {
    INHERITANCE_POLICY,
    INHERITANCE_NICE,
    INHERITANCE_CPUS,
    INHERITANCE_SLACK,
    INHERITANCE_OOM,
    INHERITANCE_PARTS,
};

struct inheritance {
    int policy; /* SCHED_OTHER, SCHED_BATCH or SCHED_IDLE: never a real-time one */
    int nice;
    cpu_set_t cpus;
    unsigned long slack; /* ns */
    int oom_score_adj;
};

/** Reads them of the calling process's parent; where it cannot be read (of another pid namespace), of the caller. */
struct inheritance inheritance_read(void);

/**
 * Gives them to the calling process. Returns 0, or an errno value of the part in *part that it could not be given for
 * want of a privilege: the others are.
 */
int inheritance_give(const struct inheritance *i, enum inheritance_part *part);

/** "nice", "CPUs"; static. */
const char *inheritance_word(enum inheritance_part part);

#endif
