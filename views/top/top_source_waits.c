// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Waits and long spans that are open at the shown time, or were when their process ended. */
#include "views/top/top_source_internal.h"

#include <stdlib.h>

enum { OPEN_MOST = 4096 };

/* The latest event of each place of each process up to the shown time, in `list`; returns how many there are. */
static size_t find_latest(struct top_source *s, struct hash_index *index, const struct builtin_open **list)
{
    size_t count = 0;
    for (size_t i = 0; i < s->c.history.event_count; i++) {
        const struct history_event *e = &s->c.history.events[i];
        if (e->table != BUILTIN_OPEN || top_source_event_time(s, e) > s->time)
            continue;
        uint64_t process = (uint64_t)e->open.instance ^ (uint64_t)e->node << 48;
        int known = hash_index_find(index, process, (uint32_t)e->open.place);
        if (known < 0 && count == OPEN_MOST) {
            s->left_out++;
            continue;
        }
        if (known < 0)
            hash_index_put(index, process, (uint32_t)e->open.place, (uint32_t)count);
        list[known < 0 ? count++ : (size_t)known] = &e->open;
    }
    return count;
}

static void add_row(struct top_source *s, const struct top_state *state, struct top_id scope,
                    const struct builtin_open *o)
{
    int64_t process = catalogue_process(&s->c, o->node, (uint64_t)o->instance);
    bool shown = o->state != OPEN_ENDED && process >= 0 && top_source_shows(s, state, scope, (size_t)process);
    struct top_item *item = shown ? top_source_add(s) : NULL;
    if (!item)
        return;
    bool goes_on = o->state == OPEN_NOW;
    int64_t until = goes_on ? s->time : catalogue_time(s->c.nodes[o->node], o->at).ns;
    item->id = (struct top_id){o->node, (uint64_t)o->instance, (uint32_t)o->place + 1, (uint32_t)o->thread, -1};
    item->scope.node = o->node;
    item->scope.instance = (uint64_t)o->instance;
    item->into = TOP_ASPECTS;
    item->texts[0] = o->process;
    item->texts[1] = o->aspect;
    item->texts[2] = o->reason[0] ? o->reason : NULL;
    item->texts[3] = s->c.nodes[o->node]->name;
    item->texts[4] = goes_on ? "open" : "left";
    item->values[1] = (double)o->thread;
    if (o->since > 0)
        item->values[0] = (double)(until - catalogue_time(s->c.nodes[o->node], o->since).ns);
}

int top_source_waits(struct top_source *s, const struct top_state *state, struct top_id scope)
{
    struct hash_index index = {calloc(2 * OPEN_MOST, sizeof *index.slots), 2 * OPEN_MOST - 1};
    const struct builtin_open **list = calloc(OPEN_MOST, sizeof *list);
    int err = index.slots && list ? 0 : BEZEL_ENOMEM;
    size_t count = err ? 0 : find_latest(s, &index, list);
    for (size_t i = 0; i < count; i++)
        add_row(s, state, scope, list[i]);
    free(index.slots);
    free(list);
    return err;
}
