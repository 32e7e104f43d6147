// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/summary.h"

#include "collector/facts_db.h"
#include "collector/facts_run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A text that the summary owns; freed with it. */
struct text {
    struct text *next;
    char bytes[];
};

struct loading {
    struct summary summary; /* first: what callers hold */
    struct text *texts;
    sqlite3 *db;
    int64_t *node_rows, *process_rows; /* of the database, by index */
    struct histogram latency;
    size_t last; /* index that was found last */
    int err;
};

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static const char *take_text(struct loading *l, sqlite3_stmt *s, int at)
{
    const char *value = (const char *)sqlite3_column_text(s, at);
    size_t n = value ? strlen(value) : 0;
    struct text *t = malloc(sizeof *t + n + 1);
    if (!t) {
        l->err = BEZEL_ENOMEM;
        return "";
    }
    memcpy(t->bytes, value ? value : "", n + 1);
    t->next = l->texts;
    l->texts = t;
    return t->bytes;
}

static uint64_t column_u64(sqlite3_stmt *s, int at)
{
    return (uint64_t)sqlite3_column_int64(s, at);
}

static double column_real(sqlite3_stmt *s, int at)
{
    return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

/*
 * The index of row `row`; what refers to a row that is not there belongs to no summary. Rows come in some order of what
 * they refer to, so the search goes on from the one before.
 */
static uint32_t index_of(struct loading *l, const int64_t *rows, size_t count, int64_t row)
{
    for (size_t n = 0; n < count; n++) {
        size_t i = (l->last + n) % count;
        if (rows[i] == row)
            return (uint32_t)(l->last = i);
    }
    l->err = BEZEL_EMALFORMED;
    return 0;
}

/* Grows an array by one zeroed element; NULL with l->err set where memory is short. */
static void *grow(struct loading *l, void *array, size_t *count, size_t size)
{
    char **at = array;
    if ((*count & (*count - 1)) == 0) { /* a full power of two, or none */
        char *larger = realloc(*at, (*count ? *count * 2 : 1) * size);
        if (!larger) {
            l->err = BEZEL_ENOMEM;
            return NULL;
        }
        *at = larger;
    }
    return memset(*at + size * (*count)++, 0, size);
}

static void each_row(struct loading *l, const char *query, void (*take)(struct loading *l, sqlite3_stmt *s))
{
    sqlite3_stmt *s;
    if (l->err)
        return;
    l->err = facts_error(l->db, sqlite3_prepare_v2(l->db, query, -1, &s, NULL));
    if (l->err)
        return;
    int rc = SQLITE_DONE;
    while (!l->err && (rc = sqlite3_step(s)) == SQLITE_ROW)
        take(l, s);
    if (!l->err)
        l->err = facts_error(l->db, rc);
    sqlite3_finalize(s);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void take_fact(struct loading *l, sqlite3_stmt *s)
{
    struct summary_fact *f = grow(l, &l->summary.facts, &l->summary.fact_count, sizeof *f);
    if (!f)
        return;
    f->key = take_text(l, s, 0);
    f->value = take_text(l, s, 1);
}

static void take_event(struct loading *l, sqlite3_stmt *s)
{
    struct summary_event *e = grow(l, &l->summary.events, &l->summary.event_count, sizeof *e);
    if (!e)
        return;
    e->at = sqlite3_column_int64(s, 0);
    e->error = sqlite3_column_int(s, 1) != 0;
    e->text = take_text(l, s, 2);
}

static void take_node(struct loading *l, sqlite3_stmt *s)
{
    size_t rows = l->summary.node_count;
    int64_t *row = grow(l, &l->node_rows, &rows, sizeof *row);
    struct summary_node *n = grow(l, &l->summary.nodes, &l->summary.node_count, sizeof *n);
    if (!row || !n)
        return;
    *row = sqlite3_column_int64(s, 0);
    n->name = take_text(l, s, 1);
    n->realtime_offset = sqlite3_column_int64(s, 2);
    n->open = sqlite3_column_int(s, 3) == 0;
    n->sensor_cpu_mean = n->sensor_cpu_max = NAN;
    n->en_route_mean = n->en_route_max = NAN;
}

static struct summary_latency latency_of(const struct histogram *h)
{
    return (struct summary_latency){h->count, histogram_quantile(h, 0.5), histogram_quantile(h, 0.99), h->max};
}

static void take_process(struct loading *l, sqlite3_stmt *s)
{
    static const struct histogram none;
    struct histogram h = none;
    size_t rows = l->summary.process_count;
    int64_t *row = grow(l, &l->process_rows, &rows, sizeof *row);
    struct summary_process *p = grow(l, &l->summary.processes, &l->summary.process_count, sizeof *p);
    if (!row || !p)
        return;
    *row = sqlite3_column_int64(s, 0);
    p->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 1));
    p->instance = column_u64(s, 2);
    p->pid = (uint32_t)column_u64(s, 3);
    p->role = (enum message_role)sqlite3_column_int(s, 4);
    p->name = take_text(l, s, 5);
    p->executable = take_text(l, s, 6);
    p->started = sqlite3_column_int64(s, 7);
    p->state = (enum message_process_state)sqlite3_column_int(s, 8);
    p->unfinished = column_u64(s, 9);
    if (sqlite3_column_type(s, 10) != SQLITE_NULL &&
        facts_unpack(sqlite3_column_blob(s, 10), (size_t)sqlite3_column_bytes(s, 10), &h) != 0)
        l->err = BEZEL_EMALFORMED;
    p->latency = latency_of(&h);
    p->overwrites = sqlite3_column_int(s, 11) != 0;
    if (p->role == ROLE_SUT)
        histogram_merge(&l->latency, &h);
}

static struct summary_process *process_of(struct loading *l, sqlite3_stmt *s, int at)
{
    uint32_t i = index_of(l, l->process_rows, l->summary.process_count, sqlite3_column_int64(s, at));
    return l->err ? NULL : &l->summary.processes[i];
}

static void take_book(struct loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = process_of(l, s, 0);
    struct summary_book *b = p ? grow(l, &p->books, &p->book_count, sizeof *b) : NULL;
    if (!b)
        return;
    b->aspect = (uint32_t)column_u64(s, 1);
    b->name = take_text(l, s, 2);
    b->attempts = column_u64(s, 3);
    b->full = column_u64(s, 4);
    b->off = column_u64(s, 5);
    b->no_ring = column_u64(s, 6);
    b->stored = column_u64(s, 7);
    b->first_ns = sqlite3_column_int64(s, 8);
    b->last_ns = sqlite3_column_int64(s, 9);
    b->window = column_u64(s, 10);
    b->spool = column_u64(s, 11);
}

/* The book that a row of its kind belongs to; a process's books are in the order of their aspects. */
static struct summary_book *book_of(struct loading *l, struct summary_process *p, uint64_t aspect)
{
    for (size_t i = 0; p && i < p->book_count; i++)
        if (p->books[i].aspect == aspect)
            return &p->books[i];
    l->err = BEZEL_EMALFORMED;
    return NULL;
}

static void take_kind(struct loading *l, sqlite3_stmt *s)
{
    static const struct histogram none;
    struct histogram h = none;
    struct summary_book *b = book_of(l, process_of(l, s, 0), column_u64(s, 1));
    if (!b)
        return;
    b->kind = (enum dict_kind)sqlite3_column_int(s, 2);
    b->values.unit = take_text(l, s, 3);
    b->values.total = sqlite3_column_int64(s, 4);
    b->values.last = column_real(s, 5);
    b->values.min = column_real(s, 6);
    b->values.max = column_real(s, 7);
    if (sqlite3_column_type(s, 8) != SQLITE_NULL &&
        facts_unpack(sqlite3_column_blob(s, 8), (size_t)sqlite3_column_bytes(s, 8), &h) != 0)
        l->err = BEZEL_EMALFORMED;
    b->values.durations = latency_of(&h);
}

static void take_stream(struct loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = process_of(l, s, 0);
    struct summary_stream *stream = p ? grow(l, &p->streams, &p->stream_count, sizeof *stream) : NULL;
    if (!stream)
        return;
    stream->ring = (uint32_t)column_u64(s, 1);
    stream->next_ordinal = column_u64(s, 2);
    stream->open = sqlite3_column_int(s, 4) == 0;
    p->discarded += column_u64(s, 3);
}

/*
 * A node's own costs, of each of its daemons in turn; the mean is the CPU time between first and last sample over that
 * time.
 */
static void take_self(struct loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = process_of(l, s, 0);
    if (!p)
        return;
    struct summary_node *n = &l->summary.nodes[p->node];
    n->first_at = n->first_at ? n->first_at : sqlite3_column_int64(s, 1);
    n->last_at = sqlite3_column_int64(s, 2);
    n->cpu_ns += sqlite3_column_int64(s, 3);
    n->wakeups += sqlite3_column_int64(s, 4);
    n->records += sqlite3_column_int64(s, 5);
    n->bytes += sqlite3_column_int64(s, 6);
    n->sensor_cpu_max = fmax(n->sensor_cpu_max, column_real(s, 7));
}

/* A later daemon finds the processes that live again: no sum counts them once. */
static void take_clock(struct loading *l, sqlite3_stmt *s)
{
    uint32_t node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    if (l->err)
        return;
    l->summary.nodes[node].clock = (struct summary_clock){
        .kernel = sqlite3_column_int64(s, 1),
        .counter = sqlite3_column_int64(s, 2),
        .program = sqlite3_column_int64(s, 3),
        .error_ns = sqlite3_column_int64(s, 4),
        .jumps = sqlite3_column_int64(s, 5),
        .clamped = sqlite3_column_int64(s, 6),
    };
}

static void take_self_mean(struct loading *l, sqlite3_stmt *s)
{
    uint32_t node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    if (!l->err)
        l->summary.nodes[node].sensor_cpu_mean = column_real(s, 1);
}

static struct summary_node *node_of(struct loading *l, sqlite3_stmt *s)
{
    uint32_t i = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    return l->err ? NULL : &l->summary.nodes[i];
}

static void take_period(struct loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = node_of(l, s);
    if (!n)
        return;
    n->period_mean = sqlite3_column_int64(s, 1);
    n->period_worst = sqlite3_column_int64(s, 2);
}

static void take_flow(struct loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = node_of(l, s);
    if (!n)
        return;
    n->en_route_mean = column_real(s, 1);
    n->en_route_max = column_real(s, 2);
    n->backpressure = sqlite3_column_int64(s, 3);
}

static void take_polling(struct loading *l, sqlite3_stmt *s)
{
    struct summary_polling *p = grow(l, &l->summary.polling, &l->summary.polling_count, sizeof *p);
    if (!p)
        return;
    p->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    p->at = sqlite3_column_int64(s, 1);
    p->cause = sqlite3_column_int(s, 2);
    p->period = sqlite3_column_int64(s, 3);
    p->mode = sqlite3_column_int(s, 4);
    p->forward = sqlite3_column_int(s, 5);
    p->batch = sqlite3_column_int64(s, 6);
}

static void take_expired(struct loading *l, sqlite3_stmt *s)
{
    struct summary_expired *e = grow(l, &l->summary.expired, &l->summary.expired_count, sizeof *e);
    if (!e)
        return;
    e->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    e->instance = column_u64(s, 1);
    e->process = take_text(l, s, 2);
    e->aspect = take_text(l, s, 3);
    e->bound = sqlite3_column_int64(s, 4);
    e->taken = sqlite3_column_int64(s, 5);
    e->expired = sqlite3_column_int64(s, 6);
}

static void take_limit(struct loading *l, sqlite3_stmt *s)
{
    struct summary_limit *limit = grow(l, &l->summary.limits, &l->summary.limit_count, sizeof *limit);
    if (!limit)
        return;
    limit->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    limit->index = (uint32_t)column_u64(s, 1);
    limit->state = sqlite3_column_int(s, 2);
    limit->value = column_real(s, 3);
    limit->worst = column_real(s, 4);
    limit->settling = sqlite3_column_int64(s, 5);
    limit->held = sqlite3_column_int64(s, 6);
    limit->violated = sqlite3_column_int64(s, 7);
    limit->unknown = sqlite3_column_int64(s, 8);
    limit->last_violated = sqlite3_column_int64(s, 9);
}

static void take_decision(struct loading *l, sqlite3_stmt *s)
{
    struct summary_decision *d = grow(l, &l->summary.decisions, &l->summary.decision_count, sizeof *d);
    if (!d)
        return;
    d->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    d->at = sqlite3_column_int64(s, 1);
    d->policy = sqlite3_column_int(s, 2);
    d->action = sqlite3_column_int(s, 3);
    d->before = sqlite3_column_int64(s, 4);
    d->after = sqlite3_column_int64(s, 5);
    d->cause = sqlite3_column_int(s, 6);
}

static void take_metric(struct loading *l, sqlite3_stmt *s)
{
    struct summary_metric *m = grow(l, &l->summary.metrics, &l->summary.metric_count, sizeof *m);
    if (!m)
        return;
    m->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    m->metric = take_text(l, s, 1);
    m->process = take_text(l, s, 2);
    m->count = column_u64(s, 3);
    m->mean = column_real(s, 4);
    m->min = column_real(s, 5);
    m->max = column_real(s, 6);
    m->last = column_real(s, 7);
}

static void take_note(struct loading *l, sqlite3_stmt *s)
{
    struct summary_note *n = grow(l, &l->summary.notes, &l->summary.note_count, sizeof *n);
    if (!n)
        return;
    n->node = (uint32_t)l->summary.node_count;
    if (sqlite3_column_type(s, 0) != SQLITE_NULL)
        n->node = index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, 0));
    n->instance = column_u64(s, 1);
    n->pid = (uint32_t)column_u64(s, 2);
    n->name = take_text(l, s, 3);
    n->at = sqlite3_column_int64(s, 4);
    n->code = take_text(l, s, 5);
    n->text = take_text(l, s, 6);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const char self_query[] =
    "SELECT process, min(at), max(at), max(cpu_ns), max(wakeups), max(records), max(bytes), max(sensor_cpu)"
    " FROM self GROUP BY process ORDER BY max(at)";
static const char self_mean_query[] =
    "SELECT node, 100.0 * sum(cpu) / nullif(sum(time), 0) FROM (SELECT process, max(cpu_ns) - min(cpu_ns) AS cpu,"
    " max(at) - min(at) AS time FROM self GROUP BY process) JOIN processes ON processes.id = process GROUP BY node";
static const char clock_query[] =
    "SELECT node, max(kernel), max(counter), max(program), max(error_ns), sum(jumps), sum(clamped)"
    " FROM clocks JOIN processes ON processes.id = process GROUP BY node";
static const char period_query[] =
    "SELECT node, avg(nullif(period_ns, 0)), max(worst_ns) FROM self JOIN processes ON processes.id = process"
    " GROUP BY node";
static const char flow_query[] =
    "SELECT node, avg(mean), max(most), sum(backpressure) FROM (SELECT process,"
    " avg(1.0 * (in_rings + in_window) / nullif(produced, 0)) AS mean,"
    " max(1.0 * (in_rings + in_window) / nullif(produced, 0)) AS most, max(backpressure) AS backpressure"
    " FROM flow GROUP BY process) JOIN processes ON processes.id = process GROUP BY node";
static const char expired_query[] =
    "SELECT node, expired.instance, expired.name, aspect, max(bound_ns), sum(taken), sum(expired)"
    " FROM expired JOIN processes ON processes.id = process"
    " GROUP BY node, expired.instance, aspect ORDER BY node, expired.name, expired.instance, aspect";
/*
 * Beside a single max() SQLite's other columns are those of the row that has the maximum: the latest value of a metric.
 */
static const char metric_query[] =
    "SELECT node, metric, process, count(metrics.value), avg(metrics.value), min(metrics.value), max(metrics.value), "
    "last.value FROM metrics"
    " LEFT JOIN (SELECT node, metric, process, value, max(at) FROM metrics WHERE value IS NOT NULL"
    " GROUP BY node, metric, process) AS last USING (node, metric, process)"
    " GROUP BY node, metric, process ORDER BY node, metric, process";

static void load_tables(struct loading *l)
{
    each_row(l, "SELECT key, value FROM facts ORDER BY key", take_fact);
    each_row(l, "SELECT at, error, text FROM events ORDER BY at, rowid", take_event);
    /* Who named no process had nothing to leave behind: a stranger's greeting makes no node that vanished. */
    each_row(l,
             "SELECT id, name, realtime_offset, left OR NOT EXISTS (SELECT 1 FROM processes WHERE node = nodes.id) "
             "FROM nodes ORDER BY id",
             take_node);
    each_row(l,
             "SELECT id, node, instance, pid, role, name, executable, started, state, unfinished, latency,"
             " overwrites FROM processes ORDER BY node, id",
             take_process);
    each_row(l,
             "SELECT process, aspect, name, attempts, lost_full, lost_off, lost_no_ring, stored, first_ns, last_ns, "
             "lost_window,"
             " lost_spool"
             " FROM books ORDER BY process, aspect",
             take_book);
    each_row(l, "SELECT process, aspect, kind, unit, total, last, min, max, durations FROM kinds", take_kind);
    each_row(l, "SELECT process, ring, next_ordinal, discarded, closed FROM streams ORDER BY process, ring",
             take_stream);
    each_row(l, self_query, take_self);
    each_row(l, self_mean_query, take_self_mean);
    each_row(l, clock_query, take_clock);
    each_row(l,
             "SELECT node, number, state, value, worst, settling, held, violated, unknown, last_violated"
             " FROM limits ORDER BY node, number",
             take_limit);
    each_row(l, "SELECT node, at, policy, action, before_ns, after_ns, cause FROM decisions ORDER BY at, rowid",
             take_decision);
    each_row(l, period_query, take_period);
    each_row(l, flow_query, take_flow);
    each_row(l, "SELECT node, at, cause, period_ns, mode, forward, batch FROM polling ORDER BY at, rowid",
             take_polling);
    each_row(l, expired_query, take_expired);
    each_row(l, metric_query, take_metric);
    each_row(l, "SELECT node, instance, pid, name, at, code, text FROM notes ORDER BY at, rowid", take_note);
}

static void check_version(struct loading *l, sqlite3_stmt *s)
{
    if (sqlite3_column_int64(s, 0) != FACTS_APPLICATION || sqlite3_column_int64(s, 1) != FACTS_VERSION)
        l->err = BEZEL_EVERSION;
}

/* One read transaction: the tables agree with each other. */
static void load_database(struct loading *l)
{
    sqlite3_busy_timeout(l->db, FACTS_BUSY_MS);
    l->err = facts_error(l->db, sqlite3_exec(l->db, "BEGIN", NULL, NULL, NULL));
    each_row(l, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version", check_version);
    load_tables(l);
    l->summary.latency = latency_of(&l->latency);
    const char *refused = summary_fact(&l->summary, FACTS_REFUSED);
    l->summary.refused = refused ? strtoull(refused, NULL, 10) : 0;
}

int summary_load(const char *run, struct summary **s)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/run.db", run) >= (int)sizeof path)
        return BEZEL_EINVAL;
    if (access(path, F_OK) != 0)
        return err_from_errno(errno);
    if (facts_is_foreign(path))
        return BEZEL_EMALFORMED;
    struct loading *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    l->err = facts_error(NULL, sqlite3_open_v2(path, &l->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL));
    if (!l->err)
        load_database(l);
    sqlite3_close(l->db);
    free(l->node_rows);
    free(l->process_rows);
    int err = l->err;
    if (err)
        summary_free(&l->summary);
    else
        *s = &l->summary;
    return err;
}

void summary_free(struct summary *s)
{
    if (!s)
        return;
    struct loading *l = (struct loading *)s;
    while (l->texts) {
        struct text *t = l->texts;
        l->texts = t->next;
        free(t);
    }
    for (size_t i = 0; i < s->process_count; i++)
        free(s->processes[i].books), free(s->processes[i].streams);
    free(s->nodes);
    free(s->processes);
    free(s->limits);
    free(s->decisions);
    free(s->polling);
    free(s->expired);
    free(s->metrics);
    free(s->events);
    free(s->notes);
    free(s->facts);
    free(l);
}

const char *summary_fact(const struct summary *s, const char *key)
{
    for (size_t i = 0; i < s->fact_count; i++)
        if (strcmp(s->facts[i].key, key) == 0)
            return s->facts[i].value;
    return NULL;
}
