// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The segment that a process makes for itself: file, lock and mapping; used by libbezel (process.c) and bezeld
 * (journal.c). Not thread-safe: process.c holds its lock.
 */
#ifndef BEZEL_SENSOR_SHM_SEGMENT_CREATE_H
#define BEZEL_SENSOR_SHM_SEGMENT_CREATE_H

#include "base/err.h"
#include "sensor/shm/notice.h"
#include "sensor/shm/segment.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/** What the environment says of other segments. */
struct segment_form {
    uint32_t ring_slots, rings, when_full, clock; /* as in struct segment */
};

struct segment_owned {
    uint64_t user_frequency;         /* input of segment_create(): of the program's own clock, Hz; 0: there is none */
    const struct segment_form *form; /* likewise; NULL: as the environment says */
    struct segment *segment;         /* NULL: none */
    struct doorbell *doorbell;       /* of its folder, mapped; NULL: there was none when the segment was made */
    int fd;                          /* holds SEGMENT_LOCK_PROCESS; -1: none */
    dev_t dev;                       /* of fd, to recognize it: the program may close it and reuse its number */
    ino_t ino;
    char path[PATH_MAX];
    /* Copies from the segment's head, which other processes can overwrite. */
    uint64_t bytes, ring_stride;
    uint32_t ring_slots, ring_max, clock, when_full;
    char why_not[SEGMENT_NOTICE_BYTES]; /* after segment_create() failed: the reason, a sentence */
    int why_errno;                      /* likewise: errno of the failed call */
};

/**
 * Makes, locks and publishes a segment in `dir`, which is made with mode 0700 if it is missing, and adds to the
 * doorbell's arrivals. The files get the folder's group as far as the folder grants it (file_share()). False on
 * failure: `why_not` has the reason. Blocks on the file system; no cancellation point. Keeps errno, as do all functions
 * here but segment_holds_fd().
 */
bool segment_create(struct segment_owned *own, const char *dir);

/** Wakes the external sensor of `doorbell` if it sleeps; only then makes a system call. Async-signal-safe; keeps errno.
 */
void segment_wake(struct doorbell *doorbell);

/**
 * Maps the doorbell of folder `dir`; the caller calls munmap(). NULL: there is none, or it cannot be mapped. No
 * cancellation point, nor are those below until segment_refuse().
 */
struct doorbell *segment_map_doorbell(const char *dir);

/** A launcher process; its start time distinguishes it from others of its pid. pid 0: none. */
struct segment_launcher {
    pid_t pid;
    uid_t user;
    uint64_t start_time, pid_namespace;
};

/**
 * The nearest ancestor that is a launcher, in our pid namespace, and as far as /proc shows it. None if it is another
 * user's and can neither read marks of ours nor be signalled.
 */
struct segment_launcher segment_find_launcher(void);

/**
 * Maps the doorbell of the launcher's node, whatever the environment, the root directory and the mounts have become
 * since. NULL: it is another user's, there is none, or this program has more rights than its caller. As the one above.
 */
struct doorbell *segment_map_launchers_doorbell(const struct segment_launcher *launcher);

/**
 * Leaves a mark (struct segment_mark) of this process for the launcher, if its user may read that, and sends it SIGURG,
 * in case it does not see the mark. False: neither can be done. As segment_refuse().
 */
bool segment_leave_mark(const struct segment_launcher *launcher);

/** The name of the file of marks for the launcher. */
void segment_name_marks(const struct segment_launcher *launcher, char name[SEGMENT_MARKS_NAME_BYTES]);

/**
 * Counts this process in `doorbell` as one that records and has no segment, writes `why` there, and wakes its external
 * sensor. False: this doorbell is not read any more.
 */
bool segment_refuse(struct doorbell *doorbell, const char *why);

/**
 * Maps the first segment_word_bytes() of this process's segment once more, where its children write, so that they can
 * keep the mapping; see unobserved.c. NULL on failure.
 */
struct segment *segment_map_word(const struct segment_owned *own);

/** Unmaps and closes the segment and its doorbell, without removing the file. */
void segment_forget(struct segment_owned *own);

/** Whether `fd` still is the segment's file. */
bool segment_holds_fd(const struct segment_owned *own);

/**
 * Reserves memory for the `bytes` bytes at `offset` of the segment, so that accesses cannot fail later; keeps their
 * content. Works without the descriptor too, if the program closed it. Returns 0, BEZEL_ENOSPC, BEZEL_ENOMEM,
 * BEZEL_ESYS. Thread-safe, async-signal-safe, no cancellation point.
 */
int segment_reserve(const struct segment_owned *own, uint64_t offset, uint64_t bytes) BEZEL_MUST_CHECK;

/**
 * Keeps reserved bytes in memory and mapped (mlock). Returns 0; BEZEL_EPERM or BEZEL_ENOMEM if RLIMIT_MEMLOCK does not
 * allow it. Safe like segment_reserve().
 */
int segment_lock(const struct segment_owned *own, uint64_t offset, uint64_t bytes) BEZEL_MUST_CHECK;

#endif
