// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/summary_own.h"

#include "base/clock.h"
#include "collector/facts_run.h"

/* ---- what a node cost, over its daemons -------------------------------------------------------------------------- */

static const char self_query[] = "SELECT process, min(at), max(at), max(cpu_ns), max(wakeups), max(records), max(bytes)"
                                 " FROM self GROUP BY process ORDER BY max(at)";
static const char cost_query[] = "SELECT process, at, cpu_ns FROM self ORDER BY process, at, cpu_ns";
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

/* A node's own costs, of each of its daemons in turn. */
static void take_self(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_process *p = summary_process_at(l, s, 0);
    if (!p)
        return;
    struct summary_node *n = &l->summary.nodes[p->node];
    n->first_at = n->first_at ? n->first_at : summary_ns(s, 1);
    n->last_at = summary_ns(s, 2);
    n->cpu_ns = saturate_add(n->cpu_ns, summary_ns(s, 3));
    n->wakeups = saturate_add(n->wakeups, sqlite3_column_int64(s, 4));
    n->records = saturate_add(n->records, sqlite3_column_int64(s, 5));
    n->bytes = saturate_add(n->bytes, sqlite3_column_int64(s, 6));
}

/*
 * A share of a CPU is CPU time over time, between two samples of a daemon. Those nearer to each other than
 * COST_INTERVAL, as the last ones, are taken together with what is beside them, so that a single poll is not all of it.
 * The intervals are as long, together, as the time that the mean is over: it is never above the largest.
 */
#define COST_INTERVAL (50 * CLOCK_MS)

static void take_share(struct summary_node *n, int64_t begun_at, int64_t begun_cpu, int64_t at, int64_t cpu)
{
    if (at > begun_at)
        n->sensor_cpu_max = fmax(n->sensor_cpu_max, 100.0 * (double)(cpu - begun_cpu) / (double)(at - begun_at));
}

/* The interval before is complete: it is not lengthened by a rest any more. */
static void settle_cost(struct summary_loading *l)
{
    const struct summary_cost *c = &l->cost;
    if (c->has_before)
        take_share(&l->summary.nodes[c->node], c->before_at, c->before_cpu, c->begun_at, c->begun_cpu);
}

static void end_cost(struct summary_loading *l)
{
    const struct summary_cost *c = &l->cost;
    if (c->process == 0)
        return;
    if (c->has_before && c->last_at > c->begun_at)
        take_share(&l->summary.nodes[c->node], c->before_at, c->before_cpu, c->last_at, c->last_cpu);
    else if (c->has_before)
        settle_cost(l);
    else
        take_share(&l->summary.nodes[c->node], c->begun_at, c->begun_cpu, c->last_at, c->last_cpu);
}

static void take_cost(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_cost *c = &l->cost;
    int64_t process = sqlite3_column_int64(s, 0), at = summary_ns(s, 1), cpu = summary_ns(s, 2);
    if (process != c->process) {
        const struct summary_process *p = summary_process_at(l, s, 0);
        end_cost(l);
        *c = (struct summary_cost){0};
        if (!p)
            return;
        *c = (struct summary_cost){.node = p->node, .process = process, .begun_at = at, .begun_cpu = cpu};
    } else {
        struct summary_node *n = &l->summary.nodes[c->node];
        n->cost_ns = saturate_add(n->cost_ns, cpu - c->last_cpu);
        n->sampled_ns = saturate_add(n->sampled_ns, at - c->last_at);
    }
    c->last_at = at;
    c->last_cpu = cpu;
    if (at - c->begun_at < COST_INTERVAL)
        return;
    settle_cost(l);
    c->has_before = true;
    c->before_at = c->begun_at;
    c->before_cpu = c->begun_cpu;
    c->begun_at = at;
    c->begun_cpu = cpu;
}

static void load_costs(struct summary_loading *l)
{
    summary_each(l, cost_query, take_cost);
    end_cost(l);
    for (size_t i = 0; i < l->summary.node_count; i++) {
        struct summary_node *n = &l->summary.nodes[i];
        if (n->sampled_ns > 0)
            n->sensor_cpu_mean = 100.0 * (double)n->cost_ns / (double)n->sampled_ns;
        n->sensor_cpu_max = fmax(n->sensor_cpu_max, n->sensor_cpu_mean); /* what rounding makes of equals */
    }
}

/* A later daemon finds the processes that live again: no sum counts them once. */
static void take_clock(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    n->clock = (struct summary_clock){
        .kernel = sqlite3_column_int64(s, 1),
        .counter = sqlite3_column_int64(s, 2),
        .program = sqlite3_column_int64(s, 3),
        .error_ns = summary_ns(s, 4),
        .jumps = sqlite3_column_int64(s, 5),
        .clamped = sqlite3_column_int64(s, 6),
    };
}

static void take_period(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    n->period_mean = summary_ns(s, 1);
    n->period_worst = summary_ns(s, 2);
}

static void take_flow(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_node *n = summary_node_at(l, s, 0);
    if (!n)
        return;
    n->en_route_max = summary_real(s, 2);
    n->en_route_mean = fmin(summary_real(s, 1), n->en_route_max);
    n->backpressure = sqlite3_column_int64(s, 3);
}

/* ---- what it did and found --------------------------------------------------------------------------------------- */

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

static void take_polling(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_polling *p = summary_grow(l, &l->summary.polling, &l->summary.polling_count, sizeof *p);
    if (!p)
        return;
    p->node = summary_node_index(l, s, 0);
    p->at = summary_ns(s, 1);
    p->cause = sqlite3_column_int(s, 2);
    p->period = summary_ns(s, 3);
    p->mode = sqlite3_column_int(s, 4);
    p->forward = sqlite3_column_int(s, 5);
    p->batch = sqlite3_column_int64(s, 6);
}

static void take_obeyed(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_obeyed *o = summary_grow(l, &l->summary.obeyed, &l->summary.obeyed_count, sizeof *o);
    if (!o)
        return;
    *o = (struct summary_obeyed){.node = summary_node_index(l, s, 0),
                                 .epoch = sqlite3_column_int64(s, 1),
                                 .obeyed = sqlite3_column_int64(s, 2),
                                 .expired = sqlite3_column_int64(s, 3),
                                 .outdated = sqlite3_column_int64(s, 4),
                                 .repeated = sqlite3_column_int64(s, 5),
                                 .cut = sqlite3_column_int64(s, 6),
                                 .lost = sqlite3_column_int64(s, 7),
                                 .untold = sqlite3_column_int64(s, 8)};
}

static void take_finding(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_finding *f = summary_grow(l, &l->summary.findings, &l->summary.finding_count, sizeof *f);
    if (!f)
        return;
    *f = (struct summary_finding){.node = summary_node_index(l, s, 0),
                                  .at = summary_ns(s, 1),
                                  .what = sqlite3_column_int(s, 2),
                                  .holds = sqlite3_column_int(s, 3) != 0,
                                  .limit = sqlite3_column_int64(s, 4),
                                  .needed = summary_real(s, 5),
                                  .budget = summary_real(s, 6),
                                  .floor = sqlite3_column_int64(s, 7)};
}

static void take_knob(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_knob *k = summary_grow(l, &l->summary.knobs, &l->summary.knob_count, sizeof *k);
    if (!k)
        return;
    k->node = summary_node_index(l, s, 0);
    k->at = summary_ns(s, 1);
    k->process = summary_text(l, s, 2);
    k->name = summary_text(l, s, 3);
    k->unit = summary_text(l, s, 4);
    k->instance = summary_u64(s, 5);
    k->cause = sqlite3_column_int(s, 6);
    k->before = sqlite3_column_int64(s, 7);
    k->after = sqlite3_column_int64(s, 8);
    k->limit = sqlite3_column_int64(s, 9);
    k->value = summary_real(s, 10);
    k->epoch = sqlite3_column_int64(s, 11);
    k->sequence = sqlite3_column_int64(s, 12);
}

static void take_expired(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_expired *e = summary_grow(l, &l->summary.expired, &l->summary.expired_count, sizeof *e);
    if (!e)
        return;
    e->node = summary_node_index(l, s, 0);
    e->instance = summary_u64(s, 1);
    e->process = summary_text(l, s, 2);
    e->aspect = summary_text(l, s, 3);
    e->bound = summary_ns(s, 4);
    e->taken = sqlite3_column_int64(s, 5);
    e->expired = sqlite3_column_int64(s, 6);
}

static int64_t time_judged(const struct summary_limit *l)
{
    return saturate_add(l->settling + l->held, l->violated + l->unknown);
}

/*
 * What a manager judged on the whole is cumulative over its life, whichever nodes recorded it: the row that tells of
 * the longest time tells all. True where the row is another one's copy, of which the better is kept.
 */
static bool is_told_already(struct summary_loading *l, const struct summary_limit *limit)
{
    for (size_t i = 0; i < l->summary.limit_count - 1 && limit->epoch > 0; i++) {
        struct summary_limit *other = &l->summary.limits[i];
        if (other->index != limit->index || other->epoch != limit->epoch)
            continue;
        if (time_judged(limit) > time_judged(other))
            *other = *limit;
        return true;
    }
    return false;
}

static void take_limit(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_limit *limit = summary_grow(l, &l->summary.limits, &l->summary.limit_count, sizeof *limit);
    if (!limit)
        return;
    limit->node = summary_node_index(l, s, 0);
    limit->index = (uint32_t)summary_u64(s, 1);
    limit->state = sqlite3_column_int(s, 2);
    limit->value = summary_real(s, 3);
    limit->worst = summary_real(s, 4);
    limit->settling = summary_ns(s, 5);
    limit->held = summary_ns(s, 6);
    limit->violated = summary_ns(s, 7);
    limit->unknown = summary_ns(s, 8);
    limit->last_violated = summary_ns(s, 9);
    limit->epoch = sqlite3_column_int64(s, 10);
    if (is_told_already(l, limit))
        l->summary.limit_count--;
}

static void take_decision(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_decision *d = summary_grow(l, &l->summary.decisions, &l->summary.decision_count, sizeof *d);
    if (!d)
        return;
    d->node = summary_node_index(l, s, 0);
    d->at = summary_ns(s, 1);
    d->policy = sqlite3_column_int(s, 2);
    d->action = sqlite3_column_int(s, 3);
    d->before = summary_ns(s, 4);
    d->after = summary_ns(s, 5);
    d->cause = sqlite3_column_int(s, 6);
    d->by = sqlite3_column_int(s, 7);
    d->epoch = sqlite3_column_int64(s, 8);
    d->sequence = sqlite3_column_int64(s, 9);
}

static void take_metric(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_metric *m = summary_grow(l, &l->summary.metrics, &l->summary.metric_count, sizeof *m);
    if (!m)
        return;
    m->node = summary_node_index(l, s, 0);
    m->metric = summary_text(l, s, 1);
    m->process = summary_text(l, s, 2);
    m->count = summary_u64(s, 3);
    m->min = summary_real(s, 5);
    m->max = summary_real(s, 6);
    m->mean = fmin(fmax(summary_real(s, 4), m->min), m->max); /* but for what rounding makes of a mean */
    m->last = summary_real(s, 7);
}

/* The mark stands with its process, where there is one. */
static void take_refusal(struct summary *s, const struct summary_note *n)
{
    bool known = false;
    for (size_t i = 0; i < s->process_count; i++) {
        struct summary_process *p = &s->processes[i];
        bool is_it = p->instance == n->instance && p->node == n->node;
        p->refused = p->refused || is_it;
        known = known || is_it;
    }
    s->left_out = s->left_out || !known;
}

static void take_note(struct summary_loading *l, sqlite3_stmt *s)
{
    struct summary_note *n = summary_grow(l, &l->summary.notes, &l->summary.note_count, sizeof *n);
    if (!n)
        return;
    n->node = (uint32_t)l->summary.node_count;
    if (sqlite3_column_type(s, 0) != SQLITE_NULL)
        n->node = summary_node_index(l, s, 0);
    n->instance = summary_u64(s, 1);
    n->pid = (uint32_t)summary_u64(s, 2);
    n->name = summary_text(l, s, 3);
    n->at = summary_ns(s, 4);
    n->code = summary_text(l, s, 5);
    n->text = summary_text(l, s, 6);
    if (strcmp(n->code, FACTS_PROCESS_REFUSED) == 0)
        take_refusal(&l->summary, n);
}

void summary_load_notes(struct summary_loading *l)
{
    summary_each(l, "SELECT node, instance, pid, name, at, code, text FROM notes ORDER BY at, rowid", take_note);
}

void summary_load_nodes(struct summary_loading *l)
{
    summary_each(l, self_query, take_self);
    load_costs(l);
    summary_each(l, clock_query, take_clock);
    summary_each(l,
                 "SELECT node, number, state, value, worst, settling, held, violated, unknown, last_violated, epoch"
                 " FROM limits ORDER BY node, number, epoch",
                 take_limit);
    summary_each(l,
                 "SELECT node, at, policy, action, before_ns, after_ns, cause, by, epoch, sequence FROM decisions"
                 " ORDER BY at, rowid",
                 take_decision);
    summary_each(l, period_query, take_period);
    summary_each(l, flow_query, take_flow);
    summary_each(l, "SELECT node, at, cause, period_ns, mode, forward, batch FROM polling ORDER BY at, rowid",
                 take_polling);
    summary_each(l, expired_query, take_expired);
    summary_each(
        l,
        "SELECT node, at, process, name, unit, instance, cause, before, after, number, value, epoch, sequence FROM "
        "knobs ORDER BY at, rowid",
        take_knob);
    summary_each(
        l,
        "SELECT node, max(epoch), sum(obeyed), sum(expired), sum(outdated), sum(repeated), sum(cut), sum(lost),"
        " sum(untold) FROM obeyed JOIN processes ON processes.id = process GROUP BY node ORDER BY node",
        take_obeyed);
    summary_each(l, "SELECT node, at, what, holds, number, needed, budget, floor FROM findings ORDER BY at, rowid",
                 take_finding);
    summary_each(l, metric_query, take_metric);
}
