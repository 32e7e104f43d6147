// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_tree.h"

/*
 * The loops that go over every record of a run once. They check what packet_check() checks, on the way. Records of
 * aspects that alternate would cost the processor a wrong guess each, so a batch of them is sorted by aspect first.
 */

enum { BATCH = 512, NONE = BATCH };

struct batch {
    const uint8_t *records[BATCH];
    uint16_t next[BATCH + 1]; /* of the same aspect; NONE: none. Of NONE: written, never read */
    uint16_t first[DICT_ASPECTS_MAX + 1], last[DICT_ASPECTS_MAX + 1];
    uint32_t count, aspect_count;
    uint8_t aspects[DICT_ASPECTS_MAX + 1]; /* that it has; between batches `first` and `last` are NONE for all */
};

/* Notes a place in the stream. */
static int add_mark(struct levels_tree *t, uint64_t packet, uint64_t record, uint64_t discarded)
{
    struct levels_mark mark = {t->time, packet, record, discarded};
    uint64_t number;
    t->mark_at = record + LEVELS_MARK_EVERY;
    return levels_append(t, &t->marks, LEVELS_TRACKS, 0, &mark, 1, &number);
}

/* The values of a record, into the open leaf of its aspect. */
static inline void add_values(struct levels_track *k, const uint8_t *p)
{
    for (uint32_t i = 0, floats = k->floats; i < k->fields; i++, p += 8, floats >>= 1) {
        struct levels_field *f = &k->values[i];
        int64_t v = (int64_t)bytes_get_u64(p);
        if (floats & 1) {
            if (((uint64_t)v << 1) > UINT64_C(0xffe0000000000000)) /* NaN */
                continue;
            v = levels_key(v);
        }
        f->min = v < f->min ? v : f->min;
        f->max = v > f->max ? v : f->max;
        f->last = v;
    }
}

/* The track of an aspect, or of what else there is. */
static struct levels_track *track_of(struct levels_tree *t, const struct dict *d, uint32_t number)
{
    return t->tracks[number] ? t->tracks[number] : levels_track_new(t, d, number);
}

static int add_loss(struct levels_tree *t, const struct dict *d, const struct packet_header *h)
{
    uint64_t lost = packet_lost(h, t->at.chain.discarded);
    if (!lost)
        return 0;
    struct levels_track *k = track_of(t, d, LEVELS_LOSSES);
    int err = k ? 0 : BEZEL_ENOMEM;
    if (!err && (h->timestamp_end >= k->end || k->left == 0))
        err = levels_open_leaf(t, k, h->timestamp_end);
    if (err)
        return err;
    k->left--;
    k->leaf.last = h->timestamp_end;
    k->lost += lost;
    return 0;
}

/* Takes the records of one aspect, from number `i` of the batch on. */
static int add_aspect(struct levels_tree *t, struct levels_track *k, const struct batch *b, unsigned i)
{
    int err = 0;
    for (; i != NONE && !err; i = b->next[i]) {
        const uint8_t *p = b->records[i];
        uint64_t time = bytes_get_u64(p + 4);
        if (time >= k->end || k->left == 0)
            err = levels_open_leaf(t, k, time);
        k->left--;
        k->leaf.last = time;
        add_values(k, p + PACKET_RECORD_BYTES);
    }
    return err;
}

/* Takes the batch, and empties it. */
static int add_batch(struct levels_tree *t, const struct dict *d, struct batch *b)
{
    int err = 0;
    for (uint32_t i = 0; i < b->aspect_count; i++) {
        uint32_t aspect = b->aspects[i];
        struct levels_track *k = track_of(t, d, aspect);
        if (!err)
            err = k ? add_aspect(t, k, b, b->first[aspect]) : BEZEL_ENOMEM;
        b->first[aspect] = b->last[aspect] = NONE;
    }
    b->count = b->aspect_count = 0;
    return err;
}

/* `n` records of whatever aspect, the last one at `time`. */
static void add_all(struct levels_track *all, uint64_t n, uint64_t time)
{
    all->left -= n;
    all->leaf.last = n ? time : all->leaf.last;
}

/* Puts records into the batch: from *p on, up to `end` of the packet, or `due`, or as many as there is room for, with
 * times from t->time on. Returns 0 or BEZEL_EMALFORMED. */
static int fill(struct levels_tree *t, const struct dict *d, struct batch *b, const uint8_t **p, const uint8_t *end,
                const uint8_t *due, uint64_t until, uint32_t most)
{
    const uint8_t *at = *p;
    uint64_t last = t->time;
    uint32_t n = 0;
    for (; at < due && n < most; n++) {
        uint32_t aspect = end - at < PACKET_RECORD_BYTES ? 0 : bytes_get_u32(at);
        if (aspect == 0 || aspect > d->aspect_count)
            return BEZEL_EMALFORMED;
        uint64_t time = bytes_get_u64(at + 4);
        ptrdiff_t size = PACKET_RECORD_BYTES + 8 * (ptrdiff_t)d->field_counts[aspect];
        if (time < last || end - at < size)
            return BEZEL_EMALFORMED;
        if (time >= until)
            break;
        last = time;
        b->records[n] = at;
        b->next[n] = NONE;
        b->next[b->last[aspect]] = (uint16_t)n;
        b->last[aspect] = (uint16_t)n;
        if (b->first[aspect] == NONE) {
            b->first[aspect] = (uint16_t)n;
            b->aspects[b->aspect_count++] = (uint8_t)aspect;
        }
        at += size;
    }
    t->time = last;
    b->count = n;
    *p = at;
    return 0;
}

/* A batch ends where a mark is due, and where the leaf of all aspects does. */
static int add_records(struct levels_tree *t, const struct dict *d, const struct packet_header *h,
                       const uint8_t *packet)
{
    struct levels_track *const all = track_of(t, d, LEVELS_ALL);
    const uint8_t *p = packet + PACKET_HEADER_BYTES, *const end = packet + h->size_bytes;
    struct batch b;
    uint64_t records = 0;
    int err = all ? 0 : BEZEL_ENOMEM;
    b.count = b.aspect_count = 0;
    for (size_t i = 0; i <= d->aspect_count; i++)
        b.first[i] = b.last[i] = NONE;
    t->time = h->timestamp_begin;
    while (p < end && !err) {
        uint64_t at = t->at.bytes + (uint64_t)(p - packet);
        uint64_t time = end - p < PACKET_RECORD_BYTES ? 0 : bytes_get_u64(p + 4);
        if (at >= t->mark_at)
            err = add_mark(t, t->at.bytes, at, h->discarded);
        if (time < t->time)
            return BEZEL_EMALFORMED;
        if (!err && (time >= all->end || all->left == 0))
            err = levels_open_leaf(t, all, time);
        uint64_t to_mark = t->mark_at - t->at.bytes; /* from the packet's begin */
        const uint8_t *due = to_mark < h->size_bytes ? packet + to_mark : end;
        if (!err)
            err = fill(t, d, &b, &p, end, due, all->end, all->left < BATCH ? (uint32_t)all->left : BATCH);
        add_all(all, b.count, t->time);
        records += b.count;
        if (!err)
            err = add_batch(t, d, &b);
    }
    return err ? err : records != h->records || t->time > h->timestamp_end ? BEZEL_EMALFORMED : 0;
}

int levels_build_packet(struct levels_tree *t, const struct dict *d, const struct trace_position *to,
                        const uint8_t *bytes)
{
    const struct packet_header *h = &to->last;
    int err = 0;
    if (t->at.bytes >= t->mark_at)
        err = add_mark(t, t->at.bytes, t->at.bytes, t->at.chain.discarded);
    if (!err)
        err = add_loss(t, d, h);
    if (!err && h->records)
        err = add_records(t, d, h, bytes);
    if (err)
        return err;
    t->time = h->timestamp_end;
    t->at = *to;
    t->changed = true;
    return 0;
}
