// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/read/run_reader_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "collector/store/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool run_reader_goes_on(const char *run)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%.*s/experiment.yaml", PATH_MAX, run);
    return file_is_locked(path) || trace_reader_is_served(run);
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

static bool wants(void *reader, const struct model_node *node)
{
    const struct run_reader *r = reader;
    return record_filter_takes(r->filter.node, node->name);
}

static int add_stream(void *reader, const char *path, const struct model_process *p, const struct packet_header *first)
{
    struct run_reader *r = reader;
    if (!record_filter_takes_process(&r->filter, p))
        return 0;
    if (r->count == r->capacity) {
        size_t larger = r->capacity ? 2 * r->capacity : 32;
        struct record_stream **list = realloc(r->streams, larger * sizeof(struct record_stream *));
        if (!list)
            return BEZEL_ENOMEM;
        r->streams = list;
        r->capacity = larger;
    }
    struct record_stream *s = calloc(1, sizeof *s);
    int err = s ? record_stream_init(s, record_order_source(r->order), path, p, first->timestamp_begin) : BEZEL_ENOMEM;
    if (!err) {
        s->number = r->numbers++;
        err = record_order_add(r->order, s);
    }
    if (!err) {
        r->streams[r->count++] = s;
        return 0;
    }
    if (s)
        record_stream_fini(s);
    free(s);
    return err;
}

/* Gives all that refers to the model its place in `m`. False: that lacks something. */
static bool move_to(void *reader, const struct model *m)
{
    struct run_reader *r = reader;
    if (record_order_set_model(r->order, m) != 0)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        struct record_stream *s = r->streams[i];
        const struct model_node *node = model_find_node(m, s->process->node->uuid);
        const struct model_process *p = node ? model_find_process(node, s->process->instance) : NULL;
        if (!p)
            return false;
        record_stream_set_process(s, record_order_source(r->order), p);
    }
    return true;
}

/* Measures all streams, and queues those that have more: also a torn end, which may be a packet of that size by now. */
static int measure(struct run_reader *r)
{
    int err = 0;
    for (size_t i = 0; i < r->count && !err; i++) {
        struct record_stream *s = r->streams[i];
        struct stat st;
        if (s->cut || lstat(s->path, &st) != 0)
            continue;
        if ((uint64_t)st.st_size != s->bytes)
            record_stream_measure(s, (uint64_t)st.st_size);
        if (!s->queued && record_stream_has_more(s))
            err = record_order_add(r->order, s);
    }
    return err;
}

/* ---- a reader ---------------------------------------------------------------------------------------------------- */

int run_reader_open(const char *run, const struct record_filter *filter, struct run_reader **r)
{
    int err;
    struct run_reader *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->filter = *filter;
    struct record_source of = {
        .filter = &it->filter, .memory = RUN_READER_BUFFERS, .renew = run_streams_renew, .context = &it->found};
    it->order = record_order_new(&of);
    struct run_streams_owner owner = {wants, add_stream, move_to, it};
    err = it->order ? run_streams_init(&it->found, run, &owner) : BEZEL_ENOMEM;
    if (err) {
        int sys = errno;
        run_reader_close(it);
        errno = sys;
        return err;
    }
    *r = it;
    return 0;
}

void run_reader_close(struct run_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        record_stream_fini(r->streams[i]);
        free(r->streams[i]);
    }
    free(r->streams);
    free(r->watermarks);
    record_order_free(r->order);
    run_streams_fini(&r->found);
    free(r);
}

void run_reader_stop(struct run_reader *r, const volatile sig_atomic_t *stop)
{
    record_order_stop(r->order, stop);
}

void run_reader_buffers(struct run_reader *r, size_t bytes)
{
    record_order_memory(r->order, bytes);
}

uint64_t run_reader_behind(const struct run_reader *r)
{
    uint64_t behind = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct record_stream *s = r->streams[i];
        struct stat st;
        uint64_t at = record_stream_at(s);
        if (!s->cut && lstat(s->path, &st) == 0 && (uint64_t)st.st_size > at)
            behind += (uint64_t)st.st_size - at;
    }
    return behind;
}

const struct model *run_reader_model(const struct run_reader *r, uint64_t *age)
{
    if (age)
        *age = r->found.age;
    return r->found.model;
}

/* Frees streams that have nothing more to give. */
static void drop_ended(struct run_reader *r)
{
    size_t left = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct record_stream *s = r->streams[i];
        bool closed = s->packets > 0 && s->packet.kind == PACKET_CLOSE && !record_stream_has_more(s);
        if (s->queued || !(s->cut || closed)) {
            r->streams[left++] = s;
            continue;
        }
        record_order_forget(r->order);
        record_stream_fini(s);
        free(s);
    }
    r->count = left;
}

static void settle(struct run_reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->streams[i]->settled = r->streams[i]->bytes;
}

/* The run's time up to which all nodes are complete; INT64_MAX: no node lacks anything. */
static int64_t complete_until(struct run_reader *r, size_t count, int64_t now)
{
    int64_t until = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct watermark *w = &r->watermarks[i];
        const struct model_node *node = model_find_node(r->found.model, w->uuid);
        if (!node || !wants(r, node) || w->low == WATERMARK_LEFT)
            continue;
        if (now - w->at > RUN_READER_WAIT) {
            record_order_left_out(r->order, node);
            continue;
        }
        struct clock_reading at = run_clock_at(&node->run_clock, w->low);
        int64_t low = at.ns - (at.bound < INT64_MAX ? at.bound : 0);
        until = low < until ? low : until;
    }
    return until;
}

int run_reader_look(struct run_reader *r, enum run_reader_look how)
{
    int64_t now = clock_now();
    drop_ended(r);
    settle(r);
    if (!r->watermarks)
        r->watermarks = calloc(WATERMARKS_MAX, sizeof *r->watermarks);
    /* What was complete when this was read is found afterwards. */
    size_t count =
        r->watermarks && how == RUN_READER_HOLD ? watermarks_read(r->found.run, r->watermarks, WATERMARKS_MAX) : 0;
    int err = run_streams_look(&r->found);
    if (!err)
        err = measure(r);
    if (how == RUN_READER_ALL || count > 0)
        settle(r);
    record_order_hold(r->order, count > 0 ? complete_until(r, count, now) : INT64_MAX);
    return err;
}

int run_reader_next(struct run_reader *r, struct record_item *item)
{
    int more;
    while ((more = record_order_next(r->order, item)) > 0) {
        if (r->skip > 0) {
            r->skip -= item->r != NULL;
            continue;
        }
        r->totals.records += item->r != NULL;
        r->totals.late += item->proof == RECORD_LATE;
        r->totals.lost += item->lost;
        return 1;
    }
    return more;
}

struct run_reader_totals run_reader_totals(const struct run_reader *r)
{
    struct run_reader_totals totals = r->totals;
    totals.cut += record_order_cut(r->order) + r->found.left_out;
    for (size_t i = 0; i < r->count; i++)
        if (!r->streams[i]->queued && !r->streams[i]->cut)
            totals.rest += r->streams[i]->bytes - record_stream_at(r->streams[i]);
    return totals;
}
