// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of a policy: one function that moves the members of a state. It may set `on` and `period` of each
 * member, its memory, and the verdict in *actions; policy.c keeps periods within bounds, and derives the actions.
 * `seen` has no impossible values, and as many members as the state.
 */
#ifndef BEZEL_RESMGR_POLICIES_POLICY_INTERNAL_H
#define BEZEL_RESMGR_POLICIES_POLICY_INTERNAL_H

#include "resmgr/policies/policy.h"

typedef void policy_rule(struct policy_state *state, const struct policy_observation *seen,
                         struct policy_actions *actions);

#define POLICY_RULE(NAME, name, word, abilities) policy_rule policy_rule_##name;
EXPERIMENT_POLICIES(POLICY_RULE)
#undef POLICY_RULE

/** The worst state of the limits that polling less may help: violated before held before unknown. */
enum limit_state policy_worst(const struct policy_observation *seen);

#endif
