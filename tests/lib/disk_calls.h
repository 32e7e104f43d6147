// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The calls by which this process works on files below one folder: shown to a disk model before and after, and made to
 * fail. A test that links it has its own open(), write(), fsync() and so on, which libraries call too. One thread.
 */
#ifndef BEZEL_TESTS_LIB_DISK_CALLS_H
#define BEZEL_TESTS_LIB_DISK_CALLS_H

#include "tests/lib/disk_model.h"

/** Kinds of calls that can be made to fail. */
enum {
    DISK_ROOM = 1,    /* writes, allocations, new files and folders */
    DISK_WRITES = 2,  /* writes and allocations */
    DISK_SYNCS = 4,   /* fsync, fdatasync */
    DISK_CHANGES = 8, /* all that change or sync files, and open them for writing */
    DISK_READS = 16,  /* read, pread, and opening to read */
};

/**
 * Watches the tree of `d` (borrowed), which stands where disk_new() or disk_put() has it, until disk_calls_end(). Calls
 * `before` (NULL: nobody) before each call that changes or syncs, in which the calling process may be killed. Its own
 * calls are not watched.
 */
void disk_calls_watch(struct disk_model *d, void (*before)(void *context), void *context);
void disk_calls_end(void);

/** While it is paused, calls are passed on unseen: for looking at the files. */
void disk_calls_pause(bool paused);

/** Has each write beyond one sector done in two parts, with `before` between them. NULL: whole. `seed` (borrowed) says
 * where. */
void disk_calls_split(uint64_t *seed);

/**
 * Of the calls of `kinds` from now on, counted from 1, number `at` and the next, `count` in all, fail with `error`, an
 * errno value. 0: a write does a part of its work, another call all. `at` 0: they are only counted.
 */
void disk_calls_fail(unsigned kinds, uint64_t at, uint64_t count, int error);

/** How many calls of those kinds were made since, and how many of them failed. */
uint64_t disk_calls_made(void);
uint64_t disk_calls_failed(void);

/** The disk has room for `bytes` in all: what is more gets ENOSPC, in part. 0: without bound. */
void disk_calls_size(uint64_t bytes);

#endif
