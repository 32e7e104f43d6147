// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The reader's side of a ring; the ring itself and its protocol are in <bezel/core.h>, the writer's side out of line in
 * sensor/shm/ring_writer.h. The reader treats the ring's contents as hostile: it masks, bounds and copies, and trusts
 * only its own tail.
 *
 *   O1 slots  writer -> reader   a slot's word, before `oldest` is read again
 */
#ifndef BEZEL_SENSOR_SHM_RING_READER_H
#define BEZEL_SENSOR_SHM_RING_READER_H

#include "bezel/core.h"

#include <stdbool.h>

enum {
    RING_LINE = BEZEL_LINE,
    RING_ASPECTS = BEZEL_ASPECTS,
    RING_SLOT_BYTES = BEZEL_SLOT_BYTES,
    RING_VALUES_MAX = 12,
    RING_OWNERS = BEZEL_RING_OWNERS,
    RING_CACHE_LINE = 64, /* of most processors; two slots */
    RING_SLOTS_MIN = 64,
    RING_SLOTS_MAX = 1 << 20,
    RING_SLOTS_DEFAULT = 4096,
    RING_ORDINAL_BITS = 64 - BEZEL_ORDINAL_SHIFT,
    RING_SHAPE_MASK = (1 << BEZEL_GENERATION_SHIFT) - 1, /* of a slot's word: number of values and aspect */
};

_Static_assert(sizeof(struct bezel_slot) == RING_SLOT_BYTES && offsetof(struct bezel_ring, tail) == RING_LINE &&
                   offsetof(struct bezel_ring, base_ordinal) == RING_LINE + 8 &&
                   offsetof(struct bezel_ring, attempts) == 2 * RING_LINE &&
                   sizeof(struct bezel_ring) == 2 * RING_LINE + 3 * RING_ASPECTS * sizeof(uint64_t),
               "layout of version 2, the same on every machine");

/** A reader of a ring, or of a copy of one. `tail` is its own; the shared one may be wrong. */
struct ring_reader {
    struct bezel_ring *ring;
    uint32_t tail;  /* a position */
    uint32_t bytes; /* of all slots */
};

/** A record taken out of a ring: a private copy. */
struct ring_record {
    uint64_t ordinal_low;    /* RING_ORDINAL_BITS */
    uint32_t generation_low; /* 8 bits */
    uint32_t aspect;
    uint32_t count;
    uint64_t ticks;
    uint64_t values[RING_VALUES_MAX];
};

static inline uint64_t *ring_slot(const struct ring_reader *r, uint32_t position)
{
    return bezel_slot_at(r->ring, r->bytes - RING_SLOT_BYTES, position);
}

/** The word of a slot, without its shape. */
static inline uint64_t ring_word(uint64_t ordinal, uint32_t generation)
{
    return ordinal << BEZEL_ORDINAL_SHIFT | (uint64_t)(generation & 0xff) << BEZEL_GENERATION_SHIFT;
}

/** Bytes from `position` to the end of the ring's memory, where the ring continues with its first slot. */
static inline uint32_t ring_bytes_to_end(const struct ring_reader *r, uint32_t position)
{
    return r->bytes - (position & (r->bytes - 1));
}

/** A reader of `ring`, which is followed by its `slots` slots. It begins at the shared tail. */
static inline struct ring_reader ring_reader(struct bezel_ring *ring, uint32_t slots)
{
    return (struct ring_reader){.ring = ring,
                                .tail = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED), /* relaxed: we wrote it */
                                .bytes = slots * RING_SLOT_BYTES};
}

/** Bytes of slots that wait to be read. */
static inline uint32_t ring_waiting(const struct ring_reader *r)
{
    return __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE) - r->tail; /* R1 acquire: pairs R0 */
}

/** Whether `waiting` bytes are possible; if not, the head is wrong. */
static inline bool ring_may_wait(const struct ring_reader *r, uint32_t waiting)
{
    return waiting <= r->bytes && waiting % RING_SLOT_BYTES == 0;
}

/** Bytes of the slots of the record at `position`, as its slot states them; at most those of the longest record. */
static inline uint32_t ring_record_bytes(const struct ring_reader *r, uint32_t position)
{
    uint64_t word = __atomic_load_n(ring_slot(r, position), __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
    uint32_t count = (word >> BEZEL_COUNT_SHIFT) & 0xf;
    return bezel_record_slots(count < RING_VALUES_MAX ? count : RING_VALUES_MAX) * RING_SLOT_BYTES;
}

/**
 * Copies the record at the reader's tail, from where `waiting` bytes can be read, and moves the private tail past it.
 * Returns the record's bytes, or 0 if the slot is invalid.
 */
static inline uint32_t ring_take(struct ring_reader *r, uint32_t waiting, struct ring_record *out)
{
    const uint64_t *at = ring_slot(r, r->tail);
    uint64_t word = __atomic_load_n(&at[0], __ATOMIC_RELAXED); /* relaxed: R1 ordered it; atomic: read only once */
    out->aspect = word & 0xff;
    out->count = (word >> BEZEL_COUNT_SHIFT) & 0xf;
    out->generation_low = (word >> BEZEL_GENERATION_SHIFT) & 0xff;
    out->ordinal_low = word >> BEZEL_ORDINAL_SHIFT;
    out->ticks = at[1];
    uint32_t bytes = bezel_record_slots(out->count) * RING_SLOT_BYTES;
    if (out->count > RING_VALUES_MAX || bytes > waiting || out->aspect == 0)
        return 0;
    for (uint32_t i = 0, n = 2; i < out->count; i++, n++)
        out->values[i] = ring_slot(r, r->tail + n / BEZEL_SLOT_WORDS * RING_SLOT_BYTES)[n % BEZEL_SLOT_WORDS];
    r->tail += bytes;
    return bytes;
}

/**
 * Takes the cache lines of the slots from position `from` to the private tail for this CPU alone: it stores a word of
 * each again. The writer's cache has such a line no longer, and fetches it ahead. It still has a line that was only
 * read, but shares it: no prefetch helps there, and the writer's next store waits until the reader's copy is invalid.
 */
static inline void ring_take_lines(const struct ring_reader *r, uint32_t from)
{
    for (uint32_t at = from | RING_SLOT_BYTES; (int32_t)(r->tail - at) > 0; at += RING_CACHE_LINE) {
        uint64_t *word = ring_slot(r, at);
        uint64_t same = __atomic_load_n(word, __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
        __atomic_store_n(word, same, __ATOMIC_RELAXED);          /* relaxed: the slot is the reader's until R2 */
    }
}

/** Gives the slots before the private tail, which were read, back to the writer; not in an overwriting ring. */
static inline void ring_release(struct ring_reader *r)
{
    uint32_t from = __atomic_load_n(&r->ring->tail, __ATOMIC_RELAXED); /* relaxed: we wrote it */
    if (from % RING_SLOT_BYTES == 0 && r->tail - from <= r->bytes)     /* else somebody damaged it */
        ring_take_lines(r, from);
    __atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_RELEASE); /* R2 release: pairs R3, ends the loads */
}

/** Passes over the slots that wait: gives them back unread. */
static inline void ring_skip(struct ring_reader *r)
{
    r->tail += ring_waiting(r);
    __atomic_store_n(&r->ring->tail, r->tail, __ATOMIC_RELEASE); /* R2 release: pairs R3, nothing was loaded */
}

/** How far ordinal `low` is ahead of `expected`; negative: behind. Correct up to a distance of 2^43, hours of losses.
 */
static inline int64_t ring_ordinals_ahead(uint64_t expected, uint64_t low)
{
    return (int64_t)((low - expected) << BEZEL_ORDINAL_SHIFT) >> BEZEL_ORDINAL_SHIFT;
}

/**
 * Copies an overwriting ring into `copy`, which has as many slots, newest record first: the records that the writer
 * overwrites meanwhile are the last ones copied, and are dropped. `copy` can then be read like a ring. False if the
 * ring's head is invalid. Wait-free.
 */
static inline bool ring_copy(const struct ring_reader *r, struct ring_reader *copy)
{
    uint32_t head, held;
    int tries = 3;
    do {
        head = __atomic_load_n(&r->ring->head, __ATOMIC_ACQUIRE);          /* R1 acquire: pairs R0 */
        held = head - __atomic_load_n(&r->ring->oldest, __ATOMIC_RELAXED); /* relaxed: read again below */
    } while (held >> 31 && --tries > 0); /* the writer has overwritten the whole ring since it stored that head */
    if (held >> 31)
        held = 0;
    if (!ring_may_wait(r, held))
        return false;
    for (uint32_t at = head; at != head - held;) {
        at -= RING_SLOT_BYTES;
        const uint64_t *from = ring_slot(r, at);
        uint64_t *to = ring_slot(copy, at);
        for (int i = 0; i < BEZEL_SLOT_WORDS; i++)
            to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE); /* O1 acquire: pairs O0 */
    }
    uint32_t left = head - __atomic_load_n(&r->ring->oldest, __ATOMIC_RELAXED); /* relaxed: O1 ordered it */
    copy->tail = left <= held ? head - left : head;
    __atomic_store_n(&copy->ring->head, head, __ATOMIC_RELAXED); /* relaxed: nobody else looks at the copy */
    return true;
}

#endif
