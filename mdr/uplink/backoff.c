// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/backoff.h"

struct backoff backoff_make(uint64_t seed, int64_t first_ns, int64_t last_ns)
{
    return (struct backoff){.seed = seed, .first_ns = first_ns, .last_ns = last_ns};
}

/* SplitMix64: neighbouring seeds, such as those of nodes, have nothing in common. */
static uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t backoff_next(struct backoff *b)
{
    retry_timer_fail(&b->timer, true, b->first_ns, b->last_ns);
    return b->timer.pause - (int64_t)(draw(&b->seed) % (uint64_t)(b->timer.pause / 2 + 1));
}

void backoff_reset(struct backoff *b)
{
    b->timer.pause = 0;
}
