// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_internal.h"

#include "base/file.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WALK_READ_LEAST = 16 << 10 }; /* bytes: a few times as many as lie between two marks */

/* ---- a part of a file -------------------------------------------------------------------------------------------- */

void levels_part_close(struct levels_part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    part->fd = -1;
    part->ring = NULL;
    part->used = 0;
    part->cover.header.size_bytes = 0;
}

/* Opens the file of `ring`, unless it is the one that is open. Returns 0 or an error. */
static int open_file(struct levels_part *part, const struct levels_ring *ring)
{
    if (part->ring == ring)
        return 0;
    levels_part_close(part);
    int fd = file_open_plain(ring->is.path, TRACE_READER_PLAIN, false);
    if (fd < 0) /* gone, or something else than a file by now */
        return fd == BEZEL_EINVAL || fd == BEZEL_ENOENT || errno == ELOOP || errno == ENXIO ? BEZEL_EMALFORMED : fd;
    part->fd = fd;
    part->ring = ring;
    return 0;
}

/* After each read: what expired meanwhile may be zeros in it. */
static void look_at_cover(struct levels_part *part)
{
    if (!cover_read(part->fd, &part->cover))
        part->cover.header.size_bytes = 0;
}

static int read_at(struct levels_part *part, size_t keep, size_t most)
{
    ssize_t n;
    do
        n = pread(part->fd, part->bytes + keep, most - keep, (off_t)(part->offset + keep));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_from_errno(errno);
    part->used = keep + (size_t)n;
    look_at_cover(part);
    return 0;
}

ssize_t levels_part_get(struct levels_part *part, const struct levels_ring *ring, uint64_t offset, size_t want,
                        size_t most, const uint8_t **bytes)
{
    int err = open_file(part, ring);
    if (err)
        return err;
    bool inside = offset >= part->offset && offset <= part->offset + part->used;
    size_t left = inside ? (size_t)(part->offset + part->used - offset) : 0;
    if (left < want || !inside) {
        if (left)
            memmove(part->bytes, part->bytes + (offset - part->offset), left);
        part->offset = offset;
        part->used = left;
        err = read_at(part, left, most > want ? most : want);
        if (err)
            return err;
    }
    *bytes = part->bytes + (offset - part->offset);
    return (ssize_t)(part->offset + part->used - offset);
}

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
 * Gets `n` bytes at `offset`. Returns 0; BEZEL_EAGAIN where they have expired; BEZEL_EMALFORMED where the file has less
 * than was taken in; or an error.
 */
static int get(struct walker *w, uint64_t offset, size_t n, const uint8_t **bytes)
{
    struct levels_part *part = &w->l->part;
    if (part->ring == w->ring && offset >= part->offset && offset + n <= part->offset + part->used) {
        *bytes = part->bytes + (offset - part->offset);
        return 0;
    }
    ssize_t got = levels_part_get(part, w->ring, offset, n, w->most, bytes);
    if (w->most < LEVELS_PART_BYTES / 4)
        w->most *= 2;
    if (got >= 0 && offset < part->cover.header.size_bytes)
        return BEZEL_EAGAIN;
    return got < 0 ? (int)got : (size_t)got < n ? BEZEL_EMALFORMED : 0;
}

/* Reads the header of the packet, of which the walk goes on at offset `at`: what lies between is not read. */
static int get_header(struct walker *w, uint64_t packet, uint64_t at)
{
    uint8_t header[PACKET_HEADER_BYTES];
    const uint8_t *bytes = header;
    int err = 0;
    if (at - packet < WALK_READ_LEAST / 2)
        err = get(w, packet, sizeof header, &bytes);
    else {
        err = open_file(&w->l->part, w->ring);
        if (!err && pread(w->l->part.fd, header, sizeof header, (off_t)packet) != (ssize_t)sizeof header)
            err = BEZEL_EMALFORMED;
        if (!err)
            look_at_cover(&w->l->part);
        if (!err && packet < w->l->part.cover.header.size_bytes)
            return BEZEL_EAGAIN;
    }
    if (err)
        return err;
    err = packet_get_header(bytes, PACKET_HEADER_BYTES, &w->h);
    w->place.packet = packet;
    w->place.raw = bytes == header ? NULL : bytes; /* for a loss, which lies at the packet's begin */
    return err == BEZEL_EAGAIN ? 0 : err;
}

/* Gives the loss that the packet counts, if it lies in the time. */
static int give_loss(struct walker *w)
{
    uint64_t lost = w->h.discarded - w->discarded;
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
        err = get(w, at, left, &bytes);
        uint64_t n = w->l->part.offset + w->l->part.used - at;
        if (!err)
            err = give_piece(w, bytes, (size_t)(n < end - at ? n : end - at), at, &used, over);
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
                                .discarded = t->at.last.discarded};
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
    levels_part_close(&l->part);
    levels_store_rest(&l->store);
    return err;
}
