// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The segment that a process makes of its own: file, lock and mapping. Not thread-safe: process.c holds its lock. */
#ifndef BEZEL_SENSOR_OWN_H
#define BEZEL_SENSOR_OWN_H

#include "base/err.h"
#include "sensor/segment.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct own_segment {
    struct segment *segment; /* NULL: none */
    int fd;                  /* holds SEGMENT_LOCK_PROCESS; -1: none */
    dev_t dev;               /* of fd, to know it again: the host may close it and use the number for something else */
    ino_t ino;
    char path[PATH_MAX];
};

/** Makes, locks and publishes a segment in `dir` and rings the doorbell. False with errno where it cannot. */
bool own_make(struct own_segment *own, const char *dir);

/** Lets go of it, without removing the file. */
void own_forget(struct own_segment *own);

/** Whether the descriptor still is ours. */
bool own_holds_fd(const struct own_segment *own);

/** Says a line on stderr where BEZEL_DEBUG=1 asks for it. */
void sensor_say(const char *format, ...) BEZEL_PRINTF(1, 2);

#endif
