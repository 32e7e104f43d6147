// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A run: consecutive records of a ring that are alike (same aspect, ordinals without a gap, one generation), in one
 * piece of memory. Each record is copied from its slots into a packet with one comparison, one multiplication and the
 * swapping of bytes; the external sensor spends most of its time here. Wait-free; changes only the run and the packet.
 */
#ifndef BEZEL_SENSOR_EXTERNAL_RECORD_RUN_H
#define BEZEL_SENSOR_EXTERNAL_RECORD_RUN_H

#include "base/timebase.h"
#include "mdr/packet.h"
#include "sensor/shm/ring_reader.h"

/** Progress of copying a run. */
struct record_run {
    const uint64_t *slot;
    uint8_t *at;
    uint64_t word;        /* of the next slot, if the run continues there */
    uint64_t last, until; /* time of the previous record, and the latest possible time */
    struct timebase_line line;
};

/* Inline, so that there is a loop for each `count` that is a constant. */
static inline __attribute__((always_inline)) uint32_t record_run_copy(struct record_run *run, uint32_t most,
                                                                      uint32_t count)
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
 * Copies up to `most` records of `count` values each, as long as they belong to the run: their words are consecutive,
 * and their times lie on the line and within last .. until. Returns their number, and moves the run past them. The
 * caller makes sure that `slot` has `most` records' memory, and `at` room for them.
 */
static inline uint32_t record_run_take(struct record_run *run, uint32_t most, uint32_t count)
{
    return count == 1   ? record_run_copy(run, most, 1)
           : count == 2 ? record_run_copy(run, most, 2)
                        : record_run_copy(run, most, count);
}

#endif
