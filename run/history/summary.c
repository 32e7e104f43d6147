// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/saturate.h"
#include "base/utf8.h"
#include "mdr/parts.h"
#include "run/history/history_decode.h"
#include "run/history/summary_internal.h"

#include "base/uuid.h"
#include "run/rundb/rundb_live.h"
#include "run/store/trace_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TOO_MANY "it holds more rows of one kind than a report can take: 2,097,152"

struct text {
    struct text *next;
    char bytes[];
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

bool summary_charge(struct summary_loading *l, size_t bytes)
{
    l->bytes += bytes;
    if (l->bytes > SUMMARY_BYTES_MAX)
        l->err = rundb_refuse(BEZEL_EFULL, "a report of it would need more than 1 GiB of memory");
    return l->bytes <= SUMMARY_BYTES_MAX;
}

const char *summary_text(struct summary_loading *l, sqlite3_stmt *s, int at)
{
    const char *value = (const char *)sqlite3_column_text(s, at);
    size_t n = value ? strlen(value) : 0;
    if (value && value[utf8_fit(value, n)] != '\0')
        n *= 4; /* it may consist of bytes that are escaped */
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
 * The index of row `row`; sets l->err where it does not exist. Rows that refer to others come mostly in the order of
 * these, so the search continues from the last one found.
 */
static uint32_t index_of(struct summary_loading *l, const int64_t *rows, size_t count, int64_t row)
{
    for (size_t n = 0; n < count; n++) {
        size_t i = (l->last + n) % count;
        if (rows[i] == row)
            return (uint32_t)(l->last = i);
    }
    l->err = l->err ? l->err : BEZEL_EMALFORMED;
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
        l->err = rundb_refuse(BEZEL_EFULL, TOO_MANY);
    if (l->err)
        return NULL;
    bool is_full = (*count & (*count - 1)) == 0; /* as grow_by_one() has it */
    if (is_full && !summary_charge(l, (*count ? *count : 1) * size))
        return NULL;
    if (!grow_by_one(at, *count, size)) {
        l->err = BEZEL_ENOMEM;
        return NULL;
    }
    return memset(*at + size * (*count)++, 0, size);
}

void summary_each(struct summary_loading *l, const char *query,
                  void (*take)(struct summary_loading *l, sqlite3_stmt *s))
{
    sqlite3_stmt *s;
    if (l->err)
        return;
    l->err = rundb_error(l->db, sqlite3_prepare_v2(l->db, query, -1, &s, NULL));
    if (l->err)
        return;
    int rc = SQLITE_DONE;
    while (!l->err && (rc = sqlite3_step(s)) == SQLITE_ROW)
        if (rundb_is_too_long())
            l->err = BEZEL_ETIMEDOUT;
        else
            take(l, s);
    if (!l->err)
        l->err = rundb_error(l->db, rc);
    sqlite3_finalize(s);
}

static const char *text_of(void *context, sqlite3_stmt *s, int at)
{
    return summary_text(context, s, at);
}

void summary_fill(struct summary_loading *l, sqlite3_stmt *s, enum builtin b, void *row)
{
    *(uint32_t *)row = summary_node_index(l, s, 0); /* all of these structs begin with `node` */
    history_decode_row(s, 1, b, row, text_of, l);
}

static void take_row(struct summary_loading *l, sqlite3_stmt *s)
{
    void *row = summary_grow(l, l->rows.array, l->rows.count, builtin_layout(l->rows.b)->size);
    if (row)
        summary_fill(l, s, l->rows.b, row);
}

void summary_rows(struct summary_loading *l, const char *query, enum builtin b, void *array, size_t *count)
{
    l->rows = (struct summary_rows){.b = b, .array = array, .count = count};
    summary_each(l, query, take_row);
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

/* SQLite's own sum() overflows with an error, which ends the query: this one saturates. */
static int open_database(struct summary_loading *l, const char *run, uint32_t tables)
{
    int err = history_open(&l->history, run, tables, SUMMARY_ROWS_MAX);
    if (err)
        return err;
    l->db = history_rows_database(l->history.rows);
    return rundb_error(l->db, sqlite3_create_function(l->db, "sum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, NULL,
                                                      sum_step, sum_final));
}

struct summary_latency summary_latency_of(const struct latency *l)
{
    struct summary_latency s = {
        .count = l->count, .median = latency_quantile(l, 0.5), .p99 = latency_quantile(l, 0.99), .max = l->max};
    latency_steps(l, s.steps);
    return s;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void take_property(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_property *f = summary_grow(l, &l->summary.properties, &l->summary.property_count, sizeof *f);
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

static void take_program(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_program *p = summary_grow(l, &l->summary.programs, &l->summary.program_count, sizeof *p);
    int state = sqlite3_column_int(s, 4);
    if (!p)
        return;
    *p = (struct summary_program){.node = summary_text(l, s, 0),
                                  .name = summary_text(l, s, 1),
                                  .incarnation = (uint32_t)sqlite3_column_int64(s, 2),
                                  .pid = (uint32_t)sqlite3_column_int64(s, 3),
                                  .state = LAUNCHED_LOST,
                                  .status = sqlite3_column_int(s, 5),
                                  .error = sqlite3_column_int(s, 6),
                                  .stage = summary_text(l, s, 7),
                                  .ran = summary_ns(s, 8),
                                  .cpu = summary_ns(s, 9),
                                  .memory = summary_u64(s, 10),
                                  .missing = summary_u64(s, 11),
                                  .started = summary_ns(s, 12)};
    if (state >= LAUNCHED_RUNS && state <= LAUNCHED_LOST)
        p->state = (enum message_launched_state)state;
}

int64_t summary_ahead(const struct summary *s)
{
    return saturate_ns(summary_property_number(s, RUNDB_CLOCK_AHEAD));
}

/* Before its exchanges are read: the run's clock, or one of which only the wall clock is known. */
static void begin_clock(struct summary_loading *l, struct summary_node *n, const void *clock, size_t bytes)
{
    uint8_t run[16];
    const char *identity = summary_property(&l->summary, RUNDB_CLOCK);
    bool same = identity && uuid_read(identity, run) && bytes == sizeof run && memcmp(clock, run, sizeof run) == 0;
    n->ahead = same ? summary_ahead(&l->summary) : n->ahead;
    run_clock_init(&n->run_clock, same ? RUN_CLOCK_SAME : RUN_CLOCK_WALL, n->ahead);
}

static void take_node(struct summary_loading *l, sqlite3_stmt *s)
{
    char key[RUNDB_WAYS_KEY];
    size_t rows = l->summary.node_count;
    int64_t *row = summary_grow(l, &l->node_rows, &rows, sizeof *row);
    struct summary_node *n = summary_grow(l, &l->summary.nodes, &l->summary.node_count, sizeof *n);
    if (!row || !n)
        return;
    n->row = *row = sqlite3_column_int64(s, 0);
    n->name = summary_text(l, s, 1);
    if (!l->err && !model_name_ok(n->name))
        l->err = BEZEL_EMALFORMED;
    n->ahead = summary_ns(s, 2);
    n->open = sqlite3_column_int(s, 3) == 0;
    n->unobserved = summary_u64(s, 4);
    begin_clock(l, n, sqlite3_column_blob(s, 5), (size_t)sqlite3_column_bytes(s, 5));
    n->ways = summary_property_number(&l->summary, rundb_ways_key(*row, key));
    n->sensor_cpu_mean = n->sensor_cpu_max = NAN;
    n->en_route_mean = n->en_route_max = NAN;
}

/* Finds whether the trace grew after the last save. Missing bytes are found by verification. */
static void take_bytes(struct summary_loading *l, sqlite3_stmt *s)
{
    l->summary.behind = trace_reader_trace_bytes(l->run) > summary_u64(s, 0);
}

static void take_count(struct summary_loading *l, sqlite3_stmt *s)
{
    if ((uint64_t)sqlite3_column_int64(s, 0) > SUMMARY_ROWS_MAX)
        l->err = rundb_refuse(BEZEL_EFULL, TOO_MANY);
}

/* Checks the sizes of tables whose rows are all kept, before a query sorts them. */
static void check_counts(struct summary_loading *l)
{
    static const char *const tables[] = {"properties",  "events", "nodes",   "processes", "notes",    "knobs",
                                         "conclusions", "limits", "polling", "decisions", "programs", "triggers"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char query[48];
        snprintf(query, sizeof query, "SELECT count(*) FROM %s", tables[i]);
        summary_each(l, query, take_count);
    }
}

static void load_books(struct summary_loading *l)
{
    check_counts(l);
    summary_each(l, "SELECT key, value FROM properties ORDER BY key", take_property);
    summary_each(l, "SELECT at, error, text FROM events ORDER BY at, rowid", take_event);
    /* A node without a process has nothing to lose: a mere HELLO of an unknown node makes no vanished one. */
    summary_each(
        l,
        "SELECT id, name, realtime_offset, left OR NOT EXISTS (SELECT 1 FROM processes WHERE node = nodes.id), "
        "unobserved, clock FROM nodes ORDER BY id",
        take_node);
    summary_load_processes(l);
    summary_load_knobs(l);
    summary_load_notes(l);
}

static int by_name(const void *a, const void *b)
{
    const struct history_series *x = a, *y = b;
    if (x->node != y->node || x->limit != y->limit || !x->metric)
        return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                                  : (x->limit > y->limit) - (x->limit < y->limit);
    int order = strcmp(x->metric, y->metric);
    return order ? order : strcmp(x->process, y->process);
}

static void sort_series(struct history_series *list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, by_name);
}

/*
 * Observations stand where something changes, so the last one of a violation that lasts may be long before the end of
 * the run. The limit's row knows until when it lasted.
 */
static void follow_open_violations(struct summary *s)
{
    for (size_t i = 0; i < s->violation_count; i++) {
        struct history_violation *v = &s->violations[i];
        for (size_t k = 0; v->open && k < s->limit_count; k++) {
            const struct builtin_limit *l = &s->limits[k];
            if (summary_limit_is_of(l, v->limit, v->node) && l->last_violated > v->end)
                v->end = l->last_violated;
        }
    }
}

static void load_history(struct summary_loading *l)
{
    struct summary *s = &l->summary;
    struct history *h = &l->history;
    if (!l->err)
        l->err = history_read(h);
    if (!l->err && h->left_out)
        l->err = rundb_refuse(BEZEL_EFULL, TOO_MANY);
    sort_series(s->series = h->limits, s->series_count = h->limit_count);
    sort_series(s->metrics = h->metrics, s->metric_count = h->metric_count);
    s->violations = h->violations;
    s->violation_count = h->violation_count;
    s->gaps = h->gaps;
    s->gap_count = h->gap_count;
    h->violations = NULL; /* whoever judges gaps adds to them */
    h->gaps = NULL;
    h->violation_count = h->gap_count = 0;
    follow_open_violations(s);
}

/*
 * A daemon that was restarted has another row for the same snapshot; the query merges them. Their moments may differ by
 * nanoseconds, since each daemon has computed its own from the real-time clock.
 */
static const char snapshot_query[] =
    "SELECT node, max(at), origin, number, \"limit\", value, min(moment), max(duration), sum(records),"
    " max(snapshots.processes), min(nullif(first, 0)), max(last), max(snapshots.state)"
    " FROM snapshots JOIN processes ON processes.id = daemon"
    " GROUP BY node, number, CASE WHEN number = 0 THEN moment END"
    " ORDER BY number = 0, number, CASE WHEN number = 0 THEN min(moment) END, node";

static void load_all(struct summary_loading *l)
{
    load_books(l);
    summary_each(l, "SELECT * FROM programs ORDER BY node, name, incarnation", take_program);
    summary_load_nodes(l);
    load_history(l);
    summary_rows(l, snapshot_query, BUILTIN_SNAPSHOT, &l->summary.snapshots, &l->summary.snapshot_count);
    summary_each(l, "SELECT ifnull(sum(bytes), 0) FROM streams", take_bytes);
}

/* Bounds the pairs that a report compares: limits with decisions and conclusions, notes, snapshots with violations. */
static void check_pairs(struct summary_loading *l)
{
    const struct summary *s = &l->summary;
    double globals = 0;
    for (size_t i = 0; i < s->limit_count; i++)
        globals += s->limits[i].epoch > 0;
    double pairs = (double)s->limit_count * (double)(s->conclusion_count + s->decision_count) +
                   globals * (double)s->node_count * (double)s->decision_count +
                   (double)s->note_count * (double)s->note_count +
                   (double)s->snapshot_count * (double)s->violation_count;
    if (!l->err && pairs > SUMMARY_PAIRS_MAX)
        l->err =
            rundb_refuse(BEZEL_EFULL, "it holds more limits, conclusions, decisions, notes or snapshots than a report "
                                      "can compare");
}

/* Of a run that has no end it is not known then whether it was aborted, or went on after it was copied. */
static bool is_copied(const char *run, const struct summary *s)
{
    struct mirror_state mirror;
    struct stat st;
    return summary_property(s, RUNDB_INODE) && stat(run, &st) == 0 &&
           (uint64_t)st.st_ino != (uint64_t)summary_property_number(s, RUNDB_INODE) &&
           mirror_state_read(run, &mirror) == 0;
}

static int load(const char *run, uint32_t tables, void (*rows)(struct summary_loading *l), struct summary **s)
{
    struct summary_loading *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    l->run = run;
    mirror_state_look(run, &l->summary.mirror); /* before its rows, which may become more meanwhile */
    l->err = open_database(l, run, tables);
    if (!l->err) {
        rows(l);
        check_pairs(l);
        l->summary.latency = summary_latency_of(&l->latency);
        l->summary.latency.bound = l->latency_bound;
        l->summary.copied = is_copied(run, &l->summary);
        l->summary.refused = (uint64_t)summary_property_number(&l->summary, RUNDB_REFUSED);
        l->summary.untaken = (uint64_t)summary_property_number(&l->summary, RUNDB_UNTAKEN);
        l->summary.untaken_records = (uint64_t)summary_property_number(&l->summary, RUNDB_UNTAKEN_RECORDS);
    }
    latency_free(&l->latency);
    history_rows_close(l->history.rows);
    l->history.rows = NULL;
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
    return load(run, HISTORY_OF_LIMITS | HISTORY_OF_METRICS, load_all, s);
}

int summary_load_books(const char *run, struct summary **s)
{
    return load(run, 0, load_books, s);
}

static void free_process(struct summary_process *p)
{
    for (size_t i = 0; i < p->book_count; i++)
        free(p->books[i].fields);
    free(p->books);
    free(p->streams);
    dict_free(p->dict);
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
    for (size_t i = 0; i < s->node_count; i++)
        run_clock_free(&s->nodes[i].run_clock);
    for (size_t i = 0; i < s->process_count; i++)
        free_process(&s->processes[i]);
    free(s->nodes);
    free(s->processes);
    free(s->limits);
    free(s->decisions);
    free(s->polling);
    free(s->expired);
    free(s->knobs);
    free(s->firings);
    free(s->open_spans);
    free(s->watched);
    free(s->declared);
    history_close(&l->history);
    free(s->violations);
    free(s->gaps);
    free(s->chosen);
    free(s->waiters);
    free(s->snapshots);
    free(s->conclusions);
    free(s->setpoints);
    free(s->events);
    free(s->programs);
    free(s->notes);
    free(s->properties);
    free(l);
}

int64_t summary_run_time(const struct summary *s, uint32_t node, int64_t at)
{
    return at == INT64_MIN || node >= s->node_count ? at : saturate_ns(run_clock_at(&s->nodes[node].run_clock, at).ns);
}

struct summary_process *summary_process_of(const struct summary *s, uint32_t node, uint64_t instance)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].node == node && s->processes[i].instance == instance)
            return &s->processes[i];
    return NULL;
}

struct summary_book *summary_book_of(const struct summary_process *p, const char *aspect)
{
    for (size_t i = 0; p && aspect && i < p->book_count; i++)
        if (strcmp(p->books[i].name, aspect) == 0)
            return &p->books[i];
    return NULL;
}

const struct summary_field *summary_field_of(const struct summary_book *b, const char *name)
{
    for (size_t i = 0; b && name && i < b->field_count; i++)
        if (strcmp(b->fields[i].name, name) == 0)
            return &b->fields[i];
    return NULL;
}

bool summary_is_of(const struct summary *s, const struct summary_process *p, const struct summary_program *g)
{
    return g->pid == p->pid && strcmp(g->node, s->nodes[p->node].name) == 0;
}

const struct summary_program *summary_program_of(const struct summary *s, const struct summary_process *p,
                                                 const struct summary_program *last)
{
    for (size_t i = last ? (size_t)(last - s->programs) + 1 : 0; i < s->program_count; i++)
        if (summary_is_of(s, p, &s->programs[i]))
            return &s->programs[i];
    return NULL;
}

const char *summary_property(const struct summary *s, const char *key)
{
    for (size_t i = 0; i < s->property_count; i++)
        if (strcmp(s->properties[i].key, key) == 0)
            return s->properties[i].value;
    return NULL;
}

int64_t summary_property_number(const struct summary *s, const char *key)
{
    const char *value = summary_property(s, key);
    return value ? strtoll(value, NULL, 10) : 0;
}

bool summary_is_unstarted(const struct summary *s)
{
    return summary_property(s, RUNDB_BEGUN) && !summary_property(s, RUNDB_STARTED);
}

int64_t summary_start(const struct summary *s)
{
    return saturate_ns(summary_property_number(s, summary_is_unstarted(s) ? RUNDB_BEGUN : RUNDB_STARTED));
}

int64_t summary_ended(const struct summary *s)
{
    return saturate_ns(summary_property_number(s, RUNDB_ENDED));
}
