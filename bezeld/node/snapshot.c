// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/snapshot.h"

#define SNAPSHOT_REST_EVERY (10 * CLOCK_MS)

bool snapshot_begin(struct snapshot *s, const struct message_save *cause, int64_t now)
{
    if (s->on && s->cause.number == cause->number)
        return false;
    *s = (struct snapshot){.cause = *cause, .on = true, .due = now, .until = now + (int64_t)cause->left};
    return true;
}

enum snapshot_step snapshot_step(const struct snapshot *s, int64_t now)
{
    if (!s->on || now < s->due)
        return SNAPSHOT_NOTHING;
    return s->last ? SNAPSHOT_REST : now >= s->until ? SNAPSHOT_LAST_COPY : SNAPSHOT_COPY;
}

bool snapshot_done(struct snapshot *s, enum snapshot_step step, int64_t now, int64_t took, int64_t period, bool rest)
{
    int64_t every = period < SNAPSHOT_EVERY_MAX ? period : SNAPSHOT_EVERY_MAX;
    if (every < SNAPSHOT_COST * took)
        every = SNAPSHOT_COST * took;
    s->last = step == SNAPSHOT_LAST_COPY || step == SNAPSHOT_REST;
    s->on = !s->last || rest;
    s->due = now + (s->last ? SNAPSHOT_REST_EVERY : every);
    if (!s->last && s->due > s->until)
        s->due = s->until > now ? s->until : now;
    return !s->on;
}

int64_t snapshot_due(const struct snapshot *s)
{
    return s->on ? s->due : INT64_MAX;
}
