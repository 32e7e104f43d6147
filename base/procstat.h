// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the kernel says of a process in /proc/<pid>/stat (proc(5)). Thread-safe; allocates nothing. */
#ifndef BEZEL_BASE_PROCSTAT_H
#define BEZEL_BASE_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    pid_t parent, group, session;
    bool stopped;        /* by a signal; not by who traces it */
    bool ended;          /* a zombie, or on its way out: nothing of it runs any more */
    uint64_t start_time; /* in clock ticks since boot: tells a process from a later one of the same pid */
};

/** Reads what stands of process `pid` (0: the caller); false where there is none. Of our pid namespace: see below. */
bool procstat_read(pid_t pid, struct procstat *p);

/**
 * The inode of our pid namespace: what pids are numbers of. 0 where it is not known, or /proc is mounted for another
 * one, so that what stands there of a pid is not of the process that has it here.
 */
uint64_t procstat_namespace(void);

#endif
