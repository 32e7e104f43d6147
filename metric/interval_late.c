// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/interval_late.h"

#include "base/hash_index.h"
#include "base/saturate.h"

#include <stdlib.h>

struct interval_late {
    uint32_t memory, next; /* the place of the next beginning */
    struct hash_index index;
    struct interval_event *events; /* a ring of `memory`; `key.more` 0: none */
};

int interval_late_new(uint32_t memory, struct interval_late **out)
{
    struct interval_late *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    uint32_t slots = hash_index_slots(memory);
    l->memory = memory;
    l->events = calloc(memory, sizeof *l->events);
    l->index = (struct hash_index){.slots = calloc(slots, sizeof *l->index.slots), .mask = slots - 1};
    if (!l->events || !l->index.slots) {
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
    free(l->events);
    free(l->index.slots);
    free(l);
}

static void forget(struct interval_late *l, struct interval_event *e)
{
    if (e->key.more != 0)
        hash_index_remove(&l->index, e->key.bits, e->key.more);
    e->key.more = 0;
}

static void remember(struct interval_late *l, const struct interval_event *e)
{
    int found = hash_index_find(&l->index, e->key.bits, e->key.more);
    if (found >= 0) {
        l->events[found] = *e;
        return;
    }
    forget(l, &l->events[l->next]);
    l->events[l->next] = *e;
    hash_index_put(&l->index, e->key.bits, e->key.more, l->next);
    l->next = l->next + 1 < l->memory ? l->next + 1 : 0;
}

bool interval_late_take(struct interval_late *l, const struct interval_event *e, struct interval_time *time,
                        bool *first)
{
    uint64_t bit = UINT64_C(1) << e->source % 64;
    if (e->position == 0) {
        remember(l, e);
        return false;
    }
    int found = hash_index_find(&l->index, e->key.bits, e->key.more);
    if (found < 0)
        return false;
    struct interval_event *from = &l->events[found];
    bool same = from->clock == e->clock;
    struct clock_reading took = {saturate_sub(same ? e->own : e->at.ns, same ? from->own : from->at.ns),
                                 same ? 0 : saturate_add(from->at.bound, e->at.bound)};
    if (took.ns < 0 || (from->answered & bit))
        return false;
    *time = (struct interval_time){e->end, INTERVAL_WHOLE, took, {from->source, from->own}, {e->source, e->own}};
    *first = from->answered == 0;
    from->answered |= bit;
    return true;
}
