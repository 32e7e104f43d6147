// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Adaptation policies: pure functions from a state and an observation to the next state (dissertation, 5.5.3.2). The
 * same code runs in each agent, in the simulator and in the tests.
 *
 * SPP, static polling period: the period never changes; where a limit is broken at a sampling instant, collection is
 * turned off; it is on again at the first instant at which no observed limit is broken.
 *
 * DPP, dynamic polling period: the period doubles at a sampling instant where a limit is broken; where the double would
 * pass period_max, collection is off instead; it is on again, at period_max, at the first instant at which no observed
 * limit is broken; it halves at every instant at which none is broken, down to period_min, which is reached exactly. A
 * period that starts between the bounds stays between them.
 *
 * Unknown observations neither hold nor break: where nothing at all is observed, both policies keep what they have.
 */
#ifndef BEZEL_RESMGR_POLICY_H
#define BEZEL_RESMGR_POLICY_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct policy_state {
    enum experiment_policy policy;
    bool on;
    int64_t period; /* ns; where off, the period that was in force before */
    int64_t period_min, period_max;
};

/** How many limits held, were broken, were unknown at a sampling instant. */
struct policy_observation {
    uint32_t held, broken, unknown;
};

enum policy_action { POLICY_KEEP = 0, POLICY_SHORTEN = 1, POLICY_LENGTHEN = 2, POLICY_OFF = 3, POLICY_RESUME = 4 };

/** The state in which an experiment starts: on, at the file's period. Pure. */
struct policy_state policy_start(const struct experiment_adapt *adapt, int64_t period);

/** One sampling instant: moves *state on and says what changed. Pure. */
enum policy_action policy_step(struct policy_state *state, struct policy_observation seen);

/** "keep", "shorten", "lengthen", "off", "resume". */
const char *policy_action_name(enum policy_action action);

#endif
