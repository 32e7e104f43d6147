// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What limits on the flow of the monitor's own records ask for: how old records become, how many are under way or lost.
 * Such a limit is helped by polling more often, so it bounds the period from above: where it is broken the bound
 * becomes a half, or, where the limit has not held before and is far off, down to an eighth of the period; the next cut
 * waits until the last one shows. Where the limit holds with half of its bound to spare, the
 * bound grows by a step after some patience, which doubles when that step breaks it. Budgets and qualities go first:
 * they bound the period from below. Where it cannot become shorter for them, or has reached the lower bound of the
 * file, and the limit is still broken, the demand is not met, and that is said. Pure.
 */
#ifndef BEZEL_RESMGR_DEMAND_H
#define BEZEL_RESMGR_DEMAND_H

#include "resmgr/policy.h"

/** A sampling instant: brings member `i`'s demand up to date. */
void demand_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                 struct policy_actions *actions);

/** `period`, or less where the demand of `m` is that. */
int64_t demand_bound(const struct policy_member *m, int64_t period);

#endif
