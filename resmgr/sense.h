// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What polling costs, estimated from what a member was measured to use:
 *
 *     use = base + cost / (period + late)
 *
 * Measurements are taken together into windows of at least SENSE_WINDOW, one period and one poll, so that it does not
 * matter how sampling and polling meet. The cost is smoothed; a window that is off by far more than usual counts for
 * nothing unless the next one agrees, and then for all: a lie or a hiccup is ignored, a step is followed at once. How
 * the use divides into base and cost shows only where the period changed: until then all of it is cost, which is right
 * at the period in force and careful for longer ones. While polling is off, the use is the base. What is unknown is
 * left out, with its time. Polls come later than the period says, by what it takes to wake up on a busy CPU: that is
 * part of the period. A node that gets no CPU for most of its polls tells nothing. Pure.
 */
#ifndef BEZEL_RESMGR_SENSE_H
#define BEZEL_RESMGR_SENSE_H

#include "resmgr/policy.h"

#define SENSE_WINDOW INT64_C(90000000) /* ns: over less, what is measured is which burst of records fell into it */

/** A sampling instant. */
void sense_step(struct policy_member *member, const struct policy_measure *seen);

/** The period changed, or polling was turned on or off: what is measured from now on is another thing. */
void sense_changed(struct policy_sense *sense);

/** The use to expect at `period`, percent; NaN where nothing is known. */
double sense_use(const struct policy_sense *sense, int64_t period);

/**
 * The period at which the use is to be expected at `use` percent, between `shortest` and `longest`: the longest where
 * none is long enough. 0 where nothing is known.
 */
int64_t sense_period(const struct policy_sense *sense, double use, int64_t shortest, int64_t longest);

/** How far, in ln, an estimate may be off by chance alone: not worth a change. Between `least` and `most`. */
double sense_doubt(const struct policy_sense *sense, double least, double most);

#endif
