// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/interval_late.h"

#include "base/hash_index.h"

#include <stdlib.h>

struct interval_late {
    uint32_t memory, next; /* the place of the next beginning */
    struct hash_index index;
    struct interval_late_beginning *list; /* a ring of `memory`; `key.more` 0: none */
};

int interval_late_new(uint32_t memory, struct interval_late **out)
{
    struct interval_late *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    uint32_t slots = hash_index_slots(memory);
    l->memory = memory;
    l->list = calloc(memory, sizeof *l->list);
    l->index = (struct hash_index){.slots = calloc(slots, sizeof *l->index.slots), .mask = slots - 1};
    if (!l->list || !l->index.slots) {
        interval_late_free(l);
        return BEZEL_ENOMEM;
    }
    *out = l;
    return 0;
}

void interval_late_free(struct interval_late *l)
{
    if (!l)
        return;
    free(l->list);
    free(l->index.slots);
    free(l);
}

struct interval_late_beginning *interval_late_find(struct interval_late *l, struct interval_key key)
{
    int found = hash_index_find(&l->index, key.bits, key.more);
    return found < 0 ? NULL : &l->list[found];
}

void interval_late_keep(struct interval_late *l, const struct interval_event *e, uint64_t answered)
{
    struct interval_late_beginning *b = interval_late_find(l, e->key);
    int64_t before = !b ? INT64_MIN : b->is.source != e->source ? b->is.at.ns : b->before;
    if (!b) {
        b = &l->list[l->next];
        if (b->is.key.more != 0)
            hash_index_remove(&l->index, b->is.key.bits, b->is.key.more);
        hash_index_put(&l->index, e->key.bits, e->key.more, l->next);
        l->next = l->next + 1 < l->memory ? l->next + 1 : 0;
    }
    *b = (struct interval_late_beginning){*e, answered, before};
}
