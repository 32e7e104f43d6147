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

bool policy_is_worse(const struct policy_limit *a, const struct policy_limit *b)
{
    if (a->state != b->state)
        return a->state > b->state;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return policy_margin(a) < policy_margin(b);
}
