// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "collector/read/record_order.h"
#include "ecs/export/export_internal.h"

#include <stdlib.h>

struct ordered {
    struct record_order *order;
    size_t count;
    struct record_stream *streams;
};

static int add_stream(struct ordered *m, const struct model_process *p, const struct export_stream *stream,
                      const struct export_taker *to)
{
    struct record_stream *s = &m->streams[m->count];
    s->number = m->count++;
    s->bytes = s->settled = stream->bytes;
    int err = record_stream_init(s, record_order_source(m->order), stream->path, p, stream->begin);
    if (!err)
        err = record_order_add(m->order, s);
    return err || !to->add ? err : to->add(to->context, s->number, p);
}

static int add_streams(struct ordered *m, const struct export_part *part, const struct export_taker *to)
{
    int err = 0;
    for (size_t i = 0; i < part->node->count && !err; i++) {
        const struct export_stream *stream = &part->node->streams[i];
        const struct model_process *p = model_find_process(part->model, stream->instance);
        if (p)
            err = add_stream(m, p, stream, to);
        else
            log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: run.db has no process for it", stream->path);
    }
    return err;
}

static int give_all(struct ordered *m, const struct export_taker *to)
{
    struct record_item item;
    int err = 0, more = 0;
    while (!err && (more = record_order_next(m->order, &item)) > 0)
        err = to->take(to->context, &item);
    return err ? err : more;
}

int export_in_order(const struct export_part *parts, size_t count, size_t memory, const struct export_taker *to)
{
    struct record_filter all = RECORD_FILTER_ALL;
    struct record_source of = {.filter = &all, .memory = memory};
    struct ordered m = {0};
    size_t streams = 0;
    for (size_t i = 0; i < count; i++)
        streams += parts[i].node->count;
    if (streams == 0)
        return 0;
    m.order = record_order_new(&of);
    m.streams = calloc(streams, sizeof *m.streams);
    int err = m.order && m.streams ? 0 : BEZEL_ENOMEM;
    for (size_t i = 0; i < count && !err; i++)
        err = add_streams(&m, &parts[i], to);
    if (!err)
        err = give_all(&m, to);
    for (size_t i = 0; i < m.count; i++)
        record_stream_fini(&m.streams[i]);
    free(m.streams);
    record_order_free(m.order);
    return err;
}
