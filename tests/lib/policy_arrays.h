// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The arrays of a policy under test, and what it sees and does; the state is the test's, over `members`. */
#ifndef BEZEL_TESTS_LIB_POLICY_ARRAYS_H
#define BEZEL_TESTS_LIB_POLICY_ARRAYS_H

#include "tests/lib/plant.h"

#include <string.h>

static struct policy_member members[PLANT_NODES_MAX];
static struct policy_limit observed[PLANT_LIMITS_MAX];
static struct policy_measure measures[PLANT_NODES_MAX];
static struct policy_member_actions member_actions[PLANT_NODES_MAX];

static struct policy_observation seen = {.limits = observed, .members = measures};
static struct policy_actions actions = {.members = member_actions};

/** An observation with `limits` limits; of members nothing is known. */
static inline void see_nothing(uint32_t limits)
{
    memset(measures, 0, sizeof measures);
    seen = (struct policy_observation){.limit_count = limits, .limits = observed, .members = measures};
}

/** What a policy begins a step with. */
static inline void forget_actions(void)
{
    memset(member_actions, 0, sizeof member_actions);
    actions = (struct policy_actions){.infeasible_member = POLICY_ALL, .members = member_actions};
}

#endif
