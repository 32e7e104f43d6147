// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/node_impl.h"

static int observe_begin(void *context, const char *name)
{
    return agent_process_add(((struct node *)context)->agent, name);
}

static void observe_end(void *context, int slot)
{
    agent_process_remove(((struct node *)context)->agent, slot);
}

static int observe_watch(void *context, int slot, const char *aspect)
{
    return agent_watch(((struct node *)context)->agent, slot, aspect);
}

static void observe_record(void *context, int watch, int64_t timestamp)
{
    agent_record(((struct node *)context)->agent, watch, timestamp);
}

struct external_observer node_senses(struct node *n)
{
    return (struct external_observer){n, observe_begin, observe_end, observe_watch, observe_record};
}

static void count_aspect(struct node *n, const struct external_process *p, uint32_t id, int64_t now)
{
    if (steering_blinds(&n->steering, p->at->dict->aspects[id - 1].name))
        agent_blind(n->agent, p->watch[id]);
    else
        agent_count(n->agent, p->watch[id], segment_tally(p->at, id).attempts, now);
}

void node_count_attempts(struct node *n, int64_t now)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (!p || p->slot < 0)
            continue;
        for (uint32_t id = 1; id < p->watched; id++)
            if (p->watch[id] >= 0 && p->watch[id] != EXTERNAL_ATTENDED)
                count_aspect(n, p, id, now);
    }
}
