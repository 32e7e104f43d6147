// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/rundb/rundb_live.h"

#include "base/bytes.h"
#include "collector/rundb/rundb_sqlite.h"

#include <stdio.h>

int rundb_serve(struct rundb *f, bool sync)
{
    sqlite3_busy_timeout(f->db, RUNDB_SERVE_BUSY_MS);
    return sync ? rundb_lasting(f) : 0;
}

bool rundb_lacks(const struct rundb *f)
{
    return f->lacks;
}

int rundb_get(struct rundb *f, const char *key, char *value, size_t size)
{
    sqlite3_stmt *s = f->statements[RUNDB_GET];
    rundb_bind_text(s, 1, key);
    int rc = sqlite3_step(s);
    int err = rundb_error(f->db, rc);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (text)
        snprintf(value, size, "%s", text);
    else if (!err)
        err = BEZEL_ENOENT;
    sqlite3_reset(s);
    return err;
}

static void bind_u64(sqlite3_stmt *s, int at, uint64_t value)
{
    sqlite3_bind_int64(s, at, (int64_t)value);
}

/* Runs the statement and commits; *row, if not NULL, gets the id of the inserted row. */
static int run_lasting(struct rundb *f, sqlite3_stmt *s, int64_t *row)
{
    int err = rundb_run(f, s);
    if (!err && row)
        *row = sqlite3_last_insert_rowid(f->db);
    return err ? err : rundb_commit(f);
}

int rundb_add_node(struct rundb *f, struct model_node *node)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_NODE, &err);
    if (!s)
        return err;
    rundb_bind_text(s, 1, node->name);
    sqlite3_bind_blob(s, 2, node->uuid, sizeof node->uuid, SQLITE_STATIC);
    sqlite3_bind_blob(s, 3, node->boot, sizeof node->boot, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, node->realtime_offset);
    rundb_bind_text(s, 5, node->dir);
    return run_lasting(f, s, &node->row);
}

int rundb_add_process(struct rundb *f, struct model_process *process, const void *dictionary, size_t n)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_PROCESS, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, process->node->row);
    bind_u64(s, 2, process->instance);
    sqlite3_bind_int64(s, 3, process->stream_id);
    sqlite3_bind_int64(s, 4, process->pid);
    sqlite3_bind_int(s, 5, process->role);
    rundb_bind_text(s, 6, process->name);
    rundb_bind_text(s, 7, process->program);
    bind_u64(s, 8, process->started);
    rundb_bind_text(s, 9, process->base);
    sqlite3_bind_blob(s, 10, n ? dictionary : "", (int)n, SQLITE_STATIC);
    sqlite3_bind_int(s, 11, process->overwrites);
    return run_lasting(f, s, &process->row);
}

int rundb_set_dictionary(struct rundb *f, const struct model_process *process, const void *dictionary, size_t n)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_DICTIONARY, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, process->row);
    sqlite3_bind_blob(s, 2, n ? dictionary : "", (int)n, SQLITE_STATIC);
    return run_lasting(f, s, NULL);
}

int rundb_save_node(struct rundb *f, const struct model_node *node)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_NODE_STATE, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, node->row);
    sqlite3_bind_int(s, 2, node->left);
    bind_u64(s, 3, node->unobserved);
    return rundb_run(f, s);
}

size_t rundb_pack(const struct histogram *h, uint8_t *blob)
{
    uint8_t *at = blob;
    bytes_put_u64(at, (uint64_t)h->max);
    at += 8;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (!h->buckets[i])
            continue;
        bytes_put_u32(at, i);
        bytes_put_u64(at + 4, h->buckets[i]);
        at += 12;
    }
    return (size_t)(at - blob);
}

int rundb_unpack(const void *blob, size_t n, struct histogram *h)
{
    const uint8_t *at = blob;
    *h = (struct histogram){0};
    if (n < 8 || (n - 8) % 12 != 0)
        return BEZEL_EMALFORMED;
    h->max = (int64_t)bytes_get_u64(at);
    for (at += 8, n -= 8; n; at += 12, n -= 12) {
        uint32_t i = bytes_get_u32(at);
        if (i >= HISTOGRAM_BUCKETS)
            return BEZEL_EMALFORMED;
        h->buckets[i] = bytes_get_u64(at + 4);
        h->count += h->buckets[i];
    }
    return 0;
}

static int save_state(struct rundb *f, const struct model_process *p)
{
    int err;
    uint8_t blob[RUNDB_HISTOGRAM_MAX];
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_PROCESS_STATE, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int(s, 2, p->state);
    bind_u64(s, 3, p->unfinished);
    if (p->latency)
        sqlite3_bind_blob(s, 4, blob, (int)rundb_pack(p->latency, blob), SQLITE_STATIC);
    bind_u64(s, 5, p->unobserved);
    return rundb_run(f, s);
}

static int save_book(struct rundb *f, const struct model_process *p, uint32_t aspect)
{
    int err;
    const struct model_count *c = &p->counts[aspect];
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_BOOK, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int64(s, 2, aspect);
    rundb_bind_text(s, 3, aspect ? p->dict->aspects[aspect - 1].name : RUNDB_UNEXPLAINED);
    bind_u64(s, 4, c->attempts);
    bind_u64(s, 5, c->full);
    bind_u64(s, 6, c->off);
    bind_u64(s, 7, c->no_ring);
    bind_u64(s, 8, c->window);
    bind_u64(s, 9, c->spool);
    bind_u64(s, 10, c->stored);
    sqlite3_bind_int64(s, 11, c->first_ns);
    sqlite3_bind_int64(s, 12, c->last_ns);
    return rundb_run(f, s);
}

/* Saves the kind and statistics of an aspect that is not a plain event. */
static int save_kind(struct rundb *f, const struct model_process *p, uint32_t aspect)
{
    int err;
    uint8_t blob[RUNDB_HISTOGRAM_MAX];
    const struct dict_aspect *a = &p->dict->aspects[aspect - 1];
    const struct kind_statistics *v = p->values[aspect];
    if (a->kind == DICT_EVENT)
        return 0;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_KIND, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int64(s, 2, aspect);
    sqlite3_bind_int(s, 3, a->kind);
    rundb_bind_text(s, 4, a->fields[0].unit);
    sqlite3_bind_int64(s, 5, v ? v->total : 0);
    if (v && a->kind == DICT_GAUGE) { /* a NaN becomes NULL */
        sqlite3_bind_double(s, 6, v->last);
        sqlite3_bind_double(s, 7, v->min);
        sqlite3_bind_double(s, 8, v->max);
    }
    if (v && v->durations)
        sqlite3_bind_blob(s, 9, blob, (int)rundb_pack(v->durations, blob), SQLITE_STATIC);
    return rundb_run(f, s);
}

/*
 * Saves a stream, unless it has bytes that a power failure can still lose: a row that counts them would make that look
 * like damage. store_sync() makes the process dirty again.
 */
static int save_stream(struct rundb *f, const struct model_process *p, const struct model_stream *stream)
{
    int err;
    if (stream->unsynced)
        return 0;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_STREAM, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int64(s, 2, stream->at.ring);
    bind_u64(s, 3, stream->packets);
    bind_u64(s, 4, stream->bytes);
    bind_u64(s, 5, stream->at.next_ordinal);
    bind_u64(s, 6, stream->at.discarded);
    bind_u64(s, 7, stream->sum);
    sqlite3_bind_int(s, 8, stream->closed);
    return rundb_run(f, s);
}

int rundb_save_process(struct rundb *f, const struct model_process *process)
{
    int err = save_state(f, process);
    for (uint32_t i = process->counts[0].attempts ? 0 : 1; i <= process->dict->aspect_count && !err; i++)
        err = save_book(f, process, i);
    for (uint32_t i = 1; i <= process->dict->aspect_count && !err; i++)
        err = save_kind(f, process, i);
    for (uint32_t i = 0; i < PACKET_RINGS_MAX && !err; i++)
        if (process->streams[i] && process->streams[i]->packets)
            err = save_stream(f, process, process->streams[i]);
    return err;
}

int rundb_add_loss(struct rundb *f, const struct model_process *process, const struct packet_header *h, uint64_t count)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_LOSS, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, process->row);
    sqlite3_bind_int64(s, 2, h->ring);
    bind_u64(s, 3, h->timestamp_begin);
    bind_u64(s, 4, h->timestamp_end);
    bind_u64(s, 5, h->first_ordinal);
    bind_u64(s, 6, count);
    return rundb_run(f, s);
}

int rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note)
{
    int err;
    sqlite3_stmt *s = rundb_prepare(f, RUNDB_NOTE, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, node->row);
    bind_u64(s, 2, note->instance);
    sqlite3_bind_int64(s, 3, note->pid);
    rundb_bind_text(s, 4, note->name);
    bind_u64(s, 5, note->at);
    rundb_bind_text(s, 6, note->code);
    rundb_bind_text(s, 7, note->text);
    sqlite3_bind_int64(s, 8, RUNDB_NOTES_MAX);
    return rundb_run(f, s);
}

int rundb_clear_derived(struct rundb *f)
{
    int err = rundb_begin(f);
    if (!err)
        err = rundb_error(f->db, sqlite3_exec(f->db, "DELETE FROM losses", NULL, NULL, NULL));
    if (!err)
        err = rundb_clear_builtins(f->db);
    f->lacks = err != 0;
    return err;
}

int rundb_clear_streams(struct rundb *f)
{
    int err = rundb_begin(f);
    return err ? err : rundb_error(f->db, sqlite3_exec(f->db, "DELETE FROM streams", NULL, NULL, NULL));
}
