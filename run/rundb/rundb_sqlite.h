// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * SQLite as rundb*.c and summary*.c share it. Integers above INT64_MAX are stored as their two's complement, a NaN as
 * NULL.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_SQLITE_H
#define BEZEL_RUN_RUNDB_RUNDB_SQLITE_H

#include "mdr/builtin.h"
#include "run/rundb/rundb.h"

#include <sqlite3.h>

enum {
    RUNDB_APPLICATION = 0x425A4C46, /* "BZLF" */
    RUNDB_VERSION = 21,             /* of the schema: each one has one table more, the last of mdr/builtin.h */
    RUNDB_VERSION_LAUNCHED = 21,    /* the first that knows when programs were started */
    RUNDB_VERSION_READ = 16,        /* the oldest one that is read */
    RUNDB_BUSY_MS = 5000,           /* ms to wait for other users of the database */
    RUNDB_SERVE_BUSY_MS = 100,      /* the same in the collector, whose packets wait meanwhile */
    RUNDB_READ_S = 20,              /* s of CPU time that reading a run may take, ... */
    RUNDB_READ_BYTES = 4 << 20,     /* ... and one more for so many bytes of its database */
};

enum rundb_statement {
    RUNDB_BEGIN,
    RUNDB_COMMIT,
    RUNDB_PUT,
    RUNDB_GET,
    RUNDB_EVENT,
    RUNDB_NODE,
    RUNDB_NODE_STATE,
    RUNDB_PROCESS,
    RUNDB_DICTIONARY,
    RUNDB_PROCESS_STATE,
    RUNDB_BOOK,
    RUNDB_FIELD,
    RUNDB_STREAM,
    RUNDB_LOSS,
    RUNDB_NOTE,
    RUNDB_SILENT,
    RUNDB_SILENT_NODE,
    RUNDB_PROGRAM,
    RUNDB_BUILTIN, /* the first of one for each built-in aspect, by enum builtin */
    RUNDB_STATEMENTS = RUNDB_BUILTIN + BUILTIN_COUNT
};

struct rundb {
    sqlite3 *db;
    bool within;          /* a transaction is open */
    int64_t data_version; /* SQLite's: it changes when another connection has written */
    uint64_t section;     /* of what packets are stored now (rundb_sections.h) */
    bool lacks;           /* a write has failed: the derived rows must be written anew */
    sqlite3_stmt *statements[RUNDB_STATEMENTS];
};

/** The error for SQLite's result `rc`. Sets errno to that of the failed system call, 0 if there was none. */
int rundb_error(sqlite3 *db, int rc);

/** Returns `err`, and makes rundb_why() return the sentence of `format` for it. */
int rundb_refuse(int err, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Runs statement `text`, such as a pragma, and gives the number that it returns; 0 where it returns no row. */
int rundb_number(sqlite3 *db, const char *text, int64_t *value) BEZEL_MUST_CHECK;

/** Makes the schema of this version in an empty database, within the open transaction, if any. */
int rundb_make_schema(sqlite3 *db) BEZEL_MUST_CHECK;

/**
 * Make the tables of built-in aspects, delete their rows that packets of kept sections made, give these rows the first
 * such section, prepare their statements (rundb_builtin.c).
 */
int rundb_make_builtins(sqlite3 *db) BEZEL_MUST_CHECK;
int rundb_clear_builtins(sqlite3 *db) BEZEL_MUST_CHECK;
int rundb_join_builtins(sqlite3 *db) BEZEL_MUST_CHECK;
int rundb_prepare_builtins(struct rundb *f) BEZEL_MUST_CHECK;

/**
 * Checks that the database is a run database of this version, or of one from RUNDB_VERSION_READ on, whose schema has
 * exactly the text that such a version makes. Returns 0; BEZEL_ENOENT, and sets *empty, where nothing is in it: a
 * writer was killed before it made the schema; BEZEL_EVERSION; BEZEL_EMALFORMED; or another error.
 */
int rundb_check_schema(sqlite3 *db, bool *empty) BEZEL_MUST_CHECK;

/**
 * Gives a checked database of an older version the tables and the column that it lacks: in this connection's memory
 * alone, until another one has made it one of this version, or `lasting`, within the open transaction, which makes it
 * one of this version. Does nothing with one of this version.
 */
int rundb_renew(sqlite3 *db, bool lasting) BEZEL_MUST_CHECK;

/** The column of `programs` that a database of a version before RUNDB_VERSION_LAUNCHED lacks. */
#define RUNDB_LAUNCHED "started INTEGER NOT NULL DEFAULT 0"

/** The first builtin whose table a database of `version` lacks; BUILTIN_COUNT: none. Pure. */
enum builtin rundb_first_lacking(int64_t version);

/**
 * Opens run.db of directory `run` with SQLite's `flags` and file system `vfs` (NULL: the usual one). The file is not
 * trusted: nothing in its schema is executed, and no pipe, device or symbolic link is opened, also for the files beside
 * it. Returns 0, or an error that rundb_why() explains; *db is for sqlite3_close() in both cases.
 */
int rundb_open_file(const char *run, int flags, const char *vfs, sqlite3 **db) BEZEL_MUST_CHECK;

/**
 * Opens the database of run directory `run` for reading, in one transaction, so that its tables agree. Reading is
 * bounded to values of 1 MiB, 512 MiB of memory, and the CPU time of rundb_read_seconds(), after which it fails with
 * BEZEL_ETIMEDOUT. Returns 0 with *db for sqlite3_close(); or BEZEL_ENOENT, BEZEL_EMALFORMED, BEZEL_EVERSION or another
 * error, with *db NULL.
 */
int rundb_open_database(const char *run, sqlite3 **db) BEZEL_MUST_CHECK;

/** How many seconds of CPU time the reading of a database of `bytes` may take: a long run has many rows. Pure. */
int rundb_read_seconds(int64_t bytes);

/** Allows this thread `seconds` of CPU time for reading from now on, instead of the rest; 0: unbounded. */
void rundb_allow(int seconds);

/** The errno of the last lock that this thread did not get, though nobody else has it: the file system has none. 0:
 * none. */
int rundb_lock_errno(void);

/** Whether this thread's CPU time for reading is used up: check it in loops over rows. */
bool rundb_is_too_long(void) BEZEL_MUST_CHECK;

/** Prepares only the statement of rundb_get(). */
int rundb_prepare_get(struct rundb *f) BEZEL_MUST_CHECK;

/** Makes sure that a transaction is open. */
int rundb_begin(struct rundb *f) BEZEL_MUST_CHECK;

/** A parameter of a statement. A NaN and a blob at NULL become NULL. Texts and blobs are borrowed. */
struct rundb_value {
    enum { RUNDB_IS_INT, RUNDB_IS_REAL, RUNDB_IS_TEXT, RUNDB_IS_BLOB } type;
    int64_t number; /* or bytes of the blob */
    double real;
    const void *bytes;
};
#define RUNDB_INT(x)     ((struct rundb_value){.type = RUNDB_IS_INT, .number = (int64_t)(x)})
#define RUNDB_REAL(x)    ((struct rundb_value){.type = RUNDB_IS_REAL, .real = (x)})
#define RUNDB_TEXT(x)    ((struct rundb_value){.type = RUNDB_IS_TEXT, .bytes = (x)})
#define RUNDB_BLOB(x, n) ((struct rundb_value){.type = RUNDB_IS_BLOB, .bytes = (x), .number = (int64_t)(n)})

/** Runs statement `which` with these values within a transaction. Returns 0, or an error with f->lacks set. */
#define rundb_write(f, which, ...)                                                                                     \
    rundb_write_row(f, which, (struct rundb_value[]){__VA_ARGS__},                                                     \
                    sizeof((struct rundb_value[]){__VA_ARGS__}) / sizeof(struct rundb_value))
int rundb_write_row(struct rundb *f, int which, const struct rundb_value *values, size_t count) BEZEL_MUST_CHECK;

/** Commits the open transaction. Returns 0 or an error; then it can be tried again, unless f->lacks is set. */
int rundb_commit(struct rundb *f) BEZEL_MUST_CHECK;

/** Ends the transaction, in which everything came out as `err`. Its failure leaves nothing of it. */
int rundb_end(struct rundb *f, int err) BEZEL_MUST_CHECK;

/**
 * Notes, within the transaction, that rows of a table were deleted or updated to which rows are otherwise only added:
 * losses, events and those of built-in aspects. Sets RUNDB_REWRITTEN.
 */
int rundb_note_rewritten(struct rundb *f) BEZEL_MUST_CHECK;

/** Continues checksum `sum` over type, length and bytes of all values of a row. */
uint64_t rundb_sum_row(uint64_t sum, sqlite3_stmt *row);

#endif
