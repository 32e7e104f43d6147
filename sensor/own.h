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
    char why_not[SEGMENT_NOTICE_BYTES]; /* where own_make() failed: a sentence */
};

/**
 * Makes, locks and publishes a segment in `dir`, which is made 0700 where it is missing, and rings the doorbell. The
 * files take the folder's group as far as the folder grants it (file_share()). False where it cannot: `why_not` says
 * why. Blocks on the file system; no cancellation point. Keeps errno, as do all functions here but own_holds_fd().
 */
bool own_make(struct own_segment *own, const char *dir);

/** Wakes the external sensor of `bell`, if it sleeps: a system call then, none else. Async-signal-safe; keeps errno. */
void own_wake(struct doorbell *bell);

/**
 * Maps the doorbell of folder `dir`, for munmap(). NULL: nobody listens, or it cannot be mapped. No cancellation point,
 * as are the next two.
 */
struct doorbell *own_map_doorbell(const char *dir);

/**
 * Counts this process in doorbell `bell` as one that records and has no segment, leaves `why` there, and wakes its
 * external sensor. False: nobody reads this doorbell any more.
 */
bool own_refuse(struct doorbell *bell, const char *why);

/**
 * Maps what of this process's segment is for the word of its children, segment_word_bytes(), once more, so that they
 * may keep it; see unobserved.c. NULL: it cannot.
 */
struct segment *own_map_word(const struct own_segment *own);

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
