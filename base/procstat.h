// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the kernel says of a process in /proc/<pid>/stat (proc(5)). Thread-safe; allocates nothing. */
#ifndef BEZEL_BASE_PROCSTAT_H
#define BEZEL_BASE_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    pid_t parent;
    bool ended;          /* a zombie, or on its way out: nothing of it runs any more */
    uint64_t start_time; /* in clock ticks since boot: tells a process from a later one of the same pid */
};

/** Reads what stands of process `pid` (0: the caller) in our pid namespace; false where there is none. */
bool procstat_read(pid_t pid, struct procstat *p);

#endif
