// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The ring: a bounded buffer in shared memory with one writing thread and one reader.
 *
 * Progress: the writer is wait-free with a bounded number of instructions and no read-modify-write; the reader never
 * makes it wait. Overflow: the new record is discarded and counted. A record takes as many 32-byte slots as its values
 * need; `head` and `tail` count slots and never wrap in practice (2^64); compare them by unsigned difference only.
 *
 * Crash: the release store of `head` is the last store of a record, so a writer killed anywhere loses at most the
 * record it was writing. Every attempt has an ordinal, whether it finds a place or not: a gap between the ordinals of
 * two records says how many were lost between them. Counters per aspect say of what, and why.
 *
 * Slot words: 0 = ordinal's low 32 bits, generation's low 8, number of values, aspect (16 bits); 1 = timestamp; then
 * values.
 *
 * Memory order (labels: each release names the acquire it pairs with):
 *   R0 head   writer -> reader   publishes the slots, and every counter stored before them
 *   R2 tail   reader -> writer   gives slots back: the reader's loads from them are done
 */
#ifndef BEZEL_SENSOR_RING_H
#define BEZEL_SENSOR_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RING_LINE = 128, /* two cache lines: adjacent-line prefetch must not couple writer and reader */
    RING_ASPECTS = 256,
    RING_SLOT_WORDS = 4,
    RING_SLOT_BYTES = 8 * RING_SLOT_WORDS,
    RING_VALUES_MAX = 12,
    RING_RECORD_SLOTS_MAX = (2 + RING_VALUES_MAX + RING_SLOT_WORDS - 1) / RING_SLOT_WORDS,
    RING_THREADS = 16, /* thread ids remembered, by generation */
    RING_SLOTS_MIN = 64,
    RING_SLOTS_MAX = 1 << 20,
    RING_SLOTS_DEFAULT = 4096,
};

/** Single-writer counters of one aspect in one ring. */
struct ring_tally {
    _Atomic uint64_t attempts, full, off, reserved;
};

struct ring_slot {
    uint64_t word[RING_SLOT_WORDS];
};

struct ring {
    alignas(RING_LINE) _Atomic uint64_t head; /* writer's: slots written */
    _Atomic uint64_t ordinal;                 /* writer's: attempts so far */
    _Atomic uint32_t generation;              /* writer's: how often the ring changed hands */
    _Atomic uint32_t thread[RING_THREADS];    /* writer's: thread id by generation modulo RING_THREADS */

    alignas(RING_LINE) _Atomic uint64_t tail; /* reader's: slots given back */
    uint64_t base_ordinal;                    /* reader's: attempts when its session began */

    alignas(RING_LINE) struct ring_tally tally[RING_ASPECTS];

    alignas(RING_LINE) struct ring_slot slots[];
};

_Static_assert(sizeof(struct ring_tally) == 32 && sizeof(struct ring_slot) == RING_SLOT_BYTES, "layout of version 1");
_Static_assert(offsetof(struct ring, tail) == RING_LINE && offsetof(struct ring, tally) == 2 * RING_LINE &&
                   offsetof(struct ring, slots) == 2 * RING_LINE + RING_ASPECTS * sizeof(struct ring_tally),
               "layout of version 1");

/** Slots of a record of `values` values. */
static inline uint32_t ring_record_slots(uint32_t values)
{
    return (2 + values + RING_SLOT_WORDS - 1) / RING_SLOT_WORDS;
}

/* ---- Writer ------------------------------------------------------------------------------------------------------ */

/** A thread's hold on its ring; private to the thread. */
struct ring_writer {
    struct ring *ring;
    uint64_t head, tail; /* own head; the last tail seen */
    uint64_t ordinal;
    uint32_t mask;
    uint32_t generation;
};

/** Adds one to a counter that has one writer: two plain accesses, no read-modify-write. */
static inline void ring_count(_Atomic uint64_t *counter)
{
    uint64_t n =
        atomic_load_explicit(counter, memory_order_relaxed);     /* relaxed: own counter, this thread alone writes */
    atomic_store_explicit(counter, n + 1, memory_order_relaxed); /* relaxed: published by the next R0 */
}

/** Counts an attempt at aspect `aspect`: it has its ordinal from here on. Returns the ordinal. */
static inline uint64_t ring_attempt(struct ring_writer *w, uint32_t aspect)
{
    ring_count(&w->ring->tally[aspect].attempts);
    uint64_t ordinal = w->ordinal++;
    atomic_store_explicit(&w->ring->ordinal, w->ordinal, memory_order_relaxed); /* relaxed: published by the next R0 */
    return ordinal;
}

/** Whether `slots` more slots fit; looks at the reader's tail only when the last one seen does not answer. */
static inline bool ring_has_room(struct ring_writer *w, uint32_t slots)
{
    uint64_t size = (uint64_t)w->mask + 1;
    if (w->head + slots - w->tail <= size)
        return true;
    uint64_t tail = atomic_load_explicit(&w->ring->tail, memory_order_acquire); /* R3 acquire: pairs R2 */
    if (w->head - tail > size)
        return false; /* a tail that cannot be: hostile, the ring counts as full */
    w->tail = tail;
    return w->head + slots - tail <= size;
}

/** Writes and publishes a record for which there is room. */
static inline void ring_put(struct ring_writer *w, uint32_t aspect, uint64_t ordinal, uint64_t timestamp,
                            const uint64_t *values, uint32_t count)
{
    uint32_t slots = ring_record_slots(count);
    struct ring_slot *at = &w->ring->slots[w->head & w->mask];
    at->word[0] = (ordinal << 32) | ((uint64_t)(w->generation & 0xff) << 24) | (uint64_t)count << 16 | aspect;
    at->word[1] = timestamp;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = i + 2;
        w->ring->slots[(w->head + word / RING_SLOT_WORDS) & w->mask].word[word % RING_SLOT_WORDS] = values[i];
    }
    w->head += slots;
    atomic_store_explicit(&w->ring->head, w->head,
                          memory_order_release); /* R0 release: pairs R1, publishes the record */
}

/* ---- Reader ------------------------------------------------------------------------------------------------------ */

/** The reader's hold on a ring; `tail` is its own, the shared one may lie. */
struct ring_reader {
    struct ring *ring;
    uint64_t tail;
    uint32_t mask;
};

/** A record taken out of a ring: a private copy. */
struct ring_record {
    uint32_t ordinal_low;
    uint32_t generation_low; /* 8 bits */
    uint32_t aspect;
    uint32_t count;
    uint64_t timestamp;
    uint64_t values[RING_VALUES_MAX];
};

/** Slots that wait to be read; more than the ring has means that the head lies. */
static inline uint64_t ring_waiting(const struct ring_reader *r)
{
    return atomic_load_explicit(&r->ring->head, memory_order_acquire) - r->tail; /* R1 acquire: pairs R0 */
}

/**
 * Copies the record at the reader's tail, of which `waiting` slots are there, and moves the private tail behind it.
 * Returns its number of slots, or 0 where the slot makes no sense.
 */
static inline uint32_t ring_take(struct ring_reader *r, uint64_t waiting, struct ring_record *out)
{
    const struct ring_slot *at = &r->ring->slots[r->tail & r->mask];
    uint64_t word =
        __atomic_load_n(&at->word[0], __ATOMIC_RELAXED); /* relaxed: R1 ordered it; atomic: read only once */
    out->aspect = word & 0xffff;
    out->count = (word >> 16) & 0xff;
    out->generation_low = (word >> 24) & 0xff;
    out->ordinal_low = (uint32_t)(word >> 32);
    out->timestamp = at->word[1];
    uint32_t slots = ring_record_slots(out->count);
    if (out->count > RING_VALUES_MAX || slots > waiting || out->aspect == 0 || out->aspect >= RING_ASPECTS)
        return 0;
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t w = i + 2;
        out->values[i] = r->ring->slots[(r->tail + w / RING_SLOT_WORDS) & r->mask].word[w % RING_SLOT_WORDS];
    }
    r->tail += slots;
    return slots;
}

/** Gives the slots before the private tail back to the writer. */
static inline void ring_release(struct ring_reader *r)
{
    atomic_store_explicit(&r->ring->tail, r->tail, memory_order_release); /* R2 release: pairs R3, ends the loads */
}

#endif
