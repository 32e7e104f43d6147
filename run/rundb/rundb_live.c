// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_live.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "mdr/parts.h"
#include "run/model/statistics.h"
#include "run/rundb/rundb_sqlite.h"

#include <stdio.h>
#include <stdlib.h>

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
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
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

int rundb_read(const char *run, const char *key, char *value, size_t size)
{
    struct rundb *f;
    int err = rundb_open_read(run, &f);
    if (err)
        return err;
    err = rundb_get(f, key, value, size);
    (void)!rundb_close(f);
    return err;
}

int rundb_read_start(const char *run, int64_t *ns)
{
    char text[24] = "0";
    int err = rundb_read(run, RUNDB_STARTED, text, sizeof text);
    if (err == BEZEL_ENOENT)
        err = rundb_read(run, RUNDB_BEGUN, text, sizeof text);
    *ns = saturate_ns(strtoll(text, NULL, 10));
    return err == BEZEL_ENOENT ? 0 : err;
}

/* Commits a row that was written with result `err`; *row, if not NULL, gets its id. */
static int commit_row(struct rundb *f, int err, int64_t *row)
{
    if (!err && row)
        *row = sqlite3_last_insert_rowid(f->db);
    return err ? err : rundb_commit(f);
}

int rundb_add_node(struct rundb *f, struct model_node *node)
{
    int err = rundb_write(f, RUNDB_NODE, RUNDB_TEXT(node->name), RUNDB_BLOB(node->uuid, sizeof node->uuid),
                          RUNDB_BLOB(node->clock, sizeof node->clock), RUNDB_INT(node->realtime_offset),
                          RUNDB_TEXT(node->dir));
    return commit_row(f, err, &node->row);
}

int rundb_add_process(struct rundb *f, struct model_process *process, const void *dictionary, size_t n)
{
    int err =
        rundb_write(f, RUNDB_PROCESS, RUNDB_INT(process->node->row), RUNDB_INT(process->instance),
                    RUNDB_INT(process->stream_id), RUNDB_INT(process->pid), RUNDB_INT(process->role),
                    RUNDB_TEXT(process->name), RUNDB_TEXT(process->program), RUNDB_INT(process->started),
                    RUNDB_TEXT(process->base), RUNDB_BLOB(n ? dictionary : "", n), RUNDB_INT(process->overwrites));
    return commit_row(f, err, &process->row);
}

int rundb_set_dictionary(struct rundb *f, const struct model_process *process, const void *dictionary, size_t n)
{
    int err = rundb_write(f, RUNDB_DICTIONARY, RUNDB_INT(process->row), RUNDB_BLOB(n ? dictionary : "", n));
    return commit_row(f, err, NULL);
}

int rundb_save_node(struct rundb *f, const struct model_node *node)
{
    char key[RUNDB_WAYS_KEY];
    int err = node->ways ? rundb_put_int(f, rundb_ways_key(node->row, key), node->ways) : 0;
    return err ? err
               : rundb_write(f, RUNDB_NODE_STATE, RUNDB_INT(node->row), RUNDB_INT(node->left),
                             RUNDB_INT(node->unobserved));
}

static int save_state(struct rundb *f, const struct model_process *p)
{
    uint8_t blob[LATENCY_PACKED_MAX];
    size_t n = p->latency ? latency_pack(p->latency, blob) : 0;
    return rundb_write(f, RUNDB_PROCESS_STATE, RUNDB_INT(p->row), RUNDB_INT(p->state), RUNDB_INT(p->unfinished),
                       RUNDB_BLOB(n ? blob : NULL, n), RUNDB_INT(p->unobserved), RUNDB_INT(p->latency_bound));
}

/* With `synced`, also what the process's packets make of it. */
static int save_book(struct rundb *f, const struct model_process *p, uint32_t aspect, bool synced)
{
    static const struct model_count none;
    const struct model_count *c = &p->counts[aspect], *of_packets = synced ? c : &none;
    return rundb_write(f, RUNDB_BOOK, RUNDB_INT(p->row), RUNDB_INT(aspect),
                       RUNDB_TEXT(aspect ? p->dict->aspects[aspect - 1].name : RUNDB_UNEXPLAINED),
                       RUNDB_INT(c->attempts), RUNDB_INT(c->full), RUNDB_INT(c->off), RUNDB_INT(c->no_ring),
                       RUNDB_INT(c->window), RUNDB_INT(c->spool), RUNDB_INT(of_packets->stored),
                       RUNDB_INT(of_packets->first_ns), RUNDB_INT(of_packets->last_ns), RUNDB_INT(synced),
                       RUNDB_INT(aspect ? p->dict->aspects[aspect - 1].kind : DICT_EVENT));
}

/* A value of a field of `type`; NULL where `known` is false. */
static struct rundb_value number(enum dict_type type, union field_number v, bool known)
{
    if (!known)
        return RUNDB_BLOB(NULL, 0);
    return type == DICT_INT64 ? RUNDB_INT(v.i) : RUNDB_REAL(v.d);
}

static int save_field(struct rundb *f, const struct model_process *p, uint32_t aspect, uint32_t i)
{
    static const struct field_statistics none;
    const struct dict_field *field = &p->dict->aspects[aspect - 1].fields[i];
    const struct field_statistics *v = p->values[aspect] ? &p->values[aspect]->fields[i] : &none;
    bool known = v->count != 0, whole = field->type == DICT_INT64;
    union field_number median = {0}, p99 = {0};
    if (known) {
        median = field_quantile(v, field->type, 0.5);
        p99 = field_quantile(v, field->type, 0.99);
    }
    return rundb_write(f, RUNDB_FIELD, RUNDB_INT(p->row), RUNDB_INT(aspect), RUNDB_INT(i), RUNDB_TEXT(field->name),
                       RUNDB_TEXT(field->unit), RUNDB_INT(v->count), RUNDB_INT(v->unknown),
                       number(DICT_INT64, (union field_number){.i = field_total(v)}, known && whole),
                       RUNDB_REAL(field_mean(v, field->type)), number(field->type, v->last, known),
                       number(field->type, v->min, known), number(field->type, v->max, known),
                       number(field->type, median, known), number(field->type, p99, known));
}

/* Saves the statistics of an aspect's fields, if there are new ones. */
static int save_fields(struct rundb *f, const struct model_process *p, uint32_t aspect)
{
    const struct dict_aspect *a = &p->dict->aspects[aspect - 1];
    int err = 0;
    if (!p->counts[aspect].unsaved || !statistics_evaluates(p, aspect))
        return 0;
    for (uint32_t i = 0; i < a->field_count && !err; i++)
        if (field_has_statistics(a, i))
            err = save_field(f, p, aspect, i);
    return err;
}

static int save_stream(struct rundb *f, const struct model_process *p, const struct model_stream *stream)
{
    return rundb_write(f, RUNDB_STREAM, RUNDB_INT(p->row), RUNDB_INT(stream->at.ring), RUNDB_INT(stream->packets),
                       RUNDB_INT(stream->bytes), RUNDB_INT(stream->at.next_ordinal), RUNDB_INT(stream->at.discarded),
                       RUNDB_INT(stream->sum), RUNDB_INT(stream->closed), RUNDB_INT(stream->records));
}

bool rundb_waits_for_sync(const struct model_process *p)
{
    for (uint32_t i = 0; i < p->ring_count; i++)
        if (p->streams[i] && p->streams[i]->unsynced)
            return true;
    return false;
}

/*
 * While a process has bytes that a power failure can still lose, what its packets make of it stays as it was saved
 * last: rows that count those bytes would make their loss look like damage. store_sync() makes the process dirty again.
 */
int rundb_save_process(struct rundb *f, const struct model_process *process, struct rundb_share share)
{
    bool synced = !rundb_waits_for_sync(process);
    int err = save_state(f, process);
    for (uint32_t i = process->counts[0].attempts ? 0 : 1; i <= process->dict->aspect_count && !err; i++)
        err = save_book(f, process, i, synced);
    for (uint32_t i = 1; i <= process->dict->aspect_count && !err && synced; i++)
        err = rundb_shares(share, process, i) ? save_fields(f, process, i) : 0;
    for (uint32_t i = 0; i < process->ring_count && !err && synced; i++)
        if (process->streams[i] && process->streams[i]->packets)
            err = save_stream(f, process, process->streams[i]);
    return err;
}

int rundb_add_loss(struct rundb *f, const struct model_process *process, const struct packet_header *h, uint64_t count)
{
    return rundb_write(f, RUNDB_LOSS, RUNDB_INT(process->row), RUNDB_INT(h->ring), RUNDB_INT(h->timestamp_begin),
                       RUNDB_INT(h->timestamp_end), RUNDB_INT(h->first_ordinal), RUNDB_INT(count),
                       RUNDB_INT(f->section));
}

int rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note)
{
    return rundb_write(f, RUNDB_NOTE, RUNDB_INT(node->row), RUNDB_INT(note->instance), RUNDB_INT(note->pid),
                       RUNDB_TEXT(note->name), RUNDB_INT(note->at), RUNDB_TEXT(note->code), RUNDB_TEXT(note->text),
                       RUNDB_INT(RUNDB_NOTES_MAX));
}

/* The clock may have been set back, and a power failure may have taken the latest value: it is never an earlier one. */
int rundb_note_rewritten(struct rundb *f)
{
    char text[24] = "";
    int64_t now = clock_now() + clock_realtime_offset();
    int err = rundb_get(f, RUNDB_REWRITTEN, text, sizeof text);
    int64_t before = strtoll(text, NULL, 10);
    return err && err != BEZEL_ENOENT ? err : rundb_put_int(f, RUNDB_REWRITTEN, now > before ? now : before + 1);
}

int rundb_clear_derived(struct rundb *f)
{
    int err = rundb_begin(f), before = sqlite3_total_changes(f->db);
    if (!err)
        err = rundb_error(f->db, sqlite3_exec(f->db,
                                              "DELETE FROM losses WHERE section >="
                                              " (SELECT ifnull(min(number), 0) FROM sections)",
                                              NULL, NULL, NULL));
    if (!err)
        err = rundb_clear_builtins(f->db);
    if (!err && sqlite3_total_changes(f->db) != before)
        err = rundb_note_rewritten(f);
    f->lacks = err != 0;
    return err;
}

int rundb_clear_streams(struct rundb *f)
{
    int err = rundb_begin(f);
    return err ? err : rundb_error(f->db, sqlite3_exec(f->db, "DELETE FROM streams", NULL, NULL, NULL));
}
