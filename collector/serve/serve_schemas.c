// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_schemas.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* The slot of the process, or the free one where it belongs. */
static uint32_t slot_of(const struct serve_schemas *s, const uint8_t uuid[16], uint64_t instance)
{
    uint64_t hash = hash_fnv64(hash_fnv64(HASH_FNV64_START, uuid, 16), &instance, sizeof instance);
    uint32_t mask = 2 * s->capacity - 1, at = (uint32_t)hash & mask;
    while (s->slots[at]) {
        const struct serve_schema *it = &s->list[s->slots[at] - 1];
        if (it->instance == instance && memcmp(it->uuid, uuid, sizeof it->uuid) == 0)
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static int grow(struct serve_schemas *s)
{
    uint32_t capacity = s->capacity ? 2 * s->capacity : 64;
    struct serve_schema *list = realloc(s->list, capacity * sizeof *list);
    if (!list)
        return BEZEL_ENOMEM;
    s->list = list;
    uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
    if (!slots)
        return BEZEL_ENOMEM;
    free(s->slots);
    s->slots = slots;
    s->capacity = capacity;
    for (uint32_t i = 0; i < s->count; i++)
        s->slots[slot_of(s, list[i].uuid, list[i].instance)] = i + 1;
    return 0;
}

int serve_schemas_find(struct serve_schemas *s, const struct model_process *p, uint32_t *number)
{
    if (p == s->last && s->list[s->last_number].dictionary == p->dict->hash) {
        *number = s->last_number;
        return 0;
    }
    int err = s->count == s->capacity ? grow(s) : 0;
    if (err)
        return err;
    uint32_t at = slot_of(s, p->node->uuid, p->instance);
    if (!s->slots[at]) {
        struct serve_schema *it = &s->list[s->count++];
        *it = (struct serve_schema){.instance = p->instance, .dictionary = ~p->dict->hash};
        memcpy(it->uuid, p->node->uuid, sizeof it->uuid);
        s->slots[at] = s->count;
    }
    *number = s->slots[at] - 1;
    bool is_new = s->list[*number].dictionary != p->dict->hash;
    s->list[*number].dictionary = p->dict->hash;
    s->last = p;
    s->last_number = *number;
    return is_new;
}

void serve_schemas_renewed(struct serve_schemas *s)
{
    s->last = NULL;
}

void serve_schemas_fini(struct serve_schemas *s)
{
    free(s->list);
    free(s->slots);
}

int serve_schemas_dictionary(const struct dict *d, uint8_t *out)
{
    int size = 0;
    for (uint32_t i = 0; i < d->aspect_count && size >= 0; i++)
        size = dict_append_aspect(out, (size_t)size, MESSAGE_DICT_MAX, &d->aspects[i]);
    for (uint32_t i = 0; i < d->string_count && size >= 0; i++)
        size = dict_append_string(out, (size_t)size, MESSAGE_DICT_MAX, i + 1, d->strings[i]);
    return size;
}
