// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/policy_state.h"

#include <math.h>

double policy_margin(const struct policy_limit *limit)
{
    double spare = limit->compare == COMPARE_AT_LEAST ? limit->value - limit->bound : limit->bound - limit->value;
    double margin = limit->bound == 0 ? spare : spare / fabs(limit->bound);
    return limit->state != LIMIT_UNKNOWN && isfinite(margin) ? margin : NAN;
}

bool policy_concerns(const struct policy_limit *limit, uint32_t member)
{
    return limit->member == POLICY_ALL || limit->member == (int)member;
}

void policy_link_limits(struct policy_observation *seen, uint32_t count)
{
    seen->limits_of_all = 0;
    for (uint32_t i = 0; i < count; i++)
        seen->members[i].limits = 0;
    for (uint32_t j = seen->limit_count; j-- > 0;) { /* backwards, so that they stay in their order */
        struct policy_limit *l = &seen->limits[j];
        bool of_member = l->member >= 0 && l->member < (int)count;
        uint32_t *first = of_member ? &seen->members[l->member].limits : &seen->limits_of_all;
        l->next = 0;
        if (!of_member && l->member != POLICY_ALL)
            continue;
        l->next = *first;
        *first = j + 1;
    }
}

/* Links are one more than an index, so that 0 is none. */
static const struct policy_limit *follow(const struct policy_observation *seen, uint32_t link)
{
    return link ? &seen->limits[link - 1] : NULL;
}

const struct policy_limit *policy_limits_of(const struct policy_observation *seen, int member)
{
    return follow(seen, member == POLICY_ALL ? seen->limits_of_all : seen->members[member].limits);
}

const struct policy_limit *policy_next_of(const struct policy_observation *seen, const struct policy_limit *limit)
{
    return follow(seen, limit->next);
}

const struct policy_limit *policy_first_about(const struct policy_observation *seen, uint32_t member)
{
    return follow(seen, seen->limits_of_all ? seen->limits_of_all : seen->members[member].limits);
}

const struct policy_limit *policy_next_about(const struct policy_observation *seen, uint32_t member,
                                             const struct policy_limit *limit)
{
    bool last_of_all = limit->member == POLICY_ALL && !limit->next;
    return follow(seen, last_of_all ? seen->members[member].limits : limit->next);
}

bool policy_is_worse(const struct policy_limit *a, const struct policy_limit *b)
{
    if (a->state != b->state)
        return a->state > b->state;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return policy_margin(a) < policy_margin(b);
}
