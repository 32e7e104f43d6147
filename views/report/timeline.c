// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The timeline of a run: violations of limits, times when nobody judged them, decisions and conclusions of policies,
 * changes of knobs, of polling and of the modes of aspects, snapshots. Without --all, consecutive decisions of a node
 * share a line, and so do repeated violations of a limit on a node, and gaps of a node.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/saturate.h"
#include "base/table.h"
#include "mdr/builtin.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 40 }; /* unless --all is given */

enum moment_kind {
    MOMENT_POLLING,
    MOMENT_KNOB,
    MOMENT_ASPECTS,
    MOMENT_CONCLUSION,
    MOMENT_VIOLATED,
    MOMENT_SNAPSHOT,
    MOMENT_GAP,
    MOMENT_DECISION,
    MOMENT_HOLDS,
    MOMENT_AGAIN
};

struct moment {
    int64_t at; /* ns since the run's start */
    enum moment_kind kind;
    uint32_t node;
    size_t index, last; /* in the summary's list of this kind; of a joined line: of its first and last member */
    size_t count;
    int64_t shortest, longest; /* of decisions: periods; 0: none, collection was always off */
};

struct timeline {
    struct moment *moments;
    size_t count;
};

static struct moment *add(const struct report *r, struct timeline *s, enum moment_kind kind, uint32_t node,
                          size_t index, int64_t at)
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

/* The agent records a violation some microseconds after it found it. A snapshot is listed behind its cause. */
static int64_t behind_its_cause(const struct report *r, const struct builtin_snapshot *n)
{
    int64_t at = report_run_time(r, n->node, n->moment);
    for (size_t i = 0; n->number && i < r->summary->violation_count; i++) {
        const struct history_violation *v = &r->summary->violations[i];
        int64_t later = saturate_add(report_run_time(r, v->node, v->begin), -at);
        if (v->limit == n->limit && later > 0 && later < 10 * CLOCK_MS &&
            strcmp(report_node_name(r, v->node), n->origin) == 0)
            return at + later;
    }
    return at;
}

static void collect(const struct report *r, struct timeline *s)
{
    const struct summary *d = r->summary;
    for (size_t i = 0; i < d->polling_count; i++)
        if (d->polling[i].cause != 0) /* 0: the experiment file's own settings */
            add(r, s, MOMENT_POLLING, d->polling[i].node, i, d->polling[i].at);
    for (size_t i = 0; i < d->knob_count; i++)
        add(r, s, MOMENT_KNOB, d->knobs[i].node, i, d->knobs[i].at);
    for (size_t i = 0; i < d->note_count; i++)
        if (report_note_is_change(r, &d->notes[i]))
            add(r, s, MOMENT_ASPECTS, d->notes[i].node, i, d->notes[i].at);
    for (size_t i = 0; i < d->conclusion_count; i++)
        if (d->conclusions[i].what != CONCLUSION_VIOLATED) /* its violation is listed */
            add(r, s, MOMENT_CONCLUSION, d->conclusions[i].node, i, d->conclusions[i].at);
    for (size_t i = 0; i < d->decision_count; i++)
        add(r, s, MOMENT_DECISION, d->decisions[i].node, i, d->decisions[i].at);
    for (size_t i = 0; i < d->violation_count; i++) {
        const struct history_violation *v = &d->violations[i];
        add(r, s, MOMENT_VIOLATED, v->node, i, v->begin);
        if (!v->open)
            add(r, s, MOMENT_HOLDS, v->node, i, v->end);
    }
    for (size_t i = 0; i < d->gap_count; i++)
        add(r, s, MOMENT_GAP, d->gaps[i].node, i, d->gaps[i].begin);
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

/* Whether `m` joins `line`, the latest of its node. A repeated violation begins a line of its own. */
static bool joins(const struct report *r, const struct moment *line, struct moment *m)
{
    const struct history_violation *v = r->summary->violations;
    if (!line || m->kind == MOMENT_DECISION || m->kind == MOMENT_GAP)
        return line && line->kind == m->kind;
    if ((m->kind != MOMENT_VIOLATED && m->kind != MOMENT_HOLDS) || line->kind < MOMENT_HOLDS ||
        v[line->index].limit != v[m->index].limit)
        return false;
    if (line->kind == MOMENT_AGAIN)
        return true;
    m->kind = m->kind == MOMENT_VIOLATED ? MOMENT_AGAIN : m->kind;
    return false;
}

static void join(struct moment *line, const struct moment *m)
{
    line->last = m->index > line->last || m->kind != MOMENT_GAP ? m->index : line->last;
    line->count += m->kind != MOMENT_HOLDS;
}

/* Joins consecutive decisions of a node, and repeated violations of a limit. False: no memory, nothing is joined. */
static bool join_lines(const struct report *r, struct timeline *s)
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
        if (m.kind == MOMENT_SNAPSHOT) /* concerns all nodes: ends every line */
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

/* Returns whether the timeline has lines; the caller then frees s->moments. */
static bool make_timeline(const struct report *r, struct timeline *s)
{
    const struct summary *d = r->summary;
    size_t most = d->polling_count + d->knob_count + d->conclusion_count + d->decision_count + 2 * d->violation_count +
                  d->snapshot_count + d->note_count + d->gap_count;
    *s = (struct timeline){.moments = most ? calloc(most, sizeof *s->moments) : NULL};
    if (!s->moments)
        return false;
    collect(r, s);
    if (s->count > 0 && (r->all || join_lines(r, s)))
        return true;
    free(s->moments);
    return false;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* The value furthest from holding. */
static double worst(const struct report *r, const struct history_violation *v)
{
    bool least = v->limit < r->experiment->limit_count && r->experiment->limits[v->limit].compare == COMPARE_AT_LEAST;
    return least ? v->min : v->max;
}

static struct units_text period_text(int64_t ns)
{
    return ns == 0 ? (struct units_text){"off"} : units_brief_duration(ns);
}

static void decisions_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct builtin_decision *first = &r->summary->decisions[m->index], *last = &r->summary->decisions[m->last];
    const char *by = first->by == 1 ? "manager, " : "";
    if (m->count == 1 && first->cause >= 0)
        table_cell(t, "%s%s: %s, %s -> %s, for %s", by, report_policy_name(first->policy),
                   report_action_name(first->action), period_text(first->before).s, period_text(first->after).s,
                   report_limit_text(r, first->cause));
    else if (m->count == 1)
        table_cell(t, "%s%s: %s, %s -> %s", by, report_policy_name(first->policy), report_action_name(first->action),
                   period_text(first->before).s, period_text(first->after).s);
    else
        table_cell(t, "%s%s: %s decisions in %s, %s -> %s, between %s and %s", by, report_policy_name(first->policy),
                   units_count(m->count).s, units_duration(last->at - first->at).s, period_text(first->before).s,
                   period_text(last->after).s, period_text(m->shortest).s, period_text(m->longest).s);
}

/* Repeated violations of a limit. */
static void again_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct history_violation *all = r->summary->violations, *first = &all[m->index], *last = &all[m->last];
    struct history_violation joined_violation = *first;
    int64_t sum = 0;
    for (const struct history_violation *v = first; v <= last; v++) {
        if (v->node != first->node || v->limit != first->limit)
            continue;
        sum = saturate_add(sum, v->end - v->begin);
        joined_violation.min = fmin(joined_violation.min, v->min);
        joined_violation.max = fmax(joined_violation.max, v->max);
    }
    const char *text = report_limit_text(r, first->limit), *to_end = last->open ? ", to the end" : "";
    if (m->count == 1)
        table_cell(t, "%s: violated again, for %s%s, worst %s", text, units_duration(sum).s, to_end,
                   report_limit_value(r, joined_violation.limit, worst(r, &joined_violation)).s);
    else
        table_cell(t, "%s: violated %s more times in %s, %s in all%s, worst %s", text, units_count(m->count).s,
                   units_duration(last->end - first->begin).s, units_duration(sum).s, to_end,
                   report_limit_value(r, joined_violation.limit, worst(r, &joined_violation)).s);
}

static void violation_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct history_violation *v = &r->summary->violations[m->index];
    const char *text = report_limit_text(r, v->limit);
    if (m->kind == MOMENT_HOLDS)
        table_cell(t, "%s: no longer violated, after %s", text, units_duration(v->end - v->begin).s);
    else if (v->open)
        table_cell(t, "%s: violated to the end, worst %s", text, report_limit_value(r, v->limit, worst(r, v)).s);
    else
        table_cell(t, "%s: violated, worst %s", text, report_limit_value(r, v->limit, worst(r, v)).s);
}

const char *report_gap_cause(const struct report *r, const struct history_gap *g)
{
    if (g->limit < r->experiment->limit_count && r->experiment->limits[g->limit].global)
        return g->restarted ? "bezel-resmgr was started again"
                            : "bezel-resmgr was stopped, had no CPU, or lacked what a node had to say";
    return g->restarted ? "bezeld was started again" : "bezeld was stopped, or had no CPU";
}

/* What the stored records say of gaps: sums over those that could be judged, and why another could not. */
static void gap_end(struct table *t, const char *what, const struct history_gap *sum, const char *why)
{
    if (sum->judged)
        table_cell(t, "%s; by the stored records held %s, violated %s, unknown %s%s%s", what,
                   units_duration(sum->held).s, units_duration(sum->violated).s, units_duration(sum->unknown).s,
                   why ? "; the rest stays unknown: " : "", why ? why : "");
    else
        table_cell(t, "%s%s%s", what, why ? "; it stays unknown: " : "", why ? why : "");
}

/* Consecutive gaps of a node. Those of several limits at once count once. */
static void gap_cell(const struct report *r, struct table *t, const struct moment *m)
{
    const struct history_gap *all = r->summary->gaps, *first = &all[m->index];
    struct history_gap sum = {0};
    const char *why = NULL;
    size_t count = 0;
    int64_t begin = INT64_MIN, length = 0;
    char what[160 + EXPERIMENT_NAME_MAX];
    for (const struct history_gap *g = first; g <= &all[m->last]; g++) {
        if (g->node != first->node)
            continue;
        count += g->begin != begin;
        length += g->begin != begin ? g->end - g->begin : 0;
        begin = g->begin;
        sum.judged = sum.judged || g->judged;
        sum.held = saturate_add(sum.held, g->held);
        sum.violated = saturate_add(sum.violated, g->violated);
        sum.unknown = saturate_add(sum.unknown, g->unknown);
        why = why ? why : g->why;
    }
    if (m->count == 1)
        snprintf(what, sizeof what, "%.100s: not judged for %s: %s", report_limit_text(r, first->limit),
                 units_duration(length).s, report_gap_cause(r, first));
    else if (count == 1)
        snprintf(what, sizeof what, "%zu limits: not judged for %s: %s", m->count, units_duration(length).s,
                 report_gap_cause(r, first));
    else
        snprintf(what, sizeof what, "limits not judged %zu times, %s in all: %s", count, units_duration(length).s,
                 report_gap_cause(r, first));
    gap_end(t, what, &sum, why);
}

/* The limit that the line is about; -1: none. */
static int64_t limit_of(const struct report *r, const struct moment *m)
{
    if (m->kind == MOMENT_GAP)
        return r->summary->gaps[m->index].limit;
    if (m->kind == MOMENT_CONCLUSION)
        return r->summary->conclusions[m->index].limit;
    bool is_violation = m->kind == MOMENT_VIOLATED || m->kind == MOMENT_HOLDS || m->kind == MOMENT_AGAIN;
    return is_violation ? (int64_t)r->summary->violations[m->index].limit : -1;
}

static void row(const struct report *r, struct table *t, const struct moment *m)
{
    const struct summary *d = r->summary;
    bool of_run = m->kind == MOMENT_SNAPSHOT && d->snapshots[m->index].number != 0;
    table_cell(t, "%.3f s", (double)m->at / (double)CLOCK_S);
    table_cell(t, "%s", of_run ? "all" : report_where(r, m->node, limit_of(r, m)));
    switch (m->kind) {
    case MOMENT_POLLING:
        report_polling_change(t, &d->polling[m->index]);
        break;
    case MOMENT_KNOB:
        report_knob(r, t, &d->knobs[m->index]);
        break;
    case MOMENT_ASPECTS:
        table_cell(t, "%s%s", strcmp(d->notes[m->index].code, "BEZEL-STEERED") == 0 ? "operator, " : "",
                   d->notes[m->index].text);
        break;
    case MOMENT_CONCLUSION:
        report_conclusion(r, t, &d->conclusions[m->index]);
        break;
    case MOMENT_SNAPSHOT:
        report_snapshot(r, t, m->index);
        break;
    case MOMENT_GAP:
        gap_cell(r, t, m);
        break;
    case MOMENT_DECISION:
        decisions_cell(r, t, m);
        break;
    case MOMENT_VIOLATED:
    case MOMENT_HOLDS:
        violation_cell(r, t, m);
        break;
    case MOMENT_AGAIN:
        again_cell(r, t, m);
    }
}

void report_timeline(const struct report *r, FILE *out)
{
    struct timeline s;
    if (!make_timeline(r, &s))
        return;
    bool shortened = s.count > LINES_SHOWN && !r->all, more = shortened || r->summary->snapshot_count > 0;
    report_title(r, "Timeline", out);
    struct table *t = table_new("rll");
    for (size_t i = 0; i < s.count; i++) {
        more |= s.moments[i].count > 1;
        if (shortened && i == LINES_SHOWN / 2) {
            i = s.count - LINES_SHOWN / 2;
            table_cell(t, "%s", "...");
            table_cell(t, "%s", "");
            table_cell(t, "%zu more", s.count - LINES_SHOWN);
        }
        row(r, t, &s.moments[i]);
    }
    table_print(t, 2, out);
    if (more && !r->all)
        fprintf(out, "  In full: bezel report --all %s\n", r->run);
    free(s.moments);
}

void report_json_gaps(const struct report *r, struct json *j)
{
    json_array(j, "gaps");
    for (size_t i = 0; i < r->summary->gap_count; i++) {
        const struct history_gap *g = &r->summary->gaps[i];
        json_object(j, NULL);
        json_text(j, "limit", report_limit_text(r, g->limit));
        json_text(j, "node", report_is_global(r, g->limit) ? NULL : report_node_name(r, g->node));
        json_int(j, "begin_ns", report_run_time(r, g->node, g->begin));
        json_int(j, "end_ns", report_run_time(r, g->node, g->end));
        json_text(j, "cause", report_gap_cause(r, g));
        json_bool(j, "judged", g->judged);
        json_known_int(j, "held_ns", g->judged, g->held);
        json_known_int(j, "violated_ns", g->judged, g->violated);
        json_known_int(j, "unknown_ns", g->judged, g->unknown);
        json_known_int(j, "doubtful_ns", g->judged, g->doubtful);
        json_text(j, "why", g->why);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_json_violations(const struct report *r, struct json *j)
{
    json_array(j, "violations");
    for (size_t i = 0; i < r->summary->violation_count; i++) {
        const struct history_violation *v = &r->summary->violations[i];
        json_object(j, NULL);
        json_text(j, "limit", report_limit_text(r, v->limit));
        json_text(j, "node", report_is_global(r, v->limit) ? NULL : report_node_name(r, v->node));
        json_int(j, "begin_ns", report_run_time(r, v->node, v->begin));
        json_int(j, "end_ns", report_run_time(r, v->node, v->end));
        json_bool(j, "open", v->open);
        json_double(j, "worst", worst(r, v));
        json_object_end(j);
    }
    json_array_end(j);
}
