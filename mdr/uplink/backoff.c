// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/backoff.h"

#include "base/hash.h"

struct backoff backoff_make(uint64_t seed, int64_t first_ns, int64_t last_ns)
{
    return (struct backoff){.seed = seed, .first_ns = first_ns, .last_ns = last_ns};
}

int64_t backoff_next(struct backoff *b)
{
    retry_timer_fail(&b->timer, true, b->first_ns, b->last_ns);
    return b->timer.pause - (int64_t)(hash_draw(&b->seed) % (uint64_t)(b->timer.pause / 2 + 1));
}

void backoff_reset(struct backoff *b)
{
    b->timer.pause = 0;
}
