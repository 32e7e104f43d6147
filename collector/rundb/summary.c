// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/summary_own.h"

#include "collector/facts_run.h"
#include "collector/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOO_MANY "it holds more rows of one kind than a report takes: 2,097,152"

struct text {
    struct text *next;
    char bytes[];
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

bool summary_charge(struct summary_loading *l, size_t bytes)
{
    l->bytes += bytes;
    if (l->bytes > SUMMARY_BYTES_MAX)
        l->err = facts_refuse(BEZEL_EFULL, "it holds more than a report takes: of its rows 1 GiB");
    return l->bytes <= SUMMARY_BYTES_MAX;
}

const char *summary_text(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    const char *value = (const char *)sqlite3_column_text(s, at);
    size_t n = value ? strlen(value) : 0;
    if (!summary_charge(l, sizeof(struct text) + n + 1))
        return "";
    struct text *t = malloc(sizeof *t + n + 1);
    if (!t) {
        l->err = BEZEL_ENOMEM;
        return "";
    }
    message_text(t->bytes, n, value ? value : "");
    t->next = l->texts;
    l->texts = t;
    return t->bytes;
}

/*
 * The index of row `row`; what refers to a row that is not there belongs to no summary. Rows come in some order of what
 * they refer to, so the search goes on from the one before.
 */
static uint32_t index_of(struct summary_loading *l, const int64_t *rows, size_t count, int64_t row)
{
    for (size_t n = 0; n < count; n++) {
        size_t i = (l->last + n) % count;
        if (rows[i] == row)
            return (uint32_t)(l->last = i);
    }
    l->err = BEZEL_EMALFORMED;
    return 0;
}

uint32_t summary_node_index(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    return index_of(l, l->node_rows, l->summary.node_count, sqlite3_column_int64(s, at));
}

struct summary_node *summary_node_at(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    uint32_t i = summary_node_index(l, s, at);
    return l->err ? NULL : &l->summary.nodes[i];
}

struct summary_process *summary_process_at(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    uint32_t i = index_of(l, l->process_rows, l->summary.process_count, sqlite3_column_int64(s, at));
    return l->err ? NULL : &l->summary.processes[i];
}

void *summary_grow(struct summary_loading *l, void *array, size_t *count, size_t size)
{
    char **at = array;
    if (*count == SUMMARY_ROWS_MAX)
        l->err = facts_refuse(BEZEL_EFULL, TOO_MANY);
    if (l->err)
        return NULL;
    if ((*count & (*count - 1)) == 0) { /* a full power of two, or none */
        if (!summary_charge(l, (*count ? *count : 1) * size))
            return NULL;
        char *larger = realloc(*at, (*count ? *count * 2 : 1) * size);
        if (!larger) {
            l->err = BEZEL_ENOMEM;
            return NULL;
        }
        *at = larger;
    }
    return memset(*at + size * (*count)++, 0, size);
}

void summary_each(struct summary_loading *l, const char *query,
                  void (*take)(struct summary_loading *l, sqlite3_stmt *s))
{
    sqlite3_stmt *s;
    if (l->err)
        return;
    l->err = facts_error(l->db, sqlite3_prepare_v2(l->db, query, -1, &s, NULL));
    if (l->err)
        return;
    int rc = SQLITE_DONE;
    while (!l->err && (rc = sqlite3_step(s)) == SQLITE_ROW)
        if (facts_is_too_long())
            l->err = BEZEL_ETIMEDOUT;
        else
            take(l, s);
    if (!l->err)
        l->err = facts_error(l->db, rc);
    sqlite3_finalize(s);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

struct sum {
    bool any;
    int64_t value;
};

static void sum_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof *sum);
    if (!sum || count != 1 || sqlite3_value_type(*values) == SQLITE_NULL)
        return;
    sum->any = true;
    sum->value = saturate_add(sum->value, sqlite3_value_int64(*values));
}

static void sum_final(sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);
    if (sum && sum->any)
        sqlite3_result_int64(context, sum->value);
}

/* SQLite's own sum() fails where it leaves the range of integers, and the whole query with it: this one stops. */
static int open_database(struct summary_loading *l, const char *run)
{
    int err = facts_open_database(run, &l->db);
    return err ? err
               : facts_error(l->db, sqlite3_create_function(l->db, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                                            NULL, sum_step, sum_final));
}

struct summary_latency summary_latency_of(const struct histogram *h)
{
    return (struct summary_latency){h->count, histogram_quantile(h, 0.5), histogram_quantile(h, 0.99), h->max};
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void take_fact(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_fact *f = summary_grow(l, &l->summary.facts, &l->summary.fact_count, sizeof *f);
    if (!f)
        return;
    f->key = summary_text(l, s, 0);
    f->value = summary_text(l, s, 1);
}

static void take_event(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_event *e = summary_grow(l, &l->summary.events, &l->summary.event_count, sizeof *e);
    if (!e)
        return;
    e->at = summary_ns(s, 0);
    e->error = sqlite3_column_int(s, 1) != 0;
    e->text = summary_text(l, s, 2);
}

static void take_node(struct summary_loading *l, sqlite3_stmt *s)
{
    size_t rows = l->summary.node_count;
    int64_t *row = summary_grow(l, &l->node_rows, &rows, sizeof *row);
    struct summary_node *n = summary_grow(l, &l->summary.nodes, &l->summary.node_count, sizeof *n);
    if (!row || !n)
        return;
    *row = sqlite3_column_int64(s, 0);
    n->name = summary_text(l, s, 1);
    if (!model_name_ok(n->name))
        l->err = BEZEL_EMALFORMED;
    n->realtime_offset = summary_ns(s, 2);
    n->open = sqlite3_column_int(s, 3) == 0;
    n->unobserved = summary_u64(s, 4);
    n->sensor_cpu_mean = n->sensor_cpu_max = NAN;
    n->en_route_mean = n->en_route_max = NAN;
}

/* Whether the trace grew behind the last save; what it lacks is verify's. */
static void take_bytes(struct summary_loading *l, sqlite3_stmt *s)
{
    l->summary.behind = reader_trace_bytes(l->run) > summary_u64(s, 0);
}

static void take_count(struct summary_loading *l, sqlite3_stmt *s)
{
    if ((uint64_t)sqlite3_column_int64(s, 0) > SUMMARY_ROWS_MAX)
        l->err = facts_refuse(BEZEL_EFULL, TOO_MANY);
}

/* Of tables whose rows are kept one by one, before anything sorts them. */
static void check_counts(struct summary_loading *l)
{
    static const char *const tables[] = {"facts", "events",   "nodes",  "processes", "notes",
                                         "knobs", "findings", "limits", "polling",   "decisions"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char query[48];
        snprintf(query, sizeof query, "SELECT count(*) FROM %s", tables[i]);
        summary_each(l, query, take_count);
    }
}

static void load_books(struct summary_loading *l)
{
    check_counts(l);
    summary_each(l, "SELECT key, value FROM facts ORDER BY key", take_fact);
    summary_each(l, "SELECT at, error, text FROM events ORDER BY at, rowid", take_event);
    /* Who named no process had nothing to leave behind: a stranger's greeting makes no node that vanished. */
    summary_each(
        l,
        "SELECT id, name, realtime_offset, left OR NOT EXISTS (SELECT 1 FROM processes WHERE node = nodes.id), "
        "unobserved FROM nodes ORDER BY id",
        take_node);
    summary_load_processes(l);
    summary_load_notes(l);
}

static void load_all(struct summary_loading *l)
{
    load_books(l);
    summary_load_nodes(l);
    summary_load_story(l);
    summary_each(l, "SELECT ifnull(sum(bytes), 0) FROM streams", take_bytes);
}

static uint64_t fact_count(const struct summary *s, const char *key)
{
    const char *value = summary_fact(s, key);
    return value ? strtoull(value, NULL, 10) : 0;
}

/* A judgement is looked at beside what was decided and found, a note beside all others, a snapshot beside violations.
 */
static void check_pairs(struct summary_loading *l)
{
    const struct summary *s = &l->summary;
    double wholes = 0;
    for (size_t i = 0; i < s->limit_count; i++)
        wholes += s->limits[i].epoch > 0;
    double pairs = (double)s->limit_count * (double)(s->finding_count + s->decision_count) +
                   wholes * (double)s->node_count * (double)s->decision_count +
                   (double)s->note_count * (double)s->note_count +
                   (double)s->snapshot_count * (double)s->violation_count;
    if (!l->err && pairs > SUMMARY_PAIRS_MAX)
        l->err = facts_refuse(BEZEL_EFULL, "it holds more judgements, findings, decisions, notes or snapshots than a "
                                           "report takes");
}

static int load(const char *run, void (*tables)(struct summary_loading *l), struct summary **s)
{
    struct summary_loading *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    l->run = run;
    l->err = open_database(l, run);
    if (!l->err) {
        tables(l);
        check_pairs(l);
        l->summary.latency = summary_latency_of(&l->latency);
        l->summary.refused = fact_count(&l->summary, FACTS_REFUSED);
        l->summary.untaken = fact_count(&l->summary, FACTS_UNTAKEN);
        l->summary.untaken_records = fact_count(&l->summary, FACTS_UNTAKEN_RECORDS);
    }
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

int summary_load(const char *run, struct summary **s)
{
    return load(run, load_all, s);
}

int summary_load_books(const char *run, struct summary **s)
{
    return load(run, load_books, s);
}

void summary_free(struct summary *s)
{
    if (!s)
        return;
    struct summary_loading *l = (struct summary_loading *)s;
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
    free(s->knobs);
    for (size_t i = 0; i < s->series_count; i++)
        free(s->series[i].columns);
    free(s->series);
    free(s->violations);
    free(s->snapshots);
    free(s->findings);
    free(s->obeyed);
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
