// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/summary_internal.h"

#include "run/rundb/rundb_live.h"

/* Adds the latencies of column `at`. */
static void add_latency(struct summary_loading *l, sqlite3_stmt *s, int at, struct latency *to)
{
    int err = sqlite3_column_type(s, at) == SQLITE_NULL
                  ? 0
                  : latency_unpack(to, sqlite3_column_blob(s, at), (size_t)sqlite3_column_bytes(s, at));
    l->err = err ? err : l->err;
}

/* Thousands of processes of a program have the same dictionary: it is kept once for those that follow each other. */
static struct dict *take_dictionary(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    size_t before = l->summary.process_count - 1, bytes = (size_t)sqlite3_column_bytes(s, at);
    struct dict *last = before > 0 ? l->summary.processes[before - 1].dict : NULL, *d;
    int err = dict_parse(sqlite3_column_blob(s, at), bytes, &d);
    if (err) {
        l->err = err == BEZEL_ENOMEM ? err : l->err; /* a malformed one is left out */
        return NULL;
    }
    if (last && last->hash == d->hash) {
        dict_free(d);
        return dict_share(last);
    }
    if (summary_charge(l, 8 * bytes)) /* at most so much larger are the structs */
        return d;
    dict_free(d);
    return NULL;
}

static void take_process(struct summary_loading *l, sqlite3_stmt *s)
{
    struct latency latency = {0};
    size_t rows = l->summary.process_count;
    int64_t *row = summary_grow(l, &l->process_rows, &rows, sizeof *row);
    struct summary_process *p = summary_grow(l, &l->summary.processes, &l->summary.process_count, sizeof *p);
    if (!row || !p)
        return;
    *row = p->row = sqlite3_column_int64(s, 0);
    p->node = summary_node_index(l, s, 1);
    p->instance = summary_u64(s, 2);
    p->pid = (uint32_t)summary_u64(s, 3);
    p->role = (enum message_role)sqlite3_column_int(s, 4);
    p->name = summary_text(l, s, 5);
    p->executable = summary_text(l, s, 6);
    p->started = summary_ns(s, 7);
    p->state = (enum message_process_state)sqlite3_column_int(s, 8);
    p->unfinished = summary_u64(s, 9);
    add_latency(l, s, 10, &latency);
    p->latency = summary_latency_of(&latency);
    latency_free(&latency);
    p->overwrites = sqlite3_column_int(s, 11) != 0;
    p->unobserved = summary_u64(s, 12);
    p->latency.bound = summary_ns(s, 13);
    p->dict = take_dictionary(l, s, 14);
    if (p->role != ROLE_SUT)
        return;
    add_latency(l, s, 10, &l->latency);
    l->latency_bound = p->latency.bound > l->latency_bound ? p->latency.bound : l->latency_bound;
}

static void take_book(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    struct summary_book *b = p ? summary_grow(l, &p->books, &p->book_count, sizeof *b) : NULL;
    if (!b)
        return;
    b->aspect = (uint32_t)summary_u64(s, 1);
    b->name = summary_text(l, s, 2);
    b->attempts = summary_u64(s, 3);
    b->full = summary_u64(s, 4);
    b->off = summary_u64(s, 5);
    b->no_ring = summary_u64(s, 6);
    b->stored = summary_u64(s, 7);
    b->first_ns = summary_ns(s, 8);
    b->last_ns = summary_ns(s, 9);
    b->window = summary_u64(s, 10);
    b->spool = summary_u64(s, 11);
    b->kind = (enum dict_kind)sqlite3_column_int(s, 12);
}

/* The book of aspect `aspect` of a process; NULL, with l->err set, where there is none. */
static struct summary_book *book_of(struct summary_loading *l, struct summary_process *p, uint64_t aspect)
{
    for (size_t i = 0; p && i < p->book_count; i++)
        if (p->books[i].aspect == aspect)
            return &p->books[i];
    l->err = l->err ? l->err : BEZEL_EMALFORMED;
    return NULL;
}

static struct summary_number number_of(sqlite3_stmt *s, int at)
{
    bool is_int = sqlite3_column_type(s, at) == SQLITE_INTEGER;
    return (struct summary_number){is_int, is_int ? sqlite3_column_int64(s, at) : 0, summary_real(s, at)};
}

static void take_field(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_book *b = book_of(l, summary_process_at(l, s, 0), summary_u64(s, 1));
    struct summary_field *f = b ? summary_grow(l, &b->fields, &b->field_count, sizeof *f) : NULL;
    if (!f)
        return;
    *f = (struct summary_field){.field = (uint32_t)summary_u64(s, 2),
                                .name = summary_text(l, s, 3),
                                .unit = summary_text(l, s, 4),
                                .count = summary_u64(s, 5),
                                .unknown = summary_u64(s, 6),
                                .total = sqlite3_column_int64(s, 7),
                                .mean = summary_real(s, 8),
                                .last = number_of(s, 9),
                                .min = number_of(s, 10),
                                .max = number_of(s, 11),
                                .p50 = number_of(s, 12),
                                .p99 = number_of(s, 13)};
}

static void take_stream(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    struct summary_stream *stream = p ? summary_grow(l, &p->streams, &p->stream_count, sizeof *stream) : NULL;
    if (!stream)
        return;
    stream->ring = (uint32_t)summary_u64(s, 1);
    stream->next_ordinal = summary_u64(s, 2);
    stream->open = sqlite3_column_int(s, 4) == 0;
    p->discarded += summary_u64(s, 3);
    stream->expired = (struct summary_expired){summary_u64(s, 5), summary_u64(s, 6), summary_u64(s, 7)};
    p->expired.packets += stream->expired.packets;
    p->expired.records += stream->expired.records;
    p->expired.bytes += stream->expired.bytes;
}

static void take_last_loss(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    if (p)
        p->last_loss = summary_ns(s, 1);
}

static void take_reduced(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    const char *aspect = summary_text(l, s, 1);
    uint64_t lost = summary_u64(s, 5);
    if (p)
        p->reduced = p->discarded > lost ? p->discarded - lost : 0;
    struct summary_book *b = summary_book_of(p, aspect);
    if (!b)
        return;
    b->reduced = summary_u64(s, 3);
    b->reducer = summary_u64(s, 4);
}

/* Records of an aspect that ended at the collector, which has saved their values. */
static void take_thinned(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    uint64_t aspect = summary_u64(s, 1), lost = summary_u64(s, 3);
    if (p)
        p->reduced = p->discarded > lost ? p->discarded - lost : 0;
    struct summary_book *b = p && aspect > 0 ? book_of(l, p, aspect) : NULL; /* 0: of the process */
    if (!b)
        return;
    b->reduced += summary_u64(s, 2);
    b->thinned = true;
}

uint64_t summary_rest(const struct summary_book *b)
{
    uint64_t known = b->stored + b->full + b->off + b->no_ring + b->window + b->spool + b->reduced + b->reducer;
    return b->attempts > known ? b->attempts - known : 0;
}

/*
 * The ordinals count what the collector took, of all aspects; what it had not saved when it was killed is lost. Of
 * which aspect these were the books tell.
 */
static void add_lost_by_collector(struct summary_process *p)
{
    uint64_t known = 0;
    for (size_t i = 0; i < p->book_count; i++)
        known += p->books[i].reduced + p->books[i].reducer;
    uint64_t lost = p->reduced > known ? p->reduced - known : 0, aspects = 0;
    for (size_t i = 0; i < p->book_count; i++)
        aspects += p->books[i].thinned;
    for (size_t i = 0; i < p->book_count && lost > 0; i++) {
        struct summary_book *b = &p->books[i];
        uint64_t most = aspects == 1 ? lost : summary_rest(b);
        uint64_t of_this = aspects > 0 && !b->thinned ? 0 : most < lost ? most : lost;
        b->reducer += of_this;
        lost -= of_this;
    }
}

static void load_thinned(struct summary_loading *l)
{
    summary_each(l,
                 "SELECT CAST(substr(key, 19) AS INTEGER), CAST(substr(key, 19 + instr(substr(key, 19), '.')) AS"
                 " INTEGER), CAST(value AS INTEGER), (SELECT ifnull(sum(count), 0) FROM losses WHERE process ="
                 " CAST(substr(key, 19) AS INTEGER)) FROM properties WHERE key GLOB '" RUNDB_REDUCED "*'"
                 " ORDER BY 1, 2",
                 take_thinned);
    for (size_t i = 0; i < l->summary.process_count; i++)
        add_lost_by_collector(&l->summary.processes[i]);
}

static void take_ending(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    int way = sqlite3_column_int(s, 3);
    if (p)
        p->ending = (struct builtin_ending){.node = p->node,
                                            .at = summary_ns(s, 1),
                                            .seen = summary_ns(s, 2),
                                            .way = way > ENDING_UNKNOWN && way <= ENDING_NONE ? way : ENDING_UNKNOWN};
}

_Static_assert(sizeof RUNDB_REDUCED == 19, "the numbers in the query begin there");

void summary_load_processes(struct summary_loading *l)
{
    summary_each(l,
                 "SELECT id, node, instance, pid, role, name, executable, started, state, unfinished, latency,"
                 " overwrites, unobserved, latency_bound, dictionary FROM processes ORDER BY node, id",
                 take_process);
    summary_each(
        l,
        "SELECT process, aspect, name, attempts, lost_full, lost_off, lost_no_ring, stored, first_ns, last_ns, "
        "lost_window,"
        " lost_spool, kind"
        " FROM books ORDER BY process, aspect",
        take_book);
    summary_each(l,
                 "SELECT process, aspect, field, name, unit, count, unknown, total, mean, last, min, max, p50, p99"
                 " FROM fields ORDER BY process, aspect, field",
                 take_field);
    summary_each(
        l,
        "SELECT process, ring, next_ordinal, discarded, closed, ifnull(e.packets, 0), ifnull(e.records, 0),"
        " ifnull(e.bytes, 0) FROM streams LEFT JOIN (SELECT process, ring, packets, records, bytes, max(section)"
        " FROM section_streams WHERE section <= (SELECT min(number) FROM sections) GROUP BY process, ring) e"
        " USING (process, ring) ORDER BY process, ring",
        take_stream);
    summary_each(l, "SELECT process, max(end_ns) FROM losses GROUP BY process ORDER BY process", take_last_loss);
    summary_each(l,
                 "SELECT processes.id, aspect, max(at), handed, lost, (SELECT ifnull(sum(count), 0) FROM losses WHERE"
                 " process = processes.id) FROM reductions JOIN processes d ON d.id = daemon"
                 " JOIN processes ON processes.node = d.node AND processes.instance = reductions.instance"
                 " GROUP BY processes.id, aspect",
                 take_reduced);
    load_thinned(l);
    summary_each(l,
                 "SELECT processes.id, max(at), seen, way FROM endings e JOIN processes ON processes.node = e.node"
                 " AND processes.instance = e.instance GROUP BY processes.id",
                 take_ending);
}

#define DECLARED "5" /* SET_BY_NONE */
_Static_assert(SET_BY_NONE == 5, "the text of the queries has it");

void summary_load_knobs(struct summary_loading *l)
{
    struct summary *s = &l->summary;
    summary_rows(l, "SELECT * FROM knobs WHERE cause <> " DECLARED " ORDER BY at, rowid", BUILTIN_KNOB, &s->knobs,
                 &s->knob_count);
    summary_rows(l, "SELECT * FROM knobs WHERE cause = " DECLARED " GROUP BY process, knob ORDER BY process, knob",
                 BUILTIN_KNOB, &s->declared, &s->declared_count);
}
