// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Observations for policies that go by nothing but how limits stand. */
#ifndef BEZEL_TESTS_LIB_LIMITS_SEEN_H
#define BEZEL_TESTS_LIB_LIMITS_SEEN_H

#include "resmgr/policies/policy.h"

#include <math.h>

enum { LIMITS_SEEN_MAX = 16 };

/** So many limits held, broken, unknown. */
struct limits_seen {
    uint32_t held, broken, unknown;
};

/** Of one member: at most 10 % of CPU, of which it uses 5 or 15. o->limits has room for all of them. */
static inline void limits_observe(struct limits_seen n, struct policy_observation *o)
{
    o->limit_count = n.held + n.broken + n.unknown;
    for (uint32_t i = 0; i < o->limit_count; i++)
        o->limits[i] = (struct policy_limit){
            .state = i < n.held              ? LIMIT_HELD
                     : i < n.held + n.broken ? LIMIT_VIOLATED
                                             : LIMIT_UNKNOWN,
            .compare = COMPARE_AT_MOST,
            .on_cpu = true,
            .bound = 10,
            .value = i < n.held              ? 5
                     : i < n.held + n.broken ? 15
                                             : (double)NAN,
        };
    o->members[0] = (struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN};
}

/** One step of a policy with one member. */
static inline enum policy_action limits_step(struct policy_state *s, struct limits_seen n)
{
    struct policy_limit limits[LIMITS_SEEN_MAX];
    struct policy_measure measure;
    struct policy_member_actions own;
    struct policy_observation o = {.limits = limits, .members = &measure};
    struct policy_actions actions = {.members = &own};
    limits_observe(n, &o);
    policy_step(s, &o, &actions);
    return own.action;
}

#endif
