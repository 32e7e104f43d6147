// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The verdict on limits, on each node and over all nodes, and the proof that a violated one was infeasible. */
#include "base/saturate.h"
#include "ecs/report/verdict_internal.h"
#include "mdr/builtin.h"
#include "resmgr/agent/agent.h"

#include <math.h>

enum { TRIAL = 4 }; /* a policy takes about this many longest periods to find again that a budget is not enough */

static struct verdict_limit no_verdict(uint32_t node)
{
    return (struct verdict_limit){
        .is = VERDICT_UNKNOWN, .share = NAN, .needed = NAN, .budget = NAN, .contradicts = -1, .node = node};
}

/* How long a violation may outlast its cause: the metric's window, and the agent's settling. In ns. */
static int64_t fading_time(const struct experiment *e, const struct experiment_limit *l)
{
    return experiment_limit_window(e, l) + AGENT_SETTLING * e->adapt.every;
}

/* Whether collection had been off on `node` for `fading` or longer at time `at`, and was still off. */
static bool was_off_at(const struct summary *s, uint32_t node, int64_t at, int64_t fading)
{
    bool off = false;
    int64_t since = 0;
    for (size_t i = 0; i < s->decision_count && (s->decisions[i].node != node || s->decisions[i].at < at); i++) {
        const struct builtin_decision *d = &s->decisions[i];
        if (d->node != node)
            continue;
        if (d->after == 0 && !off)
            since = d->at;
        off = d->after == 0;
    }
    return off && at - since > fading;
}

/* For a global limit: on all nodes. Times are converted from the clock of the node that recorded the row. */
static bool was_off(const struct summary *s, const struct builtin_limit *row, int64_t fading)
{
    if (row->epoch == 0)
        return was_off_at(s, row->node, row->last_violated, fading);
    for (size_t i = 0; i < s->node_count; i++)
        if (!was_off_at(s, (uint32_t)i,
                        row->last_violated + s->nodes[row->node].realtime_offset - s->nodes[i].realtime_offset, fading))
            return false;
    return true;
}

/*
 * The latest conclusion `what` of `node` that was in force within `slack` ns of `at`; NULL if there is none. The slack
 * is needed because a policy concludes at the end of the violation, and withdraws its conclusion while it tries again.
 */
static const struct builtin_finding *found_at(const struct summary *s, uint32_t node, enum builtin_conclusion what,
                                              int64_t limit, int64_t at, int64_t slack)
{
    const struct builtin_finding *found = NULL, *open = NULL;
    for (size_t i = 0; i < s->finding_count && s->findings[i].at <= at + slack; i++) {
        const struct builtin_finding *f = &s->findings[i];
        if (f->node != node || f->what != (int)what || f->limit != limit)
            continue;
        if (!f->holds && open && f->at >= at - slack)
            found = open;
        open = f->holds ? f : NULL;
    }
    return open ? open : found;
}

/* Violations that were withdrawn do not count. */
static int64_t first_violation(const struct summary *s, const struct builtin_limit *row)
{
    int64_t since = 0;
    for (size_t i = 0; i < s->finding_count; i++) {
        const struct builtin_finding *f = &s->findings[i];
        if (f->node == row->node && f->what == FINDING_VIOLATED && f->limit == row->limit)
            since = !f->holds ? 0 : since ? since : f->at;
    }
    return since;
}

/* Finds the proof, if there is one, that a violated `hold` limit was infeasible. */
static void find_why(const struct summary *s, const struct experiment *e, const struct builtin_limit *row,
                     struct verdict_limit *r)
{
    const struct experiment_limit *l = &e->limits[row->limit];
    bool on_cpu = l->metric == LIMIT_ON_SENSOR_CPU,
         on_flow = !on_cpu && experiment_metric_is_built_in(e->metrics[l->metric].kind);
    int64_t slack = fading_time(e, l) + TRIAL * e->adapt.period_max, at = row->last_violated;
    const struct builtin_finding *budget =
        found_at(s, row->node, FINDING_INFEASIBLE, l->global ? row->limit : -1, at, slack);
    r->contradicts = experiment_limit_contradicts(e, row->limit);
    if (r->contradicts >= 0)
        r->why = WHY_CONTRADICTION;
    else if (on_cpu && budget)
        r->why = WHY_BUDGET;
    else if (!on_cpu && !on_flow && found_at(s, row->node, FINDING_NOT_THE_MONITORS, -1, at, slack))
        r->why = WHY_NOT_THE_MONITORS;
    else if (on_flow && found_at(s, row->node, FINDING_STARVED, -1, at, slack))
        r->why = WHY_STARVED;
    else if (was_off(s, row, fading_time(e, l)))
        r->why = on_flow ? WHY_STARVED : WHY_OFF; /* a flow limit needs polls: without collection it starves */
    if (r->why == WHY_BUDGET) {
        r->needed = budget->needed;
        r->budget = budget->budget;
    }
}

static struct verdict_limit judge_row(const struct summary *s, const struct experiment *e,
                                      const struct builtin_limit *row)
{
    const struct experiment_limit *l = &e->limits[row->limit];
    struct verdict_limit r = no_verdict(row->node);
    int64_t judged = saturate_add(row->held, row->violated);
    if (judged <= 0)
        return r;
    r.since = first_violation(s, row);
    r.share = (double)row->violated / (double)judged;
    r.is = r.share <= l->tolerance ? VERDICT_HELD : VERDICT_VIOLATED;
    if (r.is == VERDICT_VIOLATED && l->kind == LIMIT_HOLD)
        find_why(s, e, row, &r);
    if (r.why != WHY_NONE)
        r.is = VERDICT_INFEASIBLE;
    return r;
}

/* A node that could not judge a limit does not count if another one could. */
static void join_row(struct verdict_limit *all, const struct verdict_limit *row)
{
    if (row->is == VERDICT_UNKNOWN)
        return;
    if (isnan(all->share) || row->share > all->share) {
        all->share = row->share;
        all->node = row->node;
    }
    if (row->why != WHY_NONE && all->why == WHY_NONE) {
        all->why = row->why;
        all->needed = row->needed;
        all->budget = row->budget;
        all->contradicts = row->contradicts;
    }
    if (all->is == VERDICT_UNKNOWN || row->is > all->is)
        all->is = row->is;
}

/* Judges a global limit over all its managers; each counted its own times only. */
static void judge_global(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t limit)
{
    struct builtin_limit sum = {.limit = limit};
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit *row = &s->limits[i];
        if (row->limit != limit || row->epoch == 0)
            continue;
        int64_t held = saturate_add(sum.held, row->held), violated = saturate_add(sum.violated, row->violated);
        if (row->last_violated > 0 || sum.epoch == 0)
            sum = *row;
        sum.held = held;
        sum.violated = violated;
    }
    if (sum.epoch > 0)
        v->limits[limit] = judge_row(s, e, &sum);
}

void verdict_judge_limits(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    for (size_t i = 0; i < v->limit_count; i++)
        v->limits[i] = no_verdict(0);
    for (size_t i = 0; i < s->limit_count; i++) {
        v->rows[i] = no_verdict(s->limits[i].node);
        if ((uint64_t)s->limits[i].limit >= v->limit_count)
            continue;
        v->rows[i] = judge_row(s, e, &s->limits[i]);
        if (s->limits[i].epoch == 0)
            join_row(&v->limits[s->limits[i].limit], &v->rows[i]);
    }
    for (uint32_t i = 0; i < v->limit_count; i++)
        if (e->limits[i].global)
            judge_global(v, s, e, i);
    for (size_t i = 0; i < v->limit_count; i++)
        if (v->limits[i].is > v->is)
            v->is = v->limits[i].is;
}
