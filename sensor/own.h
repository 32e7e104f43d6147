// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The segment that a process makes of its own: file, lock and mapping. libbezel's (process.c) and bezeld's (journal.c).
 * Not thread-safe: process.c holds its lock.
 */
#ifndef BEZEL_SENSOR_OWN_H
#define BEZEL_SENSOR_OWN_H

#include "base/err.h"
#include "sensor/notice.h"
#include "sensor/segment.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct own_segment {
    uint64_t user_frequency; /* the caller's, for own_make(): of a clock of the program, Hz; 0: there is none */
    struct segment *segment; /* NULL: none */
    struct doorbell *bell;   /* of its folder, mapped; NULL: nobody listened when the segment was made */
    int fd;                  /* holds SEGMENT_LOCK_PROCESS; -1: none */
    dev_t dev;               /* of fd, to know it again: the host may close it and use the number for something else */
    ino_t ino;
    char path[PATH_MAX];
    /* As the segment's head says, which others may scribble on. */
    uint64_t bytes, ring_stride;
    uint32_t ring_slots, clock, when_full;
};

/**
 * Makes, locks and publishes a segment in `dir`, which is made 0700 where it is missing, and rings the doorbell. The
 * files take the folder's group as far as the folder grants it (file_share()). False where it cannot: the reason stands
 * in the doorbell then, if there is one. Blocks on the file system; no cancellation point. Keeps errno, as do
 * all functions here but own_holds_fd().
 */
bool own_make(struct own_segment *own, const char *dir);

/** Wakes the external sensor of `bell`, if it sleeps: a system call then, none else. Async-signal-safe; keeps errno. */
void own_wake(struct doorbell *bell);

/** Leaves word in the doorbell of `dir` that this process has no segment, and why. */
void own_refuse(const char *dir, const char *why);

/** Lets go of it, without removing the file. */
void own_forget(struct own_segment *own);

/** Whether the descriptor still is ours. */
bool own_holds_fd(const struct own_segment *own);

/**
 * Gives the `bytes` bytes at `offset` of the segment their memory, so that touching them cannot fail any more; keeps
 * what they hold. Does without the descriptor where the program closed it. Returns 0, BEZEL_ENOSPC, BEZEL_ENOMEM,
 * BEZEL_ESYS. Thread-safe, async-signal-safe, no cancellation point.
 */
int own_reserve(const struct own_segment *own, uint64_t offset, uint64_t bytes) BEZEL_MUST_CHECK;

/**
 * Keeps reserved bytes in memory, mapped (mlock). Returns 0, BEZEL_EPERM or BEZEL_ENOMEM where RLIMIT_MEMLOCK does not
 * allow it. Safe as own_reserve().
 */
int own_lock(const struct own_segment *own, uint64_t offset, uint64_t bytes) BEZEL_MUST_CHECK;

#endif
