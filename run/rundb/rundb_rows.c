// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_rows.h"

#include "base/saturate.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct position {
    sqlite3_stmt *next;  /* rows behind ?1, at most ?2 */
    sqlite3_stmt *at;    /* the time of row ?1 */
    int64_t row, row_at; /* the last one that was taken; 0: none */
};

/* By which a change of a file is seen. */
struct seen {
    struct timespec changed;
    off_t bytes;
    ino_t inode;
};

struct rundb_rows {
    char run[PATH_MAX];
    struct rundb *rundb; /* NULL: it rests */
    struct seen seen[2]; /* the database and its log, when it was opened last */
    struct position positions[RUNDB_ROWS_TABLES];
};

/* What the files of the database look like now. */
static void see(const struct rundb_rows *r, struct seen seen[2])
{
    static const char *const names[2] = {"run.db", "run.db-wal"};
    char path[PATH_MAX + 16];
    struct stat st;
    memset(seen, 0, 2 * sizeof *seen);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", r->run, names[i]);
        if (lstat(path, &st) == 0)
            seen[i] = (struct seen){st.st_mtim, st.st_size, st.st_ino};
    }
}

static bool is_same(const struct seen *a, const struct seen *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec && a->bytes == b->bytes &&
           a->inode == b->inode;
}

int rundb_rows_open(const char *run, struct rundb_rows **r)
{
    struct rundb_rows *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int err = snprintf(it->run, sizeof it->run, "%s", run) < (int)sizeof it->run ? 0 : BEZEL_EINVAL;
    if (!err)
        err = rundb_open_read(run, &it->rundb);
    if (err) {
        free(it);
        return err;
    }
    rundb_rows_rest(it);
    *r = it;
    return 0;
}

void rundb_rows_close(struct rundb_rows *r)
{
    if (r)
        rundb_rows_rest(r);
    free(r);
}

void rundb_rows_rest(struct rundb_rows *r)
{
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        sqlite3_finalize(r->positions[i].next);
        sqlite3_finalize(r->positions[i].at);
        r->positions[i].next = r->positions[i].at = NULL;
    }
    (void)!rundb_close(r->rundb);
    r->rundb = NULL;
}

int rundb_rows_refresh(struct rundb_rows *r, bool always)
{
    struct seen seen[2];
    see(r, seen);
    if (r->rundb || (!always && is_same(&seen[0], &r->seen[0]) && is_same(&seen[1], &r->seen[1])))
        return 0;
    int err = rundb_open_read(r->run, &r->rundb);
    if (!err)
        memcpy(r->seen, seen, sizeof seen);
    return err ? err : 1;
}

void rundb_rows_rewind(struct rundb_rows *r)
{
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++)
        r->positions[i].row = r->positions[i].row_at = 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *time_column(int table)
{
    return table == RUNDB_ROWS_LOSSES ? "begin_ns" : "at";
}

static int prepare(struct rundb_rows *r, int table)
{
    struct position *p = &r->positions[table];
    const char *name = table == RUNDB_ROWS_LOSSES ? "losses" : builtin_layout((enum builtin)table)->table;
    char query[160];
    if (p->next && p->at)
        return 0;
    snprintf(query, sizeof query, "SELECT rowid, * FROM %s WHERE rowid > ?1 ORDER BY rowid LIMIT ?2", name);
    int err = rundb_error(r->rundb->db, sqlite3_prepare_v2(r->rundb->db, query, -1, &p->next, NULL));
    if (err)
        return err;
    snprintf(query, sizeof query, "SELECT %s FROM %s WHERE rowid = ?1", time_column(table), name);
    return rundb_error(r->rundb->db, sqlite3_prepare_v2(r->rundb->db, query, -1, &p->at, NULL));
}

/* Whether the row that was taken last is still there, with its time. */
static int check_position(struct rundb_rows *r, struct position *p)
{
    if (p->row == 0)
        return 0;
    sqlite3_bind_int64(p->at, 1, p->row);
    int rc = sqlite3_step(p->at);
    int err = rundb_error(r->rundb->db, rc);
    if (!err && (rc != SQLITE_ROW || sqlite3_column_int64(p->at, 0) != p->row_at))
        err = BEZEL_EAGAIN;
    sqlite3_reset(p->at);
    if (err == BEZEL_EAGAIN)
        p->row = p->row_at = 0;
    return err;
}

/* Fills `record`, a struct builtin_<name>, from the columns behind row and owner. */
static void fill(sqlite3_stmt *s, enum builtin b, void *record)
{
    const struct dict_aspect *a = &builtin_aspects[b];
    const struct builtin_layout *layout = builtin_layout(b);
    memset(record, 0, layout->size);
    *(int64_t *)((char *)record + offsetof(struct builtin_usage, at)) = saturate_ns(sqlite3_column_int64(s, 2));
    for (int i = 0; i < (int)a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        void *member = (char *)record + layout->offsets[i];
        const char *text = f->type == DICT_STRING ? (const char *)sqlite3_column_text(s, i + 3) : NULL;
        int64_t number = sqlite3_column_int64(s, i + 3);
        if (f->type == DICT_FLOAT64)
            *(double *)member =
                sqlite3_column_type(s, i + 3) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(s, i + 3);
        else if (f->type == DICT_STRING)
            *(const char **)member = text ? text : "";
        else if (f->type == DICT_ENUM)
            *(int *)member = sqlite3_column_int(s, i + 3);
        else
            *(int64_t *)member = strcmp(f->unit, "ns") == 0 ? saturate_ns(number) : number;
    }
}

static void take_row(sqlite3_stmt *s, int table, rundb_rows_take *take, void *context)
{
    union {
#define MEMBER(NAME, name, table, owner, rows) struct builtin_##name name;
        BUILTINS(MEMBER)
#undef MEMBER
        struct rundb_loss loss;
    } record;
    if (table == RUNDB_ROWS_LOSSES)
        record.loss = (struct rundb_loss){.ring = (uint32_t)sqlite3_column_int64(s, 2),
                                          .begin = saturate_ns(sqlite3_column_int64(s, 3)),
                                          .end = saturate_ns(sqlite3_column_int64(s, 4)),
                                          .count = (uint64_t)sqlite3_column_int64(s, 6)};
    else
        fill(s, (enum builtin)table, &record);
    take(context, table, sqlite3_column_int64(s, 1), &record);
}

int rundb_rows_next(struct rundb_rows *r, int table, unsigned most, rundb_rows_take *take, void *context)
{
    struct position *p = &r->positions[table];
    unsigned count = 0;
    int rc = SQLITE_DONE, err = prepare(r, table);
    if (!err)
        err = check_position(r, p);
    if (err)
        return err;
    int column = table == RUNDB_ROWS_LOSSES ? 3 : 2; /* of the time */
    sqlite3_bind_int64(p->next, 1, p->row);
    sqlite3_bind_int64(p->next, 2, most);
    while (!err && (rc = sqlite3_step(p->next)) == SQLITE_ROW) {
        p->row = sqlite3_column_int64(p->next, 0);
        p->row_at = sqlite3_column_int64(p->next, column);
        take_row(p->next, table, take, context);
        count++;
        err = rundb_is_too_long() ? BEZEL_ETIMEDOUT : 0;
    }
    if (!err)
        err = rundb_error(r->rundb->db, rc);
    sqlite3_reset(p->next);
    return err ? err : (int)count;
}
