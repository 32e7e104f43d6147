// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Turns collection off where the budget is infeasible: at the longest period the monitor was measured to need more. The
 * verdict has the numbers. Collection resumes when the expected use fits in the budget for a while, or else after some
 * patience, which doubles with each failure, because a change of the cost cannot be observed while collection is off.
 * Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_CUTOFF_H
#define BEZEL_RESMGR_CONTROL_CUTOFF_H

#include "resmgr/control/policy_state.h"

/**
 * A sampling instant of member `i` with `budget` (percent of one CPU; INFINITY: none), after qos_backoff_step(), which
 * may want the member off as well. Turns the member on or off, and writes the verdict.
 */
void cutoff_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i, double budget,
                 struct policy_actions *actions);

/**
 * The same for the budget of all members together, after cutoff_step() of each. If all are at the longest period and
 * their sum exceeds the budget, the least important is turned off (of equals the last).
 */
void cutoff_global(struct policy_state *state, double budget, struct policy_actions *actions);

#endif
