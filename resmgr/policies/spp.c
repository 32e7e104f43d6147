// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * SPP, static polling period, as in the dissertation (5.5.3.2): the period never changes. If a limit is violated at a
 * sampling instant, collection is turned off at all members. It resumes at the first instant at which no known limit is
 * violated. While no limit is known nothing changes.
 */
#include "resmgr/policies/policy_internal.h"

void policy_rule_spp(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    (void)actions;
    enum limit_state worst = policy_worst(seen);
    if (worst == LIMIT_UNKNOWN)
        return;
    for (uint32_t i = 0; i < state->count; i++)
        state->members[i].on = worst == LIMIT_HELD;
}
