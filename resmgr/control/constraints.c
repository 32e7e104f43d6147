// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/constraints.h"

#include "resmgr/control/cutoff.h"
#include "resmgr/control/freshness.h"
#include "resmgr/control/qos_backoff.h"

struct constraints constraints_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                                    double budget, struct policy_actions *actions)
{
    const struct policy_member *m = &state->members[i];
    freshness_step(state, seen, i, actions);
    qos_backoff_step(state, seen, i);
    cutoff_step(state, seen, i, budget, actions);
    int64_t desired = qos_backoff_desired(state, i, qos_backoff_budget(state, seen, i));
    return (struct constraints){
        .on = m->on,
        .shortest = m->qos_backoff.shortest > desired ? m->qos_backoff.shortest : desired,
        .longest = state->period_max,
        .settling = qos_backoff_settling(state, seen, i),
        .budget = budget,
    };
}

void constraints_step_each(struct policy_state *state, const struct policy_observation *seen,
                           struct policy_actions *actions,
                           int64_t (*next_period)(struct policy_member *, const struct constraints *))
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        struct constraints c = constraints_step(state, seen, i, qos_backoff_budget(state, seen, i), actions);
        if (c.on)
            m->period = next_period(m, &c);
    }
}

int64_t constraints_clamp(const struct constraints *c, double period)
{
    return period < (double)c->shortest ? c->shortest : period > (double)c->longest ? c->longest : (int64_t)period;
}
