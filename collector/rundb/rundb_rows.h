// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rows of the run database in the order in which they were written, each once: for readers that follow a run. One
 * thread; blocks on the disk.
 */
#ifndef BEZEL_COLLECTOR_RUNDB_RUNDB_ROWS_H
#define BEZEL_COLLECTOR_RUNDB_RUNDB_ROWS_H

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

/** Opens the database of `run` as rundb_open_read() does, with its errors. */
int rundb_rows_open(const char *run, struct rundb_rows **r) BEZEL_MUST_CHECK;
void rundb_rows_close(struct rundb_rows *r);

/** Moves to what is committed by now. Returns 1 where that is something new, 0, or an error. */
int rundb_rows_refresh(struct rundb_rows *r) BEZEL_MUST_CHECK;

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

/**
 * The value of property `key`; "" where there is none. Returns 0, or an error.
 */
int rundb_rows_property(struct rundb_rows *r, const char *key, char *value, size_t size) BEZEL_MUST_CHECK;

#endif
