// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_rows.h"

#include "base/bytes.h"
#include "base/checksum.h"

#include <stdio.h>
#include <string.h>

/* Both ends number tables and columns by the schema, so the stream's version follows the schema's. */
_Static_assert(RUNDB_APPLY_VERSION / 100 == RUNDB_VERSION, "another schema is another stream of rows");
_Static_assert((int)RUNDB_ROWS_TOKEN <= (int)RUNDB_APPLY_TOKEN_MAX, "a token must fit into its message");
_Static_assert(RUNDB_ROWS_TABLES <= 255, "a table's number is a byte");

struct rundb_rows_table rundb_rows_table(int table)
{
    static const struct rundb_rows_table tables[RUNDB_ROWS_BUILTIN] = {
        [RUNDB_ROWS_NODES] = {.name = "nodes", .keys = 1},
        [RUNDB_ROWS_PROCESSES] = {.name = "processes", .keys = 1},
        [RUNDB_ROWS_PROPERTIES] = {.name = "properties", .keys = 1},
        [RUNDB_ROWS_EVENTS] = {.name = "events", .keys = 1, .rowid = true, .grows = true},
        [RUNDB_ROWS_STREAMS] = {.name = "streams", .keys = 2},
        [RUNDB_ROWS_BOOKS] = {.name = "books", .keys = 2},
        [RUNDB_ROWS_FIELDS] = {.name = "fields", .keys = 3},
        [RUNDB_ROWS_LOSSES] = {.name = "losses", .keys = 1, .rowid = true, .grows = true},
        [RUNDB_ROWS_SECTIONS] = {.name = "sections", .keys = 1},
        [RUNDB_ROWS_SECTION_STREAMS] = {.name = "section_streams", .keys = 3},
        [RUNDB_ROWS_SECTION_BOOKS] = {.name = "section_books", .keys = 3},
        [RUNDB_ROWS_SECTION_FIELDS] = {.name = "section_fields", .keys = 4},
        [RUNDB_ROWS_NOTES] = {.name = "notes", .keys = 1, .rowid = true},
        [RUNDB_ROWS_PROGRAMS] = {.name = "programs", .keys = 3},
    };
    if (table < RUNDB_ROWS_BUILTIN)
        return tables[table];
    return (struct rundb_rows_table){builtin_layout((enum builtin)(table - RUNDB_ROWS_BUILTIN))->table, 1, true, true};
}

int rundb_rows_query(sqlite3 *db, int table, const char *rest, sqlite3_stmt **s)
{
    static const char *const orders[] = {"", "1", "1, 2", "1, 2, 3", "1, 2, 3, 4"};
    struct rundb_rows_table t = rundb_rows_table(table);
    char text[192];
    snprintf(text, sizeof text, "SELECT %s* FROM %s %s%s", t.rowid ? "rowid, " : "", t.name, rest ? rest : "ORDER BY ",
             rest ? "" : orders[t.keys]);
    return rundb_error(db, sqlite3_prepare_v2(db, text, -1, s, NULL));
}

bool rundb_rows_type_ok(const char *declared, int type)
{
    if (type == SQLITE_NULL)
        return true;
    switch (declared ? declared[0] : '\0') {
    case 'I':
        return type == SQLITE_INTEGER;
    case 'T':
        return type == SQLITE_TEXT;
    case 'B':
        return type == SQLITE_BLOB;
    case 'R':
        return type == SQLITE_FLOAT;
    default:
        return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* How many bytes hold a number with its sign. */
static int bytes_of(int64_t number)
{
    int n = number != 0;
    while (n > 0 && n < 8 && number >> (8 * n - 1) != number >> 63)
        n++;
    return n;
}

static bool put_number(struct rundb_rows_piece *piece, int type, int64_t number, int n)
{
    if (sizeof piece->bytes - piece->n < 9)
        return false;
    piece->bytes[piece->n++] = (uint8_t)(n << 4 | type);
    for (int i = n; i-- > 0;)
        piece->bytes[piece->n++] = (uint8_t)((uint64_t)number >> 8 * i);
    return true;
}

static bool put_bytes(struct rundb_rows_piece *piece, int type, const void *bytes, size_t n)
{
    if (!put_number(piece, type, (int64_t)n, bytes_of((int64_t)n)) || sizeof piece->bytes - piece->n < n)
        return false;
    if (n)
        memcpy(piece->bytes + piece->n, bytes, n);
    piece->n += n;
    return true;
}

static bool put_value(struct rundb_rows_piece *piece, sqlite3_stmt *row, int at)
{
    int type = sqlite3_column_type(row, at);
    double real;
    int64_t bits;
    if (!rundb_rows_type_ok(sqlite3_column_decltype(row, at), type))
        return false;
    switch (type) {
    case SQLITE_INTEGER:
        bits = sqlite3_column_int64(row, at);
        return put_number(piece, type, bits, bytes_of(bits));
    case SQLITE_FLOAT:
        real = sqlite3_column_double(row, at);
        memcpy(&bits, &real, sizeof bits);
        return put_number(piece, type, bits, 8);
    case SQLITE_NULL:
        return put_number(piece, type, 0, 0);
    default: {
        const void *bytes = sqlite3_column_blob(row, at);
        return put_bytes(piece, type, bytes, (size_t)sqlite3_column_bytes(row, at));
    }
    }
}

int rundb_rows_make(struct rundb_rows_piece *piece, enum rundb_rows_what what, int table, sqlite3_stmt *row, int values)
{
    piece->n = 6;
    piece->bytes[4] = (uint8_t)what;
    piece->bytes[5] = (uint8_t)table;
    for (int i = 0; i < values; i++)
        if (!put_value(piece, row, i))
            return rundb_refuse(BEZEL_EMALFORMED, "table %s holds a value that Bezel does not write",
                                rundb_rows_table(table).name);
    bytes_put_u32(piece->bytes, (uint32_t)piece->n - 4);
    return 0;
}

bool rundb_rows_read(const uint8_t **at, const uint8_t *end, struct rundb_rows_value *v)
{
    if (*at == end)
        return false;
    int type = **at & 15, n = *(*at)++ >> 4;
    uint64_t number = n > 0 && *at < end && **at >> 7 ? UINT64_MAX : 0;
    if (type < SQLITE_INTEGER || type > SQLITE_NULL || n > 8 || n > end - *at || (type == SQLITE_FLOAT && n != 8) ||
        (type == SQLITE_NULL && n != 0))
        return false;
    for (int i = 0; i < n; i++)
        number = number << 8 | *(*at)++;
    *v = (struct rundb_rows_value){.type = type, .number = (int64_t)number};
    if (type != SQLITE_TEXT && type != SQLITE_BLOB)
        return true;
    if (v->number < 0 || v->number > end - *at)
        return false;
    v->bytes = *at;
    *at += v->number;
    return true;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* The checksum of the row for which `where` holds, with `number` as its parameter; 0: there is none. */
static int sum_one(sqlite3 *db, int table, const char *where, int64_t number, uint64_t *sum)
{
    sqlite3_stmt *s;
    *sum = 0;
    int err = rundb_rows_query(db, table, where, &s);
    if (err)
        return err;
    (void)sqlite3_bind_int64(s, 1, number); /* if it has one */
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *sum = rundb_sum_row(CHECKSUM_START, s);
    sqlite3_finalize(s);
    return rundb_error(db, rc);
}

int rundb_rows_rewritten(sqlite3 *db, uint64_t *sum)
{
    return sum_one(db, RUNDB_ROWS_PROPERTIES, "WHERE key = '" RUNDB_REWRITTEN "'", 0, sum);
}

int rundb_rows_last_sum(sqlite3 *db, int table, int64_t last, uint64_t *sum)
{
    return sum_one(db, table, "WHERE rowid = ?1", last, sum);
}

void rundb_rows_put_token(const struct rundb_rows_token *t, uint8_t bytes[RUNDB_ROWS_TOKEN])
{
    bytes_put_u32(bytes, RUNDB_APPLY_VERSION);
    bytes_put_u64(bytes + 4, t->rewritten);
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        bytes_put_u64(bytes + 12 + 16 * i, (uint64_t)t->tables[i].last);
        bytes_put_u64(bytes + 20 + 16 * i, t->tables[i].sum);
    }
}

bool rundb_rows_get_token(struct rundb_rows_token *t, const uint8_t *bytes, size_t n)
{
    if (n != RUNDB_ROWS_TOKEN || bytes_get_u32(bytes) != RUNDB_APPLY_VERSION)
        return false;
    t->rewritten = bytes_get_u64(bytes + 4);
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        t->tables[i].last = (int64_t)bytes_get_u64(bytes + 12 + 16 * i);
        t->tables[i].sum = bytes_get_u64(bytes + 20 + 16 * i);
    }
    return true;
}
