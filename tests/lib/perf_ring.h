// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A ring of perf_event_open(2) as a kernel writes it: what finds no room is lost, and counted before the next record.
 */
#ifndef BEZEL_TESTS_LIB_PERF_RING_H
#define BEZEL_TESTS_LIB_PERF_RING_H

#include <linux/perf_event.h>
#include <stdint.h>

/** What sample_id_all puts behind each record, as the samplers ask for it. */
struct perf_sample {
    uint32_t pid, thread;
    uint64_t time;
    uint32_t cpu, unused;
};

/** Of `size` bytes, a power of two; filled up to `head`, read up to `tail`. `now`: the kernel's clock. */
struct perf_ring {
    uint8_t ring[1 << 15];
    uint64_t size, head, tail, lost;
    int64_t now;
};

static inline void perf_ring_put(struct perf_ring *k, const void *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        k->ring[k->head++ & (k->size - 1)] = ((const uint8_t *)bytes)[i];
}

/** Writes a record of two parts behind its header. `s`: the sample of a record of losses before it. */
static inline void perf_ring_write(struct perf_ring *k, uint32_t type, uint16_t misc, const void *first, uint64_t n,
                                   const void *second, uint64_t m, const struct perf_sample *s)
{
    struct perf_event_header h = {type, misc, (uint16_t)(sizeof h + n + m)},
                             lost = {PERF_RECORD_LOST, 0, sizeof lost + 16 + sizeof *s};
    uint64_t counts[2] = {1, k->lost};
    if (k->size - (k->head - k->tail) < h.size + (k->lost ? lost.size : 0U)) {
        k->lost++;
        return;
    }
    if (k->lost) {
        perf_ring_put(k, &lost, sizeof lost);
        perf_ring_put(k, counts, sizeof counts);
        perf_ring_put(k, s, sizeof *s);
        k->lost = 0;
    }
    perf_ring_put(k, &h, sizeof h);
    perf_ring_put(k, first, n);
    perf_ring_put(k, second, m);
}

#endif
