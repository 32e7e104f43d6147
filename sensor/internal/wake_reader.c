// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/internal/internal.h"

void sensor_wake_reader(struct segment *s)
{
    struct doorbell *doorbell = sensor_process.own.doorbell;                      /* a fork removes it */
    uint32_t wake_bit = atomic_load_explicit(&s->wake_bit, memory_order_relaxed); /* relaxed: Q1 ordered it */
    if (!wake_bit || !doorbell)
        return;
    uint32_t bit = (wake_bit - 1) % DOORBELL_SLOTS;
    atomic_fetch_or_explicit(&doorbell->wake_bits[bit / 32], UINT32_C(1) << bit % 32,
                             memory_order_release); /* K0 release: pairs K1, publishes what was recorded */
    atomic_store_explicit(&s->wake_bit, 0, memory_order_relaxed); /* relaxed: once is enough; late, it is set again */
    segment_wake(doorbell);
}
