// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sheds aspects by importance. If polling at the longest period still costs too much, the aspects of the least
 * importance are only counted, then those of the next, before collection is turned off. Those of the greatest
 * importance stay. They come back in reverse order, one importance at a time, when the period has been shorter again
 * for some patience, which doubles if that was too much. The caller maps aspects to importances. Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_LOAD_SHEDDING_H
#define BEZEL_RESMGR_CONTROL_LOAD_SHEDDING_H

#include "resmgr/control/policy_state.h"

/** Sheds one more importance; false: there is none left, and nothing changed. */
bool load_shedding_more(struct policy_member *m);

/** A sampling instant of a member: records one importance again if that is due. */
void load_shedding_step(const struct policy_state *state, struct policy_member *m, const struct policy_measure *seen);

#endif
