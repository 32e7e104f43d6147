// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/levels/levels_tree.h"

/*
 * The loop that goes over every record of a run once. It checks what packet_check() checks, on the way.
 */

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

/* A record at `time`. */
static inline int add_time(struct levels_tree *t, struct levels_track *k, uint64_t time)
{
    if (time >= k->end || k->left == 0) {
        int err = levels_open_leaf(t, k, time);
        if (err)
            return err;
    }
    k->left--;
    k->leaf.last = time;
    return 0;
}

/* The track of an aspect, or of what else there is. */
static struct levels_track *track_of(struct levels_tree *t, const struct dict *d, uint32_t number)
{
    return t->tracks[number] ? t->tracks[number] : levels_track_new(t, d, number);
}

static int add_loss(struct levels_tree *t, const struct dict *d, const struct packet_header *h)
{
    uint64_t lost = h->discarded - t->at.last.discarded;
    if (!lost)
        return 0;
    struct levels_track *k = track_of(t, d, LEVELS_LOSSES);
    int err = k ? add_time(t, k, h->timestamp_end) : BEZEL_ENOMEM;
    if (!err)
        k->lost += lost;
    return err;
}

/* `n` records of whatever aspect, the last one at `time`. */
static void add_all(struct levels_track *all, uint64_t n, uint64_t time)
{
    all->left -= n;
    all->leaf.last = n ? time : all->leaf.last;
}

/* What is done once for many records: in `packet`, at offset `at`, the one at `time` comes next. */
static int add_some(struct levels_tree *t, const struct packet_header *h, uint64_t at, uint64_t time)
{
    struct levels_track *all = t->tracks[LEVELS_ALL];
    int err = 0;
    if (t->at.bytes + at >= t->mark_at)
        err = add_mark(t, t->at.bytes, t->at.bytes + at, h->discarded);
    if (!err && (time >= all->end || all->left == 0))
        err = levels_open_leaf(t, all, time);
    return err;
}

static int add_records(struct levels_tree *t, const struct dict *d, const struct packet_header *h,
                       const uint8_t *packet)
{
    struct levels_track *const all = track_of(t, d, LEVELS_ALL), *k;
    const uint8_t *p = packet + PACKET_HEADER_BYTES, *const end = packet + h->size_bytes, *due = p;
    uint64_t time, records = 0, since = 0,
                   until = 0; /* since, until: records for which nothing but a time may be due */
    int err = all ? 0 : BEZEL_ENOMEM;
    t->time = h->timestamp_begin;
    for (uint64_t ends = 0; p < end && !err; p += k->record, records++) {
        uint32_t aspect = end - p < PACKET_RECORD_BYTES ? 0 : bytes_get_u32(p);
        if (aspect == 0 || aspect > d->aspect_count)
            return BEZEL_EMALFORMED;
        k = t->tracks[aspect];
        if (!k && !(k = levels_track_new(t, d, aspect)))
            return BEZEL_ENOMEM;
        time = bytes_get_u64(p + 4);
        if (time < t->time || end - p < (ptrdiff_t)k->record)
            return BEZEL_EMALFORMED;
        if (time >= ends || records >= until || p >= due) {
            add_all(all, records - since, t->time);
            err = add_some(t, h, (uint64_t)(p - packet), time);
            since = records;
            until = records + all->left;
            ends = all->end;
            uint64_t to_mark = t->mark_at - t->at.bytes; /* from the packet's begin */
            due = to_mark < h->size_bytes ? packet + to_mark : end;
        }
        t->time = time;
        if (!err)
            err = add_time(t, k, time);
        add_values(k, p + PACKET_RECORD_BYTES);
    }
    if (!err)
        add_all(all, records - since, t->time);
    return err ? err : records != h->records || t->time > h->timestamp_end ? BEZEL_EMALFORMED : 0;
}

int levels_build_packet(struct levels_tree *t, const struct dict *d, const struct packet_header *h,
                        const uint8_t *bytes)
{
    int err = 0;
    if (t->at.bytes >= t->mark_at)
        err = add_mark(t, t->at.bytes, t->at.bytes, t->at.last.discarded);
    if (!err)
        err = add_loss(t, d, h);
    if (!err && h->records)
        err = add_records(t, d, h, bytes);
    if (err)
        return err;
    if (t->at.bytes == 0)
        t->at.first = h->timestamp_begin;
    t->time = h->timestamp_end;
    t->at.bytes += h->size_bytes;
    t->at.records += h->records;
    t->at.last = *h;
    t->changed = true;
    return 0;
}
