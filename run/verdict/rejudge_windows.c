// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Limits whose windows are shorter than the time between two sampling instants: records between the windows are in no
 * value that was judged. Where an ended run has all records, they are judged again: windows that follow one another at
 * the end of each, and those that slide at INSTANTS in each. So are limits whose `for` is shorter than BRIEF times
 * between instants, where some instant found them broken: at INSTANTS in each `for`.
 *
 * A bezeld that was started again begins with empty windows: for the length of one it has no value, or one without what
 * came before. Limits that it judged are judged again, all of their time; but not those on `last`, which needs no
 * window, and those that adaptation holds, whose states belong to the instants that it had.
 */
#include "run/verdict/rejudge.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "run/verdict/rejudge_replay.h"
#include "run/verdict/verdict_internal.h"

#include <math.h>
#include <stdlib.h>

enum { BRIEF = 4, INSTANTS = 8 };
enum { INSTANTS_MOST = 200000, RECORDS_MOST = 5000000 }; /* of a node, as every report takes that time */

/* Whether limit `i` may have been broken at some instant, or was not judged there. */
static bool is_in_question(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    bool is = false;
    for (size_t k = 0; k < s->limit_count; k++) {
        const struct builtin_limit *row = &s->limits[k];
        bool broken = l->compare == COMPARE_AT_MOST ? row->worst > l->bound : row->worst < l->bound;
        is = is || (row->limit == i && (broken || row->unjudged > 0));
    }
    return is;
}

/* Whether a `for` of few sampling periods is known to one or two of them, which is as long as it may be. */
static bool is_brief(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    return l->persistence > 0 && l->persistence / BRIEF < e->adapt.every && !m->tumbles && is_in_question(s, e, i);
}

/* Whether more than one manager judged limit `i`: each has its own time. */
static bool is_of_several(const struct summary *s, uint32_t i)
{
    size_t rows = 0;
    for (size_t k = 0; k < s->limit_count; k++)
        rows += s->limits[k].limit == i && s->limits[k].epoch > 0;
    return rows > 1;
}

/* Whether the bezeld that recorded limit `i` was started again, so that windows lack what came before. */
static bool is_cut(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    bool is = false;
    for (size_t g = 0; g < s->gap_count && l->kind == LIMIT_EXPECT && !is_of_several(s, i); g++)
        is = is || (s->gaps[g].limit == i && s->gaps[g].restarted);
    return is && l->metric != LIMIT_ON_SENSOR_CPU && e->metrics[l->metric].aspect &&
           e->metrics[l->metric].kind != METRIC_LAST; /* which needs no window */
}

/*
 * What adaptation did belongs to the instants that it had; and of silences the records tell less than the instants. A
 * rate or count of a window that follows another one has no value where no instant was in it, and one of a window that
 * slides none of its own where records came later than their instant.
 */
static bool is_short(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (!m || !m->aspect || l->kind != LIMIT_EXPECT || is_of_several(s, i))
        return false;
    bool is_silence = experiment_metric_is_counted(m) && l->compare == COMPARE_AT_LEAST;
    return !is_silence && !experiment_metric_is_of_arrivals(m) && (m->window < e->adapt.every || is_brief(s, e, i));
}

/* ns between the instants at which limit `i` is judged again. */
static int64_t step_of(const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    int64_t step = m->tumbles || m->window < INSTANTS ? m->window : m->window / INSTANTS;
    int64_t brief = is_brief(s, e, i) && l->persistence >= INSTANTS ? l->persistence / INSTANTS : step;
    return brief < step ? brief : step;
}

static uint64_t records_of(const struct summary *s, uint32_t node, bool all)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t b = 0; (all || s->processes[i].node == node) && b < s->processes[i].book_count; b++)
            sum += s->processes[i].books[b].stored;
    return sum;
}

/* All of the time of row `l`, also where its total, which does not reach up to `at`, leaves out its first records. */
static struct history_gap gap_of(const struct summary *s, const struct experiment *e, const struct builtin_limit *l,
                                 int64_t step)
{
    int64_t first, last;
    struct history_gap g = {.node = l->node,
                            .limit = (uint32_t)l->limit,
                            .begin = saturate_sub(l->at, verdict_row_total(l)),
                            .end = l->at,
                            .sparse = e->metrics[e->limits[l->limit].metric].window < e->adapt.every,
                            .worst = NAN};
    g.brief = !g.sparse && is_short(s, e, g.limit);
    bool all = e->limits[g.limit].global;
    if (all && rejudge_recorded_by_any(s, e, g.limit, &first, &last))
        g.begin = saturate_least(g.begin, saturate_add(first, s->nodes[0].ahead - s->nodes[g.node].ahead));
    else if (!all && rejudge_recorded(s, e, g.limit, g.node, &first, &last))
        g.begin = saturate_least(g.begin, first);
    bool too_long = saturate_sub(g.end, g.begin) / step > INSTANTS_MOST;
    g.why = too_long || records_of(s, l->node, all) > RECORDS_MOST ? "it is too long" : rejudge_why_not(s, e, &g);
    return g;
}

/* Whether all of limit `i` was judged: what was known of some nodes alone would not fit to the others. */
static bool is_judged(const struct summary *found, uint32_t i)
{
    bool all = true;
    for (size_t g = 0; g < found->gap_count; g++)
        all = all && (found->gaps[g].limit != i || found->gaps[g].judged);
    return all;
}

/*
 * Puts what was found of limit `i` in the place of what was judged of it. Gaps in which bezeld was away stay, and
 * say when that was.
 */
static int replace(struct summary *s, const struct experiment *e, uint32_t i, const struct summary *found)
{
    bool away = !is_short(s, e, i);
    if (away)
        rejudge_forget_violations(s, i);
    else
        rejudge_forget(s, i);
    if (!grow_to(&s->gaps, s->gap_count + found->gap_count, sizeof *s->gaps))
        return BEZEL_ENOMEM;
    for (size_t k = 0; k < found->gap_count; k++) {
        const struct history_gap *g = &found->gaps[k];
        struct builtin_limit *l = g->limit == i ? verdict_row_at(s, g->node, i, g->end) : NULL;
        if (!l)
            continue;
        l->unknown = l->unjudged = saturate_sub(g->end, g->begin);
        l->settling = l->held = l->violated = l->last_violated = 0;
        l->worst = NAN;
        if (!away)
            s->gaps[s->gap_count++] = *g;
        rejudge_take_gap(s, e, g);
    }
    return 0;
}

/*
 * Nothing tells what limit `i` was in the first window behind a restart: what was held there is not known. A time
 * between records, or the value that lasts into a window, is unknown for longer.
 */
static int doubt(struct summary *s, const struct experiment *e, uint32_t i, const char *why)
{
    const struct experiment_metric *m = &e->metrics[e->limits[i].metric];
    bool lasts = experiment_metric_is_of_arrivals(m) || m->kind == METRIC_TIME_MEAN;
    int64_t window = lasts ? INT64_MAX : (m->tumbles ? 2 : 1) * experiment_limit_window(e, &e->limits[i]);
    size_t count = s->gap_count;
    if (!grow_to(&s->gaps, 2 * count, sizeof *s->gaps))
        return BEZEL_ENOMEM;
    for (size_t k = 0; k < count; k++) {
        struct history_gap g = s->gaps[k];
        struct builtin_limit *l = g.limit == i && g.restarted ? verdict_row_at(s, g.node, i, g.end) : NULL;
        int64_t end = saturate_add(g.end, window);
        if (!l || g.end >= l->at)
            continue;
        g = (struct history_gap){.node = g.node,
                                 .limit = i,
                                 .begin = g.end,
                                 .end = saturate_least(end, l->at),
                                 .restarted = true,
                                 .worst = NAN,
                                 .why = why};
        int64_t held = saturate_least(l->held, g.end - g.begin);
        l->held -= held;
        l->unknown = saturate_add(l->unknown, held);
        l->unjudged = saturate_least(l->unknown, saturate_add(l->unjudged, g.end - g.begin));
        s->gaps[s->gap_count++] = g;
    }
    return 0;
}

static int take(struct summary *s, const struct experiment *e, const struct summary *judged,
                const struct replay_found *f)
{
    int err = 0;
    for (uint32_t i = 0; i < e->limit_count && !err; i++) {
        bool any = false;
        const char *why = NULL;
        for (size_t g = 0; g < judged->gap_count; g++) {
            any = any || judged->gaps[g].limit == i;
            why = judged->gaps[g].limit == i && judged->gaps[g].why ? judged->gaps[g].why : why;
        }
        if (any && !is_judged(judged, i) && is_cut(s, e, i))
            err = doubt(s, e, i, why);
        if (!any || !is_judged(judged, i))
            continue;
        err = replace(s, e, i, judged);
        for (size_t v = 0; v < f->count && !err; v++)
            if (f->violations[v].limit == i)
                err = rejudge_add_violations(s, e, &f->violations[v], 1);
    }
    return err;
}

/* The limits with instants so far apart, in one reading. */
static int judge(const char *run, struct summary *s, const struct experiment *e, const int64_t *steps, int64_t step)
{
    struct replay_found found = {0};
    struct experiment often = *e;
    often.adapt.every = step;
    struct summary judged = *s;
    judged.gap_count = 0;
    judged.gaps = calloc(s->limit_count + 1, sizeof *judged.gaps);
    if (!judged.gaps)
        return BEZEL_ENOMEM;
    bool any = false;
    for (size_t row = 0; row < s->limit_count; row++) {
        int64_t i = s->limits[row].limit;
        if (i < 0 || i >= e->limit_count || steps[i] != step)
            continue;
        struct history_gap *g = &judged.gaps[judged.gap_count++];
        *g = gap_of(s, e, &s->limits[row], step);
        if (!g->why && e->limits[i].global)
            g->why = rejudge_why_not(s, &often, g); /* clocks are to be known to such a step */
        any = any || !g->why;
    }
    int err = any ? replay_gaps(run, &judged, &often, &found) : 0;
    err = err ? err : take(s, e, &judged, &found);
    free(found.violations);
    free(judged.gaps);
    return err;
}

int rejudge_windows(const char *run, struct summary *s, const struct experiment *e)
{
    int64_t *steps = calloc(e->limit_count + 1, sizeof *steps); /* 0: it is not judged again */
    int err = steps ? 0 : BEZEL_ENOMEM;
    for (uint32_t i = 0; i < e->limit_count && !err; i++)
        steps[i] = is_short(s, e, i) ? step_of(s, e, i) : is_cut(s, e, i) ? e->adapt.every : 0;
    for (uint32_t i = 0; i < e->limit_count && !err; i++) {
        bool first = steps[i] > 0;
        for (uint32_t k = 0; k < i; k++)
            first = first && steps[k] != steps[i];
        err = first ? judge(run, s, e, steps, steps[i]) : 0;
    }
    free(steps);
    return err;
}
