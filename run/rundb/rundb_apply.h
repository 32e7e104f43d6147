// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The copy of a run's database in a mirror: takes the changes that rundb_changes.h found, over a network.
 *
 * Bytes are kept in a temporary file of the run directory until the commit, which applies them in one transaction: the
 * database is not held while a server is silent, and without a commit nothing of them stays. They may be hostile: their
 * tables, counts, types and sizes are checked, and memory is bounded to one row. At worst they fill the database, and
 * the disk, with wrong rows; readers of a run database do not trust it anyway.
 *
 * A *joined* database is that of a `bezel run` whose collector is elsewhere, which itself writes properties, events,
 * programs and notes there meanwhile. It takes neither events nor programs, and only its own notes and properties stay
 * when rows are deleted; a property that `bezel run` alone writes is never replaced. Notes of the collector have
 * negative rowids there, so both can be told apart. The seal is made here, with RUNDB_FINISHED: it covers the rows of
 * both. Notes of rundb_silent() are brought up to date by rundb_place_silent().
 *
 * One thread. Functions return 0 or an error that rundb_why() explains.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_APPLY_H
#define BEZEL_RUN_RUNDB_RUNDB_APPLY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/** Of the stream of bytes, of the tables in it, and of what else a mirror is sent: both ends must have the same one. */
enum { RUNDB_APPLY_VERSION = 2101 };

enum { RUNDB_APPLY_TOKEN_MAX = 4096 }; /* bytes */

struct rundb_apply;

/**
 * Opens the database of run directory `run`, or makes one. Returns 0 with *a for rundb_apply_close(), or an error as
 * rundb_open().
 */
int rundb_apply_open(const char *run, bool joined, struct rundb_apply **a) BEZEL_MUST_CHECK;

/** Takes bytes, in their order, cut anywhere. Returns 0, or an error with errno, such as BEZEL_ENOSPC. */
int rundb_apply_bytes(struct rundb_apply *a, const void *bytes, size_t n) BEZEL_MUST_CHECK;

/**
 * Applies what was taken, and commits. Returns 0; BEZEL_EBUSY where another writer held the database for RUNDB_BUSY_MS:
 * call it again; or an error, such as BEZEL_EMALFORMED: nothing of it was applied, and it is dropped. Takes time in
 * proportion to the bytes, some microseconds for a row.
 */
int rundb_apply_commit(struct rundb_apply *a) BEZEL_MUST_CHECK;

/**
 * Drops what was not committed, and writes into `token` which rows the database has, for rundb_changes_open(). Reads
 * all tables that do not only grow.
 */
int rundb_apply_token(struct rundb_apply *a, void *token /* RUNDB_APPLY_TOKEN_MAX */, size_t *n) BEZEL_MUST_CHECK;

/** Drops what was not committed, and closes. NULL is allowed. */
int rundb_apply_close(struct rundb_apply *a) BEZEL_MUST_CHECK;

#endif
