// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What makes a run's story: limits as they were observed, when they broke, and what was saved of it. */
#include "collector/summary_own.h"

#include <stdlib.h>

/* No experiment has others, and each would cost the memory of a plot's line. */
#define IS_LIMIT "number BETWEEN 0 AND 63"
_Static_assert(MESSAGE_LIMITS_MAX == 64, "as many");

/* ---- Observations ------------------------------------------------------------------------------------------------ */

/* At each instant a node tells of its limits in their order: it is most often the one behind the last. */
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

static void take_series(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_series *series = summary_grow(l, &l->summary.series, &l->summary.series_count, sizeof *series);
    if (!series)
        return;
    series->node = summary_node_index(l, s, 0);
    series->limit = (uint32_t)summary_u64(s, 1);
    series->begin = summary_ns(s, 2);
    series->end = summary_ns(s, 3);
    if (!summary_charge(l, SUMMARY_COLUMNS * sizeof *series->columns))
        return;
    series->columns = calloc(SUMMARY_COLUMNS, sizeof *series->columns);
    if (!series->columns)
        l->err = BEZEL_ENOMEM;
}

static struct summary_column *column_of(const struct summary_series *s, int64_t at)
{
    double share = s->end > s->begin ? (double)(at - s->begin) / (double)(s->end - s->begin) : 0;
    return &s->columns[(size_t)(share * (SUMMARY_COLUMNS - 1))];
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

static void take_observation(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_series *series = find_series(l, summary_node_index(l, s, 0), (uint32_t)summary_u64(s, 2));
    int64_t at = summary_ns(s, 1);
    if (!series || at < series->begin || at > series->end)
        return;
    double value = summary_real(s, 4);
    add_value(column_of(series, at), at, value);
    follow_state(l, series, at, sqlite3_column_int(s, 3), value);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/*
 * Each life of a node's daemon has its own row: together they are what was saved there. They need not agree on the
 * nanosecond, since each has made the moment of its own reading of the real-time clock.
 */
static const char snapshot_query[] =
    "SELECT processes.node, number, min(moment), snapshots.node, cause, value, max(duration_ns), sum(records),"
    " max(snapshots.processes), min(nullif(first_ns, 0)), max(last_ns), max(over), max(at)"
    " FROM snapshots JOIN processes ON processes.id = process"
    " GROUP BY processes.node, number, CASE WHEN number = 0 THEN moment END"
    " ORDER BY number = 0, number, CASE WHEN number = 0 THEN min(moment) END, processes.node";

static void take_snapshot(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_snapshot *n = summary_grow(l, &l->summary.snapshots, &l->summary.snapshot_count, sizeof *n);
    if (!n)
        return;
    n->node = summary_node_index(l, s, 0);
    n->number = (uint32_t)summary_u64(s, 1);
    n->moment = summary_ns(s, 2);
    n->cause_node = summary_text(l, s, 3);
    n->limit = sqlite3_column_int64(s, 4);
    n->value = summary_real(s, 5);
    n->duration = summary_ns(s, 6);
    n->records = summary_u64(s, 7);
    n->processes = summary_u64(s, 8);
    n->first_ns = summary_ns(s, 9);
    n->last_ns = summary_ns(s, 10);
    n->over = sqlite3_column_int(s, 11) != 0;
    n->told_at = summary_ns(s, 12);
}

void summary_load_story(struct summary_loading *l)
{
    summary_each(l, "SELECT node, number, min(at), max(at) FROM observations WHERE " IS_LIMIT " GROUP BY node, number",
                 take_series);
    summary_each(l, "SELECT node, at, number, state, value FROM observations WHERE " IS_LIMIT " ORDER BY rowid",
                 take_observation);
    summary_each(l, snapshot_query, take_snapshot);
}
