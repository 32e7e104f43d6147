// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * AIMD: the rate of polls grows by a fixed amount while the use is below ADD_BELOW of the budget, and drops by a factor
 * where it is beyond DROP_ABOVE of it: to the target, by no more than half at once. After any change nothing moves
 * until what is observed shows it. The fixed amount is ADD_SHARE of the rate at which the last drop arrived; before the
 * first drop nothing tells what is much, and the rate doubles while less than DOUBLE_BELOW of the budget is used.
 */
#include "resmgr/allowance.h"
#include "resmgr/demand.h"
#include "resmgr/resort.h"
#include "resmgr/rule.h"
#include "resmgr/sense.h"

#include <math.h>

#define DROP_ABOVE   0.95
#define ADD_BELOW    0.8
#define DOUBLE_BELOW 0.4
#define ADD_SHARE    0.125

enum { OWN_ADD }; /* polls a ns; 0: there was no drop yet */

static double next_rate(struct policy_member *m, double budget)
{
    double rate = 1 / (double)m->period, use = m->sense.use;
    if (use > DROP_ABOVE * budget) {
        rate *= fmax(0.5, ALLOWANCE_TARGET * budget / use);
        m->own[OWN_ADD] = ADD_SHARE * rate;
    } else if (m->own[OWN_ADD] <= 0 && use < DOUBLE_BELOW * budget) {
        rate *= 2;
    } else if (use < ADD_BELOW * budget) {
        rate += m->own[OWN_ADD] > 0 ? m->own[OWN_ADD] : ADD_SHARE * rate;
    }
    return rate;
}

static int64_t next_period(struct policy_state *s, const struct policy_observation *seen, uint32_t i, double budget)
{
    struct policy_member *m = &s->members[i];
    int64_t shortest = allowance_desired(s, i, budget);
    if (m->allowance.shortest > shortest)
        shortest = m->allowance.shortest;
    if (m->period < m->allowance.shortest || !isfinite(budget))
        return shortest;
    if (m->since < allowance_settling(s, seen, i) || m->sense.windows == 0)
        return m->period;
    double rate = next_rate(m, budget);
    if (rate == 1 / (double)m->period)
        return m->period;
    return 1 / rate < (double)shortest        ? shortest
           : 1 / rate > (double)s->period_max ? s->period_max
                                              : (int64_t)(1 / rate);
}

void policy_rule_aimd(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        double budget = allowance_budget(state, seen, i);
        demand_step(state, seen, i, actions);
        allowance_step(state, seen, i);
        resort_step(state, seen, i, budget, actions);
        if (m->on)
            m->period = next_period(state, seen, i, budget);
    }
}
