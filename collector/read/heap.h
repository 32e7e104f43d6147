// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A binary heap of pointers, with the least key at its root; `before` tells of two with the same key. Keys stand beside
 * the pointers, so most comparisons touch the heap alone. A struct of all zeros is empty; free(entries).
 */
#ifndef BEZEL_COLLECTOR_READ_HEAP_H
#define BEZEL_COLLECTOR_READ_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct heap_entry {
    int64_t key;
    void *item;
};

struct heap {
    size_t count, capacity;
    struct heap_entry *entries;
};

typedef bool heap_before(const void *a, const void *b);

static inline bool heap_is_before(const struct heap_entry *a, const struct heap_entry *b, heap_before *before)
{
    return a->key != b->key ? a->key < b->key : before(a->item, b->item);
}

/** The first item; NULL: there is none. */
static inline void *heap_first(const struct heap *h)
{
    return h->count ? h->entries[0].item : NULL;
}

/** Entry `i` becomes `it`, which may have to go down. */
static inline void heap_down(struct heap *h, size_t i, struct heap_entry it, heap_before *before)
{
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && heap_is_before(&h->entries[child + 1], &h->entries[child], before))
            child++;
        if (!heap_is_before(&h->entries[child], &it, before))
            break;
        h->entries[i] = h->entries[child];
    }
    h->entries[i] = it;
}

/** Entry `i` becomes `it`, which may have to go up. */
static inline size_t heap_up(struct heap *h, size_t i, struct heap_entry it, heap_before *before)
{
    for (; i > 0 && heap_is_before(&it, &h->entries[(i - 1) / 2], before); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = it;
    return i;
}

/** Entry `i` becomes `it`, wherever that belongs. */
static inline void heap_set(struct heap *h, size_t i, struct heap_entry it, heap_before *before)
{
    if (i == 0 || heap_up(h, i, it, before) == i)
        heap_down(h, i, it, before);
}

/** Makes room for one more. False: no memory. */
static inline bool heap_reserve(struct heap *h)
{
    if (h->count < h->capacity)
        return true;
    size_t larger = h->capacity ? 2 * h->capacity : 8;
    struct heap_entry *entries = realloc(h->entries, larger * sizeof *entries);
    if (!entries)
        return false;
    h->entries = entries;
    h->capacity = larger;
    return true;
}

/** Adds `it`; there is room. */
static inline void heap_put(struct heap *h, struct heap_entry it, heap_before *before)
{
    heap_up(h, h->count++, it, before);
}

/** Takes entry `i` out. */
static inline void heap_take(struct heap *h, size_t i, heap_before *before)
{
    struct heap_entry last = h->entries[--h->count];
    if (i < h->count)
        heap_set(h, i, last, before);
}

#endif
