// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The last resort: polling is off where the monitor was measured to need more than its budget at the longest period,
 * and that is said with the numbers. It is tried again when the use to expect fits in, or else after some patience,
 * which doubles with each failure: what made it too much cannot be seen while off. Pure.
 */
#ifndef BEZEL_RESMGR_RESORT_H
#define BEZEL_RESMGR_RESORT_H

#include "resmgr/policy.h"

/**
 * A sampling instant of member `i` with `budget` (percent; INFINITY: none). Turns the member on or off, which qualities
 * have their say in too (allowance_step() before), and writes the verdict.
 */
void resort_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i, double budget,
                 struct policy_actions *actions);

/**
 * The same for the budget of all members together, after resort_step() of each: with all of them at the longest period
 * and the sum beyond it, the least important is turned off (of equals the last).
 */
void resort_whole(struct policy_state *state, const struct policy_observation *seen, double budget,
                  struct policy_actions *actions);

#endif
