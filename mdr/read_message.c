// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/read_message.h"

#include "base/utf8.h"
#include "mdr/dict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * As in message.c each message has one filter, which encodes and decodes, so that the two cannot differ. A filter
 * returns false where the bytes end or a bound is broken; the latter is noted.
 */

enum { MESSAGE_MAGIC = 0x425A4C31, RECORDS_HEAD = 3 * 4 + 8 + 4 };

_Static_assert(sizeof(enum read_order) == 4 && sizeof(enum read_end_why) == 4 && sizeof(enum message_role) == 4,
               "filter_enum() copies four bytes");

struct coder {
    bool decode, broken;
    uint8_t *at, *end;
};

static bool check(struct coder *c, bool holds)
{
    c->broken = c->broken || !holds;
    return holds;
}

/* Whether `n` bytes are left. */
static bool has(const struct coder *c, size_t n)
{
    return (size_t)(c->end - c->at) >= n;
}

static bool filter_u32(struct coder *c, uint32_t *v)
{
    if (!has(c, 4))
        return false;
    if (c->decode)
        *v = bytes_get_u32(c->at);
    else
        bytes_put_u32(c->at, *v);
    c->at += 4;
    return true;
}

static bool filter_u64(struct coder *c, uint64_t *v)
{
    if (!has(c, 8))
        return false;
    if (c->decode)
        *v = bytes_get_u64(c->at);
    else
        bytes_put_u64(c->at, *v);
    c->at += 8;
    return true;
}

static bool filter_i64(struct coder *c, int64_t *v)
{
    uint64_t bits = (uint64_t)*v;
    if (!filter_u64(c, &bits))
        return false;
    *v = (int64_t)bits;
    return true;
}

static bool filter_count(struct coder *c, uint32_t *count, uint32_t max)
{
    return filter_u32(c, count) && check(c, *count <= max);
}

/* An enum whose values count from 0 to `last`. */
static bool filter_enum(struct coder *c, void *e, uint32_t last)
{
    uint32_t v = 0;
    if (!c->decode)
        memcpy(&v, e, sizeof v);
    if (!filter_count(c, &v, last))
        return false;
    if (c->decode)
        memcpy(e, &v, sizeof v);
    return true;
}

static bool filter_bool(struct coder *c, bool *b)
{
    uint32_t v = !c->decode && *b;
    if (!filter_count(c, &v, 1))
        return false;
    *b = v != 0;
    return true;
}

/* `n` bytes and their padding, which must be zeros; decoded, *data are the bytes in the frame. */
static bool filter_borrowed(struct coder *c, const uint8_t **data, uint32_t n)
{
    static const uint8_t zeros[3];
    uint32_t padding = (4 - n % 4) % 4;
    if (!has(c, (size_t)n + padding))
        return false;
    if (c->decode) {
        *data = c->at;
    } else {
        if (n > 0)
            memcpy(c->at, *data, n);
        memset(c->at + n, 0, padding);
    }
    bool padded = memcmp(c->at + n, zeros, padding) == 0;
    c->at += n + padding;
    return check(c, padded);
}

static bool filter_bytes(struct coder *c, void *data, uint32_t n)
{
    const uint8_t *from = data;
    if (!filter_borrowed(c, &from, n))
        return false;
    if (c->decode)
        memcpy(data, from, n);
    return true;
}

/* A terminated text in an array of max + 1 bytes. */
static bool filter_text(struct coder *c, char *text, uint32_t max)
{
    uint32_t n = c->decode ? 0 : (uint32_t)strnlen(text, max + 1);
    if (!filter_count(c, &n, max) || !filter_bytes(c, text, n))
        return false;
    if (c->decode)
        text[n] = '\0';
    return check(c, utf8_fit(text, n) == n);
}

static bool filter_read(struct coder *c, struct read_request *m)
{
    return filter_text(c, m->node, MESSAGE_TEXT_MAX) && filter_text(c, m->process, MESSAGE_TEXT_MAX) &&
           filter_text(c, m->aspect, MESSAGE_TEXT_MAX) && filter_text(c, m->where, READ_WHERE_MAX) &&
           filter_bool(c, &m->no_monitor) && filter_bool(c, &m->follow) && filter_bool(c, &m->schemas) &&
           filter_i64(c, &m->from) && filter_i64(c, &m->until) && filter_u64(c, &m->since) && filter_u64(c, &m->last) &&
           filter_u32(c, &m->credit);
}

static bool filter_reading(struct coder *c, struct read_reading *m)
{
    return filter_text(c, m->run, MESSAGE_NAME_MAX) && filter_bool(c, &m->grows) &&
           filter_text(c, m->note, MESSAGE_TEXT_MAX);
}

static bool filter_schema(struct coder *c, struct read_schema *m)
{
    return filter_u32(c, &m->number) && filter_text(c, m->node, MESSAGE_NAME_MAX) &&
           filter_bytes(c, m->uuid, sizeof m->uuid) && filter_text(c, m->process, MESSAGE_NAME_MAX) &&
           filter_u64(c, &m->instance) && filter_u32(c, &m->pid) && filter_enum(c, &m->role, ROLE_DAEMON) &&
           filter_count(c, &m->dictionary_bytes, MESSAGE_DICT_MAX) &&
           filter_borrowed(c, &m->dictionary, m->dictionary_bytes);
}

/* Whether a record may have `bytes`. */
static bool is_record(uint32_t bytes)
{
    return bytes >= PACKET_RECORD_BYTES && bytes <= PACKET_RECORD_MAX_BYTES && (bytes - PACKET_RECORD_BYTES) % 8 == 0;
}

static bool filter_item(struct coder *c, struct read_item *m)
{
    if (!filter_u32(c, &m->schema) || !filter_count(c, &m->ring, PACKET_RINGS_MAX - 1) || !filter_u32(c, &m->thread) ||
        !filter_i64(c, &m->run_time) || !filter_i64(c, &m->error) || !check(c, m->error >= -1) ||
        !filter_enum(c, &m->order, READ_CONTRARY))
        return false;
    if (m->order != READ_LOSS)
        return filter_u32(c, &m->record_bytes) && check(c, is_record(m->record_bytes)) &&
               filter_borrowed(c, &m->record, m->record_bytes);
    m->record_bytes = 0;
    return filter_u64(c, &m->time) && filter_u64(c, &m->lost);
}

/* The items go as they are; what is decoded is looked through to its end. */
static bool filter_records(struct coder *c, struct read_records *m)
{
    if (!filter_u64(c, &m->behind) || !filter_u32(c, &m->count))
        return false;
    if (!c->decode)
        return check(c, m->bytes % 4 == 0) && filter_borrowed(c, &m->items, m->bytes);
    m->items = c->at;
    for (uint32_t i = 0; i < m->count; i++) {
        struct read_item item = {0};
        if (!filter_item(c, &item))
            return false;
    }
    m->bytes = (uint32_t)(c->at - m->items);
    return true;
}

static bool filter_end(struct coder *c, struct read_end *m)
{
    return filter_enum(c, &m->why, READ_END_STOPPED) && filter_u64(c, &m->records) && filter_u64(c, &m->lost) &&
           filter_u64(c, &m->late) && filter_u64(c, &m->cut) && filter_u64(c, &m->rest) && filter_u64(c, &m->behind) &&
           filter_text(c, m->reason, MESSAGE_TEXT_MAX);
}

static bool filter_body(struct coder *c, struct read_message *m)
{
    switch (m->type) {
    case READ_REFUSE:
        return filter_text(c, m->refuse.reason, MESSAGE_TEXT_MAX);
    case READ_HEARTBEAT:
        return filter_u64(c, &m->heartbeat.at);
    case READ_READ:
        return filter_read(c, &m->read);
    case READ_READING:
        return filter_reading(c, &m->reading);
    case READ_SCHEMA:
        return filter_schema(c, &m->schema);
    case READ_RECORDS:
        return filter_records(c, &m->records);
    case READ_CREDIT:
        return filter_u32(c, &m->credit);
    case READ_END:
        return filter_end(c, &m->end);
    }
    return check(c, false);
}

/* The complete message; *version becomes that of the bytes. If it is not this build's, only a REFUSE is decoded. */
static bool filter_message(struct coder *c, struct read_message *m, uint32_t *version)
{
    uint32_t magic = MESSAGE_MAGIC;
    return filter_u32(c, &magic) && check(c, magic == MESSAGE_MAGIC) && filter_u32(c, version) &&
           filter_enum(c, &m->type, READ_END) && check(c, *version == MESSAGE_VERSION || m->type == READ_REFUSE) &&
           filter_body(c, m);
}

int read_message_encode(const struct read_message *m, uint8_t *out, size_t capacity)
{
    uint32_t version = MESSAGE_VERSION;
    struct coder c = {.at = out, .end = out + (capacity < READ_FRAME_MAX ? capacity : READ_FRAME_MAX)};
    bool done = filter_message(&c, (struct read_message *)m, &version); /* while encoding, a filter only reads */
    return done ? (int)(c.at - out) : c.broken ? BEZEL_EINVAL : BEZEL_EFULL;
}

int read_message_decode(const void *in, size_t n, struct read_message *m)
{
    uint32_t version = MESSAGE_VERSION;
    if (n > READ_FRAME_MAX)
        return BEZEL_EMALFORMED;
    struct coder c = {.decode = true, .at = (uint8_t *)in, .end = (uint8_t *)in + n}; /* which only reads */
    bool done = filter_message(&c, m, &version) && c.at == c.end;
    if (version == MESSAGE_VERSION)
        return done ? 0 : BEZEL_EMALFORMED;
    if (!done) {
        m->type = READ_REFUSE;
        snprintf(m->refuse.reason, sizeof m->refuse.reason,
                 "messages of version %" PRIu32
                 " were sent to a part of Bezel that reads version %d: install the same version of Bezel on both sides",
                 version, MESSAGE_VERSION);
    }
    return BEZEL_EVERSION;
}

bool read_item_get(const struct read_records *records, size_t *offset, struct read_item *item)
{
    struct coder c = {
        .decode = true, .at = (uint8_t *)records->items + *offset, .end = (uint8_t *)records->items + records->bytes};
    if (!filter_item(&c, item))
        return false;
    *offset = (size_t)(c.at - records->items);
    return true;
}

/* ---- a frame, item by item --------------------------------------------------------------------------------------- */

void read_frame_begin(struct read_frame *f)
{
    f->count = 0;
    f->size = RECORDS_HEAD;
}

bool read_frame_add(struct read_frame *f, const struct read_item *item, const struct packet_record *r)
{
    uint8_t *at = f->bytes + f->size;
    size_t bytes = r ? PACKET_RECORD_BYTES + 8 * (size_t)r->value_count : 0;
    size_t all = READ_ITEM_LEAST + (r ? 4 + bytes : 16);
    if (sizeof f->bytes - f->size < all)
        return false;
    bytes_put_u32(at, item->schema);
    bytes_put_u32(at + 4, item->ring);
    bytes_put_u32(at + 8, item->thread);
    bytes_put_u64(at + 12, (uint64_t)item->run_time);
    bytes_put_u64(at + 20, (uint64_t)item->error);
    bytes_put_u32(at + 28, item->order);
    at += READ_ITEM_LEAST;
    if (r) {
        bytes_put_u32(at, (uint32_t)bytes);
        memcpy(packet_put_record(at + 4, r->aspect, r->timestamp), r->values, 8 * (size_t)r->value_count);
    } else {
        bytes_put_u64(at, item->time);
        bytes_put_u64(at + 8, item->lost);
    }
    f->size += all;
    f->count++;
    return true;
}

void read_frame_end(struct read_frame *f, uint64_t behind)
{
    bytes_put_u32(f->bytes, MESSAGE_MAGIC);
    bytes_put_u32(f->bytes + 4, MESSAGE_VERSION);
    bytes_put_u32(f->bytes + 8, READ_RECORDS);
    bytes_put_u64(f->bytes + 12, behind);
    bytes_put_u32(f->bytes + 20, f->count);
}
