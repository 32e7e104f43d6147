// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The estimate of what polling costs, from a member's measured CPU use:
 *
 *     use = base + cost / (period + late)
 *
 * `late` is by how much polls come later than the period says, because waking up takes time on a busy CPU.
 *
 * - Measurements are collected into windows of at least COST_MODEL_WINDOW, one period and one poll, so that the phase
 *   between sampling and polling does not matter. Where the node keeps its budget itself, a window has eight polls, or
 *   half a second: a hurry would follow noise.
 * - The cost is smoothed. A window that deviates far more than usual is ignored unless the next one agrees; then the
 *   estimate takes their value at once. So an outlier has no effect, and a step is followed immediately. Where more is
 *   used than the member should use at most, a small deviation is enough, however usual it is.
 * - Base and cost can be separated only when the period changes. Until then all use counts as cost, which is exact at
 *   the present period and too high for longer ones. While polling is off, the use is the base. So it is while all
 *   polls are deferred, but then something else may be using CPU: each such window counts for little.
 * - Where the node keeps its budget itself, the cheaper of the first two windows gives the cost: the first poll is
 *   dear, because it attaches to processes.
 * - Unknown measurements are left out, with their time. So are the windows of a node that gets no CPU for most of its
 *   polls.
 *
 * Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_COST_MODEL_H
#define BEZEL_RESMGR_CONTROL_COST_MODEL_H

#include "resmgr/control/policy_state.h"

/** ns: a shorter window would measure single bursts of records. */
#define COST_MODEL_WINDOW INT64_C(90000000)

/** A sampling instant: adds a measurement. */
void cost_model_step(struct policy_member *member, const struct policy_measure *seen);

/** The period changed, polling was turned on or off, or load shedding moved: starts a new series of windows. */
void cost_model_changed(struct policy_cost_model *model);

/** The expected use at `period` (ns), in percent of one CPU; NaN: unknown. */
double cost_model_use(const struct policy_cost_model *model, int64_t period);

/**
 * The period, ns, at which the expected use is `use` percent, within `shortest` and `longest`; `longest` also if no
 * period is long enough. 0: unknown.
 */
int64_t cost_model_period(const struct policy_cost_model *model, double use, int64_t shortest, int64_t longest);

/** The error, in ln, that an estimate may have by chance, within `least` and `most`: smaller changes are not made. */
double cost_model_uncertainty(const struct policy_cost_model *model, double least, double most);

#endif
