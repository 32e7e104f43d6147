// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/allowance.h"

#include "base/clock.h"
#include "resmgr/demand.h"
#include "resmgr/sense.h"
#include "resmgr/shed.h"

#include <math.h>

#define PATIENCE_MIN (10 * CLOCK_S)
#define PATIENCE     (30 * CLOCK_S)
#define PATIENCE_MAX (320 * CLOCK_S) /* a failed probe breaks a limit for about its window: below 1 % of the time */
#define GAIN         0.2             /* of the shortfall: less is chance, not a help */
#define NEXT_TO_FAIL 1.25            /* times the period that failed: where a recovery halts */
#define RECOVERY     1.5             /* a step of it */
#define PROBE        1.25            /* the first step beyond, and the step after a failure */
#define PROBE_MAX    16.0
#define NEXT_TO_NONE 2.0 /* percent of one CPU: a monitor that uses less breaks no quality */

enum { SAMPLES = 2 }; /* sampling periods until a decision is carried out and what follows is measured */

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static bool concerns(const struct policy_limit *l, uint32_t i)
{
    return l->member == POLICY_ALL || l->member == (int)i;
}

static double strictest(const struct policy_observation *seen, int member)
{
    double budget = INFINITY;
    for (uint32_t j = 0; j < seen->limit_count; j++) {
        const struct policy_limit *l = &seen->limits[j];
        if (l->on_cpu && l->member == member && l->compare == COMPARE_AT_MOST && isfinite(l->bound))
            budget = fmin(budget, l->bound);
    }
    return budget;
}

double allowance_own(const struct policy_observation *seen, uint32_t i)
{
    return strictest(seen, (int)i);
}

double allowance_whole(const struct policy_observation *seen)
{
    return strictest(seen, POLICY_ALL);
}

double allowance_budget(const struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    double weights = 0;
    for (uint32_t k = 0; k < state->count; k++)
        weights += state->members[k].weight;
    return fmin(allowance_own(seen, i), allowance_whole(seen) * state->members[i].weight / weights);
}

int64_t allowance_settling(const struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    int64_t window = 0;
    for (uint32_t j = 0; j < seen->limit_count; j++)
        if (concerns(&seen->limits[j], i) && seen->limits[j].window > window)
            window = seen->limits[j].window;
    return seen->dead_time + window + SAMPLES * state->every;
}

int64_t allowance_desired(const struct policy_state *state, uint32_t i, double budget)
{
    const struct policy_member *m = &state->members[i];
    int64_t desired = isfinite(budget) ? state->period_min : demand_bound(m, m->desired);
    return desired < state->period_min ? state->period_min : desired > state->period_max ? state->period_max : desired;
}

/* The quality that is to be answered: a broken one before one that holds, then by priority, then the worst. */
static const struct policy_limit *find_quality(const struct policy_observation *seen, uint32_t i)
{
    const struct policy_limit *found = NULL;
    for (uint32_t j = 0; j < seen->limit_count; j++) {
        const struct policy_limit *l = &seen->limits[j];
        if (l->on_cpu || l->on_flow || l->state == LIMIT_UNKNOWN || !concerns(l, i))
            continue;
        bool before =
            !found || l->state > found->state ||
            (l->state == found->state && (l->priority < found->priority ||
                                          (l->priority == found->priority && policy_margin(l) < policy_margin(found))));
        if (before)
            found = l;
    }
    return found;
}

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

static int64_t longer(const struct policy_state *s, int64_t period, double factor)
{
    return (double)period * factor < (double)s->period_max ? (int64_t)((double)period * factor) : s->period_max;
}

/* As it really is: where polls take longer than their period, the period says nothing. */
static int64_t period_in_fact(const struct policy_member *m)
{
    double rate = m->sense.windows > 0 ? m->sense.last_rate : 0;
    return rate > 0 && 1 / rate > (double)m->period && 1 / rate < 1e18 ? (int64_t)(1 / rate) : m->period;
}

static void cut(const struct policy_state *s, struct policy_member *m, double margin)
{
    struct policy_allowance *a = &m->allowance;
    int64_t fact = period_in_fact(m);
    a->failed = fact;
    a->shortest = longer(s, fact, ALLOWANCE_CUT);
    a->step = PROBE;
    a->margin = margin;
    a->blame = BLAME_TRIED;
    a->probed = false;
    a->waited = 0;
}

static void begin_cuts(const struct policy_state *s, struct policy_member *m, double margin)
{
    struct policy_allowance *a = &m->allowance;
    if (a->probed)
        a->patience = a->patience * 2 > PATIENCE_MAX ? PATIENCE_MAX : a->patience * 2;
    if (a->patience == 0)
        a->patience = PATIENCE;
    bool back = a->probed && a->good > m->period; /* where it was before the probe, it held */
    a->first = margin;
    cut(s, m, margin);
    if (back)
        a->shortest = a->good;
}

static bool is_better(double margin, double before)
{
    return margin - before > GAIN * fabs(before);
}

static bool is_next_to_none(const struct policy_state *s, const struct policy_member *m)
{
    double use = sense_use(&m->sense, m->period) - m->sense.base;
    return !m->on || m->period >= s->period_max || use < NEXT_TO_NONE;
}

static void give_up(struct policy_allowance *a, double margin)
{
    a->blame = BLAME_GIVEN_UP;
    a->waited = 0;
    a->patience = a->patience * 2 > PATIENCE_MAX ? PATIENCE_MAX : a->patience * 2;
    if (is_better(margin, a->first))
        return;
    a->shortest = a->failed = 0;
    a->off = false;
}

/* The effect of a cut shows by now, and the quality is still broken. */
static void judge_cut(const struct policy_state *s, struct policy_member *m, double margin)
{
    struct policy_allowance *a = &m->allowance;
    bool longest = m->period >= s->period_max;
    if (!is_next_to_none(s, m) || (!longest && is_better(margin, a->margin))) {
        cut(s, m, margin);
    } else if (m->on && longest && is_better(margin, a->first) &&
               sense_use(&m->sense, s->period_max) - m->sense.base >= NEXT_TO_NONE) {
        a->off = !shed_more(m);
        a->waited = 0;
    } else {
        give_up(a, margin);
    }
}

/* The quality holds: a step back towards what is desired, where it is time for one. */
static void recover(const struct policy_state *s, struct policy_allowance *a, int64_t settling, int64_t desired)
{
    int64_t halt = (int64_t)((double)a->failed * NEXT_TO_FAIL);
    bool probe = a->off || a->shortest <= halt;
    if (a->waited < (probe ? a->patience : settling))
        return;
    a->waited = 0;
    if (a->off) {
        a->off = false;
        a->probed = true;
        a->good = 0;
    } else if (!probe) {
        int64_t next = (int64_t)((double)a->shortest / RECOVERY);
        a->shortest = next < halt ? halt : next;
    } else {
        if (a->probed)
            a->patience = a->patience / 2 < PATIENCE_MIN ? PATIENCE_MIN : a->patience / 2;
        a->good = a->shortest;
        a->failed = (int64_t)((double)a->failed / a->step);
        a->shortest = (int64_t)((double)a->shortest / a->step);
        a->step = fmin(a->step * a->step, PROBE_MAX);
        a->probed = true;
    }
    if (a->shortest <= desired || a->shortest <= s->period_min)
        a->shortest = a->failed = 0;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

/* Off for a quality that has become unknown, as one that is made of records does: nothing but time brings it back. */
static void wait_blindly(struct policy_allowance *a, int64_t elapsed)
{
    if (!a->off)
        return;
    a->waited += elapsed;
    if (a->waited < a->patience)
        return;
    a->off = false;
    a->probed = true;
    a->good = 0;
    a->waited = 0;
    a->blame = BLAME_NONE;
}

void allowance_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    struct policy_member *m = &state->members[i];
    struct policy_allowance *a = &m->allowance;
    const struct policy_measure *measure = &seen->members[i];
    const struct policy_limit *quality = find_quality(seen, i);
    if (measure->elapsed == 0 || measure->unconfirmed)
        return;
    if (!quality) {
        wait_blindly(a, measure->elapsed);
        return;
    }
    bool broken = quality->state == LIMIT_VIOLATED;
    double margin = policy_margin(quality);
    int64_t settling = seen->dead_time + quality->window + SAMPLES * state->every;
    int64_t desired = allowance_desired(state, i, allowance_budget(state, seen, i));
    if (a->waited < PATIENCE_MAX)
        a->waited += measure->elapsed;
    if (broken && a->blame == BLAME_NONE && !a->off) {
        begin_cuts(state, m, margin);
    } else if (broken && a->blame == BLAME_TRIED) {
        if (a->waited >= settling)
            judge_cut(state, m, margin);
    } else if (broken && a->blame == BLAME_GIVEN_UP) {
        if (a->waited >= a->patience && !is_next_to_none(state, m))
            begin_cuts(state, m, margin);
    } else if (!broken && a->blame != BLAME_NONE) {
        if (a->waited >= settling) {
            a->blame = BLAME_NONE;
            a->waited = 0;
        }
    } else if (!broken && (a->shortest > 0 || a->off)) {
        recover(state, a, settling, desired);
    }
}
