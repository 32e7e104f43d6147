// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/facts_db.h"
#include "collector/facts_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The tables that are made of packets. The rows of most have no order but that in which packets came, so they are
 * compared in the order of their values. Which of two threads set a gauge last is not known where both did at the same
 * nanosecond: of a process with several rings it is left out.
 */
static const struct {
    const char *name, *columns;
    int count; /* of columns */
} tables[] = {
    {"streams", "process, ring, packets, bytes, next_ordinal, discarded, sum, closed", 8},
    {"books", "process, aspect, name, stored, first_ns, last_ns", 6},
    {"kinds",
     "process, aspect, kind, unit, total, min, max, durations,"
     " CASE WHEN (SELECT count(*) FROM streams s WHERE s.process = kinds.process) = 1 THEN last END",
     9},
    {"losses", "*", 6},
    {"self", "*", 11},
    {"limits", "*", 12},
    {"decisions", "*", 10},
    {"metrics", "*", 5},
    {"clocks", "*", 8},
    {"polling", "*", 7},
    {"flow", "*", 12},
    {"expired", "*", 7},
    {"knobs", "*", 13},
    {"snapshots", "*", 13},
    {"observations", "*", 5},
    {"findings", "*", 8},
    {"obeyed", "*", 10},
};

static int prepare(struct facts *f, size_t table, sqlite3_stmt **s)
{
    char query[512];
    int n = snprintf(query, sizeof query, "SELECT %s FROM %s ORDER BY 1", tables[table].columns, tables[table].name);
    for (int i = 2; i <= tables[table].count; i++)
        n += snprintf(query + n, sizeof query - (size_t)n, ", %d", i);
    return facts_error(f->db, sqlite3_prepare_v2(f->db, query, -1, s, NULL));
}

static int count_rows(struct facts *f, size_t table, int64_t *count)
{
    char query[64];
    snprintf(query, sizeof query, "SELECT count(*) FROM %s", tables[table].name);
    return facts_number(f->db, query, count);
}

static bool same_value(sqlite3_stmt *a, sqlite3_stmt *b, int at)
{
    int type = sqlite3_column_type(a, at);
    if (type != sqlite3_column_type(b, at))
        return false;
    if (type == SQLITE_INTEGER)
        return sqlite3_column_int64(a, at) == sqlite3_column_int64(b, at);
    if (type == SQLITE_FLOAT)
        return sqlite3_column_double(a, at) == sqlite3_column_double(b, at);
    if (type == SQLITE_NULL)
        return true;
    const void *x = sqlite3_column_blob(a, at), *y = sqlite3_column_blob(b, at);
    int n = sqlite3_column_bytes(a, at);
    return n == sqlite3_column_bytes(b, at) && (n == 0 || memcmp(x, y, (size_t)n) == 0);
}

/* The value of column `at`, as far as it has room. */
static const char *shown(sqlite3_stmt *s, int at, char text[40])
{
    if (sqlite3_column_type(s, at) == SQLITE_BLOB)
        snprintf(text, 40, "%d bytes", sqlite3_column_bytes(s, at));
    else if (sqlite3_column_type(s, at) == SQLITE_NULL)
        snprintf(text, 40, "nothing");
    else
        snprintf(text, 40, "%.36s", (const char *)sqlite3_column_text(s, at));
    return text;
}

/* Steps through the rows of both. Returns 0, 1 with *text at the first difference, or an error. */
static int compare(struct facts *run, struct facts *right, sqlite3_stmt *found, sqlite3_stmt *expected,
                   const char *table, char *text, size_t size)
{
    char a[40], b[40];
    for (unsigned long long row = 1;; row++) {
        int rc = sqlite3_step(found), rc_right = sqlite3_step(expected);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return facts_error(run->db, rc);
        if (rc_right != SQLITE_ROW && rc_right != SQLITE_DONE)
            return facts_error(right->db, rc_right);
        if (rc == SQLITE_DONE || rc_right == SQLITE_DONE)
            return 0; /* there are as many of both */
        for (int i = 0; i < sqlite3_column_count(found); i++)
            if (!same_value(found, expected, i))
                return snprintf(text, size, "table %s, row %llu of process or node %s: %.20s is %s, by the trace %s",
                                table, row, (const char *)sqlite3_column_text(expected, 0),
                                sqlite3_column_name(found, i), shown(found, i, a), shown(expected, i, b)) > 0;
    }
}

int facts_compare(struct facts *run, struct facts *right, char *text, size_t size)
{
    int result = facts_lacks(right) ? BEZEL_ESYS : facts_commit(right);
    facts_allow(0); /* it grows with the trace, as all that is made of it does */
    for (size_t i = 0; i < sizeof tables / sizeof *tables && result == 0; i++) {
        sqlite3_stmt *found = NULL, *expected = NULL;
        int64_t rows = 0, rows_right = 0;
        result = count_rows(run, i, &rows);
        if (result == 0)
            result = count_rows(right, i, &rows_right);
        if (result == 0 && rows != rows_right)
            return snprintf(text, size, "table %s has %" PRId64 " rows; the trace makes %" PRId64, tables[i].name, rows,
                            rows_right) > 0;
        if (result == 0)
            result = prepare(run, i, &found);
        if (result == 0)
            result = prepare(right, i, &expected);
        if (result == 0)
            result = compare(run, right, found, expected, tables[i].name, text, size);
        sqlite3_finalize(found);
        sqlite3_finalize(expected);
    }
    return result;
}
