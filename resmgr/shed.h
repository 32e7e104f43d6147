// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Aspects by importance: where polling at the longest period costs too much still, those of the least importance are
 * not recorded any more, then those of the next, before all collection is turned off; those of the greatest stay. They
 * come back in the reverse order, one importance at a time, when polling has become shorter again for some patience,
 * which doubles where that was too much. Which aspects are of which importance is the caller's. Pure.
 */
#ifndef BEZEL_RESMGR_SHED_H
#define BEZEL_RESMGR_SHED_H

#include "resmgr/policy.h"

/** One importance more is to give way: false where there is none left, and nothing changed. */
bool shed_more(struct policy_member *m);

/** A sampling instant of a member: brings one back where it is time. */
void shed_step(const struct policy_state *state, struct policy_member *m, const struct policy_measure *seen);

#endif
