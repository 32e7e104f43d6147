// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What facts*.c and summary*.c share of SQLite. Integers above INT64_MAX are kept as their two's complement;
 * a NaN is NULL.
 */
#ifndef BEZEL_COLLECTOR_FACTS_DB_H
#define BEZEL_COLLECTOR_FACTS_DB_H

#include "collector/facts.h"

#include <sqlite3.h>

enum {
    FACTS_APPLICATION = 0x425A4C46, /* "BZLF" */
    FACTS_VERSION = 10,             /* of the schema */
    FACTS_BUSY_MS = 5000,
    FACTS_SERVE_BUSY_MS = 100, /* of the collector, whose packets wait meanwhile */
    FACTS_READ_S = 20,         /* of CPU time, for what reads a run */
};

enum facts_statement {
    FACTS_BEGIN,
    FACTS_COMMIT,
    FACTS_PUT,
    FACTS_GET,
    FACTS_EVENT,
    FACTS_NODE,
    FACTS_NODE_STATE,
    FACTS_PROCESS,
    FACTS_DICTIONARY,
    FACTS_PROCESS_STATE,
    FACTS_BOOK,
    FACTS_KIND,
    FACTS_STREAM,
    FACTS_LOSS,
    FACTS_SELF,
    FACTS_LIMIT,
    FACTS_DECISION,
    FACTS_METRIC,
    FACTS_CLOCK,
    FACTS_POLLING,
    FACTS_FLOW,
    FACTS_EXPIRED,
    FACTS_KNOB,
    FACTS_OBEYED,
    FACTS_SNAPSHOT,
    FACTS_OBSERVATION,
    FACTS_FINDING,
    FACTS_NOTE,
    FACTS_SILENT,
    FACTS_STATEMENTS
};

struct facts {
    sqlite3 *db;
    bool within;          /* a transaction */
    int64_t data_version; /* SQLite's, which differs once somebody else has written */
    bool lacks;           /* a row could not be written: what is derived from packets must be written anew */
    sqlite3_stmt *statements[FACTS_STATEMENTS];
};

/** The code for SQLite's result `rc`; sets errno where the system told it. */
int facts_error(sqlite3 *db, int rc);

/** Returns `err`, and has facts_why() say of it what `format` says. */
int facts_refuse(int err, const char *format, ...) BEZEL_PRINTF(2, 3);

/** The number that statement `text`, a pragma say, gives. */
int facts_number(sqlite3 *db, const char *text, int64_t *value) BEZEL_MUST_CHECK;

/** Makes the schema of this version in an empty database, within the transaction that is open, if any. */
int facts_make_schema(sqlite3 *db) BEZEL_MUST_CHECK;

/**
 * Whether the database is one of ours, of this version, its schema word for word what this version makes: 0;
 * BEZEL_EVERSION, with *empty where it is nobody's yet; BEZEL_EMALFORMED; ...
 */
int facts_check_schema(sqlite3 *db, bool *empty) BEZEL_MUST_CHECK;

/**
 * Opens run.db of directory `run` with SQLite's `flags`, by its file system `vfs` (NULL: the usual one). It may be
 * anybody's: it runs nothing that stands in its schema, and neither pipes, devices nor links are opened, beside it
 * either. Returns 0, or an error that facts_why() explains; *db is for sqlite3_close() either way.
 */
int facts_open_file(const char *run, int flags, const char *vfs, sqlite3 **db) BEZEL_MUST_CHECK;

/**
 * Opens the database of run directory `run` for reading, in one transaction: its tables agree with each other. What
 * SQLite then does is bounded: values of 1 MiB, 512 MiB of memory, and FACTS_READ_S of CPU time, after which it fails
 * with BEZEL_ETIMEDOUT. Returns 0 with *db for sqlite3_close(); or BEZEL_ENOENT, BEZEL_EMALFORMED, BEZEL_EVERSION, ...,
 * with *db NULL.
 */
int facts_open_database(const char *run, sqlite3 **db) BEZEL_MUST_CHECK;

/** Allows the thread `seconds` of CPU time from now on, in place of FACTS_READ_S from the opening on; 0: all it takes.
 */
void facts_allow(int seconds);

/** Whether the thread's last database has been read for longer than FACTS_READ_S, for loops over its rows. */
bool facts_is_too_long(void) BEZEL_MUST_CHECK;

/** Readies what facts_get() needs, alone. */
int facts_prepare_get(struct facts *f) BEZEL_MUST_CHECK;

/** Makes sure that a transaction is open. */
int facts_begin(struct facts *f) BEZEL_MUST_CHECK;

/** Makes sure that a transaction is open and readies a statement for binding; NULL where it cannot, with *err set. */
sqlite3_stmt *facts_prepare(struct facts *f, enum facts_statement which, int *err);

/** Runs a statement that facts_prepare() gave to its end. Returns 0 or an error, after which f->lacks is set. */
int facts_run(struct facts *f, sqlite3_stmt *statement) BEZEL_MUST_CHECK;

/** Commits what is open. Returns 0 or an error: it may be tried again, unless f->lacks was set. */
int facts_commit(struct facts *f) BEZEL_MUST_CHECK;

/** Binds a text without copying it. */
void facts_bind_text(sqlite3_stmt *statement, int at, const char *text);

#endif
