// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Bounds on the period from limits on the flow of records: their latency, en-route ratio and loss. Polling more often
 * helps such a limit, so it bounds the period from above.
 *
 * - If the limit is violated, the bound becomes half of the period, or down to an eighth if the limit has not held
 *   before and is far off. The next reduction waits until the effect of the last one shows.
 * - If the limit holds with half of its bound to spare, the bound grows by a step after some patience, which doubles if
 *   that step violates the limit.
 * - Budgets and qualities have priority: they bound the period from below. If the limit is still violated when they,
 *   or the lower bound of the file, allow no shorter period, the member is starved, which the verdict reports.
 * - If polls were deferred lately because the budget was used up, a violation shortens nothing.
 *
 * Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_FRESHNESS_H
#define BEZEL_RESMGR_CONTROL_FRESHNESS_H

#include "resmgr/control/policy_state.h"

/** A sampling instant: updates the bound of member `i`, and the verdict. */
void freshness_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                    struct policy_actions *actions);

/** `period`, ns, or the bound of `m` where that is shorter. */
int64_t freshness_bound(const struct policy_member *m, int64_t period);

/** Whether polls were deferred in the last `lately` ns: to poll more often is not possible. */
bool freshness_is_pressed(const struct policy_member *m, int64_t lately);

/** The longest period, ns, at which even late polls find no ring full, by what they found lately; 0: unknown. */
int64_t freshness_lossless(const struct policy_member *m);

#endif
