// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The bounds on a member's period at a sampling instant, for a policy that settles. Limits on qualities, limits on the
 * flow of records, and budgets have a module each; this one steps them in order and combines their results. Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_CONSTRAINTS_H
#define BEZEL_RESMGR_CONTROL_CONSTRAINTS_H

#include "resmgr/control/policy_state.h"

struct constraints {
    bool on;                   /* the member polls */
    int64_t shortest, longest; /* ns: bounds on the period */
    int64_t settling;          /* ns from a decision until all observations show it */
    double budget;             /* percent of one CPU; INFINITY: none */
};

/**
 * A sampling instant of member `i`, whose budget is `budget` (percent of one CPU; INFINITY: none). Turns the member on
 * or off, writes the verdict into *actions, and returns the constraints until the next instant.
 */
struct constraints constraints_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                                    double budget, struct policy_actions *actions);

/** The same for every member, with its part of all budgets. The period of each that is on becomes `next_period`. */
void constraints_step_each(struct policy_state *state, const struct policy_observation *seen,
                           struct policy_actions *actions,
                           int64_t (*next_period)(struct policy_member *, const struct constraints *));

/** `period`, ns, within the bounds. */
int64_t constraints_clamp(const struct constraints *c, double period);

#endif
