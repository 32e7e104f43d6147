// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What has changed in a run's database since its copy in a mirror was last up to date, as a stream of bytes that
 * rundb_apply.h takes.
 *
 * The stream says: put this row; delete the row with this key; delete all rows of this table. A row is the number of
 * its table and its values, never SQL text (rundb_rows.h). Between a begin and its end all rows are of one snapshot, so
 * a copy that has taken both parts is a state in which the database was. After the first part alone its nodes and
 * processes are of the snapshot, and all else is older: they explain packets before rows count these.
 *
 * Two kinds of tables differ in how their changes are found. Rows of `events`, `losses` and the tables of built-in
 * aspects are only added, under ever greater rowids, and the copy has the same rowids: all behind the last one are new.
 * Whoever deletes or updates such rows sets the property RUNDB_REWRITTEN in the same transaction
 * (rundb_note_rewritten()); then these tables are sent anew. An aspect of which the LATEST row stays replaces a row by
 * one with a greater rowid, and the copy's UNIQUE does the same there. All other tables are read through, in the order
 * of their keys, beside a list of keys and checksums of the rows that were sent: that costs memory, some 20
 * bytes for a row of `fields`, and time in proportion to their rows, so a caller looks less often where a look takes
 * long.
 *
 * The token of a copy has, for each table, its last rowid and that row's checksum, or the sum of the checksums of all
 * its rows. Where the database agrees, sending goes on from there; else the table is sent anew. A database of format 16
 * is sent as one of format 17 with an empty table `threads`: it has the same seal.
 *
 * One thread. Functions block on the disk, hold no lock that a writer needs, and return 0 or an error that rundb_why()
 * explains.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_CHANGES_H
#define BEZEL_RUN_RUNDB_RUNDB_CHANGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct rundb_changes;

/** In this order. EXPLAIN: nodes and processes, which explain packets; REST: all other tables. */
enum rundb_changes_part { RUNDB_CHANGES_EXPLAIN, RUNDB_CHANGES_REST };

/**
 * Opens the database of run directory `run` for a copy with token `token` (rundb_apply_token()), `n` bytes; 0: an empty
 * copy. Returns 0 with *c for rundb_changes_close(); BEZEL_EMALFORMED also where the token is none; or an error as
 * rundb_open_read().
 */
int rundb_changes_open(const char *run, const void *token, size_t n, struct rundb_changes **c) BEZEL_MUST_CHECK;

/**
 * Opens a snapshot of the database as it is now, until rundb_changes_end(). `finished`: with RUNDB_FINISHED and
 * RUNDB_SEAL, which are held back otherwise: without them the copy is that of a run whose collector has not finished.
 * Returns 1; 0 without a snapshot where nothing has changed since the last one, nor what is held back, which takes some
 * microseconds; or an error. Reading is bounded as by rundb_open_read(), from now on.
 */
int rundb_changes_begin(struct rundb_changes *c, bool finished) BEZEL_MUST_CHECK;

/**
 * Calls `put` with the bytes of the changes of `part`, piece by piece, of up to RUNDB_CHANGES_PIECE bytes, `context`
 * first; its error ends the call and is returned. After an error only rundb_changes_end() and _close() are allowed: the
 * copy is in doubt. A part that is left out comes in the next snapshot.
 */
enum { RUNDB_CHANGES_PIECE = (1 << 20) + 8192 };
int rundb_changes_put(struct rundb_changes *c, enum rundb_changes_part part,
                      int (*put)(void *context, const void *bytes, size_t n), void *context) BEZEL_MUST_CHECK;

/** Closes the snapshot. */
int rundb_changes_end(struct rundb_changes *c) BEZEL_MUST_CHECK;

/** NULL is allowed. */
void rundb_changes_close(struct rundb_changes *c);

#endif
