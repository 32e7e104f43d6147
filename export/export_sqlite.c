// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Records as a database of SQLite: a table for each aspect, made with its first record, all in one transaction. */
#include "base/grow.h"
#include "export/export_internal.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What each row begins with; a field of the same name is called field.NAME. */
static const char *const fixed[] = {"node",    "process",     "pid",      "ring",       "thread",
                                    "time_ns", "run_time_ns", "error_ns", "thread_name"};
enum { FIXED = sizeof fixed / sizeof *fixed, COLUMNS_MOST = 512, NAME_ROOM = DICT_NAME_MAX + 16 };

/*
 * SQLite takes names that differ in capital letters alone for one: then the later one has a number. So has a field
 * whose type is another one than in the program before.
 */
struct column {
    char field[DICT_NAME_MAX + 1], name[NAME_ROOM];
    const char *type;
};

struct table {
    char aspect[DICT_NAME_MAX + 1], name[NAME_ROOM];
    struct column *columns;
    size_t count, capacity;
};

struct export_database {
    sqlite3 *db;
    struct table *tables;
    size_t count, capacity;
    const struct model_process *process;            /* the present one */
    sqlite3_stmt *insertions[DICT_ASPECTS_MAX + 1]; /* of its aspects */
    uint16_t absent[DICT_ASPECTS_MAX + 1];          /* bit i: field i has no column */
    uint64_t left_out;                              /* values of fields beyond COLUMNS_MOST */
};

static int error_of(struct export_database *x, int rc)
{
    int system = sqlite3_system_errno(x->db);
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
        return 0;
    return rc == SQLITE_NOMEM ? BEZEL_ENOMEM : rc == SQLITE_FULL ? BEZEL_ENOSPC : (errno = system, BEZEL_ESYS);
}

static int run(struct export_database *x, char *sql)
{
    int err = sql ? error_of(x, sqlite3_exec(x->db, sql, NULL, NULL, NULL)) : BEZEL_ENOMEM;
    sqlite3_free(sql);
    return err;
}

struct export_database *export_database_open(const char *dir)
{
    char path[PATH_MAX];
    struct export_database *x = calloc(1, sizeof *x);
    if (!x || snprintf(path, sizeof path, "%s/records.db", dir) >= (int)sizeof path ||
        sqlite3_open_v2(path, &x->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK ||
        sqlite3_exec(x->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL) !=
            SQLITE_OK) {
        if (x)
            sqlite3_close(x->db);
        free(x);
        return NULL;
    }
    return x;
}

static void forget(void *to, const struct model *m)
{
    struct export_database *x = to;
    (void)m;
    for (size_t i = 0; i <= DICT_ASPECTS_MAX; i++)
        sqlite3_finalize(x->insertions[i]);
    memset(x->insertions, 0, sizeof x->insertions);
    x->process = NULL;
}

int export_database_close(struct export_database *x)
{
    if (!x)
        return 0;
    forget(x, NULL);
    int err = error_of(x, sqlite3_exec(x->db, "COMMIT", NULL, NULL, NULL));
    sqlite3_close(x->db);
    for (size_t i = 0; i < x->count; i++)
        free(x->tables[i].columns);
    free(x->tables);
    free(x);
    return err;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const char integer[] = "INTEGER", floating[] = "REAL", text[] = "TEXT";

static const char *type_of(const struct dict_field *f)
{
    return f->type == DICT_INT64 ? integer : f->type == DICT_FLOAT64 ? floating : text;
}

static bool has_table(const struct export_database *x, const char *name)
{
    for (size_t i = 0; i < x->count; i++)
        if (strcasecmp(x->tables[i].name, name) == 0)
            return true;
    return false;
}

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < FIXED; i++)
        if (strcasecmp(fixed[i], name) == 0)
            return true;
    return false;
}

static bool has_column(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcasecmp(t->columns[i].name, name) == 0)
            return true;
    return false;
}

static struct table *table_of(struct export_database *x, const char *aspect, int *err)
{
    for (size_t i = 0; i < x->count; i++)
        if (strcmp(x->tables[i].aspect, aspect) == 0)
            return &x->tables[i];
    if (!grow_list(&x->tables, &x->capacity, x->count, sizeof *x->tables)) {
        *err = BEZEL_ENOMEM;
        return NULL;
    }
    struct table *t = &x->tables[x->count];
    *t = (struct table){.columns = NULL};
    snprintf(t->aspect, sizeof t->aspect, "%s", aspect);
    snprintf(t->name, sizeof t->name, "%s", aspect);
    for (unsigned i = 2; has_table(x, t->name) || strncasecmp(t->name, "sqlite_", 7) == 0; i++)
        snprintf(t->name, sizeof t->name, "_%s_%u", aspect, i);
    x->count++;
    *err =
        run(x, sqlite3_mprintf("CREATE TABLE \"%w\"(node TEXT NOT NULL, process TEXT NOT NULL, pid INTEGER NOT NULL, "
                               "ring INTEGER NOT NULL, thread INTEGER NOT NULL, time_ns INTEGER NOT NULL, "
                               "run_time_ns INTEGER NOT NULL, error_ns INTEGER, thread_name TEXT) STRICT",
                               t->name));
    return *err ? NULL : t;
}

/* The column of a field, made if it is new; NULL with *err, or where the table has no room. */
static const struct column *column_of(struct export_database *x, struct table *t, const struct dict_field *f, int *err)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->columns[i].field, f->name) == 0 && t->columns[i].type == type_of(f))
            return &t->columns[i];
    if (t->count >= COLUMNS_MOST)
        return NULL;
    if (!grow_list(&t->columns, &t->capacity, t->count, sizeof *t->columns)) {
        *err = BEZEL_ENOMEM;
        return NULL;
    }
    struct column *c = &t->columns[t->count];
    c->type = type_of(f);
    snprintf(c->field, sizeof c->field, "%s", f->name);
    snprintf(c->name, sizeof c->name, is_fixed(f->name) ? "field.%s" : "%s", f->name);
    for (unsigned i = 2; has_column(t, c->name); i++)
        snprintf(c->name, sizeof c->name, is_fixed(f->name) ? "field.%s_%u" : "%s_%u", f->name, i);
    t->count++;
    *err = run(x, sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s", t->name, c->name, c->type));
    return *err ? NULL : c;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Prepares the statement for an aspect: parameter FIXED + 1 + i is field i, where it has a column. */
static int prepare(struct export_database *x, const struct dict_aspect *a)
{
    int err = 0;
    x->absent[a->id] = 0;
    struct table *t = table_of(x, a->name, &err);
    sqlite3_str *columns = sqlite3_str_new(x->db), *values = sqlite3_str_new(x->db);
    for (size_t i = 0; i < FIXED; i++) {
        sqlite3_str_appendf(columns, "%s%s", i ? ", " : "", fixed[i]);
        sqlite3_str_appendf(values, "%s?%d", i ? ", " : "", (int)i + 1);
    }
    for (uint32_t i = 0; t && !err && i < a->field_count; i++) {
        const struct column *c = column_of(x, t, &a->fields[i], &err);
        if (c) {
            sqlite3_str_appendf(columns, ", \"%w\"", c->name);
            sqlite3_str_appendf(values, ", ?%d", FIXED + 1 + (int)i);
        } else {
            x->absent[a->id] |= (uint16_t)(1u << i);
        }
    }
    char *names = sqlite3_str_finish(columns), *marks = sqlite3_str_finish(values);
    char *sql =
        !err && names && marks ? sqlite3_mprintf("INSERT INTO \"%w\"(%s) VALUES(%s)", t->name, names, marks) : NULL;
    if (!err)
        err = sql ? error_of(x, sqlite3_prepare_v2(x->db, sql, -1, &x->insertions[a->id], NULL)) : BEZEL_ENOMEM;
    sqlite3_free(names);
    sqlite3_free(marks);
    sqlite3_free(sql);
    return err;
}

static void bind_text(sqlite3_stmt *s, int at, const char *bytes, size_t n)
{
    sqlite3_bind_text(s, at, bytes, (int)n, SQLITE_STATIC);
}

static void bind_fixed(sqlite3_stmt *s, const struct record_item *item)
{
    const struct model_process *p = item->process;
    const char *thread = record_item_thread(item);
    bind_text(s, 1, p->node->name, strlen(p->node->name));
    bind_text(s, 2, p->name, strlen(p->name));
    sqlite3_bind_int64(s, 3, p->pid);
    sqlite3_bind_int64(s, 4, item->packet->ring);
    sqlite3_bind_int64(s, 5, item->packet->thread);
    sqlite3_bind_int64(s, 6, (int64_t)item->r->timestamp);
    sqlite3_bind_int64(s, 7, item->at.ns);
    if (item->at.bound < INT64_MAX)
        sqlite3_bind_int64(s, 8, item->at.bound);
    else
        sqlite3_bind_null(s, 8);
    if (thread)
        bind_text(s, 9, thread, strlen(thread));
    else
        sqlite3_bind_null(s, 9);
}

/* A number without a label is a text, as others in its column are. */
static void bind_field(sqlite3_stmt *s, int at, const struct record_item *item, uint32_t i)
{
    struct record_value v = record_item_value(item->process->dict, item->r, i);
    if (v.as == RECORD_TEXT)
        bind_text(s, at, v.text, v.length);
    else if (v.as == RECORD_INT)
        sqlite3_bind_int64(s, at, v.integer);
    else if (v.as == RECORD_FLOAT && !isnan(v.real))
        sqlite3_bind_double(s, at, v.real);
    else
        sqlite3_bind_null(s, at);
}

static int put(void *to, const struct record_item *item)
{
    struct export_database *x = to;
    if (x->process != item->process)
        forget(x, NULL);
    x->process = item->process;
    uint32_t id = item->aspect->id;
    int err = x->insertions[id] ? 0 : prepare(x, item->aspect);
    if (err)
        return err;
    sqlite3_stmt *s = x->insertions[id];
    bind_fixed(s, item);
    for (uint32_t i = 0; i < item->aspect->field_count; i++)
        if (x->absent[id] & 1u << i)
            x->left_out++;
        else
            bind_field(s, FIXED + 1 + (int)i, item, i);
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return error_of(x, rc);
}

static uint64_t left_out(const void *to)
{
    const struct export_database *x = to;
    return x->left_out;
}

const struct export_sink export_database_sink = {put, forget, left_out, false};
