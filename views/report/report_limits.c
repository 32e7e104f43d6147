// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The limits: a row for each node that judged one, and one for all nodes. */
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Why a limit is infeasible ----------------------------------------------------------------------------------- */

void report_why(const struct report *r, const struct verdict_limit *l, FILE *out)
{
    switch (l->why) {
    case WHY_BUDGET:
        fprintf(out, "because monitoring needs %.3g %% of a CPU at the longest polling period", l->needed);
        break;
    case WHY_NOT_THE_MONITORS:
        fputs("and polling less did not help (the monitor is not the cause)", out);
        break;
    case WHY_STARVED:
        fputs("and polling more often was not possible within budget and bounds", out);
        break;
    case WHY_CONTRADICTION:
        fprintf(out, "because it contradicts %s", report_limit_text(r, l->contradicts));
        break;
    case WHY_OFF:
    case WHY_NONE:
        fputs("also while collection was off", out);
        break;
    }
}

static void put_why(const struct report *r, const struct verdict_limit *l, struct json *j)
{
    json_text(j, "why", verdict_why_name(l->why));
    json_double(j, "needed", l->needed);
    json_double(j, "budget", l->budget);
    json_text(j, "contradicts", l->why == WHY_CONTRADICTION ? report_limit_text(r, l->contradicts) : NULL);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

struct limit_row {
    const char *text; /* of the limit; "": a row above has it */
    const char *node;
    const struct verdict_limit *verdict;
    const struct builtin_limit *limit;
    bool joint; /* the row is for all nodes */
};

static void value_column(struct rows *w, const struct report *r, const struct builtin_limit *l, const char *key,
                         const char *head, double value)
{
    rows_cell(w, head, 'r', "%s", report_limit_value(r, l->limit, value).s);
    json_double(w->json, key, value);
}

static void limit_row(struct rows *w, const struct report *r, const void *item)
{
    const struct limit_row *row = item;
    const struct builtin_limit *l = row->limit;
    const struct verdict_limit *v = row->verdict;
    rows_text(w, "verdict", "is", verdict_name(v->is));
    rows_text(w, "limit", NULL, row->text);
    if (l->epoch > 1)
        rows_cell(w, "node", 'l', "all, manager %" PRId64, l->epoch);
    else
        rows_text(w, "node", NULL, row->node);
    json_text(w->json, "node", l->epoch ? NULL : row->node);
    json_int(w->json, "epoch", l->epoch);
    put_why(r, v, w->json);
    json_text(w->json, "state", verdict_name(verdict_now(v, l->state)));
    w->blank = row->joint;
    value_column(w, r, l, "value", "last", l->value);
    w->blank = false;
    value_column(w, r, l, "worst", "worst", verdict_worst(r->summary, v, l));
    rows_share(w, "in violation", "share_violated", v->share);
    w->blank = row->joint;
    rows_ns(w, r->all ? "held" : NULL, "held_ns", l->held);
    rows_ns(w, r->all ? "violated" : NULL, "violated_ns", l->violated);
    rows_ns(w, r->all ? "unknown" : NULL, "unknown_ns", l->unknown);
    rows_ns(w, r->all ? "settling" : NULL, "settling_ns", l->settling);
    w->blank = false;
    json_int(w->json, "unjudged_ns", v->unjudged);
    json_int(w->json, "from_records_ns", v->again);
    json_known_int(w->json, "last_violated_ns", l->last_violated != 0, report_run_time(r, l->node, l->last_violated));
    json_known_int(w->json, "violated_since_ns", v->since != 0, report_run_time(r, l->node, v->since));
}

/*
 * The limit over all nodes, and each of these: in the short text, where it did not hold. Where a single node judged it,
 * one row is both: with the verdict over all nodes, which may be unknown although that node found it held.
 */
static void add_limit(struct rows *w, const struct report *r, size_t limit)
{
    const struct summary *s = r->summary;
    const struct verdict_limit *all = &r->verdict->limits[limit];
    const char *text = r->experiment->limits[limit].text;
    struct builtin_limit joint = {.limit = (int64_t)limit, .worst = NAN};
    size_t nodes = 0;
    for (size_t i = 0; i < s->limit_count; i++) {
        if (s->limits[i].limit != (int64_t)limit)
            continue;
        nodes++;
        joint.worst = r->experiment->limits[limit].compare == COMPARE_AT_LEAST ? fmin(joint.worst, s->limits[i].worst)
                                                                               : fmax(joint.worst, s->limits[i].worst);
    }
    if (nodes != 1 && !w->json)
        rows_add(w, limit_row, &(struct limit_row){text, nodes ? "all" : "none", all, &joint, true});
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit *l = &s->limits[i];
        const struct verdict_limit *v = &r->verdict->rows[i];
        const char *node = l->epoch ? "all" : report_node_name(r, l->node);
        bool broken = all->is != VERDICT_HELD && v->is != VERDICT_HELD;
        bool shown = w->json ? r->most == 0 || i < r->most : r->all || nodes == 1 || broken;
        if (l->limit == (int64_t)limit && shown)
            rows_add(w, limit_row,
                     &(struct limit_row){nodes == 1 ? text : "", node, nodes == 1 && !w->json ? all : v, l, false});
    }
}

/* ---- What a verdict stands by, other than what was judged during the run ----------------------------------------- */

bool report_is_followed(const struct report *r, uint32_t node, uint32_t limit, int64_t from, int64_t until)
{
    const struct experiment_limit *l = &r->experiment->limits[limit];
    const struct experiment_metric *m = l->metric < 0 ? NULL : &r->experiment->metrics[l->metric];
    if (m && m->operands)
        m = &r->experiment->metrics[experiment_metric_operand(r->experiment, m, 0)];
    int64_t last = INT64_MAX;
    for (size_t i = 0; m && m->aspect && !m->per_process && i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        const struct summary_book *book = p->node == node ? summary_book_of(p, m->aspect) : NULL;
        if (!book || book->stored == 0)
            continue;
        if (book->first_ns > last && book->first_ns >= from && book->first_ns <= until)
            return true;
        last = last == INT64_MAX || book->last_ns > last ? book->last_ns : last;
    }
    return false;
}

/* Why limit `l` was not judged in a gap, or else; NULL: it was, or nobody has tried yet. */
static const char *why_unjudged(const struct report *r, const struct builtin_limit *l)
{
    for (size_t i = 0; i < r->summary->gap_count; i++) {
        const struct history_gap *g = &r->summary->gaps[i];
        if (g->why && g->node == l->node && g->limit == l->limit)
            return g->why;
    }
    bool is_known = l->limit >= 0 && l->limit < (int64_t)r->experiment->limit_count; /* run.db may say anything */
    if (is_known && r->experiment->limits[l->limit].persistence > 0)
        return "between two sampling instants it may have been broken for longer than 'for'; shorten adapt.every";
    if (l->epoch > 0)
        return r->verdict->run != RUN_ENDED ? NULL
                                            : "messages of bezel-resmgr came late, so when that was is not known";
    return is_known && report_is_followed(r, l->node, (uint32_t)l->limit, INT64_MIN, INT64_MAX)
               ? "a process began when the one before had ended, and what both made in a window is not known"
               : NULL;
}

static void say_unjudged(struct rows *w, const struct report *r, const struct builtin_limit *l, const char *where,
                         int64_t unjudged)
{
    const char *why = why_unjudged(r, l);
    if (unjudged > 0)
        rows_line(w, "%s on %s: %s of the unknown time were not judged%s%s.", report_limit_text(r, l->limit), where,
                  units_duration(unjudged).s, why ? ", neither during the run nor from its records: " : "",
                  why ? why : "");
}

/* What is not judged between two managers is in no row. */
static void add_between(struct rows *w, const struct report *r, size_t limit)
{
    const struct builtin_limit *last = NULL;
    int64_t between = r->verdict->limits[limit].unjudged;
    for (size_t i = 0; i < r->summary->limit_count; i++)
        if (r->summary->limits[i].limit == (int64_t)limit && r->summary->limits[i].epoch > 0) {
            last = &r->summary->limits[i];
            between -= r->verdict->rows[i].unjudged;
        }
    if (last && last->epoch > 1)
        say_unjudged(w, r, last, "all nodes, between two managers", between);
}

static void add_bases(struct rows *w, const struct report *r, size_t i)
{
    const struct verdict_limit *v = &r->verdict->rows[i];
    const struct builtin_limit *l = &r->summary->limits[i];
    const char *text = report_limit_text(r, l->limit);
    const char *where = l->epoch ? "all nodes" : report_node_name(r, l->node);
    int64_t more = verdict_more_violated(r->summary, r->experiment, l);
    if (v->again > 0)
        rows_line(w, "%s on %s: %s of these times were judged after the run, from its records.", text, where,
                  units_duration(v->again).s);
    say_unjudged(w, r, l, where, v->unjudged);
    if (more > 0)
        rows_line(
            w,
            "%s on %s: %s of the violations in the timeline do not count, for adaptation settled, or a process ended.",
            text, where, units_duration(more).s);
}

/* Whether limit `l` is on what a sampler records of each process. */
static bool is_of_processes(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    enum experiment_sampler sampler = m && m->aspect ? experiment_sampler_of(m->aspect) : EXPERIMENT_SAMPLERS;
    return sampler == EXPERIMENT_SAMPLER_PROCESSES || sampler == EXPERIMENT_SAMPLER_PERF ||
           sampler == EXPERIMENT_SAMPLER_SCHEDULING;
}

static bool has_recorded(const struct summary *s, const struct experiment_process *p)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].role == ROLE_SUT && experiment_is_instance(p, s->processes[i].name))
            return true;
    return false;
}

/* The next process of the file from `at` on that samplers did not see, as they look at programs that record. */
static uint32_t next_unsampled(const struct report *r, uint32_t at)
{
    while (at < r->experiment->process_count && has_recorded(r->summary, &r->experiment->processes[at]))
        at++;
    return at;
}

static void add_unsampled(struct rows *w, const struct report *r, size_t limit)
{
    enum { NAMED_MAX = 3 };
    const struct experiment *e = r->experiment;
    char names[(NAMED_MAX + 1) * (EXPERIMENT_NAME_MAX + 4)];
    size_t n = 0, count = 0;
    if (!is_of_processes(e, &e->limits[limit]))
        return;
    for (uint32_t i = next_unsampled(r, 0); i < e->process_count; i = next_unsampled(r, i + 1))
        if (count++ < NAMED_MAX)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", e->processes[i].name);
    if (count > NAMED_MAX)
        snprintf(names + n, sizeof names - n, " and %zu more", count - NAMED_MAX);
    if (count > 0)
        rows_line(w, "%s: samplers look at programs that record; nothing is known here of %s.",
                  report_limit_text(r, (int64_t)limit), names);
}

static bool reads_aspect(const struct experiment *e, int metric, const char *aspect)
{
    if (metric < 0)
        return false;
    const struct experiment_metric *m = &e->metrics[metric];
    if (!m->operands)
        return experiment_metric_is_of(m, aspect);
    return reads_aspect(e, experiment_metric_operand(e, m, 0), aspect) ||
           reads_aspect(e, experiment_metric_operand(e, m, 1), aspect);
}

static bool limits_read(const struct experiment *e, const char *aspect)
{
    bool any = false;
    for (uint32_t i = 0; i < e->limit_count; i++)
        any |= reads_aspect(e, e->limits[i].metric, aspect);
    return any;
}

/* Why limits are not known to have held that the first sentence has no room for. */
static void add_unknown(struct rows *w, const struct report *r)
{
    size_t named = 0, n;
    for (size_t i = 0; i < r->verdict->limit_count; i++)
        named += r->verdict->limits[i].is >= VERDICT_VIOLATED;
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        char *why = NULL;
        FILE *memory = NULL;
        if (r->verdict->limits[i].is != VERDICT_UNKNOWN || named++ < REPORT_NAMED_MAX ||
            !(memory = open_memstream(&why, &n)))
            continue;
        report_unknown(r, i, memory);
        (void)fclose(memory);
        rows_line(w, "%s.", why);
        free(why);
    }
}

static void print_bases(const struct report *r, FILE *out)
{
    struct rows w = {.report = r, .bare = true};
    add_unknown(&w, r);
    for (size_t i = 0; i < r->summary->limit_count; i++)
        add_bases(&w, r, i);
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        add_between(&w, r, i);
        add_unsampled(&w, r, i);
    }
    if (!r->summary->judged_anew)
        report_expired_lines(&w, limits_read, "limits ignore them, but for their number");
    rows_print_table(&w, out);
}

/* ---- The section ------------------------------------------------------------------------------------------------- */

static void limit_object(struct rows *w, const struct report *r, const void *item)
{
    static const char *const units[] = {
        [UNIT_NUMBER] = NULL, [UNIT_PER_SECOND] = "1/s", [UNIT_PERCENT] = "%", [UNIT_DURATION] = "ns"};
    const size_t i = *(const size_t *)item;
    const struct experiment_limit *l = &r->experiment->limits[i];
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &r->experiment->metrics[l->metric];
    const struct verdict_limit *v = &r->verdict->limits[i];
    struct json *j = w->json;
    json_text(j, "text", l->text);
    json_text(j, "kind", l->kind == LIMIT_HOLD ? "hold" : "expect");
    json_text(j, "metric", m ? m->name : "sensor_cpu");
    if (m && m->aspect) {
        json_text(j, "aspect", m->aspect);
        json_text(j, "field", m->field ? m->field : experiment_arrivals_word(m->arrivals));
        json_text(j, "where", m->where);
        json_int(j, "window_ns", m->window);
        json_text(j, "windows", m->tumbles ? "tumbling" : "sliding");
    }
    json_text(j, "per", l->global ? "global" : "metric");
    json_text(j, "compare", l->compare == COMPARE_AT_LEAST ? ">=" : "<=");
    json_double(j, "bound", l->bound);
    json_text(j, "unit", units[l->unit]);
    json_int(j, "persistence_ns", l->persistence);
    json_double(j, "tolerance", l->tolerance);
    json_uint(j, "priority", l->priority);
    json_text(j, "is", verdict_name(v->is));
    put_why(r, v, j);
    json_double(j, "share_violated", v->share);
    json_int(j, "unjudged_ns", v->unjudged);
    json_int(j, "from_records_ns", v->again);
    json_bool(j, "blurred", v->blurred);
    json_bool(j, "skips_records", v->skips);
    json_int(j, "before_end_ns", v->before_end);
    json_int(j, "killed_ns", v->killed);
    json_int(j, "perhaps_killed_ns", v->perhaps);
    json_int(j, "silent_ns", v->silent);
    json_int(j, "endless_ns", v->endless);
    json_int(j, "open_ns", v->open ? verdict_open_ns(r->summary, v->open) : 0);
    json_uint(j, "missed", v->missed);
    json_text(j, "unseen", v->unseen ? v->unseen->text : NULL);
    json_bool(j, "switched_off", v->switched);
    json_double(j, "stray", v->strays ? v->stray : (double)NAN);
    json_known_int(j, "stray_at_ns", v->stray_at > 0, report_run_time(r, v->stray_on, v->stray_at));
    json_array(j, "not_sampled");
    for (uint32_t p = next_unsampled(r, 0); is_of_processes(r->experiment, l) && p < r->experiment->process_count;
         p = next_unsampled(r, p + 1))
        json_text(j, NULL, r->experiment->processes[p].name);
    json_array_end(j);
    json_array(j, "nodes");
    add_limit(w, r, i);
    json_array_end(j);
}

/* The short text has those first that were broken, then those of which it is not known, then those that held. */
static void add_limits(struct rows *w, const struct report *r)
{
    static const int turns[] = {
        [VERDICT_VIOLATED] = 0, [VERDICT_INFEASIBLE] = 0, [VERDICT_UNKNOWN] = 1, [VERDICT_HELD] = 2};
    bool sorted = !w->json && !r->all;
    for (int turn = sorted ? 0 : 2; turn <= 2; turn++)
        for (size_t i = 0; i < r->verdict->limit_count; i++)
            if (w->json)
                rows_add(w, limit_object, &i);
            else if (!sorted || turns[r->verdict->limits[i].is] == turn)
                add_limit(w, r, i);
}

const struct rows_section report_limits = {.title = "Limits", .key = "limits", .add = add_limits, .text = print_bases};
