// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_internal.h"

enum { WALK_READ_LEAST = 16 << 10 }; /* bytes: a few times as many as lie between two marks */

/* ---- walking ----------------------------------------------------------------------------------------------------- */

struct walker {
    struct levels *l;
    const struct levels_ring *ring;
    const struct levels_walk *to;
    struct packet_header h;
    struct levels_place place;
    uint64_t discarded;
    size_t most; /* bytes to read at once: more and more */
};

/*
 * Gets `n` bytes at `offset`, and up to `most` if they must be read. Returns how many; BEZEL_EAGAIN where they have
 * expired; BEZEL_EMALFORMED where the file has less than was taken in; or an error.
 */
static ssize_t get(struct walker *w, uint64_t offset, size_t n, size_t most, const uint8_t **bytes)
{
    struct trace_part *part = &w->l->part;
    uint64_t before = part->offset;
    ssize_t got = trace_part_get(part, w->ring->is.path, offset, n, most, bytes);
    if (part->offset != before && w->most < LEVELS_PART_BYTES / 4)
        w->most *= 2;
    return got >= 0 && (size_t)got < n ? BEZEL_EMALFORMED : got;
}

/* Reads the header of the packet, of which the walk goes on at offset `at`: what lies between is not read. */
static int get_header(struct walker *w, uint64_t packet, uint64_t at)
{
    bool near = at - packet < WALK_READ_LEAST / 2;
    ssize_t n = get(w, packet, PACKET_HEADER_BYTES, near ? w->most : PACKET_HEADER_BYTES, &w->place.raw);
    if (n < 0)
        return (int)n;
    int err = packet_get_header(w->place.raw, PACKET_HEADER_BYTES, &w->h); /* a loss lies there, too */
    w->place.packet = packet;
    return err == BEZEL_EAGAIN ? 0 : err;
}

/* Gives the loss that the packet counts, if it lies in the time. */
static int give_loss(struct walker *w)
{
    uint64_t lost = packet_lost(&w->h, w->discarded);
    w->discarded = w->h.discarded;
    if (!lost || w->h.timestamp_end < w->to->from || w->h.timestamp_end > w->to->until)
        return 0;
    w->place.record = w->place.packet;
    w->place.bytes = PACKET_HEADER_BYTES;
    w->place.lost = lost;
    int result = w->to->take(NULL, &w->place, w->to->context);
    w->place.lost = 0;
    return result;
}

/*
 * Gives the records in the `n` bytes at `bytes`, which are at offset `at`, up to one that is not complete there.
 * Returns 0 with *used, what `take` returned, or an error; *over: the rest is behind the time.
 */
static int give_piece(struct walker *w, const uint8_t *bytes, size_t n, uint64_t at, size_t *used, bool *over)
{
    const struct dict *d = w->ring->is.process->dict;
    const struct levels_walk *to = w->to;
    const uint8_t *p = bytes, *end = bytes + n;
    int result = 0;
    while (result == 0 && end - p >= PACKET_RECORD_BYTES) {
        struct packet_record r = {.aspect = bytes_get_u32(p), .timestamp = bytes_get_u64(p + 4)};
        if (r.aspect == 0 || r.aspect > d->aspect_count)
            return BEZEL_EMALFORMED;
        r.value_count = d->field_counts[r.aspect];
        ptrdiff_t size = PACKET_RECORD_BYTES + 8 * (ptrdiff_t)r.value_count;
        if (end - p < size)
            break;
        if ((*over = r.timestamp > to->until))
            return 0;
        if (r.timestamp >= to->from && (to->aspect == LEVELS_ALL || to->aspect == r.aspect)) {
            r.values = p + PACKET_RECORD_BYTES;
            w->place.record = at + (uint64_t)(p - bytes);
            w->place.bytes = (size_t)size;
            w->place.raw = p;
            result = to->take(&r, &w->place, to->context);
        }
        p += size;
    }
    *used = (size_t)(p - bytes);
    return result;
}

/* Gives the records of the packet from offset `at` on; returns as give_piece(). */
static int give_records(struct walker *w, uint64_t at, bool *over)
{
    uint64_t end = w->place.packet + w->h.size_bytes;
    int err = 0;
    while (!err && !*over && at < end) {
        size_t left = end - at < PACKET_RECORD_MAX_BYTES ? (size_t)(end - at) : PACKET_RECORD_MAX_BYTES, used = 0;
        const uint8_t *bytes;
        ssize_t n = get(w, at, left, w->most, &bytes);
        if (n < 0)
            return (int)n;
        err = give_piece(w, bytes, (uint64_t)n < end - at ? (size_t)n : (size_t)(end - at), at, &used, over);
        if (!err && !*over && used == 0)
            err = BEZEL_EMALFORMED;
        at += used;
    }
    return err;
}

/* Whether the query has to end. A packet may be looked at meanwhile. */
static bool is_late(struct levels *l)
{
    bool late = l->deadline < INT64_MAX && clock_now() >= l->deadline;
    l->was_cut = l->was_cut || late;
    return late;
}

/* Goes on behind what expired while, or before, it was walked. */
static int pass_expired(struct walker *w, uint64_t *packet, uint64_t *at)
{
    const struct packet_header *h = &w->l->part.cover.header;
    *packet = *at = *packet > h->size_bytes ? *packet : h->size_bytes;
    w->discarded = h->discarded > w->discarded ? h->discarded : w->discarded;
    return 0;
}

int levels_walk(struct levels *l, const struct levels_ring *ring, const struct levels_mark *mark,
                const struct levels_walk *walk)
{
    struct walker w = {.l = l, .ring = ring, .to = walk, .discarded = mark->discarded, .most = WALK_READ_LEAST};
    uint64_t packet = mark->packet, at = mark->record;
    bool over = false;
    int err = 0;
    w.place.path = ring->is.path;
    w.place.header = &w.h;
    while (!err && !over && packet < walk->end) {
        if (is_late(l))
            return 1;
        err = get_header(&w, packet, at);
        if (err == BEZEL_EAGAIN) {
            err = pass_expired(&w, &packet, &at);
            continue;
        }
        if (err || w.h.timestamp_begin > walk->until)
            break;
        if (w.h.size_bytes > walk->end - packet || at - packet > w.h.size_bytes)
            return BEZEL_EMALFORMED;
        if (at == packet)
            err = give_loss(&w);
        if (!err && w.h.timestamp_end >= walk->from && walk->aspect != LEVELS_LOSSES)
            err = give_records(&w, at > packet ? at : packet + PACKET_HEADER_BYTES, &over);
        packet = at = packet + w.h.size_bytes;
        if (err == BEZEL_EAGAIN)
            err = pass_expired(&w, &packet, &at);
    }
    return err;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

struct levels_mark levels_tail(const struct levels_tree *t)
{
    if (!t)
        return (struct levels_mark){0};
    return (struct levels_mark){.time = t->at.last.timestamp_end,
                                .packet = t->at.bytes,
                                .record = t->at.bytes,
                                .discarded = t->at.chain.discarded};
}

/* Where to begin for what is not before `from`. */
static int find_start(struct levels *l, struct levels_ring *ring, uint64_t from, struct levels_mark *mark)
{
    struct levels_tree *t;
    int err = levels_tree_get(l, ring, false, &t);
    if (err)
        return err;
    *mark = levels_tail(t);
    if (!t || mark->time < from)
        return 0;
    err = levels_seek(t, from, mark);
    if (!err && mark->packet <= mark->record && mark->record < t->at.bytes)
        return 0;
    levels_tree_remove(l, ring);
    *mark = (struct levels_mark){0};
    return 0;
}

int levels_records(struct levels *l, size_t stream, uint32_t aspect, int64_t from, int64_t until, levels_take *take,
                   void *context)
{
    struct levels_mark mark;
    if (stream >= l->count || aspect > DICT_ASPECTS_MAX)
        return BEZEL_EINVAL;
    if (until < 0 || until < from)
        return 0;
    struct levels_ring *ring = l->rings[stream];
    struct levels_walk walk = {.from = from > 0 ? (uint64_t)from : 0,
                               .until = (uint64_t)until,
                               .aspect = aspect,
                               .take = take,
                               .context = context};
    int err = find_start(l, ring, walk.from, &mark);
    walk.end = ring->at.bytes;
    if (!err)
        err = levels_walk(l, ring, &mark, &walk);
    if (err == BEZEL_EMALFORMED && ring->tree) /* a mark where no record begins, or the stream is damaged by now */
        levels_tree_remove(l, ring);
    trace_part_close(&l->part);
    levels_store_rest(&l->store);
    return err;
}
