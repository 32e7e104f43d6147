// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Nothing is adapted. */
#include "resmgr/policies/policy_internal.h"

void policy_rule_none(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions)
{
    (void)state;
    (void)seen;
    (void)actions;
}
