// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Claiming and releasing rings of this process's segment. A ring's state is one word of the segment:
 *
 *     FRESH -> CLAIMED -> OWNED <-> RELEASED
 *
 * FRESH was never used, and may have no memory; CLAIMED: its memory is being reserved; OWNED: a thread writes it;
 * RELEASED: that thread has ended, records and counters stay. Without memory a ring goes back to FRESH. A thread has a
 * ring once its compare-and-exchange has taken the ring out of FRESH or RELEASED; from then on it alone changes the
 * state. The reader looks at OWNED and RELEASED rings only, so it never meets memory that is not there; `ring_changes`
 * makes it look.
 *
 * A claim may come from a signal handler that interrupted anything, even libbezel. So a claim takes no lock, and tries
 * each ring at most once in either state. Signals of the thread are blocked meanwhile: a handler finds a complete ring
 * or none, and cannot jump out of a claim. Each level of interruption has a ring of its own, so a ring has one writer.
 *
 * A kill may leave a ring in any state. The reader drains what is OWNED; a CLAIMED ring has no records. After fork()
 * the child leaves the parent's rings alone: sensor_forget_rings() takes them from its writers, or marks a writer as
 * stale if the fork interrupted a record of it. A thread that found no ring searches again only after another thread
 * has released one.
 */
#include "sensor/internal/internal.h"
#include "sensor/shm/ring_writer.h"
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t ring_offset(uint32_t i)
{
    return segment_ring_offset() + i * sensor_process.own.ring_stride;
}

static struct bezel_ring *ring_at(const struct segment *s, uint32_t i)
{
    return (struct bezel_ring *)(void *)((char *)s + ring_offset(i));
}

static bool claim_state(struct segment *s, uint32_t i, uint32_t from, uint32_t to)
{
    _Atomic uint32_t *state = &s->ring_state[i];
    if (atomic_load_explicit(state, memory_order_relaxed) != from) /* relaxed: a hint, which spares a search's writes */
        return false;
    /* C1 acquire: pairs C0 (the failure's order is for a ring that is not ours) */
    return atomic_compare_exchange_strong_explicit(state, &from, to, memory_order_acquire, memory_order_relaxed);
}

static int reserve_ring(uint32_t i)
{
    _Atomic bool *reserved = &sensor_process.reserved[i];
    if (atomic_load_explicit(reserved, memory_order_relaxed)) /* relaxed: the memory is there already */
        return 0;
    int err = segment_reserve(&sensor_process.own, ring_offset(i), sensor_process.own.ring_stride);
    if (!err)
        atomic_store_explicit(reserved, true, memory_order_relaxed); /* relaxed: likewise */
    return err;
}

/* Makes the reader search the rings again. */
static void count_ring_change(struct segment *s)
{
    atomic_fetch_add_explicit(&s->ring_changes, 1, memory_order_release); /* T0 release: pairs T1, publishes a state */
}

/* Gives back a claimed ring for which there is no memory. */
static void leave_ring(struct segment *s, uint32_t i)
{
    atomic_store_explicit(&s->ring_state[i], SEGMENT_RING_FRESH,
                          memory_order_release); /* C0 release: pairs C1, H1, for the next claim */
}

/* Claims a released ring, which keeps its records and counters. Its state may be wrong, so its memory is checked. */
static int take_released(struct segment *s)
{
    for (uint32_t i = 0; i < sensor_process.own.ring_max; i++) {
        if (!claim_state(s, i, SEGMENT_RING_RELEASED, SEGMENT_RING_OWNED))
            continue;
        if (reserve_ring(i) == 0)
            return (int)i;
        leave_ring(s, i);
    }
    return BEZEL_EFULL;
}

/* Claims an unused ring and reserves its memory; the reader does not look at it before it is OWNED. */
static int take_fresh(struct segment *s)
{
    for (uint32_t i = 0; i < sensor_process.own.ring_max; i++) {
        if (!claim_state(s, i, SEGMENT_RING_FRESH, SEGMENT_RING_CLAIMED))
            continue;
        int err = reserve_ring(i);
        if (!err)
            return (int)i;
        leave_ring(s, i);
        sensor_notice(s, "BEZEL-RING-NO-MEMORY",
                      "no memory for a ring of %llu bytes: %s; its thread's records are lost: enlarge the file system "
                      "of BEZEL_DIR",
                      (unsigned long long)sensor_process.own.ring_stride, err_text(err));
        return err;
    }
    return BEZEL_EFULL;
}

/* Makes ring `i` this thread's at `level`. */
static void hold_ring(struct segment *s, uint32_t i, uint32_t level)
{
    struct bezel_ring *ring = ring_at(s, i);
    bool again = atomic_load_explicit(&s->ring_state[i], memory_order_relaxed) == SEGMENT_RING_OWNED; /* relaxed: C1 */
    uint32_t generation = __atomic_load_n(&ring->generation, __ATOMIC_RELAXED) + again; /* relaxed: ours now */
    __atomic_store_n(&ring->thread[generation % BEZEL_RING_OWNERS], (uint32_t)syscall(SYS_gettid),
                     __ATOMIC_RELAXED);                                /* relaxed: published by the first R0 */
    __atomic_store_n(&ring->generation, generation, __ATOMIC_RELAXED); /* relaxed: likewise */
    atomic_store_explicit(&s->ring_state[i], SEGMENT_RING_OWNED,
                          memory_order_release); /* H0 release: pairs H1, the ring's memory is there */
    count_ring_change(s);
    struct bezel_writer *w = sensor_writer(level);
    uintptr_t busy = w->busy;
    const struct segment_owned *own = &sensor_process.own;
    bool discards = own->when_full == SEGMENT_DISCARD;
    w->usual = discards && own->clock == SEGMENT_CLOCK_MONOTONIC;
    writer_hold(w, ring, own->ring_slots, generation, discards && own->clock == SEGMENT_CLOCK_COUNTER);
    w->busy = busy;
    sensor_thread.ring[level] = i;
}

/*
 * Whether the hook at the thread's end was called so many times that it may not be called again: a ring claimed now
 * would never be released.
 */
static bool too_late(void)
{
    return sensor_thread.endings + 1 >= PTHREAD_DESTRUCTOR_ITERATIONS;
}

static int claim(uint32_t level)
{
    struct segment *s = sensor_process.own.segment;
    struct sensor_thread *t = &sensor_thread;
    sensor_forget_stale(level);
    if (sensor_writer(level)->mask)
        return 0;
    uint32_t released =
        atomic_load_explicit(&sensor_process.released, memory_order_relaxed); /* relaxed: a hint to look again */
    if (!s || sensor_process.own.ring_max == 0) /* it is being made, and a function of the program is called for it */
        return BEZEL_ENOENT;
    if ((t->refused && t->released_seen == released) || too_late())
        return BEZEL_EFULL;
    int ring = take_released(s);
    if (ring < 0)
        ring = take_fresh(s);
    t->refused = ring < 0;
    t->released_seen = released;
    if (ring == BEZEL_EFULL)
        sensor_notice(s, "BEZEL-RINGS-TAKEN",
                      "all rings are taken (%u): records of further threads are lost; sensing.ring.threads, or "
                      "BEZEL_RING_THREADS, allows up to %d",
                      sensor_process.own.ring_max, SEGMENT_RINGS_MAX);
    if (ring < 0)
        return ring;
    hold_ring(s, (uint32_t)ring, level);
    if (!t->hooked)
        t->hooked = pthread_setspecific(sensor_process.thread_end, t) == 0;
    return 0;
}

int sensor_claim(uint32_t level)
{
    sigset_t mask;
    sensor_block(&mask); /* a handler must not find a ring half claimed, nor jump out of a claim */
    bool inside = sensor_thread.inside;
    sensor_thread.inside = true;
    int err = claim(level);
    sensor_thread.inside = inside;
    sensor_unblock(&mask);
    return err;
}

int sensor_prefault(uint32_t level, bool lock)
{
    const struct segment *s = sensor_process.own.segment;
    uint64_t offset = ring_offset(sensor_thread.ring[level]), bytes = sensor_process.own.ring_stride;
    const volatile char *at = (const char *)s + offset;
    for (uint64_t page = 0; page < bytes; page += 4096)
        (void)at[page]; /* its memory is reserved; this maps it, for writing too */
    return lock ? segment_lock(&sensor_process.own, offset, bytes) : 0;
}

static void release_ring(struct segment *s, uint32_t level)
{
    struct bezel_writer *w = sensor_writer(level);
    if (!w->mask)
        return;
    *w = (struct bezel_writer){.ring = &sensor_no_ring};
    if (!s || sensor_thread.stale >> level & 1)
        return;
    atomic_store_explicit(&s->ring_state[sensor_thread.ring[level]], SEGMENT_RING_RELEASED,
                          memory_order_release); /* C0 release: pairs C1, H1, hands over head and counters */
    count_ring_change(s);
}

void sensor_thread_end(void *unused)
{
    (void)unused;
    sigset_t mask;
    sensor_block(&mask); /* a handler finds a complete ring, or none, and then claims one */
    bezel_received_end_();
    sensor_waits_end();
    sensor_thread.hooked = false;
    sensor_thread.endings++;
    for (uint32_t level = 0; level < SENSOR_LEVELS; level++)
        release_ring(sensor_process.own.segment, level);
    atomic_fetch_add_explicit(&sensor_process.released, 1, memory_order_relaxed); /* relaxed: a hint to look again */
    sensor_unblock(&mask);
}

bool sensor_forget_rings(void)
{
    bool busy = false;
    for (uint32_t level = 0; level < SENSOR_LEVELS; level++) {
        struct bezel_writer *w = sensor_writer(level);
        if (w->busy) {
            w->inlined = w->usual = false; /* the next record goes out of line, and finds the ring stale */
            w->limit = w->usual_limit = 0;
            sensor_thread.stale |= (uint8_t)(1u << level);
            busy = true;
        } else {
            *w = (struct bezel_writer){.ring = &sensor_no_ring};
        }
    }
    sensor_thread.refused = false;
    return busy;
}

void sensor_forget_stale(uint32_t level)
{
    struct bezel_writer *w = sensor_writer(level);
    uint8_t bit = (uint8_t)(1u << level);
    if (!(sensor_thread.stale & bit))
        return;
    *w = (struct bezel_writer){.busy = w->busy, .ring = &sensor_no_ring};
    sensor_thread.stale &= (uint8_t)~bit;
}
