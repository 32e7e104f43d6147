// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * SPP, static polling period, to the letter of the dissertation (5.5.3.2): the period never changes; where a limit is
 * broken at a sampling instant, collection is turned off at all members; it is on again at the first instant at which
 * no known limit is broken. Where no limit is known it keeps what it has.
 */
#include "resmgr/rule.h"

void policy_rule_spp(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    (void)actions;
    enum limit_state worst = policy_worst(seen);
    if (worst == LIMIT_UNKNOWN)
        return;
    for (uint32_t i = 0; i < state->count; i++)
        state->members[i].on = worst == LIMIT_HELD;
}
