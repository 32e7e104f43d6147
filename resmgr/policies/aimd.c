// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * AIMD: the rate of polls grows by a fixed amount while the use is below ADD_BELOW of the budget. Beyond DROP_ABOVE it
 * drops by a factor: to the target, by at most half at once. After a change nothing moves until observations show it.
 * The fixed amount is ADD_SHARE of the rate after the last drop. Before the first drop there is no such scale, and the
 * rate doubles while less than DOUBLE_BELOW of the budget is used.
 */
#include "resmgr/control/constraints.h"
#include "resmgr/control/qos_backoff.h"
#include "resmgr/policies/policy_internal.h"

#include <math.h>

#define DROP_ABOVE   0.95
#define ADD_BELOW    0.8
#define DOUBLE_BELOW 0.4
#define ADD_SHARE    0.125

enum { OWN_ADD }; /* polls per ns; 0: no drop yet */

static double next_rate(struct policy_member *m, double budget)
{
    double rate = 1 / (double)m->period, use = m->cost_model.use;
    if (use > DROP_ABOVE * budget) {
        rate *= fmax(0.5, QOS_BACKOFF_TARGET * budget / use);
        m->own[OWN_ADD] = ADD_SHARE * rate;
    } else if (m->own[OWN_ADD] <= 0 && use < DOUBLE_BELOW * budget) {
        rate *= 2;
    } else if (use < ADD_BELOW * budget) {
        rate += m->own[OWN_ADD] > 0 ? m->own[OWN_ADD] : ADD_SHARE * rate;
    }
    return rate;
}

static int64_t next_period(struct policy_member *m, const struct constraints *c)
{
    if (m->period < m->qos_backoff.shortest || !isfinite(c->budget))
        return c->shortest;
    if (m->since < c->settling || m->cost_model.windows == 0)
        return m->period;
    double rate = next_rate(m, c->budget);
    return rate == 1 / (double)m->period ? m->period : constraints_clamp(c, 1 / rate);
}

void policy_rule_aimd(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    constraints_step_each(state, seen, actions, next_period);
}
