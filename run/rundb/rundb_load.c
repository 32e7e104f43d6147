// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/uuid.h"
#include "mdr/parts.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void column_text(sqlite3_stmt *s, int at, char *text, size_t size)
{
    const unsigned char *value = sqlite3_column_text(s, at);
    snprintf(text, size, "%s", value ? (const char *)value : "");
}

static int column_uuid(sqlite3_stmt *s, int at, uint8_t uuid[16])
{
    if (sqlite3_column_bytes(s, at) != 16)
        return BEZEL_EMALFORMED;
    memcpy(uuid, sqlite3_column_blob(s, at), 16);
    return 0;
}

static int load_node(sqlite3_stmt *s, struct model *m)
{
    struct message_hello hello = {.realtime_offset = sqlite3_column_int64(s, 4)};
    column_text(s, 1, hello.node, sizeof hello.node);
    int err = column_uuid(s, 2, hello.uuid);
    if (!err)
        err = column_uuid(s, 3, hello.clock);
    if (err)
        return err;
    struct model_node *node = model_add_node(m, &hello);
    if (!node)
        return BEZEL_ENOMEM;
    node->row = sqlite3_column_int64(s, 0);
    column_text(s, 5, node->dir, sizeof node->dir);
    node->left = sqlite3_column_int(s, 6) != 0;
    node->unobserved = (uint64_t)sqlite3_column_int64(s, 7);
    node->ways = (uint32_t)sqlite3_column_int64(s, 8) & (RUNDB_WAY_LINK | RUNDB_WAY_DIRECT);
    return model_name_ok(node->name) && model_name_ok(node->dir) ? 0 : BEZEL_EMALFORMED;
}

static struct model_node *node_of_row(const struct model *m, int64_t row)
{
    struct model_node *node = m->nodes;
    while (node && node->row != row)
        node = node->next;
    return node;
}

/* The process whose node and instance are the first columns; NULL if there is none. */
static struct model_process *process_of_row(sqlite3_stmt *s, const struct model *m)
{
    const struct model_node *node = node_of_row(m, sqlite3_column_int64(s, 0));
    return node ? model_find_process(node, (uint64_t)sqlite3_column_int64(s, 1)) : NULL;
}

/* Whether `base`, the first part of the names of its files, ends with its pid, or its pid and instance. */
static bool base_ok(const struct model_process *p)
{
    char end[2][32];
    snprintf(end[0], sizeof end[0], "-%" PRIu32, p->pid);
    snprintf(end[1], sizeof end[1], "-%" PRIu32 "-%016" PRIx64, p->pid, p->instance);
    size_t n = strlen(p->base);
    for (int i = 0; i < 2; i++)
        if (n > strlen(end[i]) && strcmp(p->base + n - strlen(end[i]), end[i]) == 0)
            return true;
    return false;
}

/* Whether a process of the database is valid: its base names files, and its role and state select code. */
static bool process_ok(const struct model_process *p)
{
    return (p->role == ROLE_SUT || p->role == ROLE_DAEMON) && p->state >= PROCESS_RUNNING && p->state <= PROCESS_LEFT &&
           !strchr(p->base, '/') && base_ok(p);
}

/* Thousands of processes of a program have the same dictionary: a reader keeps it once for those that follow each
 * other. */
static struct dict *dictionary_of(struct model *m, struct dict *d)
{
    if (m->uncounted && m->recent && m->recent->hash == d->hash && m->recent->entry_count == d->entry_count) {
        dict_free(d);
        return dict_share(m->recent);
    }
    return m->recent = d;
}

static int load_process(sqlite3_stmt *s, struct model *m)
{
    struct model_node *node = node_of_row(m, sqlite3_column_int64(s, 1));
    struct message_process *said = calloc(1, sizeof *said);
    if (!node || !said) {
        free(said);
        return node ? BEZEL_ENOMEM : BEZEL_EMALFORMED;
    }
    said->instance = (uint64_t)sqlite3_column_int64(s, 2);
    said->stream_id = (uint32_t)sqlite3_column_int64(s, 3);
    said->pid = (uint32_t)sqlite3_column_int64(s, 4);
    said->role = (enum message_role)sqlite3_column_int(s, 5);
    column_text(s, 6, said->name, sizeof said->name);
    column_text(s, 7, said->program, sizeof said->program);
    said->started = (uint64_t)sqlite3_column_int64(s, 8);
    said->overwrites = sqlite3_column_int(s, 14) != 0;
    struct model_process *p = model_add_process(node, said);
    free(said);
    if (!p)
        return BEZEL_ENOMEM;
    p->row = sqlite3_column_int64(s, 0);
    column_text(s, 9, p->base, sizeof p->base);
    p->state = (enum message_process_state)sqlite3_column_int(s, 11);
    p->unfinished = (uint64_t)sqlite3_column_int64(s, 12);
    p->unobserved = (uint64_t)sqlite3_column_int64(s, 15);
    p->latency_bound = sqlite3_column_int64(s, 16);
    struct dict *dict;
    if (!process_ok(p))
        return BEZEL_EMALFORMED;
    int err = dict_parse(sqlite3_column_blob(s, 10), (size_t)sqlite3_column_bytes(s, 10), &dict);
    if (err)
        return err;
    model_set_dictionary(p, dictionary_of(m, dict));
    if (m->uncounted || sqlite3_column_type(s, 13) == SQLITE_NULL)
        return 0;
    p->latency = calloc(1, sizeof *p->latency);
    if (!p->latency)
        return BEZEL_ENOMEM;
    return latency_unpack(p->latency, sqlite3_column_blob(s, 13), (size_t)sqlite3_column_bytes(s, 13));
}

static int load_book(sqlite3_stmt *s, struct model *m)
{
    struct model_process *p = process_of_row(s, m);
    int64_t aspect = sqlite3_column_int64(s, 2);
    if (!p || aspect < 0 || aspect > p->dict->aspect_count)
        return BEZEL_EMALFORMED;
    p->counts[aspect] = (struct model_count){
        .attempts = (uint64_t)sqlite3_column_int64(s, 3),
        .full = (uint64_t)sqlite3_column_int64(s, 4),
        .off = (uint64_t)sqlite3_column_int64(s, 5),
        .no_ring = (uint64_t)sqlite3_column_int64(s, 6),
        .window = (uint64_t)sqlite3_column_int64(s, 7),
        .spool = (uint64_t)sqlite3_column_int64(s, 8),
    };
    return 0;
}

static int load_rows(struct rundb *f, const char *query, int (*load)(sqlite3_stmt *s, struct model *m), struct model *m)
{
    sqlite3_stmt *s;
    int err = rundb_error(f->db, sqlite3_prepare_v2(f->db, query, -1, &s, NULL));
    if (err)
        return err;
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW && !err)
        err = rundb_is_too_long() ? BEZEL_ETIMEDOUT : load(s, m);
    if (!err)
        err = rundb_error(f->db, rc);
    sqlite3_finalize(s);
    return err;
}

static int load_exchange(sqlite3_stmt *s, struct model *m)
{
    struct model_node *node = node_of_row(m, sqlite3_column_int64(s, 0));
    int64_t v[9];
    for (int i = 1; i < (int)(sizeof v / sizeof *v); i++)
        v[i] = sqlite3_column_int64(s, i);
    struct clock_exchange x = {
        .sent = v[1], .arrived = v[2], .answered = v[3], .received = v[4], .own = {v[5], v[6]}, .peer = {v[7], v[8]}};
    if (!node)
        return BEZEL_EMALFORMED;
    run_clock_add(&node->run_clock, &x, m->ahead);
    return 0;
}

/* Without these properties the run's clock is not known: an empty database. */
static int load_clock(struct rundb *f, struct model *m)
{
    char identity[MODEL_UUID_TEXT], ahead[32];
    int err = rundb_get(f, RUNDB_CLOCK, identity, sizeof identity);
    if (!err)
        err = rundb_get(f, RUNDB_CLOCK_AHEAD, ahead, sizeof ahead);
    if (err)
        return err == BEZEL_ENOENT ? 0 : err;
    m->ahead = strtoll(ahead, NULL, 10);
    return uuid_read(identity, m->run_clock) ? 0 : BEZEL_EMALFORMED;
}

/* Reads a number from `least` to `most`. Where the property is missing or something else, *n stays. */
static int load_number(struct rundb *f, const char *key, int64_t least, int64_t most, int64_t *n)
{
    char text[32], *end;
    int err = rundb_get(f, key, text, sizeof text);
    if (err)
        return err == BEZEL_ENOENT ? 0 : err;
    int64_t value = strtoll(text, &end, 10);
    if (end != text && *end == '\0' && value >= least && value <= most)
        *n = value;
    return 0;
}

static int load_order(struct rundb *f, struct model *m)
{
    struct order_settings order = order_settings_default;
    int64_t memory = (int64_t)order.memory;
    char word[8];
    int err = rundb_get(f, RUNDB_ORDER_BUFFERS, word, sizeof word);
    if (!err)
        (void)order_buffers_read(word, &order.buffers);
    if (!err || err == BEZEL_ENOENT)
        err = load_number(f, RUNDB_ORDER_MEMORY, ORDER_MEMORY_LEAST, ORDER_MEMORY_MOST, &memory);
    if (!err)
        err = load_number(f, RUNDB_ORDER_WAIT, 1, ORDER_WAIT_MOST, &order.wait);
    order.memory = (uint64_t)memory;
    m->order = order;
    return err;
}

static int load_exchanges(struct rundb *f, struct model *m)
{
    char query[192];
    snprintf(query, sizeof query,
             "SELECT node, sent, arrived, answered, received, own, own_error, peer, peer_error FROM exchanges"
             " WHERE clock = %" PRId64 " ORDER BY node, sent",
             clock_identity_short(m->run_clock));
    return load_rows(f, query, load_exchange, m);
}

/* A name of a process that is not there, or that is out of order, is left out: nothing depends on it. */
static int load_thread(sqlite3_stmt *s, struct model *m)
{
    struct model_process *p = process_of_row(s, m);
    const char *name = (const char *)sqlite3_column_text(s, 4);
    int err = p && name ? thread_names_add(&p->thread_names, (uint32_t)sqlite3_column_int64(s, 2),
                                           sqlite3_column_int64(s, 3), name)
                        : 0;
    m->thread_names += p && name && !err;
    return err == BEZEL_EMALFORMED ? 0 : err;
}

int rundb_load_threads(struct rundb *f, struct model *m)
{
    for (struct model_node *node = m->nodes; node; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            thread_names_fini(&p->thread_names);
    m->thread_names = 0;
    return load_rows(f, "SELECT node, instance, thread, at, name FROM threads ORDER BY thread, at", load_thread, m);
}

int rundb_load(struct rundb *f, struct model *m)
{
    int err = load_clock(f, m);
    if (!err)
        err = load_order(f, m);
    if (!err)
        err = load_rows(f,
                        "SELECT id, name, uuid, clock, realtime_offset, dir, left, unobserved, (SELECT value FROM"
                        " properties WHERE key = '" RUNDB_WAYS "' || nodes.id) FROM nodes ORDER BY id",
                        load_node, m);
    if (!err)
        err = load_rows(f,
                        "SELECT id, node, instance, stream_id, pid, role, name, executable, started, base, dictionary,"
                        " state, unfinished, latency, overwrites, unobserved, latency_bound FROM processes ORDER BY id",
                        load_process, m);
    m->recent = NULL;
    if (!err && !m->uncounted)
        err = load_rows(
            f,
            "SELECT node, instance, aspect, attempts, lost_full, lost_off, lost_no_ring, lost_window, lost_spool"
            " FROM books JOIN processes ON processes.id = books.process",
            load_book, m);
    if (!err && m->uncounted)
        err = rundb_load_threads(f, m);
    return err ? err : load_exchanges(f, m);
}

static int load_stream(sqlite3_stmt *s, struct model *m)
{
    struct model_process *p = process_of_row(s, m);
    int64_t ring = sqlite3_column_int64(s, 2);
    if (!p || ring < 0 || ring >= PACKET_RINGS_MAX)
        return BEZEL_EMALFORMED;
    struct model_stream *stream = model_stream(p, (uint32_t)ring);
    if (!stream)
        return BEZEL_ENOMEM;
    stream->saved = (struct model_saved){
        .packets = (uint64_t)sqlite3_column_int64(s, 3),
        .bytes = (uint64_t)sqlite3_column_int64(s, 4),
        .next_ordinal = (uint64_t)sqlite3_column_int64(s, 5),
        .discarded = (uint64_t)sqlite3_column_int64(s, 6),
        .sum = (uint64_t)sqlite3_column_int64(s, 7),
    };
    return 0;
}

static int load_stored(sqlite3_stmt *s, struct model *m)
{
    struct model_process *p = process_of_row(s, m);
    if (p)
        p->saved_stored += (uint64_t)sqlite3_column_int64(s, 2);
    return p ? 0 : BEZEL_EMALFORMED;
}

int rundb_load_streams(struct rundb *f, struct model *m)
{
    int err = load_rows(f, "SELECT node, instance, stored FROM books JOIN processes ON processes.id = books.process",
                        load_stored, m);
    return err ? err
               : load_rows(f,
                           "SELECT node, instance, ring, packets, bytes, next_ordinal, discarded, sum"
                           " FROM streams JOIN processes ON processes.id = streams.process",
                           load_stream, m);
}

int rundb_open_read(const char *run, struct rundb **f)
{
    sqlite3 *db;
    int err = rundb_open_database(run, &db);
    if (err)
        return err;
    struct rundb *it = calloc(1, sizeof *it);
    if (!it) {
        sqlite3_close(db);
        return BEZEL_ENOMEM;
    }
    it->db = db;
    err = rundb_prepare_get(it);
    if (!err)
        err = rundb_number(db, "PRAGMA data_version", &it->data_version);
    if (err)
        (void)!rundb_close(it);
    else
        *f = it;
    return err;
}

bool rundb_has_finished(const char *run)
{
    char finished[32] = "";
    return rundb_read(run, RUNDB_FINISHED, finished, sizeof finished) == 0 && finished[0];
}

int rundb_refresh(struct rundb *f)
{
    int64_t before = f->data_version;
    rundb_allow(RUNDB_READ_S);
    int err = rundb_error(f->db, sqlite3_exec(f->db, "COMMIT; BEGIN", NULL, NULL, NULL));
    if (!err)
        err = rundb_number(f->db, "PRAGMA data_version", &f->data_version);
    if (!err && f->data_version != before)
        err = rundb_renew(f->db, false); /* a writer may have renewed it */
    return err ? err : f->data_version != before;
}

int rundb_check(struct rundb *f)
{
    sqlite3_stmt *s;
    int err = rundb_error(f->db, sqlite3_prepare_v2(f->db, "PRAGMA quick_check(1)", -1, &s, NULL));
    if (err)
        return err;
    int rc = sqlite3_step(s);
    const char *said = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    err = rundb_error(f->db, rc);
    if (!err && (!said || strcmp(said, "ok") != 0))
        err = BEZEL_EMALFORMED;
    sqlite3_finalize(s);
    return err;
}
