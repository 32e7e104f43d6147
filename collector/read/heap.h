// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A binary heap of pointers, the first one by `before` at its root. A struct of all zeros is empty; free(items). */
#ifndef BEZEL_COLLECTOR_READ_HEAP_H
#define BEZEL_COLLECTOR_READ_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct heap {
    size_t count, capacity;
    void **items;
};

typedef bool heap_before(const void *a, const void *b);

/** Item `i` may have to go down: it, or what was in its place, is later than before. */
static inline void heap_down(struct heap *h, size_t i, heap_before *before)
{
    void *it = h->items[i];
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(h->items[child + 1], h->items[child]))
            child++;
        if (!before(h->items[child], it))
            break;
        h->items[i] = h->items[child];
    }
    h->items[i] = it;
}

/** Item `i` may have to go up. */
static inline void heap_up(struct heap *h, size_t i, heap_before *before)
{
    void *it = h->items[i];
    for (; i > 0 && before(it, h->items[(i - 1) / 2]); i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = it;
}

/** Makes room for one more. False: no memory. */
static inline bool heap_reserve(struct heap *h)
{
    if (h->count < h->capacity)
        return true;
    size_t larger = h->capacity ? 2 * h->capacity : 8;
    void **items = realloc(h->items, larger * sizeof *items);
    if (!items)
        return false;
    h->items = items;
    h->capacity = larger;
    return true;
}

/** Adds `item`; there is room. */
static inline void heap_put(struct heap *h, void *item, heap_before *before)
{
    h->items[h->count++] = item;
    heap_up(h, h->count - 1, before);
}

/** Takes item `i` out; the others keep their order. */
static inline void heap_take(struct heap *h, size_t i, heap_before *before)
{
    h->items[i] = h->items[--h->count];
    if (i < h->count) {
        heap_up(h, i, before);
        heap_down(h, i, before);
    }
}

#endif
