// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The clock of this process's records, out of line. */
#include "sensor/internal/internal.h"
#include "sensor/shm/segment_pair.h"

#include <errno.h>

uint32_t bezel_clock_is_counter;

static struct {
    uint64_t (*now)(void); /* NULL: there is none */
    uint64_t frequency;
} user_clock;

int bezel_clock(uint64_t (*now)(void), uint64_t frequency)
{
    sigset_t mask;
    if (!now || frequency == 0)
        return BEZEL_EINVAL;
    sensor_lock(&mask);
    bool late = sensor_process.own.segment != NULL;
    if (!late) {
        user_clock.now = now;
        user_clock.frequency = frequency;
    }
    sensor_unlock(&mask);
    return late ? BEZEL_EBUSY : 0;
}

uint64_t sensor_user_frequency(void)
{
    return user_clock.frequency;
}

/* The counter; or where the external sensor has found that it is not to be trusted, the kernel's clock. */
static uint64_t counter_ticks(const struct segment *s)
{
    if (!s || !atomic_load_explicit(&s->counter_left, memory_order_relaxed)) /* relaxed: Q1 ordered it */
        return bezel_counter();
    __atomic_store_n(&bezel_clock_is_counter, 0, __ATOMIC_RELAXED); /* relaxed: late by a reading is in time */
    return sensor_kernel_ns() | BEZEL_KERNEL_TIME;
}

uint64_t sensor_ticks(void)
{
    struct segment *s = sensor_process.own.segment;
    if (sensor_process.own.clock == SEGMENT_CLOCK_COUNTER)
        return counter_ticks(s);
    if (s && sensor_process.own.clock == SEGMENT_CLOCK_USER) {
        if (segment_pair_wanted(&s->pair))
            segment_pair_give(&s->pair, user_clock.now);
        return user_clock.now();
    }
    return sensor_kernel_ns();
}

int64_t bezel_cpu_ns(void)
{
    struct timespec t;
    int before = errno;
    int64_t ns = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : -1;
    errno = before;
    return ns;
}

uint64_t bezel_ticks_now(void)
{
    return sensor_ticks();
}

int64_t bezel_ticks_ns(uint64_t ticks)
{
    struct segment *s = sensor_process.own.segment;
    if (!s || sensor_process.own.clock == SEGMENT_CLOCK_MONOTONIC)
        return (int64_t)ticks;
    if (sensor_process.own.clock == SEGMENT_CLOCK_COUNTER && ticks & BEZEL_KERNEL_TIME)
        return (int64_t)(ticks & ~BEZEL_KERNEL_TIME);
    ticks &= ~BEZEL_KERNEL_TIME;
    uint64_t tick = atomic_load_explicit(&s->tick_ns, memory_order_relaxed); /* relaxed: a number of its own */
    uint64_t whole = tick >> 32, part = tick & UINT32_MAX;
    return (int64_t)(ticks * whole + (ticks >> 32) * part + ((ticks & UINT32_MAX) * part >> 32));
}
