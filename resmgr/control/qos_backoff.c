// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/qos_backoff.h"

#include "base/clock_units.h"
#include "resmgr/control/cost_model.h"
#include "resmgr/control/freshness.h"
#include "resmgr/control/load_shedding.h"

#include <math.h>

#define PATIENCE_MIN (10 * CLOCK_S)
#define PATIENCE     (30 * CLOCK_S)
#define PATIENCE_MAX (320 * CLOCK_S) /* a failed probe violates a limit for about its window: below 1 % of the time */
#define GAIN         0.2             /* of the shortfall: less is chance, not a help */
#define NEXT_TO_FAIL 1.25            /* times the period that failed: where a recovery halts */
#define RECOVERY     1.5             /* a step of it */
#define PROBE        1.25            /* the first step beyond, and the step after a failure */
#define PROBE_MAX    16.0
#define CONTRAST     1.5 /* times the rate of polls: so far apart, two uses show what polls cost */
#define NEXT_TO_NONE 2.0 /* percent of one CPU: a monitor that uses less violates no quality */

enum {
    FACTOR = 4,  /* by which a backoff lengthens the period */
    LATE = 2,    /* settling times after which a violation is no effect of a move */
    SAMPLES = 2, /* sampling periods until a decision is carried out and its effect is measured */
};

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

double qos_backoff_strictest(const struct policy_observation *seen, int member)
{
    double budget = INFINITY;
    for (const struct policy_limit *l = policy_limits_of(seen, member); l; l = policy_next_of(seen, l))
        if (l->on_cpu && l->compare == COMPARE_AT_MOST && isfinite(l->bound))
            budget = fmin(budget, l->bound);
    return budget;
}

double qos_backoff_budget(const struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    return fmin(qos_backoff_strictest(seen, (int)i),
                qos_backoff_strictest(seen, POLICY_ALL) * state->members[i].weight / state->weights);
}

int64_t qos_backoff_settling(const struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    int64_t window = 0;
    for (const struct policy_limit *l = policy_first_about(seen, i); l; l = policy_next_about(seen, i, l))
        if (!l->on_cpu && l->window > window) /* policies go by the use since the last decision */
            window = l->window;
    return seen->dead_time + window + SAMPLES * state->every;
}

int64_t qos_backoff_desired(const struct policy_state *state, uint32_t i, double budget)
{
    const struct policy_member *m = &state->members[i];
    int64_t desired = isfinite(budget) ? state->period_min : freshness_bound(m, m->desired);
    return desired < state->period_min ? state->period_min : desired > state->period_max ? state->period_max : desired;
}

/* The quality to answer: the worst of those that are known. */
static const struct policy_limit *find_quality(const struct policy_observation *seen, uint32_t i)
{
    const struct policy_limit *found = NULL;
    for (const struct policy_limit *l = policy_first_about(seen, i); l; l = policy_next_about(seen, i, l)) {
        if (l->on_cpu || l->on_flow || l->state == LIMIT_UNKNOWN)
            continue;
        if (!found || policy_is_worse(l, found))
            found = l;
    }
    return found;
}

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

static int64_t longer(const struct policy_state *s, int64_t period, double factor)
{
    return (double)period * factor < (double)s->period_max ? (int64_t)((double)period * factor) : s->period_max;
}

/* The actual period: polls may take longer than the period that is set. */
static int64_t actual_period(const struct policy_member *m)
{
    double rate = m->cost_model.windows > 0 ? m->cost_model.last_rate : 0;
    return rate > 0 && 1 / rate > (double)m->period && 1 / rate < 1e18 ? (int64_t)(1 / rate) : m->period;
}

/* The use as measured at this period, or as expected, percent of one CPU; NaN: unknown. */
static double use_now(const struct policy_member *m)
{
    return m->cost_model.windows > 0 ? m->cost_model.use : cost_model_use(&m->cost_model, m->period);
}

/*
 * What polls cost, by the use before and after a backoff. The cost model takes samplers, which a violation keeps at
 * their own periods, for polls, at first all of them and later a part.
 */
static void measure_polls(struct policy_member *m)
{
    const struct policy_cost_model *c = &m->cost_model;
    struct policy_qos_backoff *a = &m->qos_backoff;
    if (c->windows > 0 && c->rate > 0 && a->rate >= CONTRAST * c->rate)
        a->polls = fmax(1, (a->use - c->use) / (a->rate - c->rate));
}

/* The use of polls alone, percent of one CPU; NaN: unknown. */
static double use_of_polls(const struct policy_member *m)
{
    double modelled = cost_model_use(&m->cost_model, m->period) - m->cost_model.base, polls = m->qos_backoff.polls;
    return polls > 0 ? fmin(modelled, polls / (double)m->period) : modelled;
}

static void back_off(const struct policy_state *s, struct policy_member *m, double margin)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    int64_t fact = actual_period(m);
    a->rate = m->cost_model.windows > 0 ? m->cost_model.rate : 0;
    a->use = m->cost_model.use;
    a->failed = fact;
    a->shortest = longer(s, fact, FACTOR);
    a->step = PROBE;
    a->margin = margin;
    a->response = RESPONSE_REDUCED;
    a->probed = false;
    a->retry.waited = 0;
}

static bool is_next_to_none(const struct policy_state *s, const struct policy_member *m)
{
    return !m->on || m->period >= s->period_max || use_of_polls(m) < NEXT_TO_NONE;
}

static void begin_backoff(const struct policy_state *s, struct policy_member *m, double margin)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    if (a->shortest == 0) {
        a->before = m->period;
        a->used = use_now(m);
    }
    retry_timer_fail(&a->retry, a->probed, PATIENCE, PATIENCE_MAX);
    bool back = a->probed && a->good > m->period; /* at the period before the probe the quality held */
    a->first = margin;
    back_off(s, m, margin);
    int64_t whole = longer(s, a->before, FACTOR);
    if (is_next_to_none(s, m) && m->period < whole && a->shortest > whole)
        a->shortest = whole;
    if (back)
        a->shortest = a->good;
}

static bool is_better(double margin, double before)
{
    return margin - before > GAIN * fabs(before);
}

/* The period is what it was before the first backoff, at once. None is tried before the patience is over. */
static void undo(struct policy_member *m, int64_t desired)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    int64_t back = a->before > desired ? a->before : desired;
    a->shortest = a->failed = 0;
    a->off = a->probed = false;
    a->polls = 0;
    a->stands = a->retry.pause;
    if (!m->on || back >= m->period)
        return;
    m->period = back;
    m->since = 0;
    cost_model_changed(&m->cost_model); /* what was measured says nothing about this period */
}

/*
 * The monitor is not the cause. What got better counts as its doing only if it gave back more than next to nothing:
 * qualities get better by chance, too.
 */
static void give_up(struct policy_member *m, bool helped, int64_t desired)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    a->response = RESPONSE_GIVEN_UP;
    retry_timer_fail(&a->retry, true, PATIENCE, PATIENCE_MAX);
    if (!(helped && a->used - use_now(m) >= NEXT_TO_NONE))
        undo(m, desired);
}

/* The effect of a backoff shows, and the quality is still violated. */
static void judge_backoff(const struct policy_state *s, struct policy_member *m, double margin, int64_t desired)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    bool longest = m->period >= s->period_max;
    if (!is_next_to_none(s, m)) {
        back_off(s, m, margin);
    } else if (m->on && longest && is_better(margin, a->first) &&
               cost_model_use(&m->cost_model, s->period_max) - m->cost_model.base >= NEXT_TO_NONE) {
        a->off = !load_shedding_more(m);
        a->retry.waited = 0;
    } else {
        give_up(m, is_better(margin, a->first), desired);
    }
}

/*
 * Whether a further backoff would show nothing new, and only make the period longer each time that a violation comes
 * and passes by itself. Either a whole one is in force, and polls use as little as one leaves of next to nothing. Or
 * polls used next to nothing before, and the violation comes too long after the last move to be its effect.
 */
static bool is_enough(const struct policy_member *m, int64_t settling)
{
    const struct policy_qos_backoff *a = &m->qos_backoff;
    bool probe_failed = a->probed && a->good > m->period, late = a->retry.waited >= LATE * settling;
    if (a->shortest == 0 || probe_failed)
        return false;
    double use = use_of_polls(m);
    return (m->period / FACTOR >= a->before && use < NEXT_TO_NONE / FACTOR) ||
           (late && use * (double)m->period / (double)a->before < NEXT_TO_NONE);
}

/* A quality is violated that held. */
static void answer(const struct policy_state *s, struct policy_member *m, double margin, int64_t settling,
                   int64_t desired)
{
    struct policy_qos_backoff *a = &m->qos_backoff;
    if (a->stands > 0) {
        a->response = RESPONSE_GIVEN_UP;
        a->retry.waited = a->retry.pause - a->stands;
    } else if (is_enough(m, settling)) {
        give_up(m, true, desired); /* it held at this period, so the backoff may have helped */
    } else {
        begin_backoff(s, m, margin);
    }
}

/* The quality holds: a step back towards the desired period, if one is due. */
static void recover(const struct policy_state *s, struct policy_qos_backoff *a, int64_t settling, int64_t desired)
{
    int64_t halt = (int64_t)((double)a->failed * NEXT_TO_FAIL);
    bool probe = a->off || a->shortest <= halt;
    if (a->retry.waited < (probe ? a->retry.pause : settling))
        return;
    a->retry.waited = 0;
    if (a->off) {
        a->off = false;
        a->probed = true;
        a->good = 0;
    } else if (!probe) {
        int64_t next = (int64_t)((double)a->shortest / RECOVERY);
        a->shortest = next < halt ? halt : next;
    } else {
        if (a->probed)
            retry_timer_ease(&a->retry, PATIENCE_MIN);
        a->good = a->shortest;
        a->failed = (int64_t)((double)a->failed / a->step);
        a->shortest = (int64_t)((double)a->shortest / a->step);
        a->step = fmin(a->step * a->step, PROBE_MAX);
        a->probed = true;
    }
    if (a->shortest > desired && a->shortest > s->period_min)
        return;
    a->shortest = a->failed = 0;
    a->polls = 0;
}

/* ---- The step ---------------------------------------------------------------------------------------------------- */

/* Off for a quality that became unknown (one that is made of records does): only time turns the member on again. */
static void wait_blindly(struct policy_qos_backoff *a, int64_t elapsed)
{
    if (!a->off)
        return;
    retry_timer_pass(&a->retry, elapsed);
    if (!retry_timer_is_due(&a->retry))
        return;
    a->off = false;
    a->probed = true;
    a->good = 0;
    a->retry.waited = 0;
    a->response = RESPONSE_NONE;
}

void qos_backoff_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i)
{
    struct policy_member *m = &state->members[i];
    struct policy_qos_backoff *a = &m->qos_backoff;
    const struct policy_measure *measure = &seen->members[i];
    const struct policy_limit *quality = find_quality(seen, i);
    if (measure->elapsed == 0 || measure->unconfirmed)
        return;
    if (!quality) {
        wait_blindly(a, measure->elapsed);
        return;
    }
    bool violated = quality->state == LIMIT_VIOLATED;
    double margin = policy_margin(quality);
    int64_t settling = seen->dead_time + quality->window + SAMPLES * state->every;
    int64_t desired = qos_backoff_desired(state, i, qos_backoff_budget(state, seen, i));
    retry_timer_pass(&a->retry, measure->elapsed);
    a->stands = a->stands > measure->elapsed ? a->stands - measure->elapsed : 0;
    bool shows = a->response == RESPONSE_REDUCED && a->retry.waited >= settling;
    if (shows)
        measure_polls(m);
    if (violated && a->response == RESPONSE_NONE && !a->off) {
        answer(state, m, margin, settling, desired);
    } else if (violated && a->response == RESPONSE_REDUCED) {
        if (shows)
            judge_backoff(state, m, margin, desired);
    } else if (violated && a->response == RESPONSE_GIVEN_UP) {
        if (retry_timer_is_due(&a->retry) && !is_next_to_none(state, m))
            begin_backoff(state, m, margin);
    } else if (!violated && a->response != RESPONSE_NONE) {
        if (a->retry.waited >= settling) {
            a->response = RESPONSE_NONE;
            a->retry.waited = 0;
        }
    } else if (!violated && (a->shortest > 0 || a->off)) {
        recover(state, a, settling, desired);
    }
}
