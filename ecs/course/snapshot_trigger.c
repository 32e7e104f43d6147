// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/snapshot_trigger.h"

bool snapshot_trigger_take(struct snapshot_trigger *t, const struct experiment *e, int64_t limit, uint64_t times,
                           int64_t at, int64_t now)
{
    if (times == 0 || limit < 0 || limit >= e->limit_count || e->limits[limit].snapshot == 0)
        return false;
    bool begins = t->number == 0 || at >= t->until;
    t->refused += times - begins;
    if (!begins)
        return false;
    t->number++;
    t->until = now + e->limits[limit].snapshot;
    return true;
}

int64_t snapshot_trigger_left(const struct snapshot_trigger *t, int64_t now)
{
    return t->number != 0 && now < t->until ? t->until - now : 0;
}
