// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/terms.h"

#include "base/grow.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Threads may come while pieces are counted. */
static bool find_elements(struct terms *t, const struct activity *a)
{
    for (size_t i = t->element_count; i < a->thread_count; i++) {
        const struct activity_thread *is = &a->threads[i];
        uint64_t h = hash_fnv64(HASH_FNV64_START, is->node, strlen(is->node) + 1);
        h = hash_fnv64(h, is->process, strlen(is->process) + 1);
        if (!grow_list(&t->element, &t->element_capacity, i, sizeof *t->element) ||
            !grow_index(&t->by_name, t->name_count))
            return false;
        int found = hash_index_find(&t->by_name, h, 0);
        if (found < 0) {
            hash_index_put(&t->by_name, h, 0, (uint32_t)i);
            t->name_count++;
        }
        t->element[i] = found < 0 ? (uint32_t)i : (uint32_t)found;
        t->element_count = i + 1;
    }
    return true;
}

int terms_number(struct terms *t, const struct activity *a, const struct path_piece *p)
{
    if (t->element_count < a->thread_count && !find_elements(t, a))
        return -1;
    uint32_t element = t->element[p->thread], peer = p->peer == ACTIVITY_NONE ? p->by | 1u << 31 : t->element[p->peer];
    uint64_t key = (uint64_t)p->is << 60 | (uint64_t)p->why << 56 | (uint64_t)(p->span & 0xffffff) << 32 | element;
    int found = hash_index_find(&t->by_key, key, peer);
    if (found >= 0)
        return found;
    if (!grow_list(&t->list, &t->capacity, t->count, sizeof *t->list) || !grow_index(&t->by_key, t->count))
        return -1;
    t->list[t->count] = (struct term){p->is, p->why, p->thread, p->span, p->peer, p->by};
    hash_index_put(&t->by_key, key, peer, (uint32_t)t->count);
    return (int)t->count++;
}

void terms_fini(struct terms *t)
{
    free(t->list);
    free(t->element);
    free(t->by_name.slots);
    free(t->by_key.slots);
    *t = (struct terms){0};
}
