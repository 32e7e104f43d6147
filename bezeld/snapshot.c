// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/saving.h"

#define SAVING_REST_EVERY (10 * CLOCK_MS)

bool saving_begin(struct saving *s, const struct message_save *cause, int64_t now)
{
    if (s->on && s->cause.number == cause->number)
        return false;
    *s = (struct saving){.cause = *cause, .on = true, .due = now, .until = now + (int64_t)cause->left};
    return true;
}

enum saving_step saving_step(const struct saving *s, int64_t now)
{
    if (!s->on || now < s->due)
        return SAVING_NOTHING;
    return s->last ? SAVING_REST : now >= s->until ? SAVING_LAST_COPY : SAVING_COPY;
}

bool saving_done(struct saving *s, enum saving_step step, int64_t now, int64_t took, int64_t period, bool rest)
{
    int64_t every = period < SAVING_EVERY_MAX ? period : SAVING_EVERY_MAX;
    if (every < SAVING_COST * took)
        every = SAVING_COST * took;
    s->last = step == SAVING_LAST_COPY || step == SAVING_REST;
    s->on = !s->last || rest;
    s->due = now + (s->last ? SAVING_REST_EVERY : every);
    if (!s->last && s->due > s->until)
        s->due = s->until > now ? s->until : now;
    return !s->on;
}

int64_t saving_due(const struct saving *s)
{
    return s->on ? s->due : INT64_MAX;
}
