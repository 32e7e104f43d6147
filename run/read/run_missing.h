// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Stream files that a run has no more, or not as they were stored. */
#ifndef BEZEL_RUN_READ_RUN_MISSING_H
#define BEZEL_RUN_READ_RUN_MISSING_H

#include "run/read/record_filter.h"

enum { RUN_MISSING_TOLD = 10 };

/** So much of a trace is read to compare it with its checksums where nothing else reads all of it. */
#define RUN_MISSING_MOST (UINT64_C(64) << 20)

/**
 * How many stream files of an ended run, of those that `filter` wants, are gone, shorter than the run database says,
 * or, of streams of up to `most` bytes together, changed by their checksums: records that were stored are not there.
 * `tells`: warns of each, up to RUN_MISSING_TOLD, where the thread has not told of this run just before. 0 also where
 * the database cannot be read. Blocks on the disk, and loads the database: in proportion to processes and streams.
 */
uint64_t run_missing(const char *run, const struct record_filter *filter, uint64_t most, bool tells);

/**
 * Whether rows of the database of an ended run were changed since its last writer sealed it; not looked at where the
 * database has more than `most` bytes. Blocks on the disk.
 */
bool run_changed(const char *run, uint64_t most);

#endif
