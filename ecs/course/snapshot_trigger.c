// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/snapshot_trigger.h"

bool snapshot_trigger_take(struct snapshot_trigger *t, const struct experiment *e, int64_t trigger, uint64_t times,
                           int64_t at, int64_t now)
{
    const struct experiment_action *asked = NULL;
    if (trigger >= 0 && trigger < e->trigger_count)
        asked = experiment_trigger_action(&e->triggers[trigger], ACT_SNAPSHOT);
    if (times == 0 || !asked)
        return false;
    bool begins = t->number == 0 || at >= t->until;
    t->refused += times - begins;
    if (!begins)
        return false;
    t->number++;
    t->until = now + asked->snapshot;
    return true;
}

int64_t snapshot_trigger_left(const struct snapshot_trigger *t, int64_t now)
{
    return t->number != 0 && now < t->until ? t->until - now : 0;
}
