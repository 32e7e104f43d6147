// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/history_rows.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "run/history/history_decode.h"
#include "run/rundb/rundb_sqlite.h"

#include <limits.h>
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

struct history_rows {
    char run[PATH_MAX];
    sqlite3 *db;    /* NULL: it rests */
    int64_t *nodes; /* rows of nodes, ascending */
    size_t node_count, last_node;
    struct seen seen[2]; /* the database and its log, when it was opened last */
    struct position positions[HISTORY_TABLES];
};

/* What the files of the database look like now. */
static void see(const struct history_rows *r, struct seen seen[2])
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

static int read_nodes(struct history_rows *r)
{
    sqlite3_stmt *s;
    int rc = SQLITE_DONE,
        err = rundb_error(r->db, sqlite3_prepare_v2(r->db, "SELECT id FROM nodes ORDER BY id", -1, &s, NULL));
    if (err)
        return err;
    r->node_count = 0;
    while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        err = grow_by_one(&r->nodes, r->node_count, sizeof *r->nodes) ? 0 : BEZEL_ENOMEM;
        if (!err)
            r->nodes[r->node_count++] = sqlite3_column_int64(s, 0);
    }
    if (!err)
        err = rundb_error(r->db, rc);
    sqlite3_finalize(s);
    return err;
}

static int open_now(struct history_rows *r)
{
    int err = rundb_open_database(r->run, &r->db);
    return err ? err : read_nodes(r);
}

int history_rows_open(const char *run, struct history_rows **r)
{
    struct history_rows *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int err = snprintf(it->run, sizeof it->run, "%s", run) < (int)sizeof it->run ? 0 : BEZEL_EINVAL;
    if (!err)
        err = open_now(it);
    if (err)
        history_rows_close(it);
    else
        *r = it;
    return err;
}

void history_rows_close(struct history_rows *r)
{
    if (!r)
        return;
    history_rows_rest(r);
    free(r->nodes);
    free(r);
}

void history_rows_rest(struct history_rows *r)
{
    for (int i = 0; i < HISTORY_TABLES; i++) {
        sqlite3_finalize(r->positions[i].next);
        sqlite3_finalize(r->positions[i].at);
        r->positions[i].next = r->positions[i].at = NULL;
    }
    sqlite3_close(r->db);
    r->db = NULL;
}

int history_rows_refresh(struct history_rows *r, bool always)
{
    struct seen seen[2];
    see(r, seen);
    if (r->db || (!always && is_same(&seen[0], &r->seen[0]) && is_same(&seen[1], &r->seen[1])))
        return 0;
    int err = open_now(r);
    if (!err)
        memcpy(r->seen, seen, sizeof seen);
    return err ? err : 1;
}

sqlite3 *history_rows_database(const struct history_rows *r)
{
    return r->db;
}

void history_rows_rewind(struct history_rows *r)
{
    for (int i = 0; i < HISTORY_TABLES; i++)
        r->positions[i].row = r->positions[i].row_at = 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *time_column(int table)
{
    return table == HISTORY_LOSSES ? "begin_ns" : "at";
}

static int prepare(struct history_rows *r, int table)
{
    struct position *p = &r->positions[table];
    const char *name = table == HISTORY_LOSSES ? "losses" : builtin_layout((enum builtin)table)->table;
    char query[160];
    if (p->next && p->at)
        return 0;
    snprintf(query, sizeof query, "SELECT rowid, * FROM %s WHERE rowid > ?1 ORDER BY rowid LIMIT ?2", name);
    int err = rundb_error(r->db, sqlite3_prepare_v2(r->db, query, -1, &p->next, NULL));
    if (err)
        return err;
    snprintf(query, sizeof query, "SELECT %s FROM %s WHERE rowid = ?1", time_column(table), name);
    return rundb_error(r->db, sqlite3_prepare_v2(r->db, query, -1, &p->at, NULL));
}

/* Whether the row that was taken last is still there, with its time. */
static int check_position(struct history_rows *r, struct position *p)
{
    if (p->row == 0)
        return 0;
    sqlite3_bind_int64(p->at, 1, p->row);
    int rc = sqlite3_step(p->at);
    int err = rundb_error(r->db, rc);
    if (!err && (rc != SQLITE_ROW || sqlite3_column_int64(p->at, 0) != p->row_at))
        err = BEZEL_EAGAIN;
    sqlite3_reset(p->at);
    if (err == BEZEL_EAGAIN)
        p->row = p->row_at = 0;
    return err;
}

static const char *text_of(void *context, sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);
    (void)context;
    return text ? text : "";
}

/* Nodes come in turn, so the search begins with the last one found. */
static int find_node(struct history_rows *r, int64_t row, uint32_t *node)
{
    for (size_t n = 0; n < r->node_count; n++) {
        size_t i = (r->last_node + n) % r->node_count;
        if (r->nodes[i] == row) {
            *node = (uint32_t)(r->last_node = i);
            return 0;
        }
    }
    return BEZEL_EMALFORMED;
}

static int take_row(struct history_rows *r, sqlite3_stmt *s, int table, history_rows_take *take, void *context)
{
    union {
        uint32_t node; /* with which all of these structs begin */
#define MEMBER(NAME, name, table, owner, rows) struct builtin_##name name;
        BUILTINS(MEMBER)
#undef MEMBER
        struct history_loss loss;
    } record;
    int64_t owner = sqlite3_column_int64(s, 1);
    int err = 0;
    record.node = 0;
    if (table == HISTORY_LOSSES) {
        record.loss = (struct history_loss){.process = owner,
                                            .ring = (uint32_t)sqlite3_column_int64(s, 2),
                                            .begin = saturate_ns(sqlite3_column_int64(s, 3)),
                                            .end = saturate_ns(sqlite3_column_int64(s, 4)),
                                            .count = (uint64_t)sqlite3_column_int64(s, 6)};
    } else {
        history_decode_row(s, 2, (enum builtin)table, &record, text_of, NULL);
        if (strcmp(builtin_layout((enum builtin)table)->owner, "node") == 0)
            err = find_node(r, owner, &record.node);
    }
    if (!err)
        take(context, table, &record);
    return err;
}

int history_rows_next(struct history_rows *r, int table, unsigned most, history_rows_take *take, void *context)
{
    struct position *p = &r->positions[table];
    unsigned count = 0;
    int rc = SQLITE_DONE, err = prepare(r, table);
    if (!err)
        err = check_position(r, p);
    if (err)
        return err;
    int column = table == HISTORY_LOSSES ? 3 : 2; /* of the time */
    sqlite3_bind_int64(p->next, 1, p->row);
    sqlite3_bind_int64(p->next, 2, most);
    while (!err && (rc = sqlite3_step(p->next)) == SQLITE_ROW) {
        p->row = sqlite3_column_int64(p->next, 0);
        p->row_at = sqlite3_column_int64(p->next, column);
        err = take_row(r, p->next, table, take, context);
        count++;
    }
    if (!err)
        err = rundb_error(r->db, rc);
    sqlite3_reset(p->next);
    if (!err && rundb_is_too_long()) /* a look at the clock takes as long as a row */
        err = BEZEL_ETIMEDOUT;
    return err ? err : (int)count;
}
