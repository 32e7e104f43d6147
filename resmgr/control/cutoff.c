// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/cutoff.h"

#include "base/clock_units.h"
#include "resmgr/control/cost_model.h"
#include "resmgr/control/load_shedding.h"
#include "resmgr/control/qos_backoff.h"

#include <math.h>

#define PATIENCE     (20 * CLOCK_S)
#define PATIENCE_MAX (160 * CLOCK_S)

enum {
    EVIDENCE = 3, /* windows at the longest period, over the budget */
    FITTING = 4,  /* divisor of the patience after which a prediction that fits is believed */
};

static bool is_at_the_end(const struct policy_state *s, const struct policy_member *m)
{
    return m->period >= s->period_max && m->cost_model.windows >= EVIDENCE;
}

static void turn_off(struct policy_cutoff *r, double needed, bool global)
{
    r->over = true;
    r->global = global;
    r->needed = needed;
    retry_timer_fail(&r->retry, true, PATIENCE, PATIENCE_MAX);
}

static void turn_on(struct policy_cutoff *r)
{
    r->over = false;
    r->retry.waited = 0;
}

/* `others`: use that does not depend on this member; `least`: what it adds at the longest period. */
static bool may_resume(const struct policy_cutoff *r, double others, double least, double budget)
{
    double target = QOS_BACKOFF_TARGET * budget;
    if (others > target)
        return false;
    return r->retry.waited >= (others + least <= target ? r->retry.pause / FITTING : r->retry.pause);
}

static double use_now(const struct policy_member *m)
{
    return m->cost_model.windows > 0      ? m->cost_model.use
           : m->on && m->cost_model.known ? cost_model_use(&m->cost_model, m->period)
                                          : m->cost_model.base;
}

static void switch_member(const struct policy_state *s, struct policy_member *m)
{
    bool on = !m->cutoff.over && !m->qos_backoff.off;
    if (on && !m->on)
        m->period = s->period_max;
    m->on = on;
}

static void report(struct policy_actions *actions, int member, double needed, double budget)
{
    if (!isfinite(budget) || (actions->infeasible && needed - budget <= actions->needed - actions->budget))
        return;
    actions->infeasible = true;
    actions->infeasible_member = member;
    actions->needed = needed;
    actions->budget = budget;
}

void cutoff_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i, double budget,
                 struct policy_actions *actions)
{
    struct policy_member *m = &state->members[i];
    struct policy_cutoff *r = &m->cutoff;
    double least = m->cost_model.known ? 100 * m->cost_model.cost / (double)state->period_max : 0;
    if (!seen->members[i].unconfirmed)
        retry_timer_pass(&r->retry, seen->members[i].elapsed);
    bool idle = m->cost_model.empty >= EVIDENCE; /* and uses the CPU nevertheless */
    double use = idle ? m->cost_model.base : m->cost_model.use;
    bool too_much = !r->over && m->on && (idle || is_at_the_end(state, m)) && use > budget;
    if (too_much && load_shedding_more(m))
        r->retry.waited = 0;
    else if (too_much)
        turn_off(r, use, false);
    else if (r->over && !r->global && may_resume(r, use_now(m), least, budget))
        turn_on(r);
    else if (!r->over && m->period < state->period_max && retry_timer_is_due(&r->retry))
        r->retry.pause = 0; /* the use has fitted in the budget for long */
    load_shedding_step(state, m, &seen->members[i]);
    switch_member(state, m);
    if (r->over && !r->global)
        report(actions, (int)i, r->needed, budget);
    if (m->qos_backoff.response == RESPONSE_GIVEN_UP)
        actions->members[i].not_the_monitors = true;
}

void cutoff_global(struct policy_state *state, double budget, struct policy_actions *actions)
{
    double sum = 0;
    struct policy_member *least = NULL, *shedding = NULL, *returning = NULL;
    bool end = true;
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        sum += use_now(m);
        end = end && (!m->on || is_at_the_end(state, m));
        if (m->on && (!least || m->weight <= least->weight))
            least = m;
        if (m->on && m->load_shedding.count < m->load_shedding.levels && (!shedding || m->weight <= shedding->weight))
            shedding = m;
        if (m->cutoff.over && m->cutoff.global && (!returning || m->weight > returning->weight))
            returning = m;
    }
    if (end && shedding && sum > budget) {
        (void)load_shedding_more(shedding);
    } else if (end && least && sum > budget) {
        turn_off(&least->cutoff, sum, true);
        switch_member(state, least);
    } else if (returning && may_resume(&returning->cutoff, sum,
                                       100 * returning->cost_model.cost / (double)state->period_max, budget)) {
        turn_on(&returning->cutoff);
        switch_member(state, returning);
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (state->members[i].cutoff.over && state->members[i].cutoff.global)
            report(actions, POLICY_ALL, state->members[i].cutoff.needed, budget);
}
