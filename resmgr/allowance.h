// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a member may use: the budget of limits on the monitor's own CPU, and what limits on qualities of the application
 * leave. How a quality depends on polling nobody knows beforehand, and often it does not at all. So:
 *
 * - Where a quality is broken, the period becomes ALLOWANCE_CUT times as long, at once; the effect is judged when the
 *   metric's whole window lies behind the change, and a further cut follows where the quality is still broken.
 * - Once it holds, the period returns step by step to just above the one that failed; that one is probed again only
 *   after some patience, which doubles with each failure and halves with each success, as the step of the probe grows.
 * - Where polling next to nothing did not help either, the monitor is not to blame: the cuts are taken back, or, where
 *   the quality had become better if not good, kept. It is tried again after patience, and forgotten when it holds.
 *
 * A quality that is unknown moves nothing, and the time does not count. Pure.
 */
#ifndef BEZEL_RESMGR_ALLOWANCE_H
#define BEZEL_RESMGR_ALLOWANCE_H

#include "resmgr/policy.h"

enum { ALLOWANCE_CUT = 4 };

#define ALLOWANCE_TARGET 0.9 /* of the budget: what is aimed at, so that noise does not break it */

/**
 * The strictest budget, percent of one CPU: of member `i` alone; for all members together; of member `i` with its
 * share, by weight, of the one for all. INFINITY: none.
 */
double allowance_own(const struct policy_observation *seen, uint32_t i);
double allowance_whole(const struct policy_observation *seen);
double allowance_budget(const struct policy_state *state, const struct policy_observation *seen, uint32_t i);

/** ns from a decision for member `i` until all that is observed shows it. */
int64_t allowance_settling(const struct policy_state *state, const struct policy_observation *seen, uint32_t i);

/** The shortest period that anything could be worth: the lower bound where a budget says what is too much, else the one
 * that the file or the operator set. */
int64_t allowance_desired(const struct policy_state *state, uint32_t i, double budget);

/** A sampling instant: brings member `i`'s allowance up to date. */
void allowance_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i);

#endif
