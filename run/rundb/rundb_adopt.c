// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_sqlite.h"

/* A run whose collector was elsewhere has two databases: the collector's, and that of `bezel run`. This joins them. */

struct adoption {
    struct rundb *to;
    const char *(*node_of)(const void *context, const char *process);
    const void *context;
};

static struct rundb_value text(sqlite3_stmt *row, int column)
{
    const char *it = (const char *)sqlite3_column_text(row, column);
    return RUNDB_TEXT(it ? it : "");
}

static struct rundb_value number(sqlite3_stmt *row, int column)
{
    return RUNDB_INT(sqlite3_column_int64(row, column));
}

static int adopt_property(const struct adoption *a, sqlite3_stmt *row)
{
    return rundb_write(a->to, RUNDB_PUT, text(row, 0), text(row, 1));
}

static int adopt_event(const struct adoption *a, sqlite3_stmt *row)
{
    return rundb_write(a->to, RUNDB_EVENT, number(row, 0), number(row, 1), text(row, 2));
}

static int adopt_program(const struct adoption *a, sqlite3_stmt *row)
{
    return rundb_write(a->to, RUNDB_PROGRAM, text(row, 0), text(row, 1), number(row, 2), number(row, 3), number(row, 4),
                       number(row, 5), number(row, 6), text(row, 7), number(row, 8), number(row, 9), number(row, 10),
                       number(row, 11));
}

static int adopt_silent(const struct adoption *a, sqlite3_stmt *row)
{
    const char *name = text(row, 0).bytes, *node = a->node_of(a->context, name);
    return node ? rundb_silent(a->to, node, name, sqlite3_column_int64(row, 1), text(row, 2).bytes) : 0;
}

static int adopt_rows(const struct adoption *a, sqlite3 *from, const char *query,
                      int (*adopt)(const struct adoption *a, sqlite3_stmt *row))
{
    sqlite3_stmt *rows;
    int err = rundb_error(from, sqlite3_prepare_v2(from, query, -1, &rows, NULL)), rc = SQLITE_DONE;
    while (!err && (rc = sqlite3_step(rows)) == SQLITE_ROW)
        err = adopt(a, rows);
    sqlite3_finalize(rows);
    return err ? err : rundb_error(from, rc);
}

int rundb_adopt(struct rundb *f, const char *home, const char *(*node_of)(const void *context, const char *process),
                const void *context)
{
    struct adoption a = {.to = f, .node_of = node_of, .context = context};
    sqlite3 *from;
    int err = rundb_open_database(home, &from);
    if (err)
        return err;
    err = adopt_rows(&a, from, "SELECT key, value FROM properties", adopt_property);
    if (!err)
        err = adopt_rows(&a, from, "SELECT at, error, text FROM events", adopt_event);
    if (!err)
        err = adopt_rows(&a, from, "SELECT * FROM programs", adopt_program);
    if (!err)
        err =
            adopt_rows(&a, from, "SELECT name, pid, text FROM notes WHERE code = '" RUNDB_NO_SEGMENT "'", adopt_silent);
    sqlite3_close(from);
    return err;
}
