// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Loads the observations of limits, finds their violations, and loads the snapshots. */
#include "run/rundb/summary_internal.h"

#include <stdlib.h>
#include <string.h>

/* An experiment has no other limits, and each one takes the memory of a plotted line. */
#define IS_LIMIT "\"limit\" BETWEEN 0 AND 63"
_Static_assert(MESSAGE_LIMITS_MAX == 64, "IS_LIMIT has the range of limits");

/* ---- Observations ------------------------------------------------------------------------------------------------ */

/* A node records its limits in order at each instant, so the search starts after the last series found. */
static struct summary_series *find_series(struct summary_loading *l, uint32_t node, uint32_t limit)
{
    size_t count = l->summary.series_count;
    for (size_t n = 1; n <= count; n++) {
        size_t i = (l->last_series + n) % count;
        if (l->summary.series[i].node != node || l->summary.series[i].limit != limit)
            continue;
        l->last_series = i;
        return &l->summary.series[i];
    }
    return NULL;
}

/* NULL, with l->err set: no memory. */
static struct summary_column *new_columns(struct summary_loading *l)
{
    if (!summary_charge(l, SUMMARY_COLUMNS * sizeof(struct summary_column)))
        return NULL;
    struct summary_column *columns = calloc(SUMMARY_COLUMNS, sizeof *columns);
    if (!columns)
        l->err = BEZEL_ENOMEM;
    return columns;
}

/*
 * A series is read in one pass over millions of rows, before its end is known. So its columns have 1 << width ns each,
 * from `base` on; where a time lies beyond them, they become twice as wide.
 */
enum { FIRST_WIDTH = 20 }; /* log2 of ns: a millisecond */

static struct summary_series *add_series(struct summary_loading *l, uint32_t node, uint32_t limit, int64_t at)
{
    struct summary_series *s = summary_grow(l, &l->summary.series, &l->summary.series_count, sizeof *s);
    if (!s)
        return NULL;
    *s =
        (struct summary_series){.node = node, .limit = limit, .begin = at, .end = at, .base = at, .width = FIRST_WIDTH};
    s->columns = new_columns(l);
    return s->columns ? s : NULL;
}

static void join(struct summary_column *into, const struct summary_column *c)
{
    if (c->count == 0)
        return;
    into->at = into->count ? into->at : c->at;
    into->count += c->count;
    if (c->known == 0)
        return;
    into->min = into->known == 0 || c->min < into->min ? c->min : into->min;
    into->max = into->known == 0 || c->max > into->max ? c->max : into->max;
    into->last = c->last;
    into->known += c->known;
}

static void widen(struct summary_series *s)
{
    for (size_t i = 0; i < SUMMARY_COLUMNS; i++) {
        struct summary_column c = s->columns[i];
        s->columns[i] = (struct summary_column){0};
        join(&s->columns[i / 2], &c);
    }
    s->width++;
}

/* Makes room in front of the columns, for a time before all others. */
static void put_front(struct summary_series *s, int64_t at)
{
    for (;; widen(s)) {
        uint64_t more = ((uint64_t)(s->base - at) >> s->width) + 1, used = (uint64_t)(s->end - s->base) >> s->width;
        if (used + 1 + more > SUMMARY_COLUMNS)
            continue;
        memmove(s->columns + more, s->columns, (size_t)(used + 1) * sizeof *s->columns);
        memset(s->columns, 0, (size_t)more * sizeof *s->columns);
        s->base -= (int64_t)(more << s->width);
        return;
    }
}

/* The column that holds `at`. */
static struct summary_column *series_column(struct summary_series *s, int64_t at)
{
    if (at < s->base)
        put_front(s, at);
    s->begin = at < s->begin ? at : s->begin;
    s->end = at > s->end ? at : s->end;
    while ((at - s->base) >> s->width >= SUMMARY_COLUMNS)
        widen(s);
    return &s->columns[(at - s->base) >> s->width];
}

static int by_node_and_limit(const void *a, const void *b)
{
    const struct summary_series *x = a, *y = b;
    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->limit > y->limit) - (x->limit < y->limit);
}

/* The one of these columns, from `begin` to `end`, that holds `at`. */
static struct summary_column *column_of(struct summary_column *columns, int64_t begin, int64_t end, int64_t at)
{
    double part = end > begin ? (double)(at - begin) / (double)(end - begin) : 0;
    return &columns[(size_t)(part * (SUMMARY_COLUMNS - 1))];
}

static void add_value(struct summary_column *c, int64_t at, double value)
{
    if (c->count++ == 0)
        c->at = at;
    if (isnan(value))
        return;
    c->min = c->known == 0 || value < c->min ? value : c->min;
    c->max = c->known == 0 || value > c->max ? value : c->max;
    c->last = value;
    c->known++;
}

/* A violation lasts from the first observation that finds it to the first that does not. */
static void follow_state(struct summary_loading *l, struct summary_series *s, int64_t at, int state, double value)
{
    bool violated = state == 2;
    if (violated && s->open == 0) {
        struct summary_violation *new =
            summary_grow(l, &l->summary.violations, &l->summary.violation_count, sizeof *new);
        if (!new)
            return;
        *new = (struct summary_violation){s->node, s->limit, at, at, true, value, value};
        s->open = l->summary.violation_count;
    }
    if (s->open == 0)
        return;
    struct summary_violation *v = &l->summary.violations[s->open - 1];
    v->end = at;
    v->open = violated;
    if (violated) {
        v->min = fmin(v->min, value);
        v->max = fmax(v->max, value);
    } else {
        s->open = 0;
    }
}

/* Nothing is known from `begin` to `end`: a violation ends there, and the line of values is broken. */
static void follow_gap(struct summary_loading *l, struct summary_series *s, int64_t begin, int64_t end, bool restarted)
{
    struct summary_gap *gap = summary_grow(l, &l->summary.gaps, &l->summary.gap_count, sizeof *gap);
    if (!gap)
        return;
    *gap = (struct summary_gap){.node = s->node, .limit = s->limit, .begin = begin, .end = end, .restarted = restarted};
    add_value(series_column(s, begin), begin, (double)NAN);
    follow_state(l, s, begin, 0, (double)NAN);
}

/* A gap of -1 reaches back to what the daemon before has observed, and none reaches further. */
static void take_gap(struct summary_loading *l, struct summary_series *s, int64_t at, int64_t gap)
{
    int64_t begin = gap < 0 ? s->last : saturate_add(at, -gap);
    begin = begin < s->last ? s->last : begin;
    if (gap != 0 && s->last != 0 && begin >= s->begin && begin < at)
        follow_gap(l, s, begin, at, gap < 0);
}

static void take_observation(struct summary_loading *l, sqlite3_stmt *s)
{
    uint32_t node = summary_node_index(l, s, 0), limit = (uint32_t)summary_u64(s, 2);
    int64_t at = summary_ns(s, 1);
    struct summary_series *series = find_series(l, node, limit);
    if (!series && !l->err)
        series = add_series(l, node, limit, at);
    if (!series)
        return;
    double value = summary_real(s, 4);
    take_gap(l, series, at, sqlite3_column_int64(s, 5));
    add_value(series_column(series, at), at, value);
    follow_state(l, series, at, sqlite3_column_int(s, 3), value);
    series->last = at;
}

/* ---- Values of metrics ------------------------------------------------------------------------------------------- */

static void take_value(struct summary_loading *l, sqlite3_stmt *s)
{
    uint32_t node = summary_node_index(l, s, 0);
    const char *metric = (const char *)sqlite3_column_text(s, 2), *process = (const char *)sqlite3_column_text(s, 3);
    int64_t at = summary_ns(s, 1);
    for (size_t i = 0; metric && process && i < l->summary.metric_count && i < SUMMARY_METRICS_PLOTTED; i++) {
        const struct summary_metric *m = &l->summary.metrics[i];
        if (m->node != node || strcmp(m->metric, metric) != 0 || strcmp(m->process, process) != 0)
            continue;
        if (at >= m->begin && at <= m->end)
            add_value(column_of(m->columns, m->begin, m->end, at), at, summary_real(s, 4));
        return;
    }
}

static void load_metrics(struct summary_loading *l)
{
    for (size_t i = 0; i < l->summary.metric_count && i < SUMMARY_METRICS_PLOTTED && !l->err; i++)
        l->summary.metrics[i].columns = new_columns(l);
    summary_each(l, "SELECT node, at, metric, process, value FROM metrics ORDER BY rowid", take_value);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

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

void summary_load_timeline(struct summary_loading *l)
{
    summary_each(l, "SELECT node, at, \"limit\", state, value, gap FROM observations WHERE " IS_LIMIT " ORDER BY rowid",
                 take_observation);
    if (l->summary.series_count)
        qsort(l->summary.series, l->summary.series_count, sizeof *l->summary.series, by_node_and_limit);
    load_metrics(l);
    summary_rows(l, snapshot_query, BUILTIN_SNAPSHOT, &l->summary.snapshots, &l->summary.snapshot_count);
}
