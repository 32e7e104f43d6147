// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Lists and indices (hash_index.h) that grow to twice their room. Pure, but for memory. */
#ifndef BEZEL_BASE_GROW_H
#define BEZEL_BASE_GROW_H

#include "base/hash_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Makes room for one more item of `size` bytes in the list that the pointer at `list` leads to. False: no memory. */
static inline bool grow_list(void *list, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 16;
    void *now;
    memcpy(&now, list, sizeof now); /* a pointer of any type */
    now = realloc(now, larger * size);
    if (!now)
        return false;
    memcpy(list, &now, sizeof now);
    *capacity = larger;
    return true;
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

#endif
