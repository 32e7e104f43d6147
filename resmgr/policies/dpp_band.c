// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * DPP with a band: steps by a factor of two as in the dissertation, but
 *
 * - after a change nothing moves until observations show it;
 * - the period doubles when the use exceeds the target, and halves only when it is below BAND of the budget, so that
 *   twice the use still fits in. Without a budget the period does not become shorter than at the start;
 * - decisions use the smoothed use, not one sample;
 * - violated qualities are answered as in qos_backoff.h, because doubling where polling does not matter would end with
 *   collection off.
 */
#include "resmgr/control/constraints.h"
#include "resmgr/control/qos_backoff.h"
#include "resmgr/policies/policy_internal.h"

#include <math.h>

#define BAND 0.4 /* of the budget */

static int64_t next_period(struct policy_member *m, const struct constraints *c)
{
    if (m->period < c->shortest)
        return m->period < m->qos_backoff.shortest ? c->shortest : m->period;
    if (m->since < c->settling || m->cost_model.windows == 0)
        return m->period;
    if (m->cost_model.use > QOS_BACKOFF_TARGET * c->budget)
        return m->period > c->longest / 2 ? c->longest : m->period * 2;
    bool roomy = !isfinite(c->budget) || m->cost_model.use < BAND * c->budget;
    return !roomy ? m->period : m->period / 2 > c->shortest ? m->period / 2 : c->shortest;
}

void policy_rule_dpp_band(struct policy_state *state, const struct policy_observation *seen,
                          struct policy_actions *actions)
{
    constraints_step_each(state, seen, actions, next_period);
}
