// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A run database and its copy, for one test program, which asserts. The copy gets what rundb_changes.h finds. */
#ifndef BEZEL_TESTS_LIB_RUNDB_COPY_H
#define BEZEL_TESTS_LIB_RUNDB_COPY_H

#include "run/rundb/rundb_apply.h"
#include "run/rundb/rundb_changes.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t *at;
    size_t n, capacity;
};

static inline int keep_bytes(void *context, const void *bytes, size_t n)
{
    struct bytes *b = context;
    if (b->capacity - b->n < n) {
        b->capacity = 2 * b->capacity + n;
        b->at = realloc(b->at, b->capacity);
        assert_non_null(b->at);
    }
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return 0;
}

/** A server that ends and begins again, and a mirror likewise, with the token of the one and the bytes of the other. */
struct copy {
    const char *run, *to;
    bool joined;
    struct rundb_changes *changes;
    struct rundb_apply *apply;
    struct bytes bytes; /* of the last look */
};

static inline void copy_close_changes(struct copy *c)
{
    rundb_changes_close(c->changes);
    c->changes = NULL;
}

static inline void copy_close_apply(struct copy *c)
{
    assert_int_equal(rundb_apply_close(c->apply), 0);
    c->apply = NULL;
    copy_close_changes(c);
}

static inline void copy_open(struct copy *c)
{
    uint8_t token[RUNDB_APPLY_TOKEN_MAX];
    size_t n;
    if (!c->apply)
        assert_int_equal(rundb_apply_open(c->to, c->joined, &c->apply), 0);
    if (c->changes)
        return;
    assert_int_equal(rundb_apply_token(c->apply, token, &n), 0);
    assert_int_equal(rundb_changes_open(c->run, token, n, &c->changes), 0);
}

/** Looks for changes of one part, or of both (-1). Returns whether there was anything new. */
static inline bool copy_look(struct copy *c, int part, bool finished)
{
    copy_open(c);
    c->bytes.n = 0;
    int more = rundb_changes_begin(c->changes, finished);
    assert_true(more == 0 || more == 1);
    if (more && part != RUNDB_CHANGES_REST)
        assert_int_equal(rundb_changes_put(c->changes, RUNDB_CHANGES_EXPLAIN, keep_bytes, &c->bytes), 0);
    if (more && part != RUNDB_CHANGES_EXPLAIN)
        assert_int_equal(rundb_changes_put(c->changes, RUNDB_CHANGES_REST, keep_bytes, &c->bytes), 0);
    if (more)
        assert_int_equal(rundb_changes_end(c->changes), 0);
    return more;
}

/** Brings the copy up to date. */
static inline void copy_all(struct copy *c, bool finished)
{
    (void)copy_look(c, -1, finished);
    assert_int_equal(rundb_apply_bytes(c->apply, c->bytes.at, c->bytes.n), 0);
    assert_int_equal(rundb_apply_commit(c->apply), 0);
}

static inline int64_t copy_number(sqlite3 *db, const char *query)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db, query, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

/** A connection to both databases: the run's, and as `copy` the other one. */
static inline sqlite3 *copy_attach(const struct copy *c)
{
    char path[PATH_MAX + 32];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", c->run);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    snprintf(path, sizeof path, "ATTACH '%s/run.db' AS copy", c->to);
    assert_int_equal(sqlite3_exec(db, path, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/**
 * Asserts that a table has the same rows in both, but for those that `but` (a WHERE) leaves out of the run's, whose
 * `programs` may be of a version that does not know when they were started.
 */
static inline void copy_assert_table(sqlite3 *db, const char *table, const char *but)
{
    bool lacks = strcmp(table, "programs") == 0 &&
                 copy_number(db, "SELECT count(*) FROM pragma_table_info('programs') WHERE name = 'started'") == 0;
    char query[512], from[64];
    snprintf(from, sizeof from, lacks ? "(SELECT *, 0 AS started FROM main.%s)" : "main.%s", table);
    snprintf(query, sizeof query,
             "SELECT (SELECT count(*) FROM %s %s) = (SELECT count(*) FROM copy.%s)"
             " AND NOT EXISTS (SELECT * FROM %s %s EXCEPT SELECT * FROM copy.%s)"
             " AND NOT EXISTS (SELECT * FROM copy.%s EXCEPT SELECT * FROM %s)",
             from, but, table, from, but, table, table, from);
    if (!copy_number(db, query))
        fail_msg("table %s differs", table);
}

/** Asserts that all tables of the run's database are in the copy, and have the same rows there. */
static inline void copy_assert_same(const struct copy *c, bool finished)
{
    sqlite3 *db = copy_attach(c);
    sqlite3_stmt *tables;
    int rc;
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT name FROM main.sqlite_schema WHERE type = 'table'", -1, &tables, NULL),
        SQLITE_OK);
    while ((rc = sqlite3_step(tables)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        bool held = strcmp(name, "properties") == 0 && !finished;
        copy_assert_table(db, name, held ? "WHERE key NOT IN ('collector.finished', 'seal')" : "");
    }
    assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(tables);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#endif
