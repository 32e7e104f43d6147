// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/internal.h"

void sensor_knock(struct segment *s)
{
    struct doorbell *bell = sensor_process.own.bell;                        /* a fork takes it away */
    uint32_t quiet = atomic_load_explicit(&s->quiet, memory_order_relaxed); /* relaxed: Q1 ordered it */
    if (!quiet || !bell)
        return;
    uint32_t place = (quiet - 1) % DOORBELL_PLACES;
    atomic_fetch_or_explicit(&bell->knocks[place / 32], UINT32_C(1) << place % 32,
                             memory_order_release);            /* K0 release: pairs K1, publishes what was recorded */
    atomic_store_explicit(&s->quiet, 0, memory_order_relaxed); /* relaxed: once is enough; late, one knocks again */
    own_wake(bell);
}
