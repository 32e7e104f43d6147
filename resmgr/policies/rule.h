// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A policy from the inside: one function that moves the members of a state. It may set `on` and `period` of each
 * member, its memory, and the verdict in *actions; which actions that makes, and that periods stay within bounds, is
 * policy.c's. `seen` holds nothing that cannot be true, and member_count is the state's.
 */
#ifndef BEZEL_RESMGR_RULE_H
#define BEZEL_RESMGR_RULE_H

#include "resmgr/policy.h"

typedef void policy_rule(struct policy_state *state, const struct policy_observation *seen,
                         struct policy_actions *actions);

#define POLICY_RULE(NAME, name, word, moves) policy_rule policy_rule_##name;
EXPERIMENT_POLICIES(POLICY_RULE)
#undef POLICY_RULE

/** The worst that is known of the limits that polling less may help: violated before held before unknown. */
enum limit_state policy_worst(const struct policy_observation *seen);

#endif
