// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rows of the run database in the order in which they were written, each once: for readers that follow a run. One
 * thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_ROWS_H
#define BEZEL_RUN_RUNDB_RUNDB_ROWS_H

#include "base/err.h"
#include "mdr/builtin.h"

/** Tables: by enum builtin those that keep every row (not RUNDB_LATEST), and the losses. */
enum { RUNDB_ROWS_LOSSES = BUILTIN_COUNT, RUNDB_ROWS_TABLES };

/** A gap in a stream. Times are ns of the node's clock. */
struct rundb_loss {
    int64_t begin, end;
    uint32_t ring;
    uint64_t count;
};

struct rundb_rows;

/** Begins with the database of `run`. Returns 0 with *r, or an error as rundb_open_read(). */
int rundb_rows_open(const char *run, struct rundb_rows **r) BEZEL_MUST_CHECK;
void rundb_rows_close(struct rundb_rows *r);

/**
 * Opens the database as it is now, where its files have changed since the last time, or `always`; until
 * rundb_rows_rest() it stays so. Returns 1 where it did, else 0, or an error as above.
 */
int rundb_rows_refresh(struct rundb_rows *r, bool always) BEZEL_MUST_CHECK;

/**
 * Closes it for now. An open one would keep the collector from taking its log into the database, which grows meanwhile,
 * and from leaving a single file at its end.
 */
void rundb_rows_rest(struct rundb_rows *r);

/**
 * Takes a row: `owner` is the row of its node or process (by builtin_layout()); of losses, of its process. `record` is
 * the struct builtin_<name>, whose `node` is 0, or the struct rundb_loss. Texts are foreign, and valid during the call.
 */
typedef void rundb_rows_take(void *context, int table, int64_t owner, const void *record);

/**
 * Calls `take` with rows of `table` that follow those taken so far, at most `most`. Returns how many; or an error.
 * Where the table was made anew, which a collector does that starts on a damaged run, it returns BEZEL_EAGAIN, and
 * begins with the first row at the next call: the caller drops what it has.
 */
int rundb_rows_next(struct rundb_rows *r, int table, unsigned most, rundb_rows_take *take,
                    void *context) BEZEL_MUST_CHECK;

/** Begins with the first rows of all tables again. */
void rundb_rows_rewind(struct rundb_rows *r);

#endif
