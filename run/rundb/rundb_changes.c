// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_changes.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/grow.h"
#include "run/rundb/rundb_rows.h"

#include <stdlib.h>
#include <string.h>

struct rundb_changes {
    sqlite3 *db;
    int64_t data_version; /* SQLite's, of the snapshot; ... */
    int64_t put_version;  /* ... of the last one that was put as a whole; -1: none was */
    bool finished, put_finished;
    unsigned parts;     /* of the snapshot that were put: a bit each */
    bool broken;        /* a put has failed: what the copy has is not known */
    uint64_t rewritten; /* of the rows that were sent */
    struct rundb_rows_place tables[RUNDB_ROWS_TABLES];
    bool listed[RUNDB_ROWS_TABLES];             /* what the copy has of a table is in its list, not in its place */
    struct grow_bytes lists[RUNDB_ROWS_TABLES]; /* key, as in a DELETE, and checksum of each row that was sent */
    struct rundb_rows_piece piece;
};

/* Where the pieces of a part go. */
struct sink {
    int (*put)(void *context, const void *bytes, size_t n);
    void *context;
};

static int send(struct rundb_changes *c, const struct sink *to)
{
    return to->put(to->context, c->piece.bytes, c->piece.n);
}

static int send_row(struct rundb_changes *c, int table, sqlite3_stmt *row, const struct sink *to)
{
    int err = rundb_rows_make(&c->piece, RUNDB_ROWS_PUT, table, row, sqlite3_column_count(row));
    return err ? err : send(c, to);
}

static int send_clear(struct rundb_changes *c, int table, const struct sink *to)
{
    int err = rundb_rows_make(&c->piece, RUNDB_ROWS_CLEAR, table, NULL, 0);
    return err ? err : send(c, to);
}

/* ---- tables that grow -------------------------------------------------------------------------------------------- */

/* Sends the rows behind the last one. Without its row there, or after rows before it have changed, all. */
static int put_growing(struct rundb_changes *c, int table, bool rewritten, const struct sink *to)
{
    struct rundb_rows_place *place = &c->tables[table];
    sqlite3_stmt *row;
    uint64_t there = 0;
    int rc = SQLITE_DONE, err = 0;
    if (place->last != RUNDB_ROWS_NONE && !rewritten && !c->listed[table])
        err = rundb_rows_last_sum(c->db, table, place->last, &there);
    if (!err && place->last != RUNDB_ROWS_NONE && (rewritten || (!c->listed[table] && there != place->sum))) {
        place->last = RUNDB_ROWS_NONE;
        err = send_clear(c, table, to);
    }
    c->listed[table] = true;
    if (!err)
        err = rundb_rows_query(c->db, table, "WHERE rowid > ?1 ORDER BY rowid", &row);
    if (err)
        return err;
    sqlite3_bind_int64(row, 1, place->last);
    while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        place->last = sqlite3_column_int64(row, 0);
        err = send_row(c, table, row, to);
    }
    sqlite3_finalize(row);
    return err ? err : rundb_error(c->db, rc);
}

/* ---- all other tables -------------------------------------------------------------------------------------------- */

/* Compares two keys of as many values, in the order of SQLite's index: numbers, and texts byte by byte. */
static int compare_keys(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
    const uint8_t *a_end = a + a_bytes, *b_end = b + b_bytes;
    struct rundb_rows_value x, y;
    while (rundb_rows_read(&a, a_end, &x) && rundb_rows_read(&b, b_end, &y)) {
        if (x.bytes && y.bytes) {
            int order = memcmp(x.bytes, y.bytes, (size_t)(x.number < y.number ? x.number : y.number));
            if (order)
                return order;
        }
        if (x.number != y.number)
            return x.number < y.number ? -1 : 1;
    }
    return 0;
}

/* A row of the list: where it is, and the length of its key. */
struct listed {
    const uint8_t *at;
    size_t key;
    uint64_t sum;
};

/* The row at `offset` of the list; false at its end. */
static bool read_listed(const struct grow_bytes *l, size_t offset, int keys, struct listed *row)
{
    struct rundb_rows_value v;
    if (offset == l->n)
        return false;
    const uint8_t *at = l->at + offset, *end = l->at + l->n;
    row->at = at;
    for (int i = 0; i < keys; i++)
        (void)rundb_rows_read(&at, end, &v);
    row->key = (size_t)(at - row->at);
    row->sum = bytes_get_u64(at);
    return true;
}

static int send_delete(struct rundb_changes *c, int table, const struct listed *row, const struct sink *to)
{
    int err = rundb_rows_make(&c->piece, RUNDB_ROWS_DELETE, table, NULL, 0);
    memcpy(c->piece.bytes + c->piece.n, row->at, row->key);
    c->piece.n += row->key;
    bytes_put_u32(c->piece.bytes, (uint32_t)c->piece.n - 4);
    return err ? err : send(c, to);
}

/* What is sent of a table, row by row: `old` is read beside the rows, and `now` becomes what it is for the next time.
 */
struct merge {
    struct rundb_changes *c;
    const struct sink *to; /* NULL: nothing is sent */
    int table, keys;
    const struct grow_bytes *old;
    size_t offset; /* in it */
    struct grow_bytes now;
    uint64_t sum; /* of all rows */
};

/* Deletes the rows of the old list up to that of key `key`, NULL: all; sets *same where that is there unchanged. */
static int pass_old(struct merge *m, const uint8_t *key, size_t n, uint64_t sum, bool *same)
{
    struct listed row;
    int err = 0;
    while (!err && read_listed(m->old, m->offset, m->keys, &row)) {
        int order = key ? compare_keys(row.at, row.key, key, n) : -1;
        if (order > 0)
            return 0;
        m->offset += row.key + 8;
        if (order == 0) {
            *same = row.sum == sum;
            return 0;
        }
        err = m->to ? send_delete(m->c, m->table, &row, m->to) : 0;
    }
    return err;
}

static int merge_row(struct merge *m, sqlite3_stmt *row)
{
    struct rundb_rows_piece *piece = &m->c->piece;
    uint64_t sum = rundb_sum_row(CHECKSUM_START, row);
    uint8_t sum_bytes[8];
    bool same = false;
    int err = rundb_rows_make(piece, RUNDB_ROWS_DELETE, m->table, row, m->keys);
    size_t offset = m->now.n, n = piece->n - 6;
    m->sum += sum;
    if (err)
        return err;
    grow_bytes_add(&m->now, piece->bytes + 6, n);
    bytes_put_u64(sum_bytes, sum);
    grow_bytes_add(&m->now, sum_bytes, sizeof sum_bytes);
    if (m->now.short_of_memory)
        return rundb_refuse(BEZEL_ENOMEM, "out of memory for the keys of its rows");
    err = pass_old(m, m->now.at + offset, n, sum, &same);
    return err || same || !m->to ? err : send_row(m->c, m->table, row, m->to);
}

static const char *held_back(const struct rundb_changes *c, int table)
{
    return table == RUNDB_ROWS_PROPERTIES && !c->finished ? "WHERE key NOT IN ('" RUNDB_FINISHED "', '" RUNDB_SEAL
                                                            "') ORDER BY 1"
                                                          : NULL;
}

/* Brings the list of a table up to date, and sends the differences, if `to` is not NULL. */
static int merge(struct rundb_changes *c, int table, const struct sink *to, uint64_t *sum)
{
    struct merge m = {.c = c, .to = to, .table = table, .keys = rundb_rows_table(table).keys, .old = &c->lists[table]};
    sqlite3_stmt *row;
    bool same;
    int rc = SQLITE_DONE, err = rundb_rows_query(c->db, table, held_back(c, table), &row);
    while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
        err = merge_row(&m, row);
    sqlite3_finalize(row);
    if (!err)
        err = rundb_error(c->db, rc);
    if (!err)
        err = pass_old(&m, NULL, 0, 0, &same);
    free(c->lists[table].at);
    c->lists[table] = m.now;
    *sum = m.sum;
    return err;
}

/* A table of which the copy, by its token, has other rows is sent anew. */
static int put_listed(struct rundb_changes *c, int table, const struct sink *to)
{
    struct rundb_rows_place *place = &c->tables[table];
    uint64_t sum = 0;
    int err = 0;
    if (!c->listed[table] && place->sum != 0) {
        err = merge(c, table, NULL, &sum);
        if (!err && sum != place->sum) {
            c->lists[table].n = 0;
            err = send_clear(c, table, to);
        }
    }
    c->listed[table] = true;
    return err ? err : merge(c, table, to, &sum);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static int exec(struct rundb_changes *c, const char *text)
{
    return rundb_error(c->db, sqlite3_exec(c->db, text, NULL, NULL, NULL));
}

int rundb_changes_open(const char *run, const void *token, size_t n, struct rundb_changes **c)
{
    struct rundb_rows_token t = {0};
    struct rundb_changes *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++)
        t.tables[i].last = RUNDB_ROWS_NONE;
    int err = n == 0 || rundb_rows_get_token(&t, token, n)
                  ? 0
                  : rundb_refuse(BEZEL_EMALFORMED, "the copy does not say which rows it has");
    if (!err)
        err = rundb_open_database(run, &it->db);
    if (!err)
        err = exec(it, "COMMIT");
    it->put_version = -1;
    it->rewritten = t.rewritten;
    memcpy(it->tables, t.tables, sizeof it->tables);
    if (err)
        rundb_changes_close(it);
    else
        *c = it;
    return err;
}

void rundb_changes_close(struct rundb_changes *c)
{
    if (!c)
        return;
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++)
        free(c->lists[i].at);
    sqlite3_close(c->db);
    free(c);
}

/* The time that reading may take follows from the size of the database as it is now. */
static int allow(struct rundb_changes *c)
{
    int64_t pages = 0, page = 0;
    int err = rundb_number(c->db, "PRAGMA page_count", &pages);
    if (!err)
        err = rundb_number(c->db, "PRAGMA page_size", &page);
    rundb_allow(rundb_read_seconds(pages * page));
    return err;
}

int rundb_changes_begin(struct rundb_changes *c, bool finished)
{
    if (c->broken)
        return BEZEL_EINVAL;
    rundb_allow(RUNDB_READ_S);
    int err = exec(c, "BEGIN");
    if (err)
        return err;
    err = rundb_number(c->db, "PRAGMA data_version", &c->data_version);
    bool more = c->data_version != c->put_version || finished != c->put_finished;
    c->finished = finished;
    c->parts = 0;
    if (!err && more)
        err = allow(c);
    if (!err && more)
        err = rundb_renew(c->db, false);
    if (!err && more)
        return 1;
    int ended = exec(c, "COMMIT");
    return err ? err : ended;
}

static int put_table(struct rundb_changes *c, int table, bool rewritten, const struct sink *to)
{
    return rundb_rows_table(table).grows ? put_growing(c, table, rewritten, to) : put_listed(c, table, to);
}

int rundb_changes_put(struct rundb_changes *c, enum rundb_changes_part part,
                      int (*put)(void *context, const void *bytes, size_t n), void *context)
{
    const struct sink to = {.put = put, .context = context};
    bool explains = part == RUNDB_CHANGES_EXPLAIN;
    uint64_t rewritten = c->rewritten;
    int err = explains ? 0 : rundb_rows_rewritten(c->db, &rewritten);
    for (int i = explains ? 0 : RUNDB_ROWS_PROPERTIES;
         !err && i < (explains ? RUNDB_ROWS_PROPERTIES : RUNDB_ROWS_TABLES); i++)
        err = put_table(c, i, rewritten != c->rewritten, &to);
    c->rewritten = rewritten;
    c->broken = c->broken || err;
    c->parts |= err ? 0 : 1u << part;
    return err;
}

int rundb_changes_end(struct rundb_changes *c)
{
    if (c->parts == (1u << RUNDB_CHANGES_EXPLAIN | 1u << RUNDB_CHANGES_REST)) {
        c->put_version = c->data_version;
        c->put_finished = c->finished;
    }
    return exec(c, "COMMIT");
}
