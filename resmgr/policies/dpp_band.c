// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * DPP repaired: steps by a factor of two as in the dissertation, but
 *
 * - after a change nothing moves until what is observed shows it (the cool-down covers the dead time);
 * - the period doubles where the use is beyond the target, and halves only where it is below BAND of the budget, so
 * that twice of it still fits in: without that it must double again. Without a budget it does not become shorter than
 * at the start;
 * - what it goes by is the smoothed use, not one sample of it;
 * - qualities are answered as allowance.h says, for doubling again and again where polling does not matter ends in off.
 */
#include "resmgr/allowance.h"
#include "resmgr/demand.h"
#include "resmgr/resort.h"
#include "resmgr/rule.h"
#include "resmgr/sense.h"

#include <math.h>

#define BAND 0.4 /* of the budget */

static int64_t next_period(const struct policy_state *s, const struct policy_observation *seen, uint32_t i,
                           double budget)
{
    const struct policy_member *m = &s->members[i];
    int64_t shortest = allowance_desired(s, i, budget);
    if (m->allowance.shortest > shortest)
        shortest = m->allowance.shortest;
    if (m->period < shortest)
        return m->period < m->allowance.shortest ? shortest : m->period;
    if (m->since < allowance_settling(s, seen, i) || m->sense.windows == 0)
        return m->period;
    if (m->sense.use > ALLOWANCE_TARGET * budget)
        return m->period > s->period_max / 2 ? s->period_max : m->period * 2;
    bool roomy = !isfinite(budget) || m->sense.use < BAND * budget;
    return !roomy ? m->period : m->period / 2 > shortest ? m->period / 2 : shortest;
}

void policy_rule_dpp_band(struct policy_state *state, const struct policy_observation *seen,
                          struct policy_actions *actions)
{
    for (uint32_t i = 0; i < state->count; i++) {
        double budget = allowance_budget(state, seen, i);
        demand_step(state, seen, i, actions);
        allowance_step(state, seen, i);
        resort_step(state, seen, i, budget, actions);
        if (state->members[i].on)
            state->members[i].period = next_period(state, seen, i, budget);
    }
}
