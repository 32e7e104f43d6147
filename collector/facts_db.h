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
    FACTS_VERSION = 9,              /* of the schema */
    FACTS_BUSY_MS = 5000,
    FACTS_SERVE_BUSY_MS = 100, /* of the collector, whose packets wait meanwhile */
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
    bool within; /* a transaction */
    bool lacks;  /* a row could not be written: what is derived from packets must be written anew */
    sqlite3_stmt *statements[FACTS_STATEMENTS];
};

/** Whether something that is no regular file stands at `path`, for which SQLite might wait for ever. */
bool facts_is_foreign(const char *path);

/** The code for SQLite's result `rc`; sets errno where the system told it. */
int facts_error(sqlite3 *db, int rc);

/** What is in a database that was just opened may be anybody's: it runs nothing that stands in its schema. */
void facts_distrust(sqlite3 *db);

/** Whether the database is one of ours, of this version: 0, BEZEL_EVERSION, ... */
int facts_check_version(sqlite3 *db) BEZEL_MUST_CHECK;

/**
 * Opens the database of run directory `run` for reading, in one transaction: its tables agree with each other. Returns
 * 0 with *db for sqlite3_close(); or BEZEL_ENOENT, BEZEL_EMALFORMED, BEZEL_EVERSION, ..., with *db NULL.
 */
int facts_open_database(const char *run, sqlite3 **db) BEZEL_MUST_CHECK;

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
