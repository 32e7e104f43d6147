// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run: consecutive records of a ring that are alike (same aspect, ordinals without a gap, one generation), in one
 * piece of memory. Copied from slots into a packet with one comparison, one multiplication and the swapping of bytes
 * each; this is where the external sensor's time goes. Wait-free, without side effects but the run's and the packet's.
 */
#ifndef BEZEL_SENSOR_RUN_H
#define BEZEL_SENSOR_RUN_H

#include "mdr/packet.h"
#include "sensor/ring.h"
#include "sensor/timebase.h"

/** Where a run stands: what is copied next, and whereto. */
struct run {
    const uint64_t *slot;
    uint8_t *at;
    uint64_t word;        /* that of the next slot, where the run goes on */
    uint64_t last, until; /* times of the record before, and the latest that can be */
    struct timebase_line line;
};

/* Inline, so that there is a loop for each `count` that is a constant. */
static inline __attribute__((always_inline)) uint32_t run_copy(struct run *run, uint32_t most, uint32_t count)
{
    const uint64_t *slot = run->slot;
    const struct timebase_line line = run->line;
    uint8_t *at = run->at;
    uint64_t word = run->word, last = run->last;
    uint32_t n = 0;
    for (; n < most && __atomic_load_n(&slot[0], __ATOMIC_RELAXED) == word; n++) { /* relaxed: R1 ordered it */
        uint64_t after = slot[1] - line.ticks, time = timebase_along(&line, after);
        if (after >= line.span || time < last || time > run->until)
            break;
        at = packet_put_record(at, word & 0xff, time);
        for (uint32_t i = 0; i < count; i++, at += 8)
            bytes_put_u64(at, slot[2 + i]);
        last = time;
        word += UINT64_C(1) << BEZEL_ORDINAL_SHIFT;
        slot += bezel_record_slots(count) * BEZEL_SLOT_WORDS;
    }
    run->slot = slot;
    run->at = at;
    run->last = last;
    return n;
}

/**
 * Copies up to `most` records, of `count` values each, as long as they belong to the run: their words follow, their
 * times lie on the line and between the two bounds. Returns how many, with the run moved behind them. At `slot` there
 * is memory for all, at `at` room for all.
 */
static inline uint32_t run_take(struct run *run, uint32_t most, uint32_t count)
{
    return count == 1 ? run_copy(run, most, 1) : count == 2 ? run_copy(run, most, 2) : run_copy(run, most, count);
}

#endif
