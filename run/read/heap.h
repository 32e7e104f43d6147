// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A binary heap of pointers, with the least key at its root; `before` decides between two with the same key. Keys stand
 * beside the pointers, so most comparisons touch the heap alone. A struct of all zeros is empty; free(entries).
 */
#ifndef BEZEL_RUN_READ_HEAP_H
#define BEZEL_RUN_READ_HEAP_H

#include "base/grow.h"

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
    return __builtin_expect(a->key == b->key, 0) ? before(a->item, b->item) : a->key < b->key;
}

/** The first item; NULL: there is none. */
static inline void *heap_first(const struct heap *h)
{
    return h->count ? h->entries[0].item : NULL;
}

/** Entry `i` becomes `it`, which may have to go up, at most to `top`. */
static inline void heap_up(struct heap *h, size_t top, size_t i, struct heap_entry it, heap_before *before)
{
    for (; i > top && heap_is_before(&it, &h->entries[(i - 1) / 2], before); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = it;
}

/**
 * Entry `i` becomes `it`, which may have to go down. Mostly it goes far, so its place is looked for from below: that
 * takes one comparison for each level on the way down (Floyd; Knuth 5.2.3, exercise 18).
 */
static inline void heap_down(struct heap *h, size_t i, struct heap_entry it, heap_before *before)
{
    struct heap_entry *e = h->entries;
    size_t top = i, child;
    while ((child = 2 * i + 2) < h->count) {
        child -= heap_is_before(&e[child - 1], &e[child], before); /* no branch: which one is anybody's guess */
        if (i == top && !heap_is_before(&e[child], &it, before))
            break;
        e[i] = e[child];
        i = child;
    }
    if (child == h->count && heap_is_before(&e[child - 1], &it, before)) {
        e[i] = e[child - 1];
        i = child - 1;
    }
    heap_up(h, top, i, it, before);
}

/** Entry `i` becomes `it`, wherever that belongs. */
static inline void heap_set(struct heap *h, size_t i, struct heap_entry it, heap_before *before)
{
    if (i > 0 && heap_is_before(&it, &h->entries[(i - 1) / 2], before))
        heap_up(h, 0, i, it, before);
    else
        heap_down(h, i, it, before);
}

/** Makes room for one more. False: no memory. */
static inline bool heap_reserve(struct heap *h)
{
    return grow_list(&h->entries, &h->capacity, h->count, sizeof *h->entries);
}

/** Adds `it`; there is room. */
static inline void heap_put(struct heap *h, struct heap_entry it, heap_before *before)
{
    heap_up(h, 0, h->count++, it, before);
}

/** Takes entry `i` out. */
static inline void heap_take(struct heap *h, size_t i, heap_before *before)
{
    struct heap_entry last = h->entries[--h->count];
    if (i < h->count)
        heap_set(h, i, last, before);
}

#endif
