// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/resort.h"

#include "base/clock.h"
#include "resmgr/allowance.h"
#include "resmgr/sense.h"
#include "resmgr/shed.h"

#include <math.h>

#define PATIENCE     (20 * CLOCK_S)
#define PATIENCE_MAX (160 * CLOCK_S)

enum {
    EVIDENCE = 3, /* windows at the longest period, over the budget */
    FITTING = 4,  /* the share of the patience, as a divisor, after which a prediction that fits is believed */
};

static bool is_at_the_end(const struct policy_state *s, const struct policy_member *m)
{
    return m->period >= s->period_max && m->sense.windows >= EVIDENCE;
}

static void turn_off(struct policy_resort *r, double needed, bool whole)
{
    r->over = true;
    r->whole = whole;
    r->needed = needed;
    r->patience = r->patience == 0 ? PATIENCE : r->patience < PATIENCE_MAX / 2 ? r->patience * 2 : PATIENCE_MAX;
    r->waited = 0;
}

static void turn_on(struct policy_resort *r)
{
    r->over = false;
    r->waited = 0;
}

/* `others`: the use that stays whether this member is on or not; `least`: what it adds at the longest period. */
static bool may_resume(const struct policy_resort *r, double others, double least, double budget)
{
    double target = ALLOWANCE_TARGET * budget;
    if (others > target)
        return false;
    return r->waited >= (others + least <= target ? r->patience / FITTING : r->patience);
}

static double use_now(const struct policy_member *m)
{
    return m->sense.windows > 0      ? m->sense.use
           : m->on && m->sense.known ? sense_use(&m->sense, m->period)
                                     : m->sense.base;
}

static void switch_member(const struct policy_state *s, struct policy_member *m)
{
    bool on = !m->resort.over && !m->allowance.off;
    if (on && !m->on)
        m->period = s->period_max;
    m->on = on;
}

static void say(struct policy_actions *actions, int member, double needed, double budget)
{
    if (!isfinite(budget) || (actions->infeasible && needed - budget <= actions->needed - actions->budget))
        return;
    actions->infeasible = true;
    actions->infeasible_member = member;
    actions->needed = needed;
    actions->budget = budget;
}

void resort_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i, double budget,
                 struct policy_actions *actions)
{
    struct policy_member *m = &state->members[i];
    struct policy_resort *r = &m->resort;
    double least = m->sense.known ? 100 * m->sense.cost / (double)state->period_max : 0;
    if (r->waited < PATIENCE_MAX && !seen->members[i].unconfirmed)
        r->waited += seen->members[i].elapsed;
    bool too_much = !r->over && m->on && is_at_the_end(state, m) && m->sense.use > budget;
    double use = m->sense.use;
    if (too_much && shed_more(m))
        r->waited = 0;
    else if (too_much)
        turn_off(r, use, false);
    else if (r->over && !r->whole && may_resume(r, use_now(m), least, budget))
        turn_on(r);
    else if (!r->over && m->period < state->period_max && r->waited >= r->patience)
        r->patience = 0; /* it fits in again, and has for long */
    shed_step(state, m, &seen->members[i]);
    switch_member(state, m);
    if (r->over && !r->whole)
        say(actions, (int)i, r->needed, budget);
    if (m->allowance.blame == BLAME_GIVEN_UP)
        actions->blameless |= UINT64_C(1) << i;
}

void resort_whole(struct policy_state *state, const struct policy_observation *seen, double budget,
                  struct policy_actions *actions)
{
    (void)seen;
    double sum = 0;
    struct policy_member *least = NULL, *shedding = NULL, *returning = NULL;
    bool end = true;
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        sum += use_now(m);
        end = end && (!m->on || is_at_the_end(state, m));
        if (m->on && (!least || m->weight <= least->weight))
            least = m;
        if (m->on && m->shed.count < m->shed.levels && (!shedding || m->weight <= shedding->weight))
            shedding = m;
        if (m->resort.over && m->resort.whole && (!returning || m->weight > returning->weight))
            returning = m;
    }
    if (end && shedding && sum > budget) {
        (void)shed_more(shedding);
    } else if (end && least && sum > budget) {
        turn_off(&least->resort, sum, true);
        switch_member(state, least);
    } else if (returning &&
               may_resume(&returning->resort, sum, 100 * returning->sense.cost / (double)state->period_max, budget)) {
        turn_on(&returning->resort);
        switch_member(state, returning);
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (state->members[i].resort.over && state->members[i].resort.whole)
            say(actions, POLICY_ALL, state->members[i].resort.needed, budget);
}
