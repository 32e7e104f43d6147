// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * An index from (process instance, ring), or any two such numbers, to a small number, in the caller's memory. Finding,
 * adding and removing take a few steps however many keys there are, which must never be more than half of the slots.
 * Not thread-safe.
 */
#ifndef BEZEL_BASE_HASH_INDEX_H
#define BEZEL_BASE_HASH_INDEX_H

#include <stdint.h>

#define HASH_INDEX_NO_RING UINT32_MAX /* in place of a ring: the process itself */

struct hash_index_slot {
    uint64_t instance;
    uint32_t ring;
    uint32_t number; /* plus 1; 0: free */
};

/** The number of slots is a power of two; all zeros at first. */
struct hash_index {
    struct hash_index_slot *slots;
    uint32_t mask; /* number of slots less 1 */
};

/** As many as `keys` keys need, which is at most 2^30. */
static inline uint32_t hash_index_slots(uint32_t keys)
{
    uint32_t slots = 2;
    while (slots < 2 * keys)
        slots *= 2;
    return slots;
}

static inline uint32_t hash_index_first(const struct hash_index *x, uint64_t instance, uint32_t ring)
{
    uint64_t h = (instance ^ ((uint64_t)ring << 57 | ring)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) & x->mask;
}

static inline uint32_t hash_index_at(const struct hash_index *x, uint64_t instance, uint32_t ring)
{
    uint32_t at = hash_index_first(x, instance, ring);
    while (x->slots[at].number && (x->slots[at].instance != instance || x->slots[at].ring != ring))
        at = (at + 1) & x->mask;
    return at;
}

/** The number that goes with the key, or -1. An index without slots has no key. */
static inline int hash_index_find(const struct hash_index *x, uint64_t instance, uint32_t ring)
{
    return !x->slots ? -1 : (int)x->slots[hash_index_at(x, instance, ring)].number - 1;
}

/** Adds the key, or changes its number. */
static inline void hash_index_put(struct hash_index *x, uint64_t instance, uint32_t ring, uint32_t number)
{
    x->slots[hash_index_at(x, instance, ring)] = (struct hash_index_slot){instance, ring, number + 1};
}

/** Removes the key, if it is there. Later keys move up, so that no search ends at the hole. */
static inline void hash_index_remove(struct hash_index *x, uint64_t instance, uint32_t ring)
{
    uint32_t hole = hash_index_at(x, instance, ring);
    for (uint32_t at = hole; x->slots[hole].number;) {
        at = (at + 1) & x->mask;
        const struct hash_index_slot *p = &x->slots[at];
        if (!p->number)
            x->slots[hole].number = 0;
        else if (((at - hash_index_first(x, p->instance, p->ring)) & x->mask) >= ((at - hole) & x->mask)) {
            x->slots[hole] = *p;
            hole = at;
        }
    }
}

#endif
