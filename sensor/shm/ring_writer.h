// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The writer's side of a ring, out of line: claiming a ring, room, drops, records of any size, overwriting. It only
 * accesses memory, without clock, system call or library, so that it serves a thread of a process and a context of a
 * microcontroller alike. One writer per ring; wait-free, each function with a bounded number of steps.
 *
 *   O0 slots  writer -> reader   of an overwriting ring: publishes `oldest`, stored before the slots it gives up
 */
#ifndef BEZEL_SENSOR_SHM_RING_WRITER_H
#define BEZEL_SENSOR_SHM_RING_WRITER_H

#include "bezel/core.h"

#include <stdbool.h>

#define WRITER_EPOCH ((uint64_t)1 << 32) /* distance of two positions that are equal in the ring's 32-bit words */

/** Bytes of slots of a record of `count` values. */
static inline uint32_t writer_bytes(uint32_t count)
{
    return bezel_record_slots(count) * BEZEL_SLOT_BYTES;
}

static inline uint32_t writer_ring_bytes(const struct bezel_writer *w)
{
    return w->mask + BEZEL_SLOT_BYTES;
}

/** Position of the next record, in 64 bits. */
static inline uint64_t writer_position(const struct bezel_writer *w)
{
    return w->high + __atomic_load_n(&w->ring->head, __ATOMIC_RELAXED); /* relaxed: own word */
}

/** Number of values of the record with slot word 0 `word`. */
static inline uint32_t writer_word_count(uint64_t word)
{
    return (word >> BEZEL_COUNT_SHIFT) & 0xf;
}

/* Sets `base` and the limits. The inline path stops one slot before head wraps: out of line the writer steps over it.
 */
static inline void writer_rebase(struct bezel_writer *w)
{
    uint64_t end = w->high + WRITER_EPOCH - BEZEL_SLOT_BYTES, limit = w->room < end ? w->room : end;
    w->base = ((w->high / BEZEL_SLOT_BYTES + w->skew) << BEZEL_ORDINAL_SHIFT) +
              ((uint64_t)(w->generation & 0xff) << BEZEL_GENERATION_SHIFT);
    limit = limit > w->high ? limit - w->high : 0;
    w->limit = w->inlined ? (uint32_t)limit : 0;
    w->usual_limit = w->usual ? (uint32_t)limit : 0;
}

/**
 * Makes `w` the writer of `ring`, which is followed by `slots` slots (a power of two), and is new or released: it
 * continues where the previous writer stopped. `generation` is that of the new writer. `inlined`: bezel_record() may
 * write here without a call. Safe against any bytes in the ring.
 */
static inline void writer_hold(struct bezel_writer *w, struct bezel_ring *ring, uint32_t slots, uint32_t generation,
                               bool inlined)
{
    uint32_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);     /* relaxed: ours now */
    uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);     /* R3 acquire: pairs R2 */
    uint32_t oldest = __atomic_load_n(&ring->oldest, __ATOMIC_RELAXED); /* relaxed: ours now */
    uint32_t bytes = slots * BEZEL_SLOT_BYTES;
    w->high = WRITER_EPOCH; /* so that earlier positions are not negative */
    uint64_t position = w->high + head;
    w->skew = bezel_ring_attempts(ring) - position / BEZEL_SLOT_BYTES;
    w->oldest = position - (head - oldest <= bytes ? head - oldest : 0);
    w->room =
        head - tail <= bytes ? position - (head - tail) + bytes : position; /* a wrong tail: full until it is valid */
    w->previous_end = position;
    w->previous = UINT64_MAX;
    w->generation = generation;
    w->inlined = inlined;
    w->mask = bytes - BEZEL_SLOT_BYTES;
    w->ring = ring;
    writer_rebase(w);
}

/** Counts a lost record: its attempt, which uses an ordinal, and its drop in `counters`, the ring's `full` or `off`. */
static inline void writer_drop(struct bezel_writer *w, uint32_t id, uint64_t *counters)
{
    bezel_attempt(w->ring, id);
    bezel_tally_add(&counters[id]);
    w->skew++;
    w->previous_end = writer_position(w);
    w->previous = UINT64_MAX;
    writer_rebase(w);
}

/** Whether `bytes` more fit; reads the reader's tail only if the last one read does not suffice. */
static inline bool writer_has_room(struct bezel_writer *w, uint32_t bytes)
{
    uint64_t position = writer_position(w);
    if (position + bytes <= w->room)
        return true;
    uint32_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE); /* R3 acquire: pairs R2 */
    uint32_t used = (uint32_t)position - tail;
    if (used > writer_ring_bytes(w) || used % BEZEL_SLOT_BYTES != 0)
        return false; /* a wrong tail: the ring counts as full */
    w->room = position - used + writer_ring_bytes(w);
    writer_rebase(w);
    return position + bytes <= w->room;
}

/** Slot word 0 of the next record. */
static inline uint64_t writer_word(const struct bezel_writer *w, uint64_t position, uint32_t id, uint32_t count)
{
    return ((position - w->high) << BEZEL_HEAD_SHIFT) + w->base + bezel_record_word(id, count);
}

/** Word `n` of a record at `position`, which may be in one of the following slots. */
static inline uint64_t *writer_at(const struct bezel_writer *w, uint64_t position, uint32_t n)
{
    uint32_t slot = n / BEZEL_SLOT_WORDS * BEZEL_SLOT_BYTES;
    return bezel_slot_at(w->ring, w->mask, (uint32_t)position + slot) + n % BEZEL_SLOT_WORDS;
}

/* Publishes the record of `bytes` bytes at `position`, and its attempt. */
static inline void writer_publish(struct bezel_writer *w, uint64_t position, uint32_t bytes)
{
    uint64_t end = position + bytes;
    __atomic_store_n(&w->ring->head, (uint32_t)end, __ATOMIC_RELEASE); /* R0 release: pairs R1, publishes the record */
    if (bytes == BEZEL_SLOT_BYTES && end - w->high < WRITER_EPOCH)
        return;
    if (bytes > BEZEL_SLOT_BYTES) {
        w->previous = position;
        w->previous_end = end;
        w->skew -= bytes / BEZEL_SLOT_BYTES - 1;
    }
    if (end - w->high >= WRITER_EPOCH)
        w->high += WRITER_EPOCH;
    writer_rebase(w);
}

/** Writes and publishes a record of any size, and counts its attempt. The caller has checked the room. */
static inline void writer_put(struct bezel_writer *w, uint32_t id, uint64_t ticks, const uint64_t *values,
                              uint32_t count)
{
    uint64_t position = writer_position(w), *at = writer_at(w, position, 0);
    at[0] = writer_word(w, position, id, count);
    at[1] = ticks;
    for (uint32_t i = 0; i < count; i++)
        *writer_at(w, position, i + 2) = values[i];
    bezel_attempt(w->ring, id);
    writer_publish(w, position, writer_bytes(count));
}

/* Stores a word of a slot that a reader may be copying; a reader that sees this store drops its copy. */
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

/** Writes and publishes a record over the oldest ones, at most as many as it has slots; counts its attempt. */
static inline void writer_put_over(struct bezel_writer *w, uint32_t id, uint64_t ticks, const uint64_t *values,
                                   uint32_t count)
{
    uint64_t position = writer_position(w), end = position + writer_bytes(count);
    if (position - w->oldest > writer_ring_bytes(w)) /* somebody overwrote the head: no record can be found */
        w->oldest = position;
    while (end - w->oldest > writer_ring_bytes(w))
        w->oldest += writer_bytes(writer_word_count(*writer_at(w, w->oldest, 0)));
    __atomic_store_n(&w->ring->oldest, (uint32_t)w->oldest, __ATOMIC_RELAXED); /* relaxed: published by O0 */
    writer_store(writer_at(w, position, 0), writer_word(w, position, id, count));
    writer_store(writer_at(w, position, 1), ticks);
    for (uint32_t i = 0; i < count; i++)
        writer_store(writer_at(w, position, i + 2), values[i]);
    bezel_attempt(w->ring, id);
    writer_publish(w, position, writer_bytes(count));
}

/** Sets *ticks to the time of the previous record, from the ring; false if there is none. */
static inline bool writer_previous_time(const struct bezel_writer *w, uint64_t *ticks)
{
    uint64_t position = writer_position(w), from = position - BEZEL_SLOT_BYTES;
    if (w->previous_end == position)
        from = w->previous;
    if (from == UINT64_MAX)
        return false;
    *ticks = *writer_at(w, from, 1);
    return true;
}

#endif
