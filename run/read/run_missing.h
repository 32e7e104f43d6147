// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Stream files that a run has no more. */
#ifndef BEZEL_RUN_READ_RUN_MISSING_H
#define BEZEL_RUN_READ_RUN_MISSING_H

#include "run/read/record_filter.h"

/**
 * How many stream files of an ended run, of those that `filter` wants, are gone, or shorter than the run database says:
 * records that were stored are not there. Warns of each, up to RUN_MISSING_TOLD, where the
 * thread has not asked for this run just before. 0 also where the database cannot be
 * read. Blocks on the disk, and loads the database: in proportion to processes and streams.
 */
enum { RUN_MISSING_TOLD = 10 };
uint64_t run_missing(const char *run, const struct record_filter *filter);

#endif
