// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rows of the run database in the order in which they were written, each once: for readers that follow a run. One
 * thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_HISTORY_HISTORY_ROWS_H
#define BEZEL_RUN_HISTORY_HISTORY_ROWS_H

#include "base/err.h"
#include "mdr/builtin.h"

#include <stdbool.h>

/** Tables: by enum builtin those that keep every row (not RUNDB_LATEST), and the losses. */
enum { HISTORY_LOSSES = BUILTIN_COUNT, HISTORY_TABLES };

/** A gap in a stream. Times are ns of the node's clock. */
struct history_loss {
    int64_t process; /* its row in the database */
    int64_t begin, end;
    uint32_t ring;
    uint64_t count;
};

struct history_rows;
struct sqlite3;

/**
 * Opens the database of `run` as it is now; history_rows_next() begins with the first rows. Returns 0 with *r, or an
 * error, which rundb_why() explains.
 */
int history_rows_open(const char *run, struct history_rows **r) BEZEL_MUST_CHECK;
void history_rows_close(struct history_rows *r);

/**
 * Opens the database as it is now, where its files have changed since the last time, or `always`; until
 * history_rows_rest() it stays so. Returns 1 where it did, else 0, or an error as above.
 */
int history_rows_refresh(struct history_rows *r, bool always) BEZEL_MUST_CHECK;

/** The open database, for queries of its present state; NULL: it rests. */
struct sqlite3 *history_rows_database(const struct history_rows *r);

/**
 * Closes it for now. An open one would keep the collector from taking its log into the database, which grows meanwhile,
 * and from leaving a single file at its end.
 */
void history_rows_rest(struct history_rows *r);

/**
 * Takes a row: the struct builtin_<name>, whose `node` is the index of its node in the order of their rows in the
 * database (of rows of a daemon, 0); or the struct history_loss. Texts are foreign, and valid during the call.
 */
typedef void history_rows_take(void *context, int table, const void *record);

/**
 * Calls `take` with rows of `table` that follow those taken so far, at most `most`. Returns how many; or an error.
 * Where the table was made anew, which a collector does that starts on a damaged run, it returns BEZEL_EAGAIN, and
 * begins with the first row at the next call: the caller drops what it has.
 */
int history_rows_next(struct history_rows *r, int table, unsigned most, history_rows_take *take,
                      void *context) BEZEL_MUST_CHECK;

/** Begins with the first rows of all tables again. */
void history_rows_rewind(struct history_rows *r);

#endif
