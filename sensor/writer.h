// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The writer's side of a ring, as far as it stands out of line: taking hold of a ring, room, drops, records of any
 * size, overwriting. Pure memory: no clock, no system call, no library; the same for a thread of a process and for a
 * context of a microcontroller. One writer a ring; wait-free, each function with a bounded number of steps.
 *
 *   O0 slots  writer -> reader   of an overwriting ring: publishes `oldest`, stored before the slots it gives up
 */
#ifndef BEZEL_SENSOR_WRITER_H
#define BEZEL_SENSOR_WRITER_H

#include "bezel/core.h"

#include <stdbool.h>

/** What a slot word 0 says of its record. */
static inline uint32_t writer_word_count(uint64_t word)
{
    return (word >> BEZEL_COUNT_SHIFT) & 0xf;
}

static inline void writer_rebase(struct bezel_writer *w)
{
    w->base = (w->skew << BEZEL_ORDINAL_SHIFT) + ((uint64_t)(w->generation & 0xff) << BEZEL_GENERATION_SHIFT);
    w->limit = w->inlined ? w->room : 0;
}

/**
 * Takes hold of `ring` with `slots` slots at `at` (a power of two), nobody's so far or released: goes on where the one
 * before it stopped. `generation` is this hold's. `inlined`: bezel_record() may write here without a call. Safe against
 * any bytes in the ring.
 */
static inline void writer_hold(struct bezel_writer *w, struct bezel_ring *ring, char *at, uint32_t slots,
                               uint32_t generation, bool inlined)
{
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);     /* relaxed: ours now */
    uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);     /* R3 acquire: pairs R2 */
    uint32_t oldest = __atomic_load_n(&ring->oldest, __ATOMIC_RELAXED); /* relaxed: ours now */
    uint64_t from = (uint64_t)1 << 32;                                  /* so that nothing before it is negative */
    w->head = from + head;
    w->skew = bezel_ring_attempts(ring) - w->head;
    w->oldest = w->head - (head - oldest <= slots ? head - oldest : 0);
    w->room = head - tail <= slots ? w->head - (head - tail) + slots : w->head; /* hostile: full until it makes sense */
    w->mask = (uint64_t)(slots - 1) * BEZEL_SLOT_BYTES;
    w->slots = at;
    w->ring = ring;
    w->previous_end = w->head;
    w->previous = UINT64_MAX;
    w->generation = generation;
    w->inlined = inlined;
    writer_rebase(w);
}

/** Counts a record that was attempted and is lost in `counter`: it has its ordinal all the same. */
static inline void writer_drop(struct bezel_writer *w, uint64_t *counter)
{
    bezel_tally_add(counter);
    w->skew++;
    w->previous_end = w->head;
    w->previous = UINT64_MAX;
    writer_rebase(w);
}

/** Whether `slots` more slots fit; looks at the reader's tail only when the last one seen does not answer. */
static inline bool writer_has_room(struct bezel_writer *w, uint32_t slots)
{
    uint32_t size = (uint32_t)(w->mask / BEZEL_SLOT_BYTES) + 1;
    if (w->head + slots <= w->room)
        return true;
    uint32_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE); /* R3 acquire: pairs R2 */
    uint32_t used = (uint32_t)w->head - tail;
    if (used > size)
        return false; /* a tail that cannot be: hostile, the ring counts as full */
    w->room = w->head - used + size;
    writer_rebase(w);
    return w->head + slots <= w->room;
}

static inline void writer_publish(struct bezel_writer *w, uint32_t slots)
{
    w->previous = w->head;
    w->head += slots;
    w->previous_end = w->head;
    w->skew -= slots - 1;
    writer_rebase(w);
    __atomic_store_n(&w->ring->head, (uint32_t)w->head,
                     __ATOMIC_RELEASE); /* R0 release: pairs R1, publishes the record */
}

/** Writes and publishes a record of any size for which there is room. */
static inline void writer_put(struct bezel_writer *w, uint32_t word, uint64_t ticks, const uint64_t *values,
                              uint32_t count)
{
    uint64_t *at = bezel_slot_at(w, w->head);
    at[0] = bezel_slot_word(w, word);
    at[1] = ticks;
    for (uint32_t i = 0, n = 2; i < count; i++, n++)
        bezel_slot_at(w, w->head + n / BEZEL_SLOT_WORDS)[n % BEZEL_SLOT_WORDS] = values[i];
    writer_publish(w, bezel_record_slots(count));
}

/* A word of a slot that a reader may be copying: what it copied is thrown away if this store was seen. */
static inline void writer_store(uint64_t *word, uint64_t value)
{
#if UINTPTR_MAX > 0xffffffffu
    __atomic_store_n(word, value, __ATOMIC_RELEASE); /* O0 release: pairs O1, publishes `oldest` */
#else
    uint32_t half[2];
    __builtin_memcpy(half, &value, sizeof value);
    __atomic_store_n((uint32_t *)word, half[0], __ATOMIC_RELEASE);     /* O0 release: pairs O1, publishes `oldest` */
    __atomic_store_n((uint32_t *)word + 1, half[1], __ATOMIC_RELEASE); /* O0 release: pairs O1, publishes `oldest` */
#endif
}

/** Writes and publishes a record over the oldest ones. At most as many of them as it has slots are given up. */
static inline void writer_put_over(struct bezel_writer *w, uint32_t word, uint64_t ticks, const uint64_t *values,
                                   uint32_t count)
{
    uint32_t slots = bezel_record_slots(count);
    uint64_t size = w->mask / BEZEL_SLOT_BYTES + 1;
    while (w->head + slots - w->oldest > size)
        w->oldest += bezel_record_slots(writer_word_count(*bezel_slot_at(w, w->oldest)));
    __atomic_store_n(&w->ring->oldest, (uint32_t)w->oldest, __ATOMIC_RELAXED); /* relaxed: published by O0 */
    uint64_t *at = bezel_slot_at(w, w->head);
    writer_store(&at[0], bezel_slot_word(w, word));
    writer_store(&at[1], ticks);
    for (uint32_t i = 0, n = 2; i < count; i++, n++)
        writer_store(&bezel_slot_at(w, w->head + n / BEZEL_SLOT_WORDS)[n % BEZEL_SLOT_WORDS], values[i]);
    writer_publish(w, slots);
}

#endif
