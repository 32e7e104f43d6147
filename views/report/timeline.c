// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The timeline of a run: violations of limits, times when nobody judged them, decisions and conclusions of policies,
 * changes of knobs, of polling and of the modes of aspects, firings of triggers, snapshots. The functions that describe
 * these as rows of the JSON give the text of a line as well. Of decisions the short text has those that end collection,
 * or resume it.
 */
#include "base/clock.h"
#include "base/saturate.h"
#include "resmgr/policies/policy.h"
#include "views/report/report.h"

#include <stdlib.h>
#include <string.h>

/* ---- Violations -------------------------------------------------------------------------------------------------- */

static void violation_row(struct rows *w, const struct report *r, const void *item)
{
    const struct history_violation *v = item;
    bool least = v->limit < r->experiment->limit_count && r->experiment->limits[v->limit].compare == COMPARE_AT_LEAST;
    double worst = least ? v->min : v->max; /* furthest from holding */
    const char *limit = report_limit_text(r, v->limit);
    json_text(w->json, "limit", limit);
    json_text(w->json, "node", report_is_global(r, v->limit) ? NULL : report_node_name(r, v->node));
    json_int(w->json, "begin_ns", report_run_time(r, v->node, v->begin));
    json_int(w->json, "end_ns", report_run_time(r, v->node, v->end));
    json_bool(w->json, "open", v->open);
    json_double(w->json, "worst", worst);
    rows_says(w, "%s: violated for %s%s, worst %s", limit, units_duration(v->end - v->begin).s,
              v->open ? ", to the end" : "", report_limit_value(r, v->limit, worst).s);
}

const struct rows_section report_violations = {
    ROWS_LIST(NULL, "violations", violations, violation_count, violation_row)};

/* ---- Gaps -------------------------------------------------------------------------------------------------------- */

/* What the node that records the judgements of all nodes together noted of gap `g`; NULL: nothing. */
static const char *noted_cause(const struct report *r, const struct history_gap *g)
{
    const struct summary *s = r->summary;
    char begin[512];
    int n = snprintf(begin, sizeof begin, "limit %s was not judged for ", report_limit_text(r, g->limit));
    for (size_t i = 0; i < s->note_count; i++) {
        const struct summary_note *note = &s->notes[i];
        bool is_its = note->node == g->node && note->at > g->begin && note->at <= g->end &&
                      strcmp(note->code, "BEZEL-LIMIT-GAP") == 0 && strncmp(note->text, begin, (size_t)n) == 0;
        const char *cause = is_its ? strstr(note->text + n, ": ") : NULL;
        if (cause)
            return cause + 2;
    }
    return NULL;
}

/* Whether limit `i` is on records that meet a condition, all of which have to be there. */
static bool is_chosen(const struct report *r, uint32_t i)
{
    const struct experiment *e = r->experiment;
    return i < e->limit_count && e->limits[i].metric != LIMIT_ON_SENSOR_CPU && e->metrics[e->limits[i].metric].where;
}

/* The aspect that limit `i` is on; NULL: none, or several. */
static const char *aspect_of(const struct experiment *e, uint32_t i)
{
    return i < e->limit_count && e->limits[i].metric != LIMIT_ON_SENSOR_CPU ? e->metrics[e->limits[i].metric].aspect
                                                                            : NULL;
}

/* Whether an operator had turned `aspect` off within gap `g`. */
static bool was_turned_off(const struct report *r, const struct history_gap *g, const char *aspect)
{
    bool off = false;
    for (size_t i = 0; i < r->summary->note_count; i++) {
        const struct summary_note *n = &r->summary->notes[i];
        if ((n->node != g->node && !report_is_global(r, g->limit)) || n->at > g->end)
            continue;
        if (verdict_switches(n, "off", aspect))
            off = true;
        else if (n->at <= g->begin && (verdict_switches(n, "on", aspect) || verdict_switches(n, "count", aspect)))
            off = false;
    }
    return off;
}

static const char *gap_cause(const struct report *r, const struct history_gap *g)
{
    const char *noted = noted_cause(r, g), *aspect = aspect_of(r->experiment, g->limit);
    if (aspect && was_turned_off(r, g, aspect))
        return "an operator had turned its aspect off";
    if (aspect && experiment_pattern_of(r->experiment->sensing.off, aspect))
        return "sensing.aspects.off turns its aspect off";
    if (g->early)
        return "programs had recorded before bezel-resmgr judged it";
    if (g->late)
        return "bezel-resmgr saw less of it in time than its records tell";
    if (g->brief)
        return "its 'for' is as short as few sampling periods (adapt.every)";
    if (g->sparse)
        return "records lie between its windows, which are shorter than adapt.every";
    if (noted)
        return noted;
    if (r->summary->judged_anew)
        return "it is of another file, and nobody judged it during the run";
    if (g->never)
        return "bezel-resmgr did not judge it, or never had a value of it";
    if (report_is_global(r, g->limit) && g->restarted)
        return "bezel-resmgr, or the bezeld that records what it judges, was started again";
    if (g->limit < r->experiment->limit_count &&
        experiment_limit_is_on_interval(r->experiment, &r->experiment->limits[g->limit]))
        return "its value was closer to the bound than it is certain, or bezel-resmgr was stopped, had no CPU, or "
               "lacked the values of the collector";
    if (report_is_global(r, g->limit))
        return is_chosen(r, g->limit)
                   ? "bezel-resmgr was stopped, had no CPU, or lacked the values of a node, "
                     "or a node had records without a known value in 'where'"
                   : "bezel-resmgr was stopped, had no CPU, or lacked the values of a node or of the collector";
    if (g->restarted)
        return "bezeld was started again";
    if (g->limit < r->experiment->limit_count &&
        report_is_followed(r, g->node, g->limit, saturate_sub(g->begin, r->experiment->adapt.every), g->end))
        return "a process began when the one before had ended, and what both made in a window was not known";
    return is_chosen(r, g->limit)
               ? "bezeld was stopped, had no CPU, lacked records, or had some without a known value in 'where'"
               : "bezeld was stopped, or had no CPU";
}

static void gap_row(struct rows *w, const struct report *r, const void *item)
{
    const struct history_gap *g = item;
    const char *limit = report_limit_text(r, g->limit), *cause = gap_cause(r, g);
    char records[192] = "";
    if (g->judged)
        snprintf(records, sizeof records, "; by the stored records held %s, violated %s, unknown %s",
                 units_duration(g->held).s, units_duration(g->violated).s, units_duration(g->unknown).s);
    json_text(w->json, "limit", limit);
    json_text(w->json, "node", report_is_global(r, g->limit) ? NULL : report_node_name(r, g->node));
    json_int(w->json, "begin_ns", report_run_time(r, g->node, g->begin));
    json_int(w->json, "end_ns", report_run_time(r, g->node, g->end));
    json_text(w->json, "cause", cause);
    json_bool(w->json, "judged", g->judged);
    json_known_int(w->json, "held_ns", g->judged, g->held);
    json_known_int(w->json, "violated_ns", g->judged, g->violated);
    json_known_int(w->json, "unknown_ns", g->judged, g->unknown);
    json_known_int(w->json, "doubtful_ns", g->judged, g->doubtful);
    json_text(w->json, "why", g->why);
    rows_says(w, "%s: not judged for %s: %s%s%s%s", limit, units_duration(g->end - g->begin).s, cause, records,
              !g->why     ? ""
              : g->judged ? "; the rest stays unknown: "
                          : "; it stays unknown: ",
              g->why ? g->why : "");
}

const struct rows_section report_gaps = {ROWS_LIST(NULL, "gaps", gaps, gap_count, gap_row)};

/* ---- Changes by an operator, from the notes about them ----------------------------------------------------------- */

static void change_row(struct rows *w, const struct report *r, const void *item)
{
    const struct summary_note *n = item;
    (void)r;
    rows_says(w, "%s%s", strcmp(n->code, "BEZEL-STEERED") == 0 ? "operator, " : "", n->text);
}

/* ---- Moments ----------------------------------------------------------------------------------------------------- */

struct moment {
    int64_t at; /* ns since the run's start */
    int kind;   /* orders those of one time */
    uint32_t node;
    int64_t limit; /* that it is about; -1: none */
    const char *where;
    const void *item;
    rows_describe *describe;
};

static void moment_row(struct rows *w, const struct report *r, const void *item)
{
    const struct moment *m = item;
    rows_cell(w, "", 'r', "%.3f s", (double)m->at / (double)CLOCK_S);
    rows_text(w, "", NULL, m->where ? m->where : report_where(r, m->node, m->limit));
    m->describe(w, r, m->item);
}

static int compare(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->kind != y->kind ? x->kind - y->kind : x->item < y->item ? -1 : x->item > y->item;
}

struct timeline {
    const struct report *report;
    struct moment *moments;
    size_t count;
};

static struct moment *add(struct timeline *t, int kind, rows_describe *describe, const void *item, uint32_t node,
                          int64_t at)
{
    struct moment *m = &t->moments[t->count++];
    *m = (struct moment){report_run_time(t->report, node, at), kind, node, -1, NULL, item, describe};
    return m;
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

enum { POLLING, KNOB, CHANGE, CONCLUSION, VIOLATED, FIRING, SNAPSHOT, GAP, DECISION }; /* in this order at one time */

static void collect_own(struct timeline *t, const struct summary *s)
{
    for (size_t i = 0; i < s->polling_count; i++)
        if (s->polling[i].cause != POLLING_BY_START) /* the experiment file's own settings */
            add(t, POLLING, report_polling_changes.row, &s->polling[i], s->polling[i].node, s->polling[i].at);
    for (size_t i = 0; i < s->knob_count; i++)
        add(t, KNOB, report_knobs.row, &s->knobs[i], s->knobs[i].node, s->knobs[i].at);
    for (size_t i = 0; i < s->firing_count; i++)
        add(t, FIRING, report_firings.row, &s->firings[i], s->firings[i].node, s->firings[i].at);
    for (size_t i = 0; i < s->conclusion_count; i++)
        if (s->conclusions[i].what != CONCLUSION_VIOLATED) /* its violation is listed */
            add(t, CONCLUSION, report_conclusions.row, &s->conclusions[i], s->conclusions[i].node, s->conclusions[i].at)
                ->limit = s->conclusions[i].limit;
    for (size_t i = 0; i < s->decision_count; i++) {
        const struct builtin_decision *d = &s->decisions[i];
        if (t->report->all || d->action == POLICY_OFF || d->action == POLICY_RESUME)
            add(t, DECISION, report_decisions.row, d, d->node, d->at);
    }
}

static void collect(struct timeline *t, const struct summary *s)
{
    collect_own(t, s);
    for (size_t i = 0; i < s->note_count; i++)
        if (report_note_is_change(t->report, &s->notes[i]))
            add(t, CHANGE, change_row, &s->notes[i], s->notes[i].node, s->notes[i].at);
    for (size_t i = 0; i < s->violation_count; i++) {
        const struct history_violation *v = &s->violations[i];
        add(t, VIOLATED, violation_row, v, v->node, v->begin)->limit = v->limit;
    }
    for (size_t i = 0; i < s->gap_count; i++)
        add(t, GAP, gap_row, &s->gaps[i], s->gaps[i].node, s->gaps[i].begin)->limit = s->gaps[i].limit;
    for (size_t i = 0; i < s->snapshot_count; i++) {
        const struct builtin_snapshot *n = &s->snapshots[i];
        if (i > 0 && n->number && n->number == n[-1].number)
            continue; /* another node's part */
        struct moment *m = add(t, SNAPSHOT, report_snapshot_line, n, n->node, n->moment);
        m->at = behind_its_cause(t->report, n);
        m->where = n->number ? "all" : NULL;
    }
}

static void add_moments(struct rows *w, const struct report *r)
{
    const struct summary *s = r->summary;
    size_t most = s->polling_count + s->knob_count + s->conclusion_count + s->decision_count + s->violation_count +
                  s->snapshot_count + s->note_count + s->gap_count + s->firing_count;
    struct timeline t = {.report = r, .moments = calloc(most + 1, sizeof *t.moments)};
    if (t.moments)
        collect(&t, s);
    if (t.count)
        qsort(t.moments, t.count, sizeof *t.moments, compare);
    for (size_t i = 0; i < t.count; i++)
        rows_add(w, moment_row, &t.moments[i]);
    free(t.moments);
}

const struct rows_section report_timeline = {.title = "Timeline", .bare = true, .add = add_moments};
