// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Rows of a run database as bytes, for rundb_changes.c and rundb_apply.c: a sequence of
 *
 *     u32 bytes that follow | u8 what (enum rundb_rows_what) | u8 table | values
 *
 * with values PUT: all of a row, as rundb_rows_query() has them; DELETE: those of its key; CLEAR: none. A value is a
 * byte with its type in the low four bits, of SQLite's SQLITE_INTEGER to SQLITE_NULL, and in the high ones how many
 * bytes its number has: an integer, the length of a text or blob, as few as hold it with its sign; the bits of a real
 * number, 8; of NULL, none. The bytes of a text or blob follow. Numbers are big-endian.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_ROWS_H
#define BEZEL_RUN_RUNDB_RUNDB_ROWS_H

#include "run/rundb/rundb_apply.h"
#include "run/rundb/rundb_changes.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

enum rundb_rows_what { RUNDB_ROWS_CLEAR = 1, RUNDB_ROWS_PUT, RUNDB_ROWS_DELETE };

/** Tables, in the order in which they are sent; behind these the tables of built-in aspects. */
enum {
    RUNDB_ROWS_NODES,
    RUNDB_ROWS_PROCESSES,
    RUNDB_ROWS_PROPERTIES,
    RUNDB_ROWS_EVENTS,
    RUNDB_ROWS_STREAMS,
    RUNDB_ROWS_BOOKS,
    RUNDB_ROWS_FIELDS,
    RUNDB_ROWS_LOSSES,
    RUNDB_ROWS_SECTIONS,
    RUNDB_ROWS_SECTION_STREAMS,
    RUNDB_ROWS_SECTION_BOOKS,
    RUNDB_ROWS_SECTION_FIELDS,
    RUNDB_ROWS_NOTES,
    RUNDB_ROWS_PROGRAMS,
    RUNDB_ROWS_BUILTIN,
    RUNDB_ROWS_TABLES = RUNDB_ROWS_BUILTIN + BUILTIN_COUNT
};

struct rundb_rows_table {
    const char *name;
    int keys;   /* values at the begin of a row that find it, in whose order the table is kept */
    bool rowid; /* the first value is its rowid, which is no column */
    bool grows; /* rows are only added, each with a greater rowid */
};
struct rundb_rows_table rundb_rows_table(int table);

/** The bytes of one row. */
struct rundb_rows_piece {
    size_t n;
    uint8_t bytes[RUNDB_CHANGES_PIECE];
};

/**
 * Prepares a query of the rows of `table`: `rest` follows its FROM. NULL for `rest`: all, in the order of their keys.
 */
int rundb_rows_query(sqlite3 *db, int table, const char *rest, sqlite3_stmt **s) BEZEL_MUST_CHECK;

/** Whether a column that was declared with type `declared` holds values of SQLite's `type`. Pure. */
bool rundb_rows_type_ok(const char *declared, int type);

/** Makes `piece` of a row: `what` with its first `values` values. Returns 0, or BEZEL_EMALFORMED where it has others
 * than Bezel writes. */
int rundb_rows_make(struct rundb_rows_piece *piece, enum rundb_rows_what what, int table, sqlite3_stmt *row,
                    int values) BEZEL_MUST_CHECK;

/** Reads the value at *at, which it moves behind it; texts and blobs are borrowed. False at malformed bytes. Pure. */
struct rundb_rows_value {
    int type;
    int64_t number; /* or the bits of a real number, or bytes of a text or blob */
    const uint8_t *bytes;
};
bool rundb_rows_read(const uint8_t **at, const uint8_t *end, struct rundb_rows_value *v);

/** Which rows a copy has of a table that grows: its last rowid, and that row's checksum; of others the sum of all. */
struct rundb_rows_place {
    int64_t last; /* RUNDB_ROWS_NONE: no row */
    uint64_t sum;
};
#define RUNDB_ROWS_NONE INT64_MIN

struct rundb_rows_token {
    uint64_t rewritten; /* checksum of RUNDB_REWRITTEN; 0: there is none */
    struct rundb_rows_place tables[RUNDB_ROWS_TABLES];
};

/** Reads RUNDB_REWRITTEN's checksum. */
int rundb_rows_rewritten(sqlite3 *db, uint64_t *sum) BEZEL_MUST_CHECK;

/** The checksum of the row with rowid `last` of a table that grows; 0: there is none. */
int rundb_rows_last_sum(sqlite3 *db, int table, int64_t last, uint64_t *sum) BEZEL_MUST_CHECK;

/** A token as bytes, RUNDB_ROWS_TOKEN of them, and back; false if they are none. */
enum { RUNDB_ROWS_TOKEN = 12 + 16 * RUNDB_ROWS_TABLES };
void rundb_rows_put_token(const struct rundb_rows_token *t, uint8_t bytes[RUNDB_ROWS_TOKEN]);
bool rundb_rows_get_token(struct rundb_rows_token *t, const uint8_t *bytes, size_t n);

#endif
