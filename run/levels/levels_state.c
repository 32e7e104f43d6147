// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_store.h"

#include "base/checksum.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/*
 * A state: head, marks, tracks, checksum of all. Numbers are of this machine, so a state from another one has another
 * magic. What is read is checked for what the code relies on: sizes, counts, and that the open leaf lies in its cell.
 */

#define STATE_MAGIC UINT64_C(0x344c564c5a4c5a42)

struct head {
    uint64_t magic, nonce, file_bytes, instance;
    uint8_t uuid[16];
    uint32_t ring, block_bytes;
    uint64_t records, bytes, first, next_ordinal, reduced, mark_at, time;
    uint32_t tracks, zero;
    uint8_t last[PACKET_HEADER_BYTES];
};

struct track_head {
    uint32_t number, fields, base, wider;
    uint32_t levels, zero; /* levels: bit of each that has a list */
    uint64_t end, left, records, spent, lost;
    struct levels_node leaf;
    struct levels_field values[DICT_FIELDS_MAX];
};

struct list_head {
    uint64_t rows, blocks;
    uint32_t row, pending;
};

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_list(struct grow_bytes *w, const struct levels_list *list)
{
    struct list_head h = {.rows = list->rows, .blocks = list->blocks, .row = list->row, .pending = list->pending};
    grow_bytes_add(w, &h, sizeof h);
    grow_bytes_add(w, list->at, list->blocks * sizeof *list->at);
    grow_bytes_add(w, list->open, (size_t)(list->rows - list->blocks * list->block_rows) * list->row);
    grow_bytes_add(w, list->waiting, (size_t)list->pending * list->row);
}

static void put_track(struct grow_bytes *w, const struct levels_track *k)
{
    struct track_head h = {.number = k->number,
                           .fields = k->fields,
                           .base = k->base,
                           .wider = k->wider,
                           .end = k->end,
                           .left = k->left,
                           .records = k->records,
                           .spent = k->spent,
                           .lost = k->lost,
                           .leaf = k->leaf};
    h.leaf.count = levels_leaf_count(k);
    memcpy(h.values, k->values, sizeof h.values);
    for (unsigned level = 0; level < LEVELS_DEPTH; level++)
        h.levels |= (uint32_t)(k->lists[level] != NULL) << level;
    grow_bytes_add(w, &h, sizeof h);
    for (unsigned level = 0; level < LEVELS_DEPTH; level++)
        if (k->lists[level])
            put_list(w, k->lists[level]);
}

int levels_state_write(const struct levels_tree *t, const struct levels_identity *of, uint8_t **bytes, size_t *n)
{
    struct grow_bytes w = {0};
    struct head h = {.magic = STATE_MAGIC,
                     .nonce = t->nonce,
                     .file_bytes = t->file_bytes,
                     .instance = of->instance,
                     .ring = of->ring,
                     .block_bytes = (uint32_t)t->store->block_bytes,
                     .records = t->at.records,
                     .bytes = t->at.bytes,
                     .first = t->at.first,
                     .next_ordinal = t->at.chain.next_ordinal,
                     .reduced = t->at.chain.reduced,
                     .mark_at = t->mark_at,
                     .time = t->time,
                     .tracks = t->count};
    memcpy(h.uuid, of->uuid, sizeof h.uuid);
    if (t->at.last.kind == PACKET_COVER)
        packet_put_cover(h.last, &t->at.last, 0);
    else
        packet_put_header(h.last, &t->at.last);
    grow_bytes_add(&w, &h, sizeof h);
    put_list(&w, &t->marks);
    for (unsigned i = 0; i < LEVELS_TRACKS; i++)
        if (t->tracks[i])
            put_track(&w, t->tracks[i]);
    uint64_t sum = checksum_add(CHECKSUM_START, w.at, w.short_of_memory ? 0 : w.n);
    grow_bytes_add(&w, &sum, sizeof sum);
    if (w.short_of_memory) {
        free(w.at);
        return BEZEL_ENOMEM;
    }
    *bytes = w.at;
    *n = w.n;
    return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct reader {
    const uint8_t *bytes;
    size_t left;
};

/* The next `count` times `size` bytes; NULL: there are not so many. */
static const uint8_t *get(struct reader *r, uint64_t count, size_t size)
{
    if (count > r->left / size)
        return NULL;
    const uint8_t *p = r->bytes;
    r->bytes += count * size;
    r->left -= (size_t)count * size;
    return p;
}

static int copy(struct reader *r, uint64_t count, size_t size, void *to)
{
    const uint8_t *p = get(r, count, size);
    if (!p)
        return BEZEL_ENOENT;
    if (count)
        memcpy(to, p, (size_t)count * size);
    return 0;
}

/* Memory for a list as `h` says, which agrees with the bytes that are there. */
static int make_list(struct levels_tree *t, const struct reader *r, const struct list_head *h, struct levels_list *list)
{
    if (h->row != list->row || h->pending > LEVELS_PENDING || h->blocks != h->rows / list->block_rows ||
        h->blocks > r->left / sizeof *list->at)
        return BEZEL_ENOENT;
    list->open_capacity = (size_t)(h->rows % list->block_rows);
    if (list->open_capacity > r->left / list->row)
        return BEZEL_ENOENT;
    list->capacity = (size_t)h->blocks;
    list->at = malloc(list->capacity ? list->capacity * sizeof *list->at : 1);
    list->open = malloc(list->open_capacity ? list->open_capacity * list->row : 1);
    t->memory += list->capacity * sizeof *list->at + list->open_capacity * list->row;
    return list->at && list->open ? 0 : BEZEL_ENOMEM;
}

static int get_list(struct levels_tree *t, struct reader *r, struct levels_list *list)
{
    struct list_head h;
    int err = copy(r, 1, sizeof h, &h);
    if (!err)
        err = make_list(t, r, &h, list);
    if (err)
        return err;
    err = copy(r, h.blocks, sizeof *list->at, list->at);
    for (uint64_t i = 0; i < h.blocks && !err; i++)
        if (list->at[i] > t->file_bytes) /* that rules out one in memory, too */
            err = BEZEL_ENOENT;
    if (err)
        return err;
    list->blocks = (size_t)h.blocks;
    list->rows = h.rows;
    list->pending = list->waiting ? h.pending : 0;
    err = copy(r, list->open_capacity, list->row, list->open);
    return err || !list->waiting ? err : copy(r, h.pending, list->row, list->waiting);
}

/* Whether the open leaf lies in its cell. */
static bool leaf_ok(const struct track_head *h)
{
    if (h->base >= LEVELS_DEPTH || h->wider > 2 || h->leaf.first > INT64_MAX)
        return false;
    unsigned shift = 3 * h->base + h->wider;
    return h->end == 0 || (h->end == ((h->leaf.first >> shift) + 1) << shift && h->leaf.count > 0 &&
                           h->leaf.first <= h->leaf.last && h->leaf.last < h->end);
}

static int get_track(struct levels_tree *t, struct reader *r, const struct dict *d)
{
    struct track_head h;
    int err = copy(r, 1, sizeof h, &h);
    bool is_aspect = h.number != LEVELS_ALL && h.number != LEVELS_LOSSES;
    if (err || h.number >= LEVELS_TRACKS || t->tracks[h.number] || (is_aspect && h.number > d->aspect_count) ||
        h.fields != (is_aspect ? d->field_counts[h.number] : 0) || !leaf_ok(&h) || h.levels >> LEVELS_DEPTH)
        return BEZEL_ENOENT;
    struct levels_track *k = levels_track_new(t, d, h.number);
    if (!k)
        return BEZEL_ENOMEM;
    k->base = h.base;
    k->wider = h.wider;
    k->end = h.end;
    k->left = h.left;
    k->cut = h.end ? h.left + h.leaf.count : h.left;
    k->records = h.records;
    k->spent = h.spent;
    k->lost = h.lost;
    k->leaf = h.leaf;
    memcpy(k->values, h.values, sizeof h.values);
    for (unsigned level = 0; level < LEVELS_DEPTH && !err; level++)
        if (h.levels >> level & 1) {
            struct levels_list *list = levels_track_list(t, k, level);
            err = list ? get_list(t, r, list) : BEZEL_ENOMEM;
        }
    return err;
}

static int get_head(struct levels_tree *t, const struct head *h, const struct levels_identity *of)
{
    uint64_t records;
    int err = packet_get_header(h->last, sizeof h->last, &t->at.last);
    if (err && err != BEZEL_EAGAIN)
        err = packet_get_cover(h->last, sizeof h->last, &t->at.last, &records);
    if ((err && err != BEZEL_EAGAIN) || h->magic != STATE_MAGIC || h->instance != of->instance || h->ring != of->ring ||
        memcmp(h->uuid, of->uuid, sizeof h->uuid) != 0 || h->block_bytes != t->store->block_bytes ||
        t->at.last.size_bytes > h->bytes || h->bytes > INT64_MAX || h->file_bytes > INT64_MAX || h->time > INT64_MAX ||
        h->reduced > t->at.last.discarded)
        return BEZEL_ENOENT;
    t->at.records = h->records;
    t->at.bytes = h->bytes;
    t->at.first = h->first;
    t->at.chain = (struct packet_chain){.next_seq = t->at.last.seq + 1,
                                        .next_ordinal = h->next_ordinal,
                                        .discarded = t->at.last.discarded,
                                        .reduced = h->reduced,
                                        .last_end = t->at.last.timestamp_end,
                                        .closed = t->at.last.kind == PACKET_CLOSE};
    t->mark_at = h->mark_at;
    t->time = h->time;
    t->nonce = h->nonce;
    t->file_bytes = h->file_bytes;
    return 0;
}

int levels_state_read(struct levels_tree *t, const struct levels_identity *of, const uint8_t *bytes, size_t n)
{
    struct reader r = {bytes, n};
    struct head h;
    uint64_t sum;
    if (n < sizeof sum)
        return BEZEL_ENOENT;
    memcpy(&sum, bytes + n - sizeof sum, sizeof sum);
    r.left -= sizeof sum;
    if (sum != checksum_add(CHECKSUM_START, bytes, r.left))
        return BEZEL_ENOENT;
    int err = copy(&r, 1, sizeof h, &h);
    if (!err)
        err = get_head(t, &h, of);
    if (!err)
        err = get_list(t, &r, &t->marks);
    for (uint32_t i = 0; !err && i < h.tracks; i++)
        err = get_track(t, &r, of->dict);
    return err ? err : r.left || t->marks.rows == 0 ? BEZEL_ENOENT : 0;
}
