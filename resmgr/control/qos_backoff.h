// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The bounds that a member must respect: the budget, from limits on the monitor's own CPU, and the shortest period that
 * limits on qualities of the application allow. How a quality depends on polling is unknown beforehand, and often it
 * does not. So:
 *
 * - When a quality is violated, the period becomes four times as long at once (a backoff). The effect is judged when
 *   the metric's window lies entirely after the change; another backoff follows if the quality is still violated.
 * - When the quality holds, the period returns step by step to just above the one that failed. That one is probed again
 *   after some patience, which doubles with each failure and halves with each success; the step of the probe grows.
 * - If polling next to nothing did not help either, the monitor is not the cause. The period is what it was before, at
 *   once; or it is kept if the quality improved without being repaired, and the monitor gave back more CPU than next to
 *   nothing. It is tried again after patience, during which that conclusion also stands for new violations.
 * - Where polls use next to nothing, backoffs do not add up to more than one. If a quality is violated while it is in
 *   force, or long after the last move, the monitor is not the cause either.
 *
 * While a quality is unknown nothing moves, and the time does not count. Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_QOS_BACKOFF_H
#define BEZEL_RESMGR_CONTROL_QOS_BACKOFF_H

#include "resmgr/control/policy_state.h"

#define QOS_BACKOFF_TARGET 0.9 /* of the budget: the use to aim at, so that noise does not exceed the budget */

/**
 * The strictest budget, in percent of one CPU; INFINITY: none. qos_backoff_strictest(): of `member`, or of POLICY_ALL
 * together. qos_backoff_budget(): of member `i`, including its part, by weight, of the budget of all.
 */
double qos_backoff_strictest(const struct policy_observation *seen, int member);
double qos_backoff_budget(const struct policy_state *state, const struct policy_observation *seen, uint32_t i);

/** ns from a decision for member `i` until all observations show it. */
int64_t qos_backoff_settling(const struct policy_state *state, const struct policy_observation *seen, uint32_t i);

/**
 * The shortest period to aim at, ns: the lower bound of the file if there is a budget, else the period that the file or
 * the operator set.
 */
int64_t qos_backoff_desired(const struct policy_state *state, uint32_t i, double budget);

/** A sampling instant: updates the bound of member `i`. */
void qos_backoff_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i);

#endif
