// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/export_internal.h"
#include "export/merged_trace.h"

#include <stdlib.h>

struct merge {
    struct merged_trace *out;
    const uint32_t **classes; /* by source: in the merged trace, of the aspects of its process, by id - 1 */
    bool own_time;            /* the node's clock is known by its wall clock only */
};

static int add(void *context, size_t source, const struct model_process *p)
{
    struct merge *m = context;
    m->classes[source] = merged_trace_classes(m->out, p);
    return m->classes[source] ? 0 : BEZEL_ENOMEM;
}

static int take(void *context, const struct record_item *item)
{
    struct merge *m = context;
    uint64_t time = m->own_time ? item->time : item->at.ns > 0 ? (uint64_t)item->at.ns : 0;
    if (item->r) {
        struct packet_record r = *item->r;
        r.timestamp = time;
        merged_trace_record(m->out, item->process, item->packet, &r, m->classes[item->stream][r.aspect - 1]);
    } else {
        merged_trace_lose(m->out, time, item->lost);
    }
    return 0;
}

int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 const struct order_settings *order)
{
    const struct record_filter all = RECORD_FILTER_ALL;
    struct export_part part = {model, node};
    struct merge m = {.own_time = model->run_clock.kind == RUN_CLOCK_WALL};
    struct export_taker taker = {&m, add, take};
    int err = merged_trace_open(to, model, &m.out);
    if (err)
        return err;
    m.classes = calloc(node->count, sizeof *m.classes);
    err = m.classes ? export_in_order(&part, 1, order, &all, &taker) : BEZEL_ENOMEM;
    free(m.classes);
    int end = merged_trace_close(m.out);
    return err ? err : end;
}
