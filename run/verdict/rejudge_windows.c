// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Limits whose windows are shorter than the time between two sampling instants: records between the windows are in no
 * value that was judged. Where an ended run has all records, they are judged again: windows that follow one another at
 * an instant in each, and those that slide at INSTANTS in each.
 */
#include "run/verdict/rejudge.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "run/verdict/rejudge_replay.h"
#include "run/verdict/verdict_internal.h"

#include <math.h>
#include <stdlib.h>

enum { INSTANTS = 8, INSTANTS_MOST = 200000, RECORDS_MOST = 5000000 }; /* of a node, as every report takes that time */

/*
 * What adaptation did belongs to the instants that it had; and of silences the records tell less than the instants. A
 * rate or count of a window that follows another one has no value where no instant was in it.
 */
static bool is_short(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (!m || !m->aspect || l->kind != LIMIT_EXPECT || l->global || m->window >= e->adapt.every)
        return false;
    return experiment_metric_is_counted(m) ? m->tumbles && l->compare == COMPARE_AT_MOST /* fewer are silence */
                                           : !experiment_metric_is_of_arrivals(m);
}

/* ns between the instants at which limit `l` is judged again. */
static int64_t step_of(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = &e->metrics[l->metric];
    return m->tumbles || m->window < INSTANTS ? m->window : m->window / INSTANTS;
}

static uint64_t records_of(const struct summary *s, uint32_t node)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t b = 0; s->processes[i].node == node && b < s->processes[i].book_count; b++)
            sum += s->processes[i].books[b].stored;
    return sum;
}

/* All of the time of row `l`, also where its total, which does not reach up to `at`, leaves out its first records. */
static struct history_gap gap_of(const struct summary *s, const struct experiment *e, const struct builtin_limit *l)
{
    int64_t first, last;
    struct history_gap g = {.node = l->node,
                            .limit = (uint32_t)l->limit,
                            .begin = saturate_sub(l->at, verdict_row_total(l)),
                            .end = l->at,
                            .sparse = true,
                            .worst = NAN};
    if (rejudge_recorded(s, e, g.limit, g.node, &first, &last))
        g.begin = saturate_least(g.begin, first);
    bool too_long = saturate_sub(g.end, g.begin) / step_of(e, &e->limits[g.limit]) > INSTANTS_MOST;
    g.why = too_long || records_of(s, l->node) > RECORDS_MOST ? "it is too long" : rejudge_why_not(s, e, &g);
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

/* Puts what was found of limit `i` in the place of what was judged of it. */
static int replace(struct summary *s, const struct experiment *e, uint32_t i, const struct summary *found)
{
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
        s->gaps[s->gap_count++] = *g;
        rejudge_take_gap(s, e, g);
    }
    return 0;
}

static int take(struct summary *s, const struct experiment *e, const struct summary *judged,
                const struct replay_found *f)
{
    int err = 0;
    for (uint32_t i = 0; i < e->limit_count && !err; i++) {
        bool any = false;
        for (size_t g = 0; g < judged->gap_count; g++)
            any = any || judged->gaps[g].limit == i;
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
static int judge(const char *run, struct summary *s, const struct experiment *e, int64_t step)
{
    struct replay_found found = {0};
    struct experiment often = *e;
    struct summary judged = *s;
    judged.gap_count = 0;
    judged.gaps = calloc(s->limit_count + 1, sizeof *judged.gaps);
    if (!judged.gaps)
        return BEZEL_ENOMEM;
    bool any = false;
    for (size_t row = 0; row < s->limit_count; row++) {
        int64_t i = s->limits[row].limit;
        if (i < 0 || i >= e->limit_count || !is_short(e, &e->limits[i]) || step_of(e, &e->limits[i]) != step)
            continue;
        struct history_gap *g = &judged.gaps[judged.gap_count++];
        *g = gap_of(s, e, &s->limits[row]);
        any = any || !g->why;
    }
    often.adapt.every = step;
    int err = any ? replay_gaps(run, &judged, &often, &found) : 0;
    err = err ? err : take(s, e, &judged, &found);
    free(found.violations);
    free(judged.gaps);
    return err;
}

int rejudge_windows(const char *run, struct summary *s, const struct experiment *e)
{
    int err = 0;
    for (uint32_t i = 0; i < e->limit_count && !err; i++) {
        const struct experiment_limit *l = &e->limits[i];
        bool first = is_short(e, l);
        for (uint32_t k = 0; k < i && first; k++)
            first = !is_short(e, &e->limits[k]) || step_of(e, &e->limits[k]) != step_of(e, l);
        err = first ? judge(run, s, e, step_of(e, l)) : 0;
    }
    return err;
}
