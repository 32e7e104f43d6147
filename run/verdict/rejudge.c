// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Which gaps can be judged from the stored records, and what becomes of the limits' rows. rejudge_spans.c judges. */
#include "run/verdict/rejudge.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "mdr/bounds.h"
#include "resmgr/agent/agent.h"
#include "run/verdict/rejudge_replay.h"
#include "run/verdict/verdict_internal.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lives of a daemon ------------------------------------------------------------------------------------------- */

static double worse(const struct experiment *e, int64_t limit, double a, double b)
{
    bool at_least = limit >= 0 && limit < e->limit_count && e->limits[limit].compare == COMPARE_AT_LEAST;
    return at_least ? fmin(a, b) : fmax(a, b); /* both pass over NaN */
}

/* The first instant behind gap `g`: what is behind it may belong to the gap, and is counted all the same. */
static int64_t goes_on_at(const struct history_gap *g)
{
    return g->end - g->again;
}

/* The gap before the life that has row `later`, where it is behind row `into`; NULL: there is none. */
static struct history_gap *gap_before(struct summary *s, const struct builtin_limit *into,
                                      const struct builtin_limit *later)
{
    struct history_gap *found = NULL;
    for (size_t i = 0; i < s->gap_count; i++) {
        struct history_gap *g = &s->gaps[i];
        bool is_its = g->restarted && g->node == later->node && g->limit == later->limit && goes_on_at(g) > into->at &&
                      goes_on_at(g) <= later->at;
        if (is_its && (!found || goes_on_at(g) > goes_on_at(found)))
            found = g;
    }
    return found;
}

/*
 * No row counts the time from row `into`, or from the first gap where its `at` is 0, to the first instant of the life
 * of row `later`: the life of `into` may have gone on, and lives between them may have observed the limit, and have no
 * row. The gaps of that time become one. Returns how much of it no row counts.
 */
static int64_t join_gaps(struct summary *s, const struct builtin_limit *into, const struct builtin_limit *later)
{
    const struct history_gap *last = gap_before(s, into, later);
    if (!last)
        return 0;
    struct history_gap all = *last, *place = NULL;
    size_t kept = 0;
    all.begin = into->at > 0 ? into->at : all.begin;
    for (size_t i = 0; i < s->gap_count; i++) {
        struct history_gap g = s->gaps[i];
        bool goes_in =
            g.node == all.node && g.limit == all.limit && g.end > into->at && goes_on_at(&g) <= goes_on_at(&all);
        if (goes_in && g.begin < into->at && (!g.restarted || goes_on_at(&g) <= into->at)) { /* it reaches in */
            g.again = saturate_most(0, g.again - (g.end - into->at));
            g.end = into->at;
            goes_in = false;
        }
        if (goes_in && into->at == 0)
            all.begin = saturate_least(all.begin, g.begin);
        if (&s->gaps[i] == last)
            place = &s->gaps[kept++];
        else if (!goes_in)
            s->gaps[kept++] = g;
    }
    *place = all;
    s->gap_count = kept;
    return saturate_most(0, goes_on_at(&all) - all.begin);
}

/* Adds a later life to *into, or to none, where `at` is 0. What that counted is stored up to the time of its row. */
static void join_life(struct summary *s, const struct experiment *e, struct builtin_limit *into,
                      const struct builtin_limit *later)
{
    struct builtin_limit sum = *later;
    int64_t between = join_gaps(s, into, later);
    sum.worst = worse(e, into->limit, into->worst, later->worst);
    sum.settling = saturate_add(into->settling, later->settling);
    sum.held = saturate_add(into->held, later->held);
    sum.violated = saturate_add(into->violated, later->violated);
    sum.unknown = saturate_add(saturate_add(into->unknown, later->unknown), between);
    sum.unjudged = saturate_add(saturate_add(into->unjudged, later->unjudged), between);
    sum.last_violated = later->last_violated ? later->last_violated : into->last_violated;
    *into = sum;
}

/* Lives behind the last one that has a row have none: up to their last gap the row goes on, and that is not judged. */
static void join_end(struct summary *s, struct builtin_limit *row)
{
    int64_t more = join_gaps(s, row, &(struct builtin_limit){.node = row->node, .limit = row->limit, .at = INT64_MAX});
    row->at = saturate_add(row->at, more);
    row->unknown = saturate_add(row->unknown, more);
    row->unjudged = saturate_add(row->unjudged, more);
}

void rejudge_join(struct summary *s, const struct experiment *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->limit_count; i++) {
        const struct builtin_limit l = s->limits[i];
        struct builtin_limit *before = kept ? &s->limits[kept - 1] : NULL;
        bool is_local = l.epoch == 0;
        if (!is_local || !before || before->epoch != 0 || before->node != l.node || before->limit != l.limit)
            s->limits[kept++] = is_local ? (struct builtin_limit){.node = l.node, .limit = l.limit, .worst = NAN} : l;
        if (is_local)
            join_life(s, e, &s->limits[kept - 1], &l);
    }
    s->limit_count = kept;
    for (size_t i = 0; i < kept; i++)
        if (s->limits[i].epoch == 0)
            join_end(s, &s->limits[i]);
}

/* ---- limits of another file -------------------------------------------------------------------------------------- */

void rejudge_forget_limits(struct summary *s)
{
    s->limit_count = s->gap_count = s->violation_count = s->series_count = s->conclusion_count = s->chosen_count = 0;
    for (size_t i = 0; i < s->decision_count; i++)
        s->decisions[i].cause = -1;
    for (size_t i = 0; i < s->knob_count; i++)
        s->knobs[i].limit = -1;
    for (size_t i = 0; i < s->snapshot_count; i++)
        s->snapshots[i].limit = -1;
}

static bool has_stored(const struct summary_process *p, const char *aspect)
{
    const struct summary_book *book = summary_book_of(p, aspect);
    return book && book->stored > 0;
}

/* Of a daemon only its samplers' records are judged (bezeld/node/observer.c). */
static bool is_judged(const struct summary_process *p, const struct summary_book *b)
{
    return b->stored > 0 && (p->role == ROLE_DAEMON) == (experiment_sampler_of(b->name) != EXPERIMENT_SAMPLERS);
}

/* Whether nothing of `aspect` is stored of process `p` though it had records of it, or may have had: it was off. */
static bool lacks_all(const struct summary *s, const struct experiment *e, const struct summary_process *p,
                      const char *aspect)
{
    const struct summary_book *book = summary_book_of(p, aspect);
    bool off = book && experiment_pattern_of(e->sensing.off, aspect);
    for (size_t i = 0; book && i < s->note_count && !off; i++)
        off = s->notes[i].node == p->node && verdict_switches(&s->notes[i], "off", aspect);
    return book && book->stored == 0 &&
           (off || (book->attempts > 0 && !experiment_pattern_of(e->sensing.count, aspect)));
}

/*
 * When the first window of process `p` ends, of a number of records that is to be no more than a bound: it is 0 where
 * the books know of none. INT64_MAX: the limit is another one, or nobody knows.
 */
static int64_t first_window(const struct summary *s, const struct experiment *e, const struct experiment_limit *l,
                            const struct summary_process *p)
{
    const struct experiment_metric *m = &e->metrics[l->metric];
    const struct summary_book *own = summary_book_of(p, m->aspect);
    int64_t began = rejudge_saw_begin(s, p) ? p->started : INT64_MAX;
    bool any = false;
    for (size_t b = 0; b < p->book_count; b++)
        if (is_judged(p, &p->books[b])) {
            began = saturate_least(began, p->books[b].first_ns);
            any = true;
        }
    bool is_known = any && own && (own->stored > 0 || (own->attempts == 0 && !lacks_all(s, e, p, m->aspect)));
    bool of_none = l->compare == COMPARE_AT_MOST && experiment_metric_is_counted(m);
    return is_known && of_none ? saturate_add(began, m->window) : INT64_MAX;
}

bool rejudge_recorded(const struct summary *s, const struct experiment *e, uint32_t limit, uint32_t node,
                      int64_t *begin, int64_t *end)
{
    const struct experiment_limit *l = &e->limits[limit];
    const char *aspect = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : e->metrics[l->metric].aspect;
    int64_t started = INT64_MAX;
    *begin = INT64_MAX;
    *end = INT64_MIN;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        int64_t known = aspect && p->node == node ? first_window(s, e, l, p) : INT64_MAX;
        bool has = aspect && (has_stored(p, aspect) || lacks_all(s, e, p, aspect) || known < INT64_MAX);
        if (p->node != node || (aspect ? !has : p->role != ROLE_SUT))
            continue;
        started = saturate_least(started, p->started);
        *begin = saturate_least(*begin, known);
        for (size_t b = 0; b < p->book_count; b++) {
            const struct summary_book *book = &p->books[b];
            if (!is_judged(p, book))
                continue;
            bool begins = !aspect || strcmp(book->name, aspect) == 0;
            *begin = begins && book->first_ns < *begin ? book->first_ns : *begin;
            *end = book->last_ns > *end ? book->last_ns : *end;
        }
    }
    if (aspect && *begin == INT64_MAX && started < INT64_MAX)
        *end = saturate_sub(summary_ended(s), s->nodes[node].ahead);
    *begin = *begin == *end || *begin == INT64_MAX ? saturate_least(started, *begin) : *begin;
    return *begin < *end;
}

bool rejudge_recorded_by_any(const struct summary *s, const struct experiment *e, uint32_t limit, int64_t *begin,
                             int64_t *end)
{
    int64_t from, until, ahead = s->node_count > 0 ? s->nodes[0].ahead : 0;
    *begin = INT64_MAX;
    *end = INT64_MIN;
    for (uint32_t node = 0; node < s->node_count; node++) {
        if (!rejudge_recorded(s, e, limit, node, &from, &until))
            continue;
        *begin = saturate_least(*begin, saturate_sub(summary_run_time(s, node, from), ahead));
        *end = saturate_most(*end, saturate_sub(summary_run_time(s, node, until), ahead));
    }
    return *begin < *end;
}

static const struct experiment_metric *find_metric(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (strcmp(e->metrics[i].name, name) == 0)
            return &e->metrics[i];
    return NULL;
}

/* Whether metric `name` means in `e`, if that has it, what it means in `own`. */
static bool is_own(const struct experiment *e, const struct experiment *own, const char *name)
{
    const struct experiment_metric *m = find_metric(e, name), *o = find_metric(own, name);
    bool same = !m || (o && experiment_metric_is_same(m, o));
    for (char **of = m ? m->operands : NULL; same && of && *of; of++)
        same = is_own(e, own, *of);
    return same;
}

/* Leaves out the values of metrics that mean something else in `e`. The history keeps all of them. */
static void drop_metrics(struct summary *s, const struct experiment *e, const struct experiment *own)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->metric_count; i++) {
        struct history_series series = s->metrics[i];
        if (!is_own(e, own, series.metric))
            continue;
        s->metrics[i] = s->metrics[kept];
        s->metrics[kept++] = series;
    }
    s->metric_count = kept;
}

int rejudge_add(struct summary *s, const struct builtin_limit *row, const struct history_gap *gap)
{
    if (!grow_to(&s->limits, s->limit_count + 1, sizeof *s->limits) ||
        !grow_to(&s->gaps, s->gap_count + 1, sizeof *s->gaps))
        return BEZEL_ENOMEM;
    s->limits[s->limit_count++] = *row;
    s->gaps[s->gap_count++] = *gap;
    return 0;
}

/* Adds a row of a limit of which nobody judged anything in gap `g`, which is all of its time. */
static int add_unjudged(struct summary *s, const struct experiment *e, struct history_gap g)
{
    int64_t length = saturate_sub(g.end, g.begin);
    return rejudge_add(s,
                       &(struct builtin_limit){.node = g.node,
                                               .at = g.end,
                                               .limit = g.limit,
                                               .value = (double)NAN,
                                               .worst = (double)NAN,
                                               .unknown = length,
                                               .unjudged = length,
                                               .epoch = e->limits[g.limit].global},
                       &g);
}

int rejudge_anew(struct summary *s, const struct experiment *e, const struct experiment *own)
{
    int64_t begin, end;
    int err = 0;
    rejudge_forget_limits(s);
    s->judged_anew = true;
    drop_metrics(s, e, own);
    for (uint32_t node = 0; node < s->node_count; node++)
        for (uint32_t i = 0; i < e->limit_count && !err; i++) {
            bool global = e->limits[i].global;
            if (experiment_limit_is_on_interval(e, &e->limits[i]) || (global && node > 0) ||
                !(global ? rejudge_recorded_by_any(s, e, i, &begin, &end)
                         : rejudge_recorded(s, e, i, node, &begin, &end)))
                continue;
            err = add_unjudged(s, e, (struct history_gap){.node = node, .limit = i, .begin = begin, .end = end});
        }
    return err;
}

/* ---- whether the records suffice --------------------------------------------------------------------------------- */

/* Whether what a firing did (bezeld/node/node_triggers.c) gave `aspect` a mode; a text that is cut off may have. */
static bool gives_mode(const char *done, const char *aspect)
{
    static const char word[] = "aspects ";
    bool is = strlen(done) >= MESSAGE_TEXT_MAX;
    for (const char *at = strstr(done, word); at && !is; at = strstr(at, word)) {
        at += strlen(word);
        char *pattern = strndup(at, strcspn(at, " "));
        is = !pattern || fnmatch(pattern, aspect, 0) == 0;
        free(pattern);
    }
    return is;
}

/* Whether a trigger gave `aspect` a mode: for how long is not known. */
static bool was_triggered(const struct summary *s, uint32_t node, const char *aspect)
{
    bool is = false;
    for (size_t i = 0; i < s->firing_count && !is; i++)
        is = s->firings[i].node == node && s->firings[i].done && gives_mode(s->firings[i].done, aspect);
    return is;
}

static bool was_steered(const struct summary *s, uint32_t node)
{
    for (size_t i = 0; i < s->note_count; i++)
        if (s->notes[i].node == node && strcmp(s->notes[i].code, "BEZEL-STEERED") == 0)
            return true;
    return false;
}

bool rejudge_saw_begin(const struct summary *s, const struct summary_process *p)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].node == p->node && s->processes[i].role == ROLE_DAEMON &&
            s->processes[i].started <= p->started)
            return true;
    return false;
}

/* Why the stored records of `p`, which has book `b` of the metric's aspect, do not suffice; NULL: they may. */
static const char *lacking(const struct summary *s, const struct summary_process *p, const struct summary_book *b)
{
    if (verdict_is_open(s, p))
        return "the end of a process is unknown";
    if (b->no_ring > 0 || p->unfinished > 0 || (b->stored == 0 && b->attempts > 0))
        return "records were lost, it is not known when";
    if (b->reduced + b->reducer > 0)
        return "records ended at their node (sensing.keep)";
    if (p->expired.packets > 0)
        return "records have expired from the store";
    return NULL;
}

bool rejudge_is_recorded_elsewhere(const struct summary *s, const struct history_gap *g)
{
    int64_t begin = summary_run_time(s, g->node, g->begin), end = summary_run_time(s, g->node, g->end);
    for (size_t i = 0; i < s->series_count && g->restarted; i++) {
        const struct history_series *of = &s->series[i];
        if (of->limit == g->limit && of->node != g->node && of->node < s->node_count &&
            summary_run_time(s, of->node, of->last_at) > begin && summary_run_time(s, of->node, of->begin) < end)
            return true;
    }
    return false;
}

/* Why the records of all nodes do not tell what the manager would have judged; NULL: they may. */
static const char *not_joined(const struct summary *s, const struct experiment *e, const struct history_gap *g)
{
    if (g->node >= s->node_count || rejudge_is_recorded_elsewhere(s, g))
        return "another node recorded it in the meantime";
    for (size_t i = 0; i < s->node_count; i++) {
        int64_t error = run_clock_worst(&s->nodes[i].run_clock);
        if (error < 0 || error > e->adapt.every)
            return "the clock of a node is not known well enough";
    }
    return NULL;
}

const char *rejudge_why_not(const struct summary *s, const struct experiment *e, const struct history_gap *g)
{
    const struct experiment_limit *l = &e->limits[g->limit];
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (experiment_limit_is_on_interval(e, l) && experiment_interval_is_reduced(e, (uint32_t)l->metric))
        return "its records ended at the collector (sensing.keep)";
    if (experiment_limit_is_on_interval(e, l)) /* rejudge_intervals() judges it, where they can */
        return "its records cannot all be read";
    if (m && m->operands)
        return "it is of two metrics";
    if (!m || !m->aspect)
        return "no records tell its value";
    if (experiment_pattern_of(e->sensing.off, m->aspect) &&
        !rejudge_is_all(s, g)) /* else replay_find_all_switched() sees it */
        return "its aspect was off";
    const char *why = l->global ? not_joined(s, e, g) : NULL;
    for (uint32_t node = 0; node < s->node_count && !why; node++)
        if (l->global || node == g->node)
            why = was_triggered(s, node, m->aspect)               ? "a trigger switched aspects on or off"
                  : was_steered(s, node) && !rejudge_is_all(s, g) ? "an operator switched aspects on or off"
                                                                  : NULL;
    for (size_t i = 0; i < s->process_count && !why; i++) {
        const struct summary_process *p = &s->processes[i];
        const struct summary_book *b = l->global || p->node == g->node ? summary_book_of(p, m->aspect) : NULL;
        why = b ? lacking(s, p, b) : NULL;
    }
    return why;
}

/* ---- before the manager ------------------------------------------------------------------------------------------ */

/* The first record that metric `m` has on any node, run's time; INT64_MAX: none. *began: the first of those processes.
 */
static int64_t first_record(const struct summary *s, const struct experiment_metric *m, int64_t *began)
{
    const char *aspect = experiment_metric_aspect(m, 0);
    int64_t first = *began = INT64_MAX;
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        const struct summary_book *b = summary_book_of(p, aspect);
        if (!b || !is_judged(p, b))
            continue;
        first = saturate_least(first, summary_run_time(s, p->node, b->first_ns));
        *began = saturate_least(*began, summary_run_time(s, p->node, p->started));
    }
    return first;
}

/* Whether a number of records, which is too low before its window is whole, is to reach a bound. */
static bool needs_whole_window(const struct experiment *e, const struct experiment_limit *l)
{
    return l->compare == COMPARE_AT_LEAST && experiment_metric_is_counted(&e->metrics[l->metric]);
}

/* The first judgements of limit `i`: of whichever node they came to first, and when they knew its state first. */
struct beginning {
    const struct history_series *heard, *known; /* NULL: none */
    struct builtin_limit *row;                  /* of the first manager; NULL: none */
};

static struct beginning find_beginning(struct summary *s, uint32_t i)
{
    struct beginning is = {0};
    for (size_t k = 0; k < s->series_count; k++) {
        const struct history_series *of = &s->series[k];
        if (of->limit != i || of->node >= s->node_count)
            continue;
        if (!is.heard ||
            summary_run_time(s, of->node, of->begin) < summary_run_time(s, is.heard->node, is.heard->begin))
            is.heard = of;
        if (of->judged_from && (!is.known || summary_run_time(s, of->node, of->judged_from) <
                                                 summary_run_time(s, is.known->node, is.known->judged_from)))
            is.known = of;
    }
    for (size_t k = 0; k < s->limit_count && !is.row; k++)
        is.row = s->limits[k].limit == i && s->limits[k].epoch > 0 ? &s->limits[k] : NULL;
    return is;
}

/* Adds gap `g` of run times, in the row to which it belongs. So much of it as `counted` is unknown there already. */
static int add_early(struct summary *s, struct builtin_limit *row, struct history_gap g, int64_t ahead, int64_t counted)
{
    int64_t length = saturate_sub(g.end, g.begin);
    if (!grow_to(&s->gaps, s->gap_count + 1, sizeof *s->gaps))
        return BEZEL_ENOMEM;
    g.end = saturate_sub(g.end, ahead);
    g.begin = saturate_sub(g.end, length);
    memmove(s->gaps + 1, s->gaps, s->gap_count++ * sizeof *s->gaps);
    s->gaps[0] = g;
    row->unknown = saturate_add(row->unknown, length > counted ? length - counted : 0);
    row->unjudged = saturate_add(row->unjudged, length);
    return 0;
}

/*
 * Programs record while the manager is still starting, or before it has heard of them. The time from their first record
 * until limit `i` was known becomes a gap, unless the manager judged before that record: then no window may have been
 * full yet. Some of what the first instant stands for may count besides: it ends where that is seen, or before all that
 * the row has judged. The adaptation that `hold` waits for begins with the manager.
 */
static int find_early(struct summary *s, const struct experiment *e, uint32_t i, struct beginning is)
{
    const struct experiment_limit *l = &e->limits[i];
    int64_t start = 0, first = INT64_MAX;
    if (l->metric != LIMIT_ON_SENSOR_CPU)
        first = first_record(s, &e->metrics[l->metric], &start);
    if (first == INT64_MAX)
        return 0;
    int64_t at = summary_run_time(s, is.row->node, is.row->at),
            seen = summary_run_time(s, is.known->node, is.known->judged_from);
    int64_t all = verdict_row_total(is.row),
            known = saturate_least(seen, saturate_sub(at, all - is.row->unknown + is.row->unjudged));
    int64_t began = saturate_least(summary_run_time(s, is.heard->node, is.heard->begin), saturate_sub(at, all));
    int64_t full = saturate_add(2 * experiment_limit_window(e, l), agent_reach(e, l));
    if (known <= first || (began <= first && known - first <= full))
        return 0;
    if (l->kind == LIMIT_HOLD) {
        is.row->settling = saturate_add(is.row->settling, began > first ? began - first : 0);
        return 0;
    }
    struct history_gap g = {.node = is.known->node, .limit = i, .begin = first, .end = known, .early = true};
    if (!experiment_limit_is_on_interval(e, l) && rejudge_why_not(s, e, &g)) {
        g.end = known = began; /* no value need have been known from then on */
        if (needs_whole_window(e, l))
            g.begin = saturate_most(first, saturate_add(start, e->metrics[l->metric].window));
    }
    if (g.begin >= g.end)
        return 0;
    return add_early(s, is.row, g, seen - is.known->judged_from, began < known ? known - began : 0);
}

/*
 * A gap back to what was recorded before begins where a node recorded a limit last, which may be a second before it was
 * judged last: what of that the row has judged is none. `of`: how long all gaps of the row are.
 */
static void shorten(struct summary *s, struct history_gap *g, const struct builtin_limit *row, int64_t of)
{
    int64_t twice = saturate_least(saturate_sub(of, row->unjudged), CLOCK_S);
    bool is_one_s = saturate_sub(summary_run_time(s, row->node, row->at), verdict_row_total(row)) <=
                    summary_run_time(s, g->node, g->begin);
    if (is_one_s && twice > 0) /* else it is between two managers */
        g->begin = saturate_least(saturate_add(g->begin, twice), g->end);
}

static int64_t length_of_gaps(struct summary *s, const struct builtin_limit *row)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->gap_count; i++) {
        const struct history_gap *g = &s->gaps[i];
        if (g->limit == row->limit && g->node < s->node_count && verdict_row_at(s, g->node, g->limit, g->end) == row)
            sum = saturate_add(sum, g->end - g->begin);
    }
    return sum;
}

static void shorten_all(struct summary *s, const struct experiment *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->gap_count && !s->judged_anew; i++) {
        struct history_gap *g = &s->gaps[i];
        bool is_its = g->restarted && g->node < s->node_count && g->limit < e->limit_count &&
                      e->limits[g->limit].global && !rejudge_is_recorded_elsewhere(s, g);
        const struct builtin_limit *row = is_its ? verdict_row_at(s, g->node, g->limit, g->end) : NULL;
        if (row)
            shorten(s, g, row, length_of_gaps(s, row));
    }
    for (size_t i = 0; i < s->gap_count; i++)
        if (s->gaps[i].begin < s->gaps[i].end)
            s->gaps[kept++] = s->gaps[i];
    s->gap_count = kept;
}

/*
 * No manager knew limit `i` at any time of an ended run: that was over before the manager heard of the programs, or it
 * never began. All of the limit's time becomes a gap.
 */
static int find_never(struct summary *s, const struct experiment *e, uint32_t i)
{
    struct history_gap g = {.limit = i, .never = true};
    if (!rejudge_recorded_by_any(s, e, i, &g.begin, &g.end))
        return 0;
    rejudge_drop(s, i);
    return add_unjudged(s, e, g);
}

static int find_all_early(struct summary *s, const struct experiment *e, bool ended)
{
    int err = 0;
    for (uint32_t i = 0; i < e->limit_count && !s->judged_anew && !err; i++) {
        if (!e->limits[i].global)
            continue;
        struct beginning is = find_beginning(s, i);
        if (is.known && is.row)
            err = find_early(s, e, i, is);
        else if (ended && rejudge_is_unjudged(s, i) && !experiment_limit_is_on_interval(e, &e->limits[i]))
            err = find_never(s, e, i);
    }
    return err;
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

bool rejudge_is_all(const struct summary *s, const struct history_gap *g)
{
    return s->judged_anew || g->never;
}

/* How much of gap `g` is before all that row `l` counts, of a manager that follows another one: no row has it. */
static int64_t between_rows(const struct summary *s, const struct history_gap *g, const struct builtin_limit *l)
{
    bool follows = false;
    for (size_t i = 0; i < s->limit_count && g->restarted; i++)
        follows |= s->limits[i].limit == l->limit && s->limits[i].epoch > 0 && s->limits[i].epoch < l->epoch;
    if (!follows)
        return 0;
    int64_t began = saturate_sub(summary_run_time(s, l->node, l->at), verdict_row_total(l));
    int64_t before = saturate_sub(began, summary_run_time(s, g->node, g->begin));
    return before > 0 ? saturate_least(before, g->end - g->begin) : 0;
}

void rejudge_take_gap(struct summary *s, const struct experiment *e, const struct history_gap *g)
{
    struct builtin_limit *l = verdict_row_at(s, g->node, g->limit, g->end);
    if (!l)
        return;
    bool all = rejudge_is_all(s, g); /* then longer by what is at its ends */
    int64_t longer = all ? g->end - g->begin - verdict_row_total(l) : between_rows(s, g, l);
    l->at = all && longer > 0 ? saturate_most(l->at, g->end) : l->at;
    l->unknown = saturate_add(l->unknown, longer);
    l->unjudged = saturate_add(l->unjudged, longer);
    l->worst = worse(e, g->limit, l->worst, g->worst);
    l->held = saturate_add(l->held, g->held);
    l->violated = saturate_add(l->violated, g->violated);
    l->settling = saturate_add(l->settling, g->settling);
    l->unknown = saturate_most(0, l->unknown - g->held - g->violated - g->settling);
    /* Less than between two instants; and what parts overlap makes up for what is between others, as messages took. */
    int64_t cut = g->cut < e->adapt.every ? g->cut : saturate_least(g->cut, g->seen);
    int64_t seen = all ? 0 : g->seen; /* over all nodes it is what messages took */
    l->unjudged = saturate_most(0, l->unjudged - saturate_most(0, g->end - g->begin + cut - seen - g->doubtful));
    l->unjudged = saturate_least(l->unjudged, l->unknown);
}

void rejudge_drop_rest(struct summary *s, const struct experiment *e, uint32_t limit)
{
    bool any = false;
    for (size_t i = 0; i < s->gap_count; i++) {
        const struct history_gap *g = &s->gaps[i];
        if (g->limit == limit && (!g->judged || g->doubtful > 0))
            return;
        any = any || g->limit == limit;
    }
    for (size_t i = 0; i < s->limit_count && any; i++)
        if (s->limits[i].limit == limit && s->limits[i].unjudged < e->adapt.every)
            s->limits[i].unjudged = 0;
}

void rejudge_forget(struct summary *s, uint32_t limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->gap_count; i++)
        if (s->gaps[i].limit != limit)
            s->gaps[kept++] = s->gaps[i];
    s->gap_count = kept;
    rejudge_forget_violations(s, limit);
}

void rejudge_forget_violations(struct summary *s, uint32_t limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->violation_count; i++)
        if (s->violations[i].limit != limit)
            s->violations[kept++] = s->violations[i];
    s->violation_count = kept;
}

void rejudge_drop(struct summary *s, uint32_t limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->limit_count; i++)
        if (s->limits[i].limit != limit)
            s->limits[kept++] = s->limits[i];
    s->limit_count = kept;
    rejudge_forget(s, limit);
}

bool rejudge_is_unjudged(const struct summary *s, uint32_t limit)
{
    for (size_t row = 0; row < s->limit_count; row++)
        if (s->limits[row].limit == limit && s->limits[row].held + s->limits[row].violated > 0)
            return false;
    return true;
}

static void take_violation(struct summary *s, const struct experiment *e, const struct history_violation *v)
{
    struct builtin_limit *l = verdict_row_at(s, v->node, v->limit, v->end);
    if (!l)
        return;
    l->worst = worse(e, v->limit, l->worst, worse(e, v->limit, v->min, v->max));
    l->last_violated = v->end > l->last_violated ? v->end : l->last_violated;
}

static int by_limit(const void *a, const void *b)
{
    const struct history_violation *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_begin(const void *a, const void *b)
{
    const struct history_violation *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : by_limit(a, b);
}

int rejudge_add_violations(struct summary *s, const struct experiment *e, const struct history_violation *found,
                           size_t more)
{
    size_t count = s->violation_count + more, kept = 0;
    struct history_violation *all = more ? realloc(s->violations, count * sizeof *all) : NULL;
    if (!all)
        return more ? BEZEL_ENOMEM : 0;
    s->violations = all;
    memcpy(all + s->violation_count, found, more * sizeof *all);
    for (size_t i = s->violation_count; i < count; i++)
        take_violation(s, e, &all[i]);
    qsort(all, count, sizeof *all, by_limit);
    for (size_t i = 0; i < count; i++) {
        struct history_violation *before = kept ? &all[kept - 1] : NULL;
        if (!before || before->node != all[i].node || before->limit != all[i].limit || all[i].begin > before->end) {
            all[kept++] = all[i];
            continue;
        }
        before->open = all[i].end >= before->end ? all[i].open : before->open;
        before->end = all[i].end > before->end ? all[i].end : before->end;
        before->min = fmin(before->min, all[i].min);
        before->max = fmax(before->max, all[i].max);
    }
    s->violation_count = kept;
    qsort(all, kept, sizeof *all, by_begin);
    return 0;
}

int rejudge_gaps(const char *run, struct summary *s, const struct experiment *e)
{
    struct replay_found found = {0};
    bool ended = summary_ended(s) != 0 && !s->mirror.partial; /* all of its records are there */
    int err = find_all_early(s, e, ended);
    shorten_all(s, e);
    if (err || !ended)
        return err;
    bool any = false;
    for (size_t i = 0; i < s->gap_count; i++) {
        struct history_gap *g = &s->gaps[i];
        g->why = g->limit < e->limit_count ? rejudge_why_not(s, e, g) : "the experiment has no such limit";
        any = any || !g->why;
    }
    err = any ? replay_gaps(run, s, e, &found) : 0;
    for (size_t i = 0; !err && i < s->gap_count; i++)
        if (s->gaps[i].judged)
            rejudge_take_gap(s, e, &s->gaps[i]);
    for (uint32_t i = 0; !err && i < e->limit_count; i++)
        if (any && e->limits[i].global)
            rejudge_drop_rest(s, e, i);
    if (!err)
        err = rejudge_add_violations(s, e, found.violations, found.count);
    free(found.violations);
    return err ? err : rejudge_windows(run, s, e);
}
