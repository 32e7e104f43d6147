// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Lists, bytes and indices (hash_index.h) that grow to twice their room. `list` is the address of a pointer to the
 * items, of `size` bytes each. Where there is no memory, the list stays as it is. Pure, but for memory.
 */
#ifndef BEZEL_BASE_GROW_H
#define BEZEL_BASE_GROW_H

#include "base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** Makes room for just `count` items. False: no memory. */
static inline bool grow_to(void *list, size_t count, size_t size)
{
    void *now;
    memcpy(&now, list, sizeof now); /* a pointer of any type */
    now = realloc(now, count * size);
    if (now)
        memcpy(list, &now, sizeof now);
    return now;
}

/** Makes room for one more item. False: no memory. */
static inline bool grow_list(void *list, size_t *capacity, size_t count, size_t size)
{
    size_t larger = *capacity ? 2 * *capacity : 16;
    if (count < *capacity)
        return true;
    if (!grow_to(list, larger, size))
        return false;
    *capacity = larger;
    return true;
}

/** As grow_list() for a list that grew by this function alone, so that its count tells its room. False: no memory. */
static inline bool grow_by_one(void *list, size_t count, size_t size)
{
    bool is_full = (count & (count - 1)) == 0; /* a power of two, or none */
    return !is_full || grow_to(list, count ? 2 * count : 1, size);
}

/** Makes room for `wanted` items, if there are fewer: the new ones are all zeros. False: no memory. */
static inline bool grow_zeroed(void *list, uint32_t *count, uint32_t wanted, size_t size)
{
    char *items;
    if (wanted <= *count)
        return true;
    if (!grow_to(list, wanted, size))
        return false;
    memcpy(&items, list, sizeof items);
    memset(items + *count * size, 0, (wanted - *count) * size);
    *count = wanted;
    return true;
}

/** Bytes that grow; zeros at first. */
struct grow_bytes {
    uint8_t *at;
    size_t n, capacity;
    bool short_of_memory; /* then nothing is added any more */
};

/** Room for `more` bytes behind those that are there. False: no memory. */
static inline bool grow_bytes_room(struct grow_bytes *b, size_t more)
{
    if (b->capacity - b->n >= more)
        return !b->short_of_memory;
    size_t larger = 2 * b->capacity > b->n + more ? 2 * b->capacity : b->n + more + 256;
    b->short_of_memory = b->short_of_memory || !grow_to(&b->at, larger, 1);
    b->capacity = b->short_of_memory ? b->capacity : larger;
    return !b->short_of_memory;
}

static inline void grow_bytes_add(struct grow_bytes *b, const void *data, size_t n)
{
    if (n == 0 || !grow_bytes_room(b, n))
        return;
    memcpy(b->at + b->n, data, n);
    b->n += n;
}

/** Makes room in an index for one more key beside `count`. False: no memory. */
static inline bool grow_index(struct hash_index *x, size_t count)
{
    size_t slots = x->slots ? (size_t)x->mask + 1 : 0;
    if (2 * (count + 1) <= slots)
        return true;
    size_t larger = slots ? 2 * slots : 64;
    struct hash_index more = {calloc(larger, sizeof *more.slots), (uint32_t)(larger - 1)};
    if (!more.slots)
        return false;
    for (size_t i = 0; i < slots; i++)
        if (x->slots[i].number)
            hash_index_put(&more, x->slots[i].instance, x->slots[i].ring, x->slots[i].number - 1);
    free(x->slots);
    *x = more;
    return true;
}

/** Adds a new key to an index of *count keys, and counts it. False: no memory. */
static inline bool grow_index_put(struct hash_index *x, size_t *count, uint64_t instance, uint32_t ring, size_t number)
{
    if (!grow_index(x, *count))
        return false;
    hash_index_put(x, instance, ring, (uint32_t)number);
    *count += 1;
    return true;
}

#endif
