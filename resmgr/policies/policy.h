// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Adaptation policies: pure functions from a state and an observation to the next state and what changed. The same code
 * runs in each agent, in a resource manager, in the simulator and in the tests; docs/ADAPTATION.md describes the
 * policies for users.
 *
 * A policy steers members: nodes, each with a polling period and a switch. An agent has one member, its node; a manager
 * has one for each node of the run. A limit, or an operator's period, is of one member or of POLICY_ALL.
 *
 * A policy is one file in resmgr/policies/ with one function (resmgr/policies/policy_internal.h), and one line in
 * EXPERIMENT_POLICIES (config/policies.h).
 *
 * Guarantees, whatever is observed, and whatever a policy does wrong:
 * - A member's period stays within the bounds of the file (of a policy that moves it; the others leave it alone).
 * - Impossible values are unknown: a CPU share that is negative, beyond POLICY_CPU_MAX or not finite, a value that is
 *   not finite, time that stands still, runs backwards or jumps.
 * - Unknown is neither held nor violated. Where nothing at all is known, nothing changes.
 */
#ifndef BEZEL_RESMGR_POLICIES_POLICY_H
#define BEZEL_RESMGR_POLICIES_POLICY_H

#include "resmgr/control/policy_state.h"

/**
 * The state in which an experiment starts: `count` members on, at the file's period, of equal weight. state->members is
 * set already, with room for them. Pure.
 */
void policy_start(struct policy_state *state, const struct experiment_adapt *adapt, int64_t period, uint32_t count);

/** An operator set another period, ns, for `member` or POLICY_ALL: it is in force. Pure. */
void policy_set_period(struct policy_state *state, int member, int64_t period);

/** Sets how many importances of aspects of `member` may be shed from now on. Pure. */
void policy_set_levels(struct policy_state *state, uint32_t member, uint32_t levels);

/**
 * One sampling instant: updates *state, and writes the changes and the verdict into *actions and the elements of
 * actions->members. Makes impossible values in *seen unknown, and links its limits. Pure.
 */
void policy_step(struct policy_state *state, struct policy_observation *seen, struct policy_actions *actions);

/** Whether `percent` of a CPU is possible for a monitor. Pure. */
bool policy_cpu_is_sane(double percent);

/** The action that leads from one setting to the other. Pure. */
enum policy_action policy_action_between(struct policy_setting before, struct policy_setting after);

/** "keep", "shorten", "lengthen", "off", "resume". */
const char *policy_action_name(enum policy_action action);

#endif
