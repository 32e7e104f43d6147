// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The write path. Order of the stores of a record, which is what makes a kill at any instruction harmless: attempt
 * counter of the aspect, ordinal of the ring, [drop counter | clock, slots, head]. A record that was begun but not
 * published shows as an attempt that is neither stored nor dropped: at most one a ring.
 */
#include "sensor/internal.h"
#include "sensor/segment.h"

#include <time.h>

_Thread_local struct sensor_thread sensor_thread;

const uint32_t bezel_enable_unset = 1;
const uint32_t sensor_enable_never = 0;

static inline uint64_t emit_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void emit_to_ring(struct ring_writer *w, const struct bezel_aspect *aspect, uint32_t enable,
                         const uint64_t *values)
{
    uint64_t ordinal = ring_attempt(w, aspect->id);
    if (__builtin_expect(enable != SEGMENT_RECORD, 0))
        ring_count(&w->ring->tally[aspect->id].off);
    else if (__builtin_expect(!ring_has_room(w, ring_record_slots(aspect->field_count)), 0))
        ring_count(&w->ring->tally[aspect->id].full);
    else
        ring_put(w, aspect->id, ordinal, emit_clock(), values, aspect->field_count);
}

/* The enable word of an aspect that may not be declared yet. Declaring publishes `id` before `enable`. */
static uint32_t emit_enable(struct bezel_aspect *aspect)
{
    const uint32_t *enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    if (__builtin_expect(enable == &bezel_enable_unset, 0)) {
        sensor_declare(aspect);
        enable = __atomic_load_n(&aspect->enable, __ATOMIC_ACQUIRE); /* E1 acquire: pairs E0 */
    }
    return __atomic_load_n(enable, __ATOMIC_RELAXED); /* relaxed: a word of its own, late by a record is in time */
}

void bezel_emit(struct bezel_aspect *aspect, const uint64_t *values)
{
    struct sensor_thread *t = &sensor_thread;
    if (__builtin_expect(t->busy, 0)) {
        sensor_count_unringed(aspect);
        return;
    }
    t->busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* a handler on this thread sees `busy` before anything we touch */
    uint32_t enable = emit_enable(aspect);
    if (__builtin_expect(enable != SEGMENT_DISABLED, 1)) {
        if (__builtin_expect(aspect->id & SENSOR_UNDECLARED, 0))
            sensor_count_unringed(aspect);
        else if (__builtin_expect(t->writer.ring != NULL, 1) || sensor_claim(t) == 0)
            emit_to_ring(&t->writer, aspect, enable, values);
        else
            sensor_count_unringed(aspect);
    }
    atomic_signal_fence(memory_order_seq_cst); /* and finds it clear only after everything is in place */
    t->busy = false;
}

int bezel_thread_init(void)
{
    struct sensor_thread *t = &sensor_thread;
    if (t->busy)
        return BEZEL_EBUSY;
    t->busy = true;
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    sensor_declare(NULL);
    int err = t->writer.ring ? 0 : sensor_claim(t);
    atomic_signal_fence(memory_order_seq_cst); /* as in bezel_emit() */
    t->busy = false;
    return err;
}

const char *bezel_version(void)
{
    return BEZEL_VERSION;
}
