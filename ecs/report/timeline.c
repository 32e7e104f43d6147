// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What happened, in order: limits broke and held again, somebody decided, something was turned or saved. Decisions of a
 * node between which nothing else happened there are one line, and so are violations of a limit that broke before.
 */
#include "base/clock.h"
#include "base/saturate.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/self.h"
#include "ecs/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 40 }; /* unless all is asked for */

enum moment_kind {
    MOMENT_POLLING,
    MOMENT_KNOB,
    MOMENT_FINDING,
    MOMENT_BREAKS,
    MOMENT_SNAPSHOT,
    MOMENT_DECISION,
    MOMENT_HOLDS,
    MOMENT_AGAIN
};

struct moment {
    int64_t at; /* of the run */
    enum moment_kind kind;
    uint32_t node;
    size_t index, last; /* of what it is; of decisions, and violations again: the first and the last */
    size_t count;
    int64_t shortest, longest; /* of decisions: periods; 0: none but off */
};

struct story {
    struct moment *moments;
    size_t count;
};

static struct moment *add(const struct report *r, struct story *s, enum moment_kind kind, uint32_t node, size_t index,
                          int64_t at)
{
    struct moment *m = &s->moments[s->count++];
    *m = (struct moment){.at = report_run_time(r, node, at), .kind = kind, .node = node, .index = index};
    m->last = index;
    m->count = 1;
    return m;
}

static int compare(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The agent finds a violation and records it some microseconds later; what it led to comes behind that. */
static int64_t behind_its_cause(const struct report *r, const struct summary_snapshot *n)
{
    int64_t at = report_run_time(r, n->node, n->moment);
    for (size_t i = 0; n->number && i < r->summary->violation_count; i++) {
        const struct summary_violation *v = &r->summary->violations[i];
        int64_t later = saturate_add(report_run_time(r, v->node, v->begin), -at);
        if (v->limit == n->limit && later > 0 && later < 10 * CLOCK_MS &&
            strcmp(report_node_name(r, v->node), n->cause_node) == 0)
            return at + later;
    }
    return at;
}

static void collect(const struct report *r, struct story *s)
{
    const struct summary *d = r->summary;
    for (size_t i = 0; i < d->polling_count; i++)
        if (d->polling[i].cause != 0) /* the file's */
            add(r, s, MOMENT_POLLING, d->polling[i].node, i, d->polling[i].at);
    for (size_t i = 0; i < d->knob_count; i++)
        add(r, s, MOMENT_KNOB, d->knobs[i].node, i, d->knobs[i].at);
    for (size_t i = 0; i < d->finding_count; i++)
        if (d->findings[i].what != SELF_FINDING_VIOLATED) /* that is told anyway */
            add(r, s, MOMENT_FINDING, d->findings[i].node, i, d->findings[i].at);
    for (size_t i = 0; i < d->decision_count; i++)
        add(r, s, MOMENT_DECISION, d->decisions[i].node, i, d->decisions[i].at);
    for (size_t i = 0; i < d->violation_count; i++) {
        const struct summary_violation *v = &d->violations[i];
        add(r, s, MOMENT_BREAKS, v->node, i, v->begin);
        if (!v->open)
            add(r, s, MOMENT_HOLDS, v->node, i, v->end);
    }
    for (size_t i = 0; i < d->snapshot_count; i++)
        if (i == 0 || d->snapshots[i].number == 0 || d->snapshots[i].number != d->snapshots[i - 1].number)
            add(r, s, MOMENT_SNAPSHOT, d->snapshots[i].node, i, d->snapshots[i].moment)->at =
                behind_its_cause(r, &d->snapshots[i]);
    qsort(s->moments, s->count, sizeof *s->moments, compare);
}

static void widen(struct moment *m, int64_t period)
{
    if (period == 0)
        return;
    m->shortest = m->shortest == 0 || period < m->shortest ? period : m->shortest;
    m->longest = period > m->longest ? period : m->longest;
}

/* Whether `m` goes on with `line`, the latest of its node; what breaks again begins a line of its own. */
static bool joins(const struct report *r, const struct moment *line, struct moment *m)
{
    const struct summary_violation *v = r->summary->violations;
    if (!line || m->kind == MOMENT_DECISION)
        return line && line->kind == m->kind;
    if ((m->kind != MOMENT_BREAKS && m->kind != MOMENT_HOLDS) || line->kind < MOMENT_HOLDS ||
        v[line->index].limit != v[m->index].limit)
        return false;
    if (line->kind == MOMENT_AGAIN)
        return true;
    m->kind = m->kind == MOMENT_BREAKS ? MOMENT_AGAIN : m->kind;
    return false;
}

static void join(struct moment *line, const struct moment *m)
{
    line->last = m->index;
    line->count += m->kind != MOMENT_HOLDS;
}

/* One line of decisions of a node between which nothing else happened there. False: no memory, nothing is joined. */
static bool join_decisions(const struct report *r, struct story *s)
{
    size_t kept = 0, *latest = calloc(r->summary->node_count + 1, sizeof *latest); /* line of each node, from 1 */
    for (size_t i = 0; latest && i < s->count; i++) {
        struct moment m = s->moments[i], *line = latest[m.node] ? &s->moments[latest[m.node] - 1] : NULL;
        if (joins(r, line, &m)) {
            join(line, &m);
        } else {
            s->moments[kept++] = m;
            line = &s->moments[kept - 1];
            latest[m.node] = kept;
        }
        if (m.kind == MOMENT_SNAPSHOT) /* of all nodes */
            memset(latest, 0, r->summary->node_count * sizeof *latest);
        if (m.kind != MOMENT_DECISION)
            continue;
        widen(line, r->summary->decisions[m.index].before);
        widen(line, r->summary->decisions[m.index].after);
    }
    bool joined = latest != NULL;
    s->count = joined ? kept : s->count;
    free(latest);
    return joined;
}

/* Returns whether there is one; *s is then to be freed. */
static bool tell(const struct report *r, struct story *s)
{
    const struct summary *d = r->summary;
    size_t most = d->polling_count + d->knob_count + d->finding_count + d->decision_count + 2 * d->violation_count +
                  d->snapshot_count;
    *s = (struct story){.moments = most ? calloc(most, sizeof *s->moments) : NULL};
    if (!s->moments)
        return false;
    collect(r, s);
    if (join_decisions(r, s))
        return true;
    free(s->moments);
    return false;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* The value furthest from holding. */
static double worst(const struct report *r, const struct summary_violation *v)
{
    bool least = v->limit < r->experiment->limit_count && r->experiment->limits[v->limit].compare == COMPARE_AT_LEAST;
    return least ? v->min : v->max;
}

static struct units_text period_text(int64_t ns)
{
    return ns == 0 ? (struct units_text){"off"} : units_exact_duration(ns);
}

static void decisions_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct summary_decision *first = &r->summary->decisions[m->index], *last = &r->summary->decisions[m->last];
    const char *who = first->by == 1 ? "manager, " : "";
    if (m->count == 1 && first->cause >= 0)
        table_cell(t, "%s%s: %s, %s -> %s, for %s", who, report_policy_name(first->policy),
                   report_action_name(first->action), period_text(first->before).s, period_text(first->after).s,
                   report_limit_text(r, first->cause));
    else if (m->count == 1)
        table_cell(t, "%s%s: %s, %s -> %s", who, report_policy_name(first->policy), report_action_name(first->action),
                   period_text(first->before).s, period_text(first->after).s);
    else
        table_cell(t, "%s%s: %s decisions in %s, %s -> %s, between %s and %s", who, report_policy_name(first->policy),
                   units_count(m->count).s, units_duration(last->at - first->at).s, period_text(first->before).s,
                   period_text(last->after).s, units_exact_duration(m->shortest).s, units_exact_duration(m->longest).s);
}

/* What broke again, and again. */
static void again_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct summary_violation *all = r->summary->violations, *first = &all[m->index], *last = &all[m->last];
    struct summary_violation whole = *first;
    int64_t sum = 0;
    for (const struct summary_violation *v = first; v <= last; v++) {
        if (v->node != first->node || v->limit != first->limit)
            continue;
        sum = saturate_add(sum, v->end - v->begin);
        whole.min = fmin(whole.min, v->min);
        whole.max = fmax(whole.max, v->max);
    }
    const char *text = report_limit_text(r, first->limit), *to_end = last->open ? ", to the end" : "";
    if (m->count == 1)
        table_cell(t, "%s: violated again, for %s%s, worst %s", text, units_duration(sum).s, to_end,
                   report_limit_value(r, whole.limit, worst(r, &whole)).s);
    else
        table_cell(t, "%s: violated %s times again in %s, for %s of it%s, worst %s", text, units_count(m->count).s,
                   units_duration(last->end - first->begin).s, units_duration(sum).s, to_end,
                   report_limit_value(r, whole.limit, worst(r, &whole)).s);
}

static void violation_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct summary_violation *v = &r->summary->violations[m->index];
    const char *text = report_limit_text(r, v->limit);
    if (m->kind == MOMENT_HOLDS)
        table_cell(t, "%s: no longer violated, after %s", text, units_duration(v->end - v->begin).s);
    else if (v->open)
        table_cell(t, "%s: violated to the end, worst %s", text, report_limit_value(r, v->limit, worst(r, v)).s);
    else
        table_cell(t, "%s: violated, worst %s", text, report_limit_value(r, v->limit, worst(r, v)).s);
}

static void turned_cell(const struct report *r, struct table *t, const struct moment *m)
{
    static const char *const who[] = {"operator", "manager", "agent", "left so", "end of observation"};
    if (m->kind == MOMENT_POLLING) {
        const struct summary_polling *p = &r->summary->polling[m->index];
        table_cell(t, "operator: %s, period %s", p->mode == POLL_MODE_BUSY_WAIT ? "busy-wait" : "polling",
                   units_exact_duration(p->period).s);
        return;
    }
    const struct summary_knob *k = &r->summary->knobs[m->index];
    const char *by = k->cause >= 0 && k->cause < 5 ? who[k->cause] : "?";
    if (k->limit < 0)
        table_cell(t, "%s: knob %s of %s, %" PRId64 " -> %" PRId64, by, k->name, k->process, k->before, k->after);
    else
        table_cell(t, "%s: knob %s of %s, %" PRId64 " -> %" PRId64 ", for %s (%s)", by, k->name, k->process, k->before,
                   k->after, report_limit_text(r, k->limit), report_limit_value(r, (uint32_t)k->limit, k->value).s);
}

/* The limit that it is about; -1: none. */
static int64_t limit_of(const struct report *r, const struct moment *m)
{
    if (m->kind == MOMENT_FINDING)
        return r->summary->findings[m->index].limit;
    bool is_violation = m->kind == MOMENT_BREAKS || m->kind == MOMENT_HOLDS || m->kind == MOMENT_AGAIN;
    return is_violation ? (int64_t)r->summary->violations[m->index].limit : -1;
}

static void row(const struct report *r, struct table *t, const struct moment *m)
{
    const struct summary_snapshot *n = m->kind == MOMENT_SNAPSHOT ? &r->summary->snapshots[m->index] : NULL;
    bool of_run = n && n->number != 0;
    table_cell(t, "%.3f s", (double)m->at / (double)CLOCK_S);
    table_cell(t, "%s", of_run ? "all" : report_where(r, m->node, limit_of(r, m)));
    if (of_run)
        table_cell(t, "snapshot %" PRIu32 ", for %s on %s", n->number, report_limit_text(r, n->limit), n->cause_node);
    else if (n)
        table_cell(t, "operator: snapshot");
    else if (m->kind == MOMENT_DECISION)
        decisions_cell(r, t, m);
    else if (m->kind == MOMENT_FINDING)
        report_finding(r, t, &r->summary->findings[m->index], true);
    else if (m->kind == MOMENT_AGAIN)
        again_cell(r, t, m);
    else if (m->kind == MOMENT_BREAKS || m->kind == MOMENT_HOLDS)
        violation_cell(r, t, m);
    else
        turned_cell(r, t, m);
}

static void verdict_rows(const struct report *r, struct table *t)
{
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        const struct verdict_limit *v = &r->verdict->limits[i];
        table_cell(t, "%s", "end");
        table_cell(t, "%s", "all");
        if (isnan(v->share))
            table_cell(t, "%s: %s", report_limit_text(r, (int64_t)i), verdict_name(v->is));
        else
            table_cell(t, "%s: %s, in violation %s of the time that is judged", report_limit_text(r, (int64_t)i),
                       verdict_name(v->is), figure_share(v->share).s);
    }
}

void report_story(const struct report *r, FILE *out)
{
    struct story s;
    if (!tell(r, &s))
        return;
    bool cut = s.count > LINES_SHOWN && !r->all;
    report_title(r, "What happened", out);
    struct table *t = table_new("rll");
    for (size_t i = 0; i < s.count; i++) {
        if (cut && i == LINES_SHOWN / 2) {
            i = s.count - LINES_SHOWN / 2;
            table_cell(t, "%s", "...");
            table_cell(t, "%s", "");
            table_cell(t, "%zu more (--all shows them)", s.count - LINES_SHOWN);
        }
        row(r, t, &s.moments[i]);
    }
    if (r->verdict->run != RUN_RUNNING)
        verdict_rows(r, t);
    table_print(t, 2, out);
    free(s.moments);
}

void report_json_violations(const struct report *r, struct json *j)
{
    json_array(j, "violations");
    for (size_t i = 0; i < r->summary->violation_count; i++) {
        const struct summary_violation *v = &r->summary->violations[i];
        json_object(j, NULL);
        json_text(j, "limit", report_limit_text(r, v->limit));
        json_text(j, "node", report_is_whole(r, v->limit) ? NULL : report_node_name(r, v->node));
        json_int(j, "begin_ns", report_run_time(r, v->node, v->begin));
        json_int(j, "end_ns", report_run_time(r, v->node, v->end));
        json_bool(j, "open", v->open);
        json_double(j, "worst", worst(r, v));
        json_object_end(j);
    }
    json_array_end(j);
}
