// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The launcher's side of struct segment_mark: processes that recorded, were not observed and reach no doorbell. */
#ifndef BEZEL_SENSOR_SHM_MARKS_H
#define BEZEL_SENSOR_SHM_MARKS_H

#include "sensor/shm/segment.h"

#include <stddef.h>
#include <sys/types.h>

enum { MARKS_CALLERS_MAX = 1024 };

/** Processes that have signalled their launcher as well, which does not see marks in another /dev/shm. */
struct marks_callers {
    struct segment_mark list[MARKS_CALLERS_MAX]; /* pid 0: its mark was seen */
    size_t count;
};

/** Adds process `pid`, which has sent SIGURG, if it descends from us, or is gone by now; once, and while there is room.
 */
void marks_add_caller(struct marks_callers *callers, pid_t pid);

/**
 * Counts, in the doorbell of the working directory, the processes that have left a mark for the calling launcher, and
 * those of `callers` that have left none that it sees. Removes the marks, the callers, and folders that were made for a
 * mark for a launcher that is gone. Call it when no process is left that could leave another one. Reads the default
 * folders of all users, and folders that were made for a mark, as far as it may; takes a file there for no one's but
 * the folder's owner's.
 */
void marks_take(struct marks_callers *callers);

#endif
