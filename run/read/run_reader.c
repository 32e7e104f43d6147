// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/run_reader_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/log.h"
#include "base/saturate.h"
#include "run/read/run_missing.h"
#include "run/rundb/rundb_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool run_reader_goes_on(const char *run)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%.*s/experiment.yaml", PATH_MAX, run);
    return file_is_locked(path) || folder_is_held(run);
}

void run_reader_await(const char *run, int64_t longest, const volatile sig_atomic_t *stop)
{
    int64_t until = saturate_add(clock_now(), longest);
    struct rundb *db = NULL;
    while (rundb_open_read(run, &db) == BEZEL_ENOENT && !*stop && clock_now() < until && run_reader_goes_on(run))
        clock_sleep_until(clock_now() + 100 * CLOCK_MS);
    (void)!rundb_close(db);
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

/*
 * Begins the order as the run says. While there is no stream, the run may say it anew: a reader may come before the
 * collector.
 */
static int begin_order(struct run_reader *r, const struct model *m)
{
    struct record_source of = {.filter = &r->filter,
                               .buffers = m->order.buffers,
                               .memory = r->memory ? r->memory : (size_t)m->order.memory,
                               .expired = &r->expired,
                               .renew = run_streams_renew,
                               .context = &r->found};
    struct stream_set set = {.measured = r->given.measured};
    int err = stream_set_init(&set, &of);
    if (err)
        return err;
    if (r->given.order)
        record_order_stop(set.order, record_order_stopped(r->given.order));
    stream_set_free(&r->given);
    r->given = set;
    return 0;
}

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
    struct stream_file file = {.path = path, .process = p, .begin = first->timestamp_begin, .number = r->numbers++};
    return stream_set_add(&r->given, &file);
}

static bool move_to(void *reader, const struct model *m)
{
    struct run_reader *r = reader;
    return r->numbers == 0 ? begin_order(r, m) == 0 : stream_set_move(&r->given, m);
}

/* ---- a reader ---------------------------------------------------------------------------------------------------- */

int run_reader_open(const char *run, const struct record_filter *filter, struct run_reader **r)
{
    return run_reader_open_compared(run, filter, 0, r);
}

int run_reader_open_compared(const char *run, const struct record_filter *filter, uint64_t most, struct run_reader **r)
{
    int err;
    struct run_reader *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->filter = *filter;
    it->logical = INT64_MIN;
    clock_identity(it->clock);
    struct run_streams_owner owner = {wants, add_stream, move_to, it};
    err = run_streams_init(&it->found, run, &owner);
    if (!err)
        err = begin_order(it, it->found.model);
    if (!err && !run_reader_goes_on(run))
        it->totals.cut = run_missing(run, filter, most, true);
    if (err) {
        int sys = errno;
        run_reader_close(it);
        errno = sys;
        return err;
    }
    *r = it;
    return 0;
}

/* A reader that is too far behind, or comes later, goes on with the oldest packet that is kept. */
static void tell_expired(struct run_reader *r)
{
    struct trace_expired now = r->expired;
    if (now.packets == r->told.packets && now.records == r->told.records)
        return;
    log_warn("BEZEL-READ-EXPIRED",
             "%s records in %s packets had expired from the store (store.keep) before they were read: reading goes on "
             "with the oldest packets that are kept",
             units_count(now.records - r->told.records).s, units_count(now.packets - r->told.packets).s);
    r->told = now;
}

void run_reader_close(struct run_reader *r)
{
    if (!r)
        return;
    tell_expired(r);
    stream_set_free(&r->given);
    free(r->watermarks);
    run_streams_fini(&r->found);
    free(r);
}

void run_reader_stop(struct run_reader *r, const volatile sig_atomic_t *stop)
{
    record_order_stop(r->given.order, stop);
}

void run_reader_buffers(struct run_reader *r, size_t bytes)
{
    r->memory = bytes;
    record_order_memory(r->given.order, bytes);
}

uint64_t run_reader_behind(const struct run_reader *r)
{
    uint64_t behind = 0;
    for (size_t i = 0; i < r->given.count; i++) {
        const struct record_stream *s = r->given.streams[i];
        struct stat st;
        uint64_t at = record_stream_at(s);
        if (!s->cut && lstat(s->file.path, &st) == 0 && (uint64_t)st.st_size > at)
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

/*
 * The earliest run's time that a node in order may be complete up to; INT64_MIN: not known, since the run's clock is
 * not this machine's.
 */
static int64_t least_low(const struct run_reader *r, int64_t now)
{
    const struct model *m = r->found.model;
    bool known = memcmp(m->run_clock, r->clock, sizeof r->clock) == 0;
    return known ? saturate_add(saturate_add(now, m->ahead), -(m->order.wait + RUN_READER_BEHIND)) : INT64_MIN;
}

/*
 * The run's time up to which all nodes are complete; INT64_MAX: no node lacks anything. A receiving may wait for a
 * sending that is later by the bounds of two clocks; and what is known of a clock may change by twice its bound.
 */
static int64_t complete_until(struct run_reader *r, size_t count, int64_t now)
{
    int64_t until = INT64_MAX, widest = 0, least = least_low(r, now);
    for (size_t i = 0; i < count; i++) {
        const struct watermark *w = &r->watermarks[i];
        const struct model_node *node = model_find_node(r->found.model, w->uuid);
        if (!node || !wants(r, node) || w->low == WATERMARK_LEFT)
            continue;
        if (now - w->at > r->found.model->order.wait)
            continue;
        struct clock_reading at = run_clock_at(&node->run_clock, w->low);
        int64_t bound = record_order_bound(at);
        if (at.ns < least)
            continue;
        until = at.ns < until ? at.ns : until;
        widest = bound > widest ? bound : widest;
    }
    return until < INT64_MAX ? saturate_sub(until, 2 * widest) : until;
}

int run_reader_look(struct run_reader *r, enum run_reader_look how)
{
    tell_expired(r);
    int64_t now = clock_now();
    r->looked_at = now + clock_realtime_offset();
    stream_set_drop_ended(&r->given);
    stream_set_settle(&r->given);
    if (!r->watermarks)
        r->watermarks = calloc(WATERMARKS_MAX, sizeof *r->watermarks);
    /* What was complete when this was read is found afterwards. */
    size_t count =
        r->watermarks && how == RUN_READER_HOLD ? watermarks_read(r->found.run, r->watermarks, WATERMARKS_MAX) : 0;
    int err = run_streams_look(&r->found);
    if (!err)
        err = stream_set_measure(&r->given);
    if (how == RUN_READER_ALL || count > 0)
        stream_set_settle(&r->given);
    record_order_hold(r->given.order, count > 0 ? complete_until(r, count, now) : INT64_MAX);
    return err;
}

/* How long the item has waited for its place in the order, unless it was there before this reader. */
static void add_latency(struct run_reader *r, const struct record_item *item)
{
    int64_t waited = r->looked_at - item->arrived;
    if (!item->r || item->arrived == 0)
        return;
    waited = waited > 0 ? waited : 0;
    r->totals.waited++;
    r->totals.waited_ns += (uint64_t)waited;
    r->totals.waited_most = waited > r->totals.waited_most ? waited : r->totals.waited_most;
}

int run_reader_open_all(const char *run, const struct record_filter *filter, struct run_reader **r)
{
    struct run_reader *it = NULL;
    int err = run_reader_open(run, filter, &it);
    err = err ? err : run_reader_look(it, RUN_READER_ALL);
    if (err) {
        int sys = errno;
        run_reader_close(it);
        errno = sys;
        return err;
    }
    *r = it;
    return 0;
}

int run_reader_next(struct run_reader *r, struct record_item *item)
{
    int more = 0;
    while (!(r->only && r->left == 0) && (more = record_order_next(r->given.order, item)) > 0) {
        if (r->skip > 0) {
            r->skip -= item->r != NULL;
            continue;
        }
        r->left -= r->only && item->r;
        item->logical = r->logical = record_logical(r->logical, item->at.ns);
        r->totals.records += item->r != NULL;
        r->totals.proofs[item->proof] += item->r != NULL;
        add_latency(r, item);
        r->totals.lost += item->lost;
        return 1;
    }
    return more;
}

void run_reader_closed(const struct run_reader *r,
                       void (*each)(void *context, const struct model_process *p, int64_t closed), void *context)
{
    for (size_t i = 0; i < r->given.count; i++)
        each(context, r->given.streams[i]->process, record_stream_closed(r->given.streams[i]));
}

struct run_reader_totals run_reader_totals(const struct run_reader *r)
{
    struct run_reader_totals totals = r->totals;
    totals.expired = r->expired.records;
    totals.expired_packets = r->expired.packets;
    totals.cut += record_order_cut(r->given.order) + r->found.left_out;
    for (size_t i = 0; i < r->given.count; i++)
        if (!r->given.streams[i]->queued && !r->given.streams[i]->cut)
            totals.rest += record_stream_rest(r->given.streams[i]);
    return totals;
}
