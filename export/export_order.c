// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "export/export_internal.h"
#include "run/read/stream_set.h"

static int add_streams(struct stream_set *set, size_t *number, const struct export_part *part,
                       const struct export_taker *to)
{
    int err = 0;
    for (size_t i = 0; i < part->node->count && !err; i++) {
        const struct export_stream *stream = &part->node->streams[i];
        const struct model_process *p = model_find_process(part->model, stream->instance);
        if (p && !record_filter_takes_process(record_order_source(set->order)->filter, p))
            continue;
        if (!p) {
            log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: run.db has no process for it", stream->path);
            continue;
        }
        struct stream_file file = {stream->path, p, stream->begin, (*number)++, stream->bytes};
        err = stream_set_add(set, &file);
        if (!err && to->add)
            err = to->add(to->context, file.number, p);
    }
    return err;
}

static int give_all(struct stream_set *set, const struct export_taker *to)
{
    struct record_item item;
    int64_t logical = INT64_MIN;
    int err = 0, more = 0;
    while (!err && (more = record_order_next(set->order, &item)) > 0) {
        item.logical = logical = record_logical(logical, item.at.ns);
        err = to->take(to->context, &item);
    }
    return err ? err : more;
}

int export_in_order(const struct export_part *parts, size_t count, const struct order_settings *order,
                    const struct record_filter *filter, const struct export_taker *to)
{
    struct record_source of = {.filter = filter, .buffers = order->buffers, .memory = (size_t)order->memory};
    struct trace_expired expired = {0};
    struct stream_set set = {0};
    size_t number = 0;
    of.expired = &expired;
    int err = stream_set_init(&set, &of);
    for (size_t i = 0; i < count && !err; i++)
        err = add_streams(&set, &number, &parts[i], to);
    if (!err)
        err = give_all(&set, to);
    stream_set_free(&set);
    export_warn_expired(expired.records, expired.packets);
    return err;
}
