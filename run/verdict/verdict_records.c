// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What records make of a limit that nobody judged by them: those that are stored, and that no sampling instant has
 * seen; those that were lost; and those of a time in which their aspect was off.
 */
#include "run/verdict/verdict_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "mdr/bounds.h"
#include "mdr/manage.h"
#include "metric/arrivals.h"
#include "resmgr/agent/agent.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct summary_chosen *verdict_chosen(const struct summary *s, uint32_t i, size_t p)
{
    for (size_t k = 0; k < s->chosen_count; k++)
        if (s->chosen[k].limit == i && s->chosen[k].process == p)
            return &s->chosen[k];
    return NULL;
}

/*
 * The value of `f`, of the records of `m`, that is beyond the bound of `l` and worse than `worst`; NaN: none. `chosen`:
 * of those records alone; NULL: of all.
 */
static double stray_of(const struct experiment_metric *m, const struct experiment_limit *l,
                       const struct summary_field *f, const struct summary_chosen *chosen, double worst)
{
    bool at_least = l->compare == COMPARE_AT_LEAST;
    double scale = m->in_time ? (double)units_time(f->unit) : 1;
    double value = at_least ? f->min.d : f->max.d;
    if (chosen)
        value = at_least ? chosen->min : chosen->max;
    value *= scale;
    bool beyond = at_least ? value < l->bound : value > l->bound;
    bool judged = at_least ? value >= worst : value <= worst;
    return scale > 0 && f->count > 0 && beyond && !judged ? value : (double)NAN;
}

/* Whether row `row` is of limit `i` on `node`, or on all nodes together. */
static bool is_row_of(const struct summary *s, const struct experiment *e, size_t row, uint32_t node, uint32_t i)
{
    return s->limits[row].limit == i && (e->limits[i].global || s->limits[row].node == node);
}

/* The latest row of limit `i` on `node`; NULL: nothing was judged there. */
static const struct builtin_limit *row_of(const struct summary *s, const struct experiment *e, uint32_t node,
                                          uint32_t i)
{
    for (size_t row = s->limit_count; row > 0; row--)
        if (is_row_of(s, e, row - 1, node, i))
            return &s->limits[row - 1];
    return NULL;
}

double verdict_judged_worst(const struct summary *s, const struct experiment *e, uint32_t node, uint32_t i)
{
    double worst = NAN;
    for (size_t row = 0; row < s->limit_count; row++)
        if (is_row_of(s, e, row, node, i))
            worst = e->limits[i].compare == COMPARE_AT_LEAST ? fmin(worst, s->limits[row].worst)
                                                             : fmax(worst, s->limits[row].worst);
    return worst;
}

/* Whether a judged value broke limit `i` on `node`: then it matters no more that others, of records, would. */
static bool judged_broken(const struct summary *s, const struct experiment *e, uint32_t node, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    double worst = verdict_judged_worst(s, e, node, i);
    return l->compare == COMPARE_AT_LEAST ? worst < l->bound : worst > l->bound;
}

/*
 * The same of a limit on times between the records of process `number`. Until its records were read, the longest time
 * is only known not to exceed all the time of the aspect; so it is after the end of the run alone that it counts.
 */
static double stray_arrivals(const struct summary *s, const struct experiment *e, uint32_t i, size_t number)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    const struct summary_process *p = &s->processes[number];
    const struct summary_chosen *chosen = verdict_chosen(s, i, number);
    struct summary_field f = {.count = 1, .min.d = (double)INFINITY, .max.d = -(double)INFINITY, .unit = "ns"};
    const struct summary_book *book = summary_book_of(p, m->aspect);
    if (book && book->stored >= 2 && summary_ended(s) != 0) {
        int64_t all = book->last_ns - book->first_ns;
        f.min.d = 0;
        f.max.d = m->kind == METRIC_MISSES ? arrivals_missed(m, all) : (double)all;
    }
    return stray_of(m, l, &f, chosen, verdict_judged_worst(s, e, p->node, i));
}

/*
 * Of records that were reduced their values in the store are those of the metric. The last ones, of the end of a
 * process or of the run, are of no sampling instant. `ends`: the very last one alone.
 */
static double stray_reduced(const struct summary *s, const struct experiment *e, uint32_t i,
                            const struct summary_process *p, double worst, bool ends)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    const char *of = m->per_process ? p->name : s->nodes[p->node].name;
    for (size_t k = 0; k < s->metric_count; k++) {
        const struct history_series *h = &s->metrics[k];
        if (h->node != p->node || strcmp(h->metric, m->name) != 0 || strcmp(h->process, of) != 0)
            continue;
        struct summary_field f = {.count = h->count, .unit = "ns"};
        f.min.d = ends ? h->last : h->min;
        f.max.d = ends ? h->last : h->max;
        return stray_of(m, l, &f, NULL, worst);
    }
    return NAN;
}

/* The worst stray value in the books of process `number`, for limit `i`; NaN: none. */
static double find_stray(const struct summary *s, const struct experiment *e, uint32_t i, size_t number)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    const struct summary_process *p = &s->processes[number];
    const struct summary_chosen *chosen = verdict_chosen(s, i, number);
    double worst = verdict_judged_worst(s, e, p->node, i);
    const struct summary_book *book = summary_book_of(p, m->aspect);
    const struct summary_field *f = summary_field_of(book, m->field);
    double found = f ? stray_of(m, l, f, chosen, worst) : NAN;
    double reduced = book && book->reduced > 0 ? stray_reduced(s, e, i, p, worst, false) : NAN;
    return l->compare == COMPARE_AT_LEAST ? fmin(found, reduced) : fmax(found, reduced);
}

double verdict_most(const struct experiment_metric *m, uint64_t n)
{
    return m->kind == METRIC_RATE ? (double)n * (double)CLOCK_S / (double)m->window : (double)n;
}

bool verdict_forbids(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    bool is_share = m && (m->kind == METRIC_PERCENT || experiment_metric_is_counted(m));
    return is_share && m->where && l->kind == LIMIT_EXPECT && l->compare == COMPARE_AT_MOST && l->bound <= 0 &&
           l->persistence == 0 && m->window < 2 * e->adapt.every;
}

/*
 * What limit `i`, of verdict_forbids(), is at a record of process `number` that meets its condition; NaN: there is
 * none. Of an ended run any record may, until they were read.
 */
static double stray_forbidden(const struct summary *s, const struct experiment *e, uint32_t i, size_t number)
{
    const struct experiment_metric *m = &e->metrics[e->limits[i].metric];
    const struct summary_process *p = &s->processes[number];
    const struct summary_chosen *chosen = verdict_chosen(s, i, number);
    const struct summary_book *book = summary_book_of(p, m->aspect);
    bool any = chosen ? chosen->max > 0 : book && book->stored > 0 && summary_ended(s) != 0;
    return !any ? (double)NAN : m->kind == METRIC_PERCENT ? 100 : verdict_most(m, 1);
}

bool verdict_one_breaks(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    if (!m || l->kind != LIMIT_EXPECT)
        return false;
    enum experiment_metric_kind kind = m->kind == METRIC_INTERVAL ? m->interval.statistic : m->kind;
    bool is_largest = kind == METRIC_MAX || kind == METRIC_MISSES || (kind == METRIC_QUANTILE && m->share >= 1);
    bool is_least = kind == METRIC_MIN || (kind == METRIC_QUANTILE && m->share <= 0);
    return l->compare == COMPARE_AT_MOST ? is_largest || verdict_forbids(e, l) : is_least;
}

static bool reads(const struct experiment *e, const struct experiment_metric *m, const char *aspect)
{
    bool is = m->aspect && strcmp(m->aspect, aspect) == 0;
    for (int i = 0; m->operands && i < 2 && !is; i++)
        is = reads(e, &e->metrics[experiment_metric_operand(e, m, i)], aspect);
    for (uint32_t i = 0; i < m->interval.count && !is; i++)
        is = strcmp(m->interval.aspects[i], aspect) == 0;
    return is;
}

bool verdict_has_end(const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = l->metric < 0 ? NULL : &e->metrics[l->metric];
    if (!m || (!m->operands && !m->aspect) || verdict_one_breaks(e, l))
        return false;                                                         /* or it is on an interval */
    return !experiment_metric_is_counted(m) || l->compare == COMPARE_AT_MOST; /* fewer are silence, which is its end */
}

/* The last record that process `p` made for limit `i`; INT64_MIN: none is stored. */
static int64_t last_record(const struct summary *s, const struct experiment *e, uint32_t i, size_t p)
{
    int64_t last = INT64_MIN;
    for (size_t b = 0; b < s->processes[p].book_count; b++) {
        const struct summary_book *book = &s->processes[p].books[b];
        if (book->stored > 0 && book->last_ns > last && reads(e, &e->metrics[e->limits[i].metric], book->name))
            last = book->last_ns;
    }
    return last;
}

/* Whether process `p` counts for limit `i` where process `of` does. */
static bool counts_with(const struct summary *s, const struct experiment *e, uint32_t i, size_t of, size_t p)
{
    const struct experiment_limit *l = &e->limits[i];
    return l->global || (e->metrics[l->metric].per_process ? p == of : s->processes[p].node == s->processes[of].node);
}

/* verdict_end(), also of a run that goes on. */
static int64_t last_of(const struct summary *s, const struct experiment *e, uint32_t i, size_t p)
{
    const struct summary_process *of = &s->processes[p];
    int64_t last = last_record(s, e, i, p), at = summary_run_time(s, of->node, last);
    if (of->role == ROLE_DAEMON)
        return INT64_MIN; /* what samplers record while a run is drained is of no program */
    for (size_t other = 0; other < s->process_count; other++) {
        bool counts = other != p && counts_with(s, e, i, p, other);
        int64_t later = counts ? summary_run_time(s, s->processes[other].node, last_record(s, e, i, other)) : INT64_MIN;
        if (later > at || (later == at && last != INT64_MIN && other < p))
            return INT64_MIN;
    }
    return last;
}

/*
 * Whether limit `i` was found violated around `at` on the node of process `p`, which ended, and some of what was found
 * there does not count: it is taken back where a process ends, as it may be a silence, though others are there.
 */
static bool is_taken_back(const struct summary *s, const struct experiment *e, uint32_t i, size_t p, int64_t at)
{
    const struct summary_process *of = &s->processes[p];
    const struct builtin_limit *row = of->state == PROCESS_ENDED ? row_of(s, e, of->node, i) : NULL;
    bool is_near = false;
    for (size_t k = 0; k < s->violation_count && row && !is_near; k++) {
        const struct history_violation *v = &s->violations[k];
        is_near = summary_limit_is_of(row, v->limit, v->node) &&
                  summary_run_time(s, v->node, v->begin) <= saturate_add(at, e->adapt.every) &&
                  saturate_add(summary_run_time(s, v->node, v->end), e->adapt.every) >= at;
    }
    return is_near && verdict_taken_back(s, row) > 0;
}

int64_t verdict_end(const struct summary *s, const struct experiment *e, uint32_t i, size_t p)
{
    bool ended = summary_ended(s) != 0;
    int64_t last = ended ? last_of(s, e, i, p) : INT64_MIN, own = ended ? last_record(s, e, i, p) : INT64_MIN;
    if (last != INT64_MIN || own == INT64_MIN || s->processes[p].role == ROLE_DAEMON)
        return last;
    return is_taken_back(s, e, i, p, summary_run_time(s, s->processes[p].node, own)) ? own : INT64_MIN;
}

/*
 * Whether process `p` made records of `book` behind the last one that is stored, or may have: they are on their way, or
 * such were only counted, and losses are known since, or no packet tells of them yet.
 */
static bool made_more(const struct summary *s, const struct summary_process *p, const struct summary_book *book)
{
    struct verdict_books of = verdict_aspect(s, p, book), all = verdict_process(s, p);
    uint64_t lost = all.full + all.window + all.spool + all.off + all.unfinished + all.reduced + all.reducer;
    return (p->overwrites ? all.rest : of.rest) > 0 ||
           (of.off > 0 && (lost > p->discarded || p->last_loss > book->last_ns));
}

bool verdict_goes_on(const struct summary *s, const struct experiment *e, uint32_t i, size_t p)
{
    bool any = false;
    for (size_t other = 0; other < s->process_count; other++)
        for (size_t b = 0; b < s->processes[other].book_count && counts_with(s, e, i, p, other); b++) {
            const struct summary_book *book = &s->processes[other].books[b];
            any = any ||
                  (reads(e, &e->metrics[e->limits[i].metric], book->name) && made_more(s, &s->processes[other], book));
        }
    return any;
}

int64_t verdict_last_chosen(const struct summary *s, const struct experiment *e, uint32_t i, size_t p, bool *is_read)
{
    int64_t end = last_of(s, e, i, p), last = INT64_MIN;
    bool any = false;
    for (size_t k = 0; end != INT64_MIN && k < s->chosen_count; k++) {
        const struct summary_chosen *c = &s->chosen[k];
        if (c->limit == i && c->last != 0 && counts_with(s, e, i, p, c->process)) {
            int64_t at = summary_run_time(s, s->processes[c->process].node, c->last);
            last = at > last ? at : last;
            *is_read = *is_read && !c->unread;
            any = true;
        }
    }
    return any ? last : summary_run_time(s, s->processes[p].node, end);
}

struct summary_field verdict_range(const struct summary *s, const struct experiment *e, uint32_t i,
                                   const struct experiment_metric *m, size_t p)
{
    struct summary_field all = {.count = 1, .min.d = -(double)INFINITY, .max.d = (double)INFINITY, .unit = "ns"};
    if (m->kind == METRIC_PERCENT)
        return (struct summary_field){.count = 1, .min.d = 0, .max.d = 100, .unit = "ns"};
    if (m->operands || m->arrivals || m->kind == METRIC_MISSES)
        return all;
    struct summary_field found = {.unit = "ns", .min.d = (double)INFINITY, .max.d = -(double)INFINITY};
    uint64_t stored = 0;
    for (size_t other = 0; other < s->process_count; other++) {
        bool counts = counts_with(s, e, i, p, other);
        const struct summary_book *book = counts ? summary_book_of(&s->processes[other], m->aspect) : NULL;
        const struct summary_field *is = summary_field_of(book, m->field);
        double scale = is && m->in_time ? (double)units_time(is->unit) : 1;
        stored += book ? book->stored : 0;
        if (!is || is->count == 0)
            continue;
        found.count += is->count;
        found.min.d = fmin(found.min.d, is->min.d * scale);
        found.max.d = fmax(found.max.d, is->max.d * scale);
    }
    if (experiment_metric_is_counted(m))
        return (struct summary_field){.count = 1, .min.d = 0, .max.d = verdict_most(m, stored), .unit = "ns"};
    return found;
}

/*
 * When adaptation had settled on the limit of row `row`, at the earliest: what is unknown may have been so before any
 * state was known, or behind that.
 */
static int64_t settled_from(const struct summary *s, const struct experiment *e, const struct builtin_limit *row)
{
    int64_t from = saturate_sub(row->at, verdict_row_total(row) - row->settling);
    int64_t settling = agent_settling(e, &e->limits[row->limit]);
    for (size_t i = 0; i < s->series_count && row->epoch == 0; i++) {
        const struct history_series *of = &s->series[i];
        if (of->limit == row->limit && of->node == row->node && of->judged_from > 0)
            from = saturate_most(from, saturate_add(of->judged_from, settling));
    }
    return saturate_sub(from, e->adapt.every); /* an instant stands for what is before it, and the row goes on behind */
}

/* Whether adaptation may have settled before time `at` of the limit's row; INT64_MIN: before the end. */
static bool had_settled(const struct summary *s, const struct experiment *e, const struct experiment_limit *l,
                        const struct builtin_limit *row, int64_t at)
{
    bool is_judged = row && saturate_add(row->held, row->violated) > 0;
    return l->kind != LIMIT_HOLD || (is_judged && (at == INT64_MIN || at > settled_from(s, e, row)));
}

bool verdict_is_reduced(const struct experiment_metric *m, const struct summary_process *p)
{
    const struct summary_book *book = summary_book_of(p, m->aspect);
    return book && book->reduced > 0;
}

/*
 * The value that limit `i` had at the last record of process `number`, if that breaks it and is worse than all that was
 * judged. A value of before may be worse and have violated nothing, if it did not last for as long as it may.
 */
static double stray_end(const struct summary *s, const struct experiment *e, uint32_t i, size_t number)
{
    const struct experiment_limit *l = &e->limits[i];
    struct experiment_metric m = e->metrics[l->metric];
    const struct summary_process *p = &s->processes[number];
    const struct builtin_limit *row = row_of(s, e, p->node, i);
    bool counts = row && (l->persistence == 0 || row->last_violated > 0);
    double worst = counts ? row->worst : (double)NAN;
    int64_t at = verdict_end(s, e, i, number);
    if (!had_settled(s, e, l, row, l->global ? INT64_MIN : at))
        return NAN;
    if (at == INT64_MIN)
        return verdict_is_reduced(&m, p) && l->persistence == 0 ? stray_reduced(s, e, i, p, worst, true) : (double)NAN;
    struct summary_field f = verdict_range(s, e, i, &m, number);
    m.in_time = false; /* they are in its unit */
    return stray_of(&m, l, &f, verdict_chosen(s, i, number), worst);
}

/* Likewise of limit `i` on an interval, whose times are of no process: they stand with the first. */
static double stray_interval(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct summary_chosen *times = verdict_chosen(s, i, 0);
    struct experiment_metric in_ns = {.in_time = false};
    struct summary_field any = {.count = 1};
    bool is_near = e->metrics[l->metric].interval.statistic == METRIC_QUANTILE; /* which may be above the time itself */
    if (is_near && judged_broken(s, e, 0, i))
        return NAN;
    return times && verdict_one_breaks(e, l) ? stray_of(&in_ns, l, &any, times, verdict_judged_worst(s, e, 0, i))
                                             : (double)NAN;
}

double verdict_stray(const struct summary *s, const struct experiment *e, uint32_t i, size_t p, bool *is_chosen)
{
    *is_chosen = verdict_chosen(s, i, p) != NULL;
    if (experiment_limit_is_on_interval(e, &e->limits[i]))
        return p == 0 && *is_chosen ? stray_interval(s, e, i) : (double)NAN;
    if (verdict_has_end(e, i)) {
        *is_chosen = *is_chosen || verdict_end(s, e, i, p) == INT64_MIN; /* its records were reduced */
        return stray_end(s, e, i, p);
    }
    if (!verdict_one_breaks(e, &e->limits[i]))
        return NAN;
    const struct experiment_metric *m = &e->metrics[e->limits[i].metric];
    bool is_of_arrivals = experiment_metric_is_of_arrivals(m);
    *is_chosen = (!m->where && !is_of_arrivals) || verdict_chosen(s, i, p);
    if (m->kind != METRIC_MAX && m->kind != METRIC_MIN && m->kind != METRIC_MISSES &&
        judged_broken(s, e, s->processes[p].node, i))
        return NAN;
    if (verdict_forbids(e, &e->limits[i]))
        return stray_forbidden(s, e, i, p);
    if (is_of_arrivals)
        return stray_arrivals(s, e, i, p);
    return find_stray(s, e, i, p);
}

void verdict_doubt(struct verdict_limit *l, bool lasts)
{
    l->is = l->is == VERDICT_HELD ? VERDICT_UNKNOWN : l->is;
    l->lasts = lasts && l->lasts == VERDICT_HELD ? VERDICT_UNKNOWN : l->lasts;
}

void verdict_doubt_on(struct verdict *v, const struct summary *s, uint32_t i, uint32_t node, bool lasts)
{
    verdict_doubt(&v->limits[i], lasts);
    for (size_t row = 0; row < s->limit_count; row++)
        if (summary_limit_is_of(&s->limits[row], i, node))
            verdict_doubt(&v->rows[row], lasts);
}

enum verdict_is verdict_now(const struct verdict_limit *l, int64_t state)
{
    enum verdict_is judged = state == MESSAGE_LIMIT_HELD       ? VERDICT_HELD
                             : state == MESSAGE_LIMIT_VIOLATED ? VERDICT_VIOLATED
                                                               : VERDICT_UNKNOWN;
    return l->lasts > judged ? l->lasts : judged;
}

/* Whether a record at an end may be one too many: with what was taken back there, the limit's tolerance is exceeded. */
static bool is_beyond_tolerance(const struct verdict_limit *l, const struct summary *s, const struct experiment *e,
                                uint32_t i)
{
    double tolerance = e->limits[i].tolerance;
    int64_t more = 0;
    for (size_t row = 0; row < s->limit_count && verdict_has_end(e, i); row++)
        if (s->limits[row].limit == i)
            more = saturate_most(more, verdict_taken_back(s, &s->limits[row]));
    return tolerance <= 0 || (more > 0 && (double)saturate_add(l->violated, more) > tolerance * (double)l->judged);
}

/*
 * A record that by itself breaks a limit on a maximum or minimum, and that no sampling instant has seen: most often it
 * is one of the last before the end, or of a process that ended. Then the limit is not known to have held.
 */
static void judge_stray(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    int metric = e->limits[i].metric;
    if (v->limits[i].switched && metric >= 0 && experiment_metric_is_of_arrivals(&e->metrics[metric]))
        return; /* across that time there is no time between records */
    for (size_t p = 0; p < s->process_count; p++) {
        bool is_chosen;
        double stray = verdict_stray(s, e, i, p, &is_chosen);
        if (isnan(stray))
            continue;
        bool is_worst = !v->limits[i].strays || (e->limits[i].compare == COMPARE_AT_LEAST ? stray < v->limits[i].stray
                                                                                          : stray > v->limits[i].stray);
        v->limits[i].strays = true;
        v->limits[i].unchosen = v->limits[i].unchosen || !is_chosen;
        if (is_worst) {
            v->limits[i].stray = stray;
            v->limits[i].stray_at = verdict_has_end(e, i) ? saturate_ns(verdict_end(s, e, i, p)) : 0;
            v->limits[i].stray_on = s->processes[p].node;
        }
        if (!is_beyond_tolerance(&v->limits[i], s, e, i))
            continue;
        verdict_doubt_on(v, s, i, s->processes[p].node, false);
    }
}

/*
 * Records of the aspect of metric `m` that process `p` was to record, and those of them that were lost, also since
 * collection was off for a while: a pause, a policy, an operator. What the file does not want is nobody's loss.
 */
static uint64_t count_missed(const struct summary *s, const struct experiment *e, const struct summary_process *p,
                             const struct experiment_metric *m, uint64_t *produced)
{
    const struct summary_book *book = summary_book_of(p, m->aspect);
    struct verdict_books sums = {0};
    if (book)
        sums = verdict_aspect(s, p, book);
    bool is_overwritten = p->overwrites && p->state != PROCESS_RUNNING && sums.rest > 0;
    uint64_t unwanted = experiment_pattern_of(e->sensing.count, m->aspect) ? sums.off : 0; /* as the file asks */
    *produced = sums.attempts - unwanted;
    return sums.full + sums.window + sums.spool + sums.no_ring + sums.reducer +
           (is_overwritten ? (uint64_t)sums.rest : 0) + sums.off - unwanted;
}

bool verdict_counts_lost(const struct experiment_metric *m, bool at_most)
{
    if (experiment_metric_is_counted(m))
        return m->where && at_most;
    if (m->kind == METRIC_MAX)
        return at_most || experiment_metric_is_of_arrivals(m);
    return m->kind != METRIC_MIN || !at_most;
}

/* Whether process `p` lost its last record while adaptation settled on `l`, when no limit is judged. */
static bool lost_while_settling(const struct summary *s, const struct experiment *e, const struct experiment_limit *l,
                                const struct builtin_limit *row, const struct summary_process *p)
{
    return l->kind == LIMIT_HOLD && row && p->last_loss != 0 && p->last_loss <= settled_from(s, e, row);
}

/* Whether a limit on a number of records holds, whichever of all `produced` ones meet its condition, and whenever. */
static bool holds_anyhow(const struct experiment_limit *l, const struct experiment_metric *m, uint64_t produced)
{
    return experiment_metric_is_counted(m) && m->per_process && verdict_most(m, produced) <= l->bound;
}

/*
 * Lost records were judged by nobody. As of time that nobody judged, a limit is not known to have held if more of them
 * are lost than its tolerance allows: of a maximum, whose tolerance is 0, a single one. `m`: its metric, or one of the
 * two that that is of: either may be too large or too small.
 */
static void judge_missed(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i,
                         const struct experiment_metric *m)
{
    const struct experiment_limit *l = &e->limits[i];
    bool is_one = m == &e->metrics[l->metric], at_most = l->compare == COMPARE_AT_MOST;
    if (m->operands) {
        const struct experiment_metric *a = &e->metrics[experiment_metric_operand(e, m, 0)],
                                       *b = &e->metrics[experiment_metric_operand(e, m, 1)];
        bool once =
            strcmp(a->aspect, b->aspect) == 0 && (verdict_counts_lost(a, true) || verdict_counts_lost(a, false));
        judge_missed(v, s, e, i, a);
        if (!once)
            judge_missed(v, s, e, i, b);
    }
    if (!m->aspect ||
        (is_one ? !verdict_counts_lost(m, at_most) : !verdict_counts_lost(m, true) && !verdict_counts_lost(m, false)))
        return;
    for (size_t p = 0; p < s->process_count; p++) {
        uint64_t produced;
        uint64_t missed = count_missed(s, e, &s->processes[p], m, &produced);
        if ((is_one && holds_anyhow(l, m, produced)) ||
            lost_while_settling(s, e, l, row_of(s, e, s->processes[p].node, i), &s->processes[p]))
            continue;
        v->limits[i].missed += missed;
        if (missed > 0 && (double)missed > l->tolerance * (double)produced)
            verdict_doubt_on(v, s, i, s->processes[p].node, false);
    }
}

bool verdict_switches(const struct summary_note *note, const char *mode, const char *aspect)
{
    char before[32];
    int n = snprintf(before, sizeof before, ": aspects %s: ", mode);
    const char *words = strcmp(note->code, "BEZEL-STEERED") == 0 ? strstr(note->text, before) : NULL;
    char *patterns = words ? strdup(words + n) : NULL, *rest = patterns;
    bool is_cut = words && strlen(note->text) >= MESSAGE_TEXT_MAX, is = is_cut && strcmp(mode, "off") == 0;
    for (const char *pattern; rest && !is && !is_cut && (pattern = strsep(&rest, " ")) != NULL;)
        is = fnmatch(pattern, aspect, 0) == 0;
    free(patterns);
    return is;
}

static bool was_switched_off(const struct summary *s, const char *aspect)
{
    for (size_t n = 0; n < s->note_count; n++)
        if (verdict_switches(&s->notes[n], "off", aspect))
            return true;
    return false;
}

/* Whether limit `i` is judged by the stored records alone, from the first of them to the last. */
static bool is_by_records_alone(const struct summary *s, uint32_t i)
{
    for (size_t k = 0; k < s->gap_count; k++)
        if (s->gaps[k].limit == i && s->gaps[k].never)
            return true;
    return false;
}

/* Why a part of the time was not judged: an operator had turned the aspect off. An interval may have no record then. */
static void find_switched(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    struct verdict_limit *l = &v->limits[i];
    const struct experiment_metric *m = e->limits[i].metric < 0 ? NULL : &e->metrics[e->limits[i].metric];
    if (m && m->aspect)
        l->switched = l->unjudged > 0 && was_switched_off(s, m->aspect);
    for (uint32_t k = 0; m && k < m->interval.count; k++)
        l->switched = l->switched || was_switched_off(s, m->interval.aspects[k]);
    if (m && m->interval.count > 0 && l->switched && is_by_records_alone(s, i))
        verdict_doubt_on(v, s, i, 0, false);
}

static void judge_blurred(struct verdict_limit *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    if (verdict_is_sparse(s, i))
        return;
    v->blurred = experiment_limit_is_blurred(e, l, v->is >= VERDICT_VIOLATED);
    if (v->blurred)
        v->is = VERDICT_UNKNOWN;
    if (experiment_limit_is_blurred(e, l, false))
        verdict_doubt(v, true);
}

void verdict_by_records(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    for (uint32_t i = 0; i < v->limit_count; i++) {
        find_switched(v, s, e, i);
        judge_stray(v, s, e, i);
        verdict_judge_hung(v, s, e, i);
        verdict_judge_unseen(v, s, e, i);
        if (e->limits[i].metric < 0 || experiment_limit_is_on_interval(e, &e->limits[i]))
            continue;
        judge_missed(v, s, e, i, &e->metrics[e->limits[i].metric]);
        judge_blurred(&v->limits[i], s, e, i);
    }
    for (size_t row = 0; row < s->limit_count; row++)
        if (s->limits[row].limit >= 0 && s->limits[row].limit < (int64_t)v->limit_count)
            judge_blurred(&v->rows[row], s, e, (uint32_t)s->limits[row].limit);
}
