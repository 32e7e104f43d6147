// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * The tables that are derived from packets. Most have no order but that in which packets arrived, so rows are compared
 * in the order of their values. If two threads set a gauge at the same nanosecond, the last value is undefined, and a
 * sum of float64 depends on the order: for processes with several rings these are not compared. Nor is a field some of
 * whose values were, by its own count, not evaluated.
 */
#define ALONE        "(SELECT count(*) FROM streams s WHERE s.process = f.process) = 1"
#define STORED       "(SELECT stored FROM books b WHERE b.process = f.process AND b.aspect = f.aspect)"
#define EVALUATED(x) "iif(count + unknown >= " STORED ", " x ", x'') " x
#define MEAN         "iif(count + unknown >= " STORED " AND (total IS NOT NULL OR " ALONE "), mean, x'') mean"
#define LAST         "iif(count + unknown >= " STORED " AND " ALONE ", last, x'') last"

struct table {
    const char *name, *columns;
    int count;    /* of columns */
    bool partial; /* an empty blob is not compared */
};
static const struct table tables[] = {
    {"streams", "process, ring, packets, bytes, next_ordinal, discarded, sum, closed, records", 9, false},
    {"books", "process, aspect, name, kind, stored, first_ns, last_ns", 7, false},
    {"fields f",
     "process, aspect, field, name, unit, " EVALUATED("count") ", " EVALUATED("total") ", " EVALUATED(
         "min") ", " EVALUATED("max") ", " EVALUATED("p50") ", " EVALUATED("p99") ", " LAST ", " MEAN,
     13, true},
    {"losses", "*", 7, false},
};

enum { TABLES = sizeof tables / sizeof *tables };

/* Table `i`: first those above, then those of built-in aspects. */
static struct table table_at(size_t i)
{
    return i < TABLES ? tables[i]
                      : (struct table){builtin_layout(i - TABLES)->table, "*",
                                       (int)builtin_aspects[i - TABLES].field_count + 3, false};
}

static int prepare(struct rundb *f, const struct table *t, sqlite3_stmt **s)
{
    char query[2048];
    int n = snprintf(query, sizeof query, "SELECT %s FROM %s ORDER BY 1", t->columns, t->name);
    for (int i = 2; i <= t->count; i++)
        n += snprintf(query + n, sizeof query - (size_t)n, ", %d", i);
    return rundb_error(f->db, sqlite3_prepare_v2(f->db, query, -1, s, NULL));
}

static int count_rows(struct rundb *f, const struct table *t, int64_t *count)
{
    char query[64];
    snprintf(query, sizeof query, "SELECT count(*) FROM %s", t->name);
    return rundb_number(f->db, query, count);
}

static bool same_value(const struct table *t, sqlite3_stmt *a, sqlite3_stmt *b, int at)
{
    int type = sqlite3_column_type(a, at);
    if (t->partial && (type == SQLITE_BLOB || sqlite3_column_type(b, at) == SQLITE_BLOB))
        return true;
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

/* The value of column `at`, shortened to the room in `text`. */
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
static int compare(struct rundb *run, struct rundb *right, sqlite3_stmt *found, sqlite3_stmt *expected,
                   const struct table *t, char *text, size_t size)
{
    char a[40], b[40];
    for (unsigned long long row = 1;; row++) {
        int rc = sqlite3_step(found), rc_right = sqlite3_step(expected);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rundb_error(run->db, rc);
        if (rc_right != SQLITE_ROW && rc_right != SQLITE_DONE)
            return rundb_error(right->db, rc_right);
        if (rc == SQLITE_DONE || rc_right == SQLITE_DONE)
            return 0; /* both have the same number of rows */
        for (int i = 0; i < sqlite3_column_count(found); i++)
            if (!same_value(t, found, expected, i))
                return snprintf(text, size,
                                "table %s, row %llu, of process or node %s: column %.20s is %s; by the trace it is %s",
                                t->name, row, (const char *)sqlite3_column_text(expected, 0),
                                sqlite3_column_name(found, i), shown(found, i, a), shown(expected, i, b)) > 0;
    }
}

int rundb_compare(struct rundb *run, struct rundb *right, char *text, size_t size)
{
    int result = rundb_lacks(right) ? BEZEL_ESYS : rundb_commit(right);
    rundb_allow(0); /* its time is proportional to the trace */
    for (size_t i = 0; i < TABLES + BUILTIN_COUNT && result == 0; i++) {
        struct table t = table_at(i);
        sqlite3_stmt *found = NULL, *expected = NULL;
        int64_t rows = 0, rows_right = 0;
        result = count_rows(run, &t, &rows);
        if (result == 0)
            result = count_rows(right, &t, &rows_right);
        if (result == 0 && rows != rows_right)
            return snprintf(text, size, "table %s has %" PRId64 " rows; by the trace it has %" PRId64, t.name, rows,
                            rows_right) > 0;
        if (result == 0)
            result = prepare(run, &t, &found);
        if (result == 0)
            result = prepare(right, &t, &expected);
        if (result == 0)
            result = compare(run, right, found, expected, &t, text, size);
        sqlite3_finalize(found);
        sqlite3_finalize(expected);
    }
    return result;
}
