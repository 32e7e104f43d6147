// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_index.h"

#include "base/saturate.h"

#include <stdlib.h>

void top_index_free(struct top_index *x)
{
    free(x->nodes);
    free(x->processes);
    free(x->hash.slots);
    *x = (struct top_index){0};
}

static int by_row(const void *a, const void *b)
{
    const struct top_index_process *x = a, *y = b;
    return (x->process->row > y->process->row) - (x->process->row < y->process->row);
}

static void count(struct top_index *x, const struct model *m)
{
    for (const struct model_node *n = m->nodes; n; n = n->next) {
        x->node_count++;
        for (const struct model_process *p = n->processes; p; p = p->next)
            x->process_count++;
    }
}

static void fill(struct top_index *x, const struct model *m)
{
    size_t nodes = 0, processes = 0;
    for (const struct model_node *n = m->nodes; n; n = n->next) {
        for (const struct model_process *p = n->processes; p; p = p->next)
            x->processes[processes++] = (struct top_index_process){p, (uint32_t)nodes};
        x->nodes[nodes++] = n;
    }
    qsort(x->processes, processes, sizeof *x->processes, by_row);
    for (uint32_t i = 0; i < processes; i++)
        hash_index_put(&x->hash, x->processes[i].process->instance, x->processes[i].node, i);
}

int top_index_build(struct top_index *x, const struct model *m)
{
    size_t slots = 64;
    top_index_free(x);
    if (!m)
        return 0;
    count(x, m);
    while (slots < 2 * x->process_count + 2)
        slots *= 2;
    x->nodes = calloc(x->node_count + 1, sizeof *x->nodes);
    x->processes = calloc(x->process_count + 1, sizeof *x->processes);
    x->hash = (struct hash_index){calloc(slots, sizeof *x->hash.slots), (uint32_t)slots - 1};
    if (!x->nodes || !x->processes || !x->hash.slots) {
        top_index_free(x);
        return BEZEL_ENOMEM;
    }
    fill(x, m);
    return 0;
}

int64_t top_index_node_of_row(const struct top_index *x, int64_t row)
{
    for (size_t i = 0; i < x->node_count; i++)
        if (x->nodes[i]->row == row)
            return (int64_t)i;
    return -1;
}

int64_t top_index_process_of_row(const struct top_index *x, int64_t row)
{
    size_t low = 0, high = x->process_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->processes[middle].process->row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < x->process_count && x->processes[low].process->row == row ? (int64_t)low : -1;
}

int64_t top_index_process(const struct top_index *x, uint32_t node, uint64_t instance)
{
    return x->hash.slots ? hash_index_find(&x->hash, instance, node) : -1;
}

struct clock_reading top_index_time(const struct top_index *x, uint32_t node, int64_t own)
{
    if (node >= x->node_count)
        return (struct clock_reading){own, INT64_MAX};
    struct clock_reading r = run_clock_at(&x->nodes[node]->run_clock, saturate_ns(own));
    r.ns = saturate_ns(r.ns);
    return r;
}

/* A clock's rate differs from the run's by some hundred millionths at most, so a few steps come as near as there is. */
int64_t top_index_own(const struct top_index *x, uint32_t node, int64_t time)
{
    int64_t own = saturate_ns(time);
    for (int i = 0; i < 6; i++) {
        int64_t behind = saturate_ns(time) - top_index_time(x, node, own).ns;
        own = saturate_ns(saturate_add(own, behind));
        if (behind == 0)
            break;
    }
    return own;
}
