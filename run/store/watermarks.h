// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Low watermarks of the nodes, in a file of the run directory, from the collector to those who read the run meanwhile:
 * what a node recorded before its watermark is stored. The file is there while the collector is, in the byte order of
 * its machine. The writer belongs to one thread. A reader trusts nothing in the file.
 */
#ifndef BEZEL_RUN_STORE_WATERMARKS_H
#define BEZEL_RUN_STORE_WATERMARKS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define WATERMARK_LEFT INT64_MAX /* in place of a time: the node has left, and all that it had is stored */

struct watermark {
    uint8_t uuid[16]; /* of the node's trace */
    int64_t low;      /* ns of the node's clock */
    int64_t at;       /* when it came, clock_now() of the collector's machine */
};

struct watermarks;

/** Makes the file in run directory `run` anew. Returns 0 with *w for watermarks_close(), BEZEL_ENOMEM, or an error with
 * errno. */
int watermarks_open(const char *run, struct watermarks **w) BEZEL_MUST_CHECK;

/** Closes it, and removes the file. NULL is allowed, here and below. */
void watermarks_close(struct watermarks *w);

/** A place for another watermark, for as long as `w` is open; -1: there is no room on the disk or in memory. */
int watermarks_add(struct watermarks *w);

/** Sets the watermark at `place`; none is done for -1. */
void watermarks_put(struct watermarks *w, int place, const struct watermark *to);

/** Reads those that there are now. Returns how many, up to `room`; 0: there is no file, or it is none. */
size_t watermarks_read(const char *run, struct watermark *to, size_t room);

enum { WATERMARKS_MAX = 1 << 16 };

#endif
