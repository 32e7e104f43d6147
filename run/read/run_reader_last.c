// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "run/read/run_reader_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/units.h"

#include <stdlib.h>

/*
 * How far from its end a run must be read for its last records: the headers of all packets tell when each begins and
 * how many records it has. If the filter leaves too few of them, the search begins further ahead.
 */

enum { FURTHER = 8 };

/* ---- headers ----------------------------------------------------------------------------------------------------- */

struct headers {
    int (*take)(void *context, const struct model_node *node, const struct packet_header *h);
    void *context;
};

/* Gives the headers of the complete packets of a stream, up to the first that is none. */
static int walk_stream(const struct record_stream *s, const struct headers *to)
{
    uint8_t bytes[32 << 10]; /* in which many headers may lie */
    struct trace_part part = {.bytes = bytes, .fd = -1};
    struct trace_reader file = {.path = s->file.path, .part = &part, .most = sizeof bytes, .end = s->file.end};
    int err = 0;
    while (!err && trace_reader_step(&file) > 0)
        err = to->take(to->context, s->process->node, &file.at.last);
    trace_part_close(&part);
    return err;
}

static int walk(const struct run_reader *r, const struct headers *to)
{
    int err = 0;
    for (size_t i = 0; i < r->given.count && !err; i++)
        err = walk_stream(r->given.streams[i], to);
    return err;
}

/* Opens a run with all that is there now. */
static int open_all(const char *run, const struct record_filter *f, const volatile sig_atomic_t *stop,
                    struct run_reader **r)
{
    int err = run_reader_open(run, f, r);
    if (err)
        return err;
    run_reader_stop(*r, stop);
    err = run_reader_look(*r, RUN_READER_ALL);
    if (err)
        run_reader_close(*r);
    return err;
}

/* ---- the newest packet ------------------------------------------------------------------------------------------- */

struct newest {
    int64_t believed, any; /* the end of the newest packet; INT64_MIN: there is none */
    int64_t latest;        /* no packet can end later */
    uint64_t ahead;        /* packets that say they do */
};

static int take_newest(void *context, const struct model_node *node, const struct packet_header *h)
{
    struct newest *n = context;
    int64_t end = model_run_time(node, h->timestamp_end);
    bool is_ahead = model_is_ahead(node, h->timestamp_end, n->latest);
    n->any = end > n->any ? end : n->any;
    n->believed = !is_ahead && end > n->believed ? end : n->believed;
    n->ahead += is_ahead;
    return 0;
}

/* Where the clocks of all nodes are ahead, they are all that there is. */
int run_reader_newest(const char *run, const struct record_filter *filter, int64_t *ns)
{
    struct newest n = {.believed = INT64_MIN, .any = INT64_MIN};
    struct run_reader *r;
    *ns = INT64_MIN;
    int err = open_all(run, filter, NULL, &r);
    if (err)
        return err;
    int64_t now = clock_now();
    n.latest = model_latest(r->found.model, r->clock, now, now + clock_realtime_offset());
    err = walk(r, &(struct headers){take_newest, &n});
    *ns = n.believed > INT64_MIN ? n.believed : n.any;
    if (n.ahead && n.believed > INT64_MIN)
        log_warn("BEZEL-READ-AHEAD",
                 "%s packets have times in the future: the newest record is searched for among the others",
                 units_count(n.ahead).s);
    run_reader_close(r);
    return err;
}

/* ---- the last packets -------------------------------------------------------------------------------------------- */

struct span {
    int64_t begin;
    uint64_t records;
};

/* The latest packets, by their beginnings, that have `wanted` records together: a heap with the earliest at its root.
 */
struct latest {
    uint64_t wanted, records;
    int64_t from, until; /* the filter's */
    bool all;            /* none was left out */
    size_t count, capacity;
    struct span *heap;
};

static void swap(struct span *a, struct span *b)
{
    struct span t = *a;
    *a = *b;
    *b = t;
}

static void drop_earliest(struct latest *l)
{
    l->records -= l->heap[0].records;
    l->heap[0] = l->heap[--l->count];
    for (size_t i = 0, child; (child = 2 * i + 1) < l->count; i = child) {
        if (child + 1 < l->count && l->heap[child + 1].begin < l->heap[child].begin)
            child++;
        if (l->heap[i].begin <= l->heap[child].begin)
            break;
        swap(&l->heap[i], &l->heap[child]);
    }
    l->all = false;
}

static int take_latest(void *context, const struct model_node *node, const struct packet_header *h)
{
    struct latest *l = context;
    struct span span = {model_run_time(node, h->timestamp_begin), h->records};
    if (h->records == 0 || span.begin >= l->until || model_run_time(node, h->timestamp_end) < l->from)
        return 0;
    if (!grow_list(&l->heap, &l->capacity, l->count, sizeof *l->heap))
        return BEZEL_ENOMEM;
    size_t i = l->count++;
    l->heap[i] = span;
    l->records += span.records;
    for (; i > 0 && l->heap[(i - 1) / 2].begin > l->heap[i].begin; i = (i - 1) / 2)
        swap(&l->heap[i], &l->heap[(i - 1) / 2]);
    while (l->records - l->heap[0].records >= l->wanted)
        drop_earliest(l);
    return 0;
}

/* Where to begin, so that `wanted` records of packets follow; INT64_MIN: at the start. */
static int begin_for(const struct run_reader *r, uint64_t wanted, int64_t *from)
{
    struct latest l = {.wanted = wanted, .from = r->filter.from, .until = r->filter.until, .all = true};
    int err = walk(r, &(struct headers){take_latest, &l});
    *from = l.all ? INT64_MIN : l.heap[0].begin;
    free(l.heap);
    return err;
}

/* Counts the records from there on. Returns 0 or an error. */
static int count_from(struct run_reader *r, int64_t from, uint64_t *records)
{
    struct record_item item;
    int more;
    r->filter.from = from > r->filter.from ? from : r->filter.from;
    *records = 0;
    while ((more = run_reader_next(r, &item)) > 0)
        *records += item.r != NULL;
    return more;
}

/* Whatever is stored from now on is later than the newest packet, or is behind the `n` records that are left. */
static int end_here(struct run_reader *r, uint64_t n)
{
    int64_t newest;
    int err = run_reader_newest(r->found.run, &r->filter, &newest);
    if (!err && newest > INT64_MIN && newest < r->filter.until)
        r->filter.until = saturate_add(newest, 1);
    r->only = true;
    r->left = n;
    return err;
}

int run_reader_last(struct run_reader *r, uint64_t n, bool only)
{
    const volatile sig_atomic_t *stop = record_order_stopped(r->given.order);
    uint64_t records = 0, wanted = n;
    int64_t from = INT64_MAX;
    int err = only ? end_here(r, n) : 0;
    if (!err && n == 0) {
        err = run_reader_newest(r->found.run, &r->filter, &from);
        r->filter.from = from >= r->filter.from ? saturate_add(from, 1) : r->filter.from;
        return err;
    }
    while (!err && records < n && from != INT64_MIN && !(stop && *stop)) {
        struct run_reader *again;
        err = open_all(r->found.run, &r->filter, stop, &again);
        if (err)
            return err;
        err = begin_for(again, wanted, &from);
        if (!err)
            err = count_from(again, from, &records);
        run_reader_close(again);
        wanted = wanted > UINT64_MAX / FURTHER ? UINT64_MAX : wanted * FURTHER;
    }
    if (from > r->filter.from)
        r->filter.from = from;
    r->skip = records > n ? records - n : 0;
    return err;
}
