// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "run/levels/levels_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The columns of each stream are made in the order of time, and those of all streams merged, one stream after the
 * other. The first `room` columns of all together need the first `room` of each alone.
 */

/* A column of a stream, or of some together. */
struct column {
    struct levels_column is;
    uint64_t last_time; /* of its last record: of the stream that `last` comes from */
};

struct columns {
    size_t count, capacity, room;
    struct column *list;
};

enum { RECORDS = 1, LOSSES = 2 };

struct query {
    uint32_t aspect, field; /* field LEVELS_COUNT: no values */
    unsigned what;          /* of the stream is wanted now */
    bool is_float;
    unsigned width;
    uint64_t from, until; /* of whole columns */
    struct columns *to;
};

static const struct column empty = {.is = {.min = NAN, .max = NAN, .last = NAN}};

/* ---- columns of a stream ----------------------------------------------------------------------------------------- */

/* The column of `time`, which is not before that of the last one. NULL with *result 1: there is no room; or an error.
 */
static struct column *column_at(struct columns *c, unsigned width, uint64_t time, int *result)
{
    int64_t begin = (int64_t)(time >> width << width);
    if (c->count && c->list[c->count - 1].is.begin == begin)
        return &c->list[c->count - 1];
    if (c->count == c->room)
        return *result = 1, NULL;
    if (!grow_list(&c->list, &c->capacity, c->count, sizeof *c->list))
        return *result = BEZEL_ENOMEM, NULL;
    struct column *new = &c->list[c->count++];
    *new = empty;
    new->is.begin = begin;
    return new;
}

static double value_of(const struct query *q, const struct packet_record *r)
{
    uint64_t bits = packet_value(r, q->field);
    double value;
    if (!q->is_float)
        return (double)(int64_t)bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    const struct query *q = context;
    int result = 0;
    if (!(q->what & (r ? RECORDS : LOSSES)))
        return 0;
    struct column *c = column_at(q->to, q->width, r ? r->timestamp : place->header->timestamp_end, &result);
    if (!c)
        return result;
    if (!r) {
        c->is.lost += place->lost;
        return 0;
    }
    c->is.count++;
    c->last_time = r->timestamp;
    if (q->field == LEVELS_COUNT)
        return 0;
    double value = value_of(q, r);
    c->is.min = value < c->is.min || isnan(c->is.min) ? value : c->is.min;
    c->is.max = value > c->is.max || isnan(c->is.max) ? value : c->is.max;
    c->is.last = isnan(value) ? c->is.last : value;
    return 0;
}

static int take_node(const struct levels_node *row, void *context)
{
    const struct query *q = context;
    int result = 0;
    struct column *c = column_at(q->to, q->width, row->first, &result);
    if (!c)
        return result;
    if (q->what == LOSSES) {
        c->is.lost += *(const uint64_t *)(row + 1);
        return 0;
    }
    c->is.count += row->count;
    c->last_time = row->last;
    if (q->field == LEVELS_COUNT)
        return 0;
    const struct levels_values *v = (const struct levels_values *)(row + 1) + q->field;
    c->is.min = v->min < c->is.min || isnan(c->is.min) ? v->min : c->is.min;
    c->is.max = v->max > c->is.max || isnan(c->is.max) ? v->max : c->is.max;
    c->is.last = isnan(v->last) ? c->is.last : v->last;
    return 0;
}

/* The columns of a track, and of what lies behind the tree. Returns 0, 1 where there is no more room, or an error. */
static int add_track(struct levels *l, const struct levels_ring *ring, struct levels_tree *t, uint32_t track,
                     struct query *q)
{
    struct levels_visitor visitor = {q->from, q->until, q->width, take_node, take, q};
    struct levels_walk walk = {q->from, q->until, ring->at.bytes, track, take, q};
    struct levels_mark tail = levels_tail(t);
    int result = t ? levels_visit(l, ring, t, track, &visitor) : 0;
    return result || tail.time > q->until ? result : levels_walk(l, ring, &tail, &walk);
}

/* ---- streams together -------------------------------------------------------------------------------------------- */

/* Adds column `b` of another stream, at the same time. */
static void join(struct column *a, const struct column *b)
{
    bool later = isnan(a->is.last) || (!isnan(b->is.last) && b->last_time >= a->last_time);
    if (later) {
        a->is.last = b->is.last;
        a->last_time = b->last_time;
    }
    a->is.count += b->is.count;
    a->is.lost += b->is.lost;
    a->is.min = fmin(a->is.min, b->is.min);
    a->is.max = fmax(a->is.max, b->is.max);
}

/* Merges the columns of one more stream into `all`. Returns 0 or BEZEL_ENOMEM. */
static int merge(struct columns *all, const struct columns *one)
{
    struct columns both = {.room = all->room};
    size_t i = 0, k = 0;
    if (one->count == 0)
        return 0;
    both.list = malloc((all->count + one->count) * sizeof *both.list);
    if (!both.list)
        return BEZEL_ENOMEM;
    both.capacity = all->count + one->count;
    while ((i < all->count || k < one->count) && both.count < both.room) {
        const struct column *a = i < all->count ? &all->list[i] : NULL, *b = k < one->count ? &one->list[k] : NULL;
        bool first = a && (!b || a->is.begin <= b->is.begin), second = b && (!a || b->is.begin <= a->is.begin);
        struct column *to = &both.list[both.count++];
        *to = first ? *a : *b;
        if (first && second)
            join(to, b);
        i += first;
        k += second;
    }
    free(all->list);
    *all = both;
    return 0;
}

/* Adds what one track of a stream has; where it is damaged, up to there. */
static int add(struct levels *l, struct levels_ring *ring, struct levels_tree *t, uint32_t track, struct query *q,
               struct columns *all)
{
    struct columns one = {.room = all->room};
    q->to = &one;
    int result = add_track(l, ring, t, track, q);
    int merged = result >= 0 || result == BEZEL_EMALFORMED ? merge(all, &one) : 0;
    free(one.list);
    return merged ? merged : result < 0 ? result : 0;
}

/* The columns of a stream, by its tree `t`, or if that is NULL of its records alone. */
static int add_all(struct levels *l, struct levels_ring *ring, struct levels_tree *t, struct query *q,
                   struct columns *own)
{
    q->what = t ? RECORDS : RECORDS | LOSSES;
    int err = add(l, ring, t, q->aspect ? q->aspect : LEVELS_ALL, q, own);
    q->what = LOSSES;
    return !err && t ? add(l, ring, t, LEVELS_LOSSES, q, own) : err;
}

static int add_stream(struct levels *l, struct levels_ring *ring, struct query *q, struct columns *all)
{
    struct levels_tree *t;
    struct columns own = {.room = all->room};
    int err = levels_tree_get(l, ring, false, &t);
    if (err || ring->is.first > (int64_t)q->until || ring->is.last < (int64_t)q->from)
        return err;
    err = add_all(l, ring, t, q, &own);
    if (t && (t->damaged || err == BEZEL_EMALFORMED)) { /* such as a mark where no record begins */
        levels_tree_remove(l, ring);                    /* it is made again by the next update */
        own.count = 0;
        err = add_all(l, ring, NULL, q, &own);
    }
    if (err == BEZEL_EMALFORMED) { /* what was right when it was taken in is wrong by now */
        ring->is.cut = true;
        err = 0;
    }
    if (!err)
        err = merge(all, &own);
    free(own.list);
    return err;
}

/* ---- the query --------------------------------------------------------------------------------------------------- */

/* Whether the query makes sense. */
static bool is_right(const struct levels *l, const size_t *streams, size_t n, const struct query *q)
{
    for (size_t i = 0; i < n; i++)
        if (streams[i] >= l->count || l->rings[streams[i]]->is.process != l->rings[streams[0]]->is.process)
            return false;
    const struct dict *d = l->rings[streams[0]]->is.process->dict;
    return q->aspect <= d->aspect_count &&
           (q->field == LEVELS_COUNT || (q->aspect && q->field < d->field_counts[q->aspect]));
}

ssize_t levels_columns(struct levels *l, const size_t *streams, size_t n, uint32_t aspect, uint32_t field, int64_t from,
                       int64_t until, unsigned width, struct levels_column *out, size_t room)
{
    struct query q = {.aspect = aspect, .field = field, .width = width};
    struct columns all = {.room = room};
    int err = 0;
    if (width > LEVELS_WIDTH_MAX || (n && !is_right(l, streams, n, &q)))
        return BEZEL_EINVAL;
    if (n == 0 || room == 0 || until < 0 || until < from)
        return 0;
    if (field != LEVELS_COUNT)
        q.is_float = l->rings[streams[0]]->is.process->dict->aspects[aspect - 1].fields[field].type == DICT_FLOAT64;
    q.from = from > 0 ? (uint64_t)from >> width << width : 0;
    q.until = (uint64_t)until | ((UINT64_C(1) << width) - 1);
    for (size_t i = 0; i < n && !err; i++)
        err = add_stream(l, l->rings[streams[i]], &q, &all);
    trace_part_close(&l->part);
    levels_store_rest(&l->store);
    for (size_t i = 0; i < all.count && !err; i++)
        out[i] = all.list[i].is;
    free(all.list);
    return err ? err : (ssize_t)all.count;
}
