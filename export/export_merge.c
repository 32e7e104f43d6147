// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "export/export_internal.h"
#include "export/merged_trace.h"
#include "run/read/stream_set.h"

#include <stdlib.h>

struct merge {
    struct merged_trace *out;
    const uint32_t **classes; /* by source: in the merged trace, of the aspects of its process, by id - 1 */
    struct stream_set set;
    bool own_time; /* the node's clock is known by its wall clock only */
};

static int add_streams(struct merge *m, const struct model_node *model, const struct export_node *node)
{
    size_t number = 0;
    int err = 0;
    for (size_t i = 0; i < node->count && !err; i++) {
        const struct export_stream *stream = &node->streams[i];
        const struct model_process *p = model_find_process(model, stream->instance);
        if (!p) {
            log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: run.db has no process for it", stream->path);
            continue;
        }
        struct stream_file file = {stream->path, p, stream->begin, number++, stream->bytes};
        err = stream_set_add(&m->set, &file);
        m->classes[file.number] = err ? NULL : merged_trace_classes(m->out, p);
        if (!err && !m->classes[file.number])
            err = BEZEL_ENOMEM;
    }
    return err;
}

static void take(const struct merge *m, const struct record_item *item)
{
    uint64_t time = m->own_time ? item->time : item->at.ns > 0 ? (uint64_t)item->at.ns : 0;
    if (item->r) {
        struct packet_record r = *item->r;
        r.timestamp = time;
        merged_trace_record(m->out, item->process, item->packet, &r, m->classes[item->stream][r.aspect - 1]);
    } else {
        merged_trace_lose(m->out, time, item->lost);
    }
}

static int merge_all(struct merge *m, const struct model_node *model, const struct export_node *node,
                     const struct order_settings *order)
{
    const struct record_filter all = RECORD_FILTER_ALL;
    struct record_source of = {.filter = &all, .buffers = order->buffers, .memory = (size_t)order->memory};
    struct record_item item;
    int more = 0, err = stream_set_init(&m->set, &of);
    if (!err)
        err = add_streams(m, model, node);
    while (!err && (more = record_order_next(m->set.order, &item)) > 0)
        take(m, &item);
    stream_set_free(&m->set);
    return err ? err : more;
}

int export_merge(const struct model_node *model, const struct export_node *node, const char *to,
                 const struct order_settings *order)
{
    struct merge m = {.own_time = model->run_clock.kind == RUN_CLOCK_WALL};
    int err = merged_trace_open(to, model, &m.out);
    if (err)
        return err;
    m.classes = calloc(node->count, sizeof *m.classes);
    err = m.classes ? merge_all(&m, model, node, order) : BEZEL_ENOMEM;
    free(m.classes);
    int end = merged_trace_close(m.out);
    return err ? err : end;
}
