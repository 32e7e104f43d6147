// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The state of a process, from /proc/<pid>/stat (proc(5)). Thread-safe. */
#ifndef BEZEL_BASE_PROCSTAT_H
#define BEZEL_BASE_PROCSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    char name[16]; /* of its first thread */
    pid_t parent, group, session;
    bool stopped;        /* by a signal; not by a tracer */
    bool ended;          /* a zombie, or ending: none of its threads runs any more */
    uint64_t start_time; /* in clock ticks since boot: distinguishes processes that had the same pid */
};

/** Reads the state of process `pid` of our pid namespace (0: the caller); false if there is none. */
bool procstat_read(pid_t pid, struct procstat *p);

/**
 * For how long the threads of process `pid` were ready, while others had the CPU, ns since they began, of those that
 * are there now. 0: it is not known, as there is no such process, or the kernel does not keep it. Allocates.
 */
int64_t procstat_queued(pid_t pid);

/**
 * The path of a process's program; `link`: its /proc/PID/exe. Of a file that was removed or replaced since, as by an
 * upgrade, the path that it had. Empty if it is unknown, cut if it is longer than `size` - 1. Async-signal-safe.
 */
void procstat_program(const char *link, char *path, size_t size);

/**
 * The inode of our pid namespace, in which pids are unique. 0 where it is unknown, or where /proc is mounted for
 * another namespace: a pid in there is then another process's.
 */
uint64_t procstat_namespace(void);

/** Whether that is the machine's first pid namespace. The kernel's tracepoints have its pids. */
bool procstat_is_first_namespace(void);

#endif
