// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/retry_timer.h"

#include "base/saturate.h"

void retry_timer_pass(struct retry_timer *t, int64_t elapsed)
{
    t->waited = saturate_add(t->waited, elapsed);
}

bool retry_timer_is_due(const struct retry_timer *t)
{
    return t->waited >= t->pause;
}

void retry_timer_fail(struct retry_timer *t, bool again, int64_t first, int64_t longest)
{
    if (t->pause == 0)
        t->pause = first;
    else if (again)
        t->pause = t->pause > longest / 2 ? longest : 2 * t->pause;
    t->waited = 0;
}

void retry_timer_ease(struct retry_timer *t, int64_t shortest)
{
    t->pause = t->pause / 2 > shortest ? t->pause / 2 : shortest;
}
