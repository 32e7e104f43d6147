// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * DPP, dynamic polling period, as in the dissertation (5.5.3.2). The period doubles at a sampling instant at which a
 * limit is violated; if the double exceeds the upper bound, collection is turned off instead. It resumes, at the upper
 * bound, at the first instant at which no known limit is violated. The period halves at every instant at which none is
 * violated, down to exactly the lower bound. While no limit is known nothing changes. All members change together.
 */
#include "resmgr/policies/policy_internal.h"

static void lengthen(const struct policy_state *s, struct policy_member *m)
{
    if (m->period > s->period_max / 2)
        m->on = false;
    else
        m->period *= 2;
}

static void shorten(const struct policy_state *s, struct policy_member *m)
{
    if (m->period > s->period_min)
        m->period = m->period / 2 < s->period_min ? s->period_min : m->period / 2;
}

void policy_rule_dpp(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    (void)actions;
    enum limit_state worst = policy_worst(seen);
    if (worst == LIMIT_UNKNOWN)
        return;
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        if (m->on && worst == LIMIT_VIOLATED) {
            lengthen(state, m);
        } else if (m->on) {
            shorten(state, m);
        } else if (worst == LIMIT_HELD) {
            m->on = true;
            m->period = state->period_max;
        }
    }
}
