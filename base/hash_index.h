// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * An index from (process instance, ring) to a small number, in the caller's memory: finding, adding and removing take a
 * few steps however many there are. It must never hold more than half its places. Not thread-safe.
 */
#ifndef BEZEL_SENSOR_INDEX_H
#define BEZEL_SENSOR_INDEX_H

#include <stdint.h>

#define INDEX_WHOLE UINT32_MAX /* in place of a ring: the process itself */

struct index_place {
    uint64_t instance;
    uint32_t ring;
    uint32_t number; /* plus 1; 0: free */
};

/** Places are a power of two, zeroed at first. */
struct index {
    struct index_place *places;
    uint32_t mask; /* number of places less 1 */
};

static inline uint32_t index_home(const struct index *x, uint64_t instance, uint32_t ring)
{
    uint64_t h = (instance ^ ((uint64_t)ring << 57 | ring)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32) & x->mask;
}

static inline uint32_t index_at(const struct index *x, uint64_t instance, uint32_t ring)
{
    uint32_t at = index_home(x, instance, ring);
    while (x->places[at].number && (x->places[at].instance != instance || x->places[at].ring != ring))
        at = (at + 1) & x->mask;
    return at;
}

/** The number that goes with the key, or -1. */
static inline int index_find(const struct index *x, uint64_t instance, uint32_t ring)
{
    return (int)x->places[index_at(x, instance, ring)].number - 1;
}

/** Adds the key, or changes its number. */
static inline void index_put(struct index *x, uint64_t instance, uint32_t ring, uint32_t number)
{
    x->places[index_at(x, instance, ring)] = (struct index_place){instance, ring, number + 1};
}

/** Removes the key, if it is there. What follows moves up, so that a search never ends at a hole that was made. */
static inline void index_remove(struct index *x, uint64_t instance, uint32_t ring)
{
    uint32_t hole = index_at(x, instance, ring);
    for (uint32_t at = hole; x->places[hole].number;) {
        at = (at + 1) & x->mask;
        const struct index_place *p = &x->places[at];
        if (!p->number)
            x->places[hole].number = 0;
        else if (((at - index_home(x, p->instance, p->ring)) & x->mask) >= ((at - hole) & x->mask)) {
            x->places[hole] = *p;
            hole = at;
        }
    }
}

#endif
