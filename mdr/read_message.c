// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/read_message.h"

#include "mdr/message.h"
#include "mdr/message_fields.h"

#include <string.h>

/* Coded as mdr/message.c does, by tables, but in plain memory: a consumer needs no libtirpc, and bytes are borrowed. */

enum { RECORDS_HEAD = 3 * 4 + 8 + 4 };

_Static_assert((int)READ_REFUSE == MESSAGE_REFUSE && (int)READ_HEARTBEAT == MESSAGE_HEARTBEAT,
               "both kinds of link have these messages");
_Static_assert(sizeof(enum read_type) == 4 && sizeof(enum read_end_why) == 4, "an enum is a word");

struct coder {
    struct fields_coder c;
    uint8_t *at, *end;
};

static bool code_word(struct fields_coder *c, uint32_t *word)
{
    struct coder *k = (struct coder *)c;
    if (k->end - k->at < 4)
        return false;
    if (c->decode)
        *word = bytes_get_u32(k->at);
    else
        bytes_put_u32(k->at, *word);
    k->at += 4;
    return true;
}

static bool code_units(struct fields_coder *c, void *bytes, uint32_t n)
{
    struct coder *k = (struct coder *)c;
    if (k->end - k->at < (ptrdiff_t)n)
        return false;
    if (n > 0)
        memcpy(c->decode ? bytes : k->at, c->decode ? k->at : bytes, n);
    k->at += n;
    return true;
}

/* `n` bytes and their padding, which must be zeros; decoded, *data are the bytes in the frame. */
static bool code_borrowed(struct fields_coder *c, const uint8_t **data, uint32_t n)
{
    static const uint8_t zeros[3];
    struct coder *k = (struct coder *)c;
    uint32_t padding = (4 - n % 4) % 4;
    if ((size_t)(k->end - k->at) < (size_t)n + padding)
        return false;
    if (c->decode) {
        *data = k->at;
    } else {
        if (n > 0)
            memcpy(k->at, *data, n);
        memset(k->at + n, 0, padding);
    }
    bool padded = memcmp(k->at + n, zeros, padding) == 0;
    k->at += n + padding;
    c->used += n + padding;
    return fields_check(c, padded);
}

/* Whether a record may have `bytes`. */
static bool is_record(uint32_t bytes)
{
    return bytes >= PACKET_RECORD_BYTES && bytes <= PACKET_RECORD_MAX_BYTES && (bytes - PACKET_RECORD_BYTES) % 8 == 0;
}

/* Takes the item at `at`. Returns its bytes; 0: the bytes end, or it is malformed. */
static size_t take_item(const uint8_t *at, size_t left, struct read_item *item)
{
    uint32_t order = left < READ_ITEM_LEAST + 4 ? UINT32_MAX : bytes_get_u32(at + 28);
    if (order > READ_CONTRARY)
        return 0;
    *item = (struct read_item){.schema = bytes_get_u32(at),
                               .ring = bytes_get_u32(at + 4),
                               .thread = bytes_get_u32(at + 8),
                               .run_time = (int64_t)bytes_get_u64(at + 12),
                               .error = (int64_t)bytes_get_u64(at + 20),
                               .order = (enum read_order)order};
    bool is_loss = order == READ_LOSS;
    uint32_t bytes = is_loss ? 0 : bytes_get_u32(at + READ_ITEM_LEAST);
    size_t all = READ_ITEM_LEAST + (is_loss ? 16 : 4 + (size_t)bytes);
    if (item->ring >= PACKET_RINGS_MAX || item->error < -1 || all > left || (!is_loss && !is_record(bytes)))
        return 0;
    item->record_bytes = bytes;
    item->record = is_loss ? NULL : at + READ_ITEM_LEAST + 4;
    item->time = is_loss ? bytes_get_u64(at + READ_ITEM_LEAST) : 0;
    item->lost = is_loss ? bytes_get_u64(at + READ_ITEM_LEAST + 8) : 0;
    return all;
}

/* The items go as they are; what is decoded is looked through to its end. */
static bool code_items(struct fields_coder *c, void *p)
{
    struct coder *k = (struct coder *)c;
    struct read_records *m = p;
    if (!c->decode)
        return fields_check(c, m->bytes % 4 == 0) && code_borrowed(c, &m->items, m->bytes);
    m->items = k->at;
    for (uint32_t i = 0; i < m->count; i++) {
        struct read_item item;
        size_t bytes = take_item(k->at, (size_t)(k->end - k->at), &item);
        if (bytes == 0)
            return false;
        k->at += bytes;
    }
    m->bytes = (uint32_t)(k->at - m->items);
    c->used += m->bytes;
    return true;
}

TABLE(refuse, FIELDS(message_refuse, reason));
TABLE(heartbeat, FIELDS(message_heartbeat, at));

TABLE(request, FIELDS(read_request, node, process, aspect, where, no_monitor, follow, schemas),
      FIELDS(read_request, from, until, since, last, credit));

TABLE(reading, FIELDS(read_reading, run, grows, note));

TABLE(schema, FIELDS(read_schema, number, node, uuid, process, instance, pid), ENUM(read_schema, role, ROLE_DAEMON),
      BORROWED(read_schema, dictionary_bytes, dictionary, MESSAGE_DICT_MAX));

TABLE(records, FIELDS(read_records, behind, count), CALL(code_items));
TABLE(credit, FIELDS(read_message, credit));
TABLE(end, ENUM(read_end, why, READ_END_STOPPED), FIELDS(read_end, records, lost, late, cut, rest, behind, reason));

TABLE(mirror, FIELDS(read_mirror, follow, rows, credit), BORROWED(read_mirror, token_bytes, token, READ_TOKEN_MAX));
TABLE(file, FIELDS(read_file, number, name, stream, bytes),
      BORROWED(read_file, cover_bytes, cover, PACKET_HEADER_BYTES), FIELD(read_file, lacks));
TABLE(have, FIELDS(read_have, number, bytes, sum));
TABLE(piece, FIELDS(read_bytes, number, offset), BORROWED(read_bytes, count, bytes, READ_BYTES_MAX));
TABLE(rows, BORROWED(read_rows, count, bytes, READ_BYTES_MAX));
TABLE(step, FIELDS(read_step, behind, grows, commit));
TABLE(watermark, FIELDS(read_watermark, node, low, age));

CASES(types, CASE(READ_REFUSE, read_message, refuse, refuse), CASE(READ_HEARTBEAT, read_message, heartbeat, heartbeat),
      CASE(READ_READ, read_message, read, request), CASE(READ_READING, read_message, reading, reading),
      CASE(READ_SCHEMA, read_message, schema, schema), CASE(READ_RECORDS, read_message, records, records),
      HERE(READ_CREDIT, credit), CASE(READ_END, read_message, end, end),
      CASE(READ_MIRROR, read_message, mirror, mirror), CASE(READ_FILE, read_message, file, file),
      CASE(READ_HAVE, read_message, have, have), CASE(READ_BYTES, read_message, bytes, piece),
      CASE(READ_ROWS, read_message, rows, rows), CASE(READ_STEP, read_message, step, step),
      CASE(READ_WATERMARK, read_message, watermark, watermark));

static bool code_body(struct fields_coder *c, void *p)
{
    return fields_choose(c, types, ((const struct read_message *)p)->type, p);
}

static int code(struct read_message *m, uint8_t *bytes, size_t n, bool decode)
{
    struct coder k = {.c = {.decode = decode, .word = code_word, .units = code_units, .borrow = code_borrowed},
                      .at = bytes,
                      .end = bytes + n};
    return fields_message(&k.c, code_body, m, m->refuse.reason, n);
}

int read_message_encode(const struct read_message *m, uint8_t *out, size_t capacity)
{
    /* while encoding, the message is only read */
    return code((struct read_message *)m, out, capacity < READ_FRAME_MAX ? capacity : READ_FRAME_MAX, false);
}

int read_message_decode(const void *in, size_t n, struct read_message *m)
{
    return n > READ_FRAME_MAX ? BEZEL_EMALFORMED : code(m, (uint8_t *)in, n, true); /* which is only read */
}

bool read_is_counted(uint32_t type)
{
    return type == READ_SCHEMA || type == READ_RECORDS || type == READ_FILE || type == READ_BYTES ||
           type == READ_ROWS || type == READ_WATERMARK;
}

bool read_item_get(const struct read_records *all, size_t *offset, struct read_item *item)
{
    size_t bytes = take_item(all->items + *offset, all->bytes - *offset, item);
    *offset += bytes;
    return bytes > 0;
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
    bytes_put_u32(f->bytes, FIELDS_MAGIC);
    bytes_put_u32(f->bytes + 4, MESSAGE_VERSION);
    bytes_put_u32(f->bytes + 8, READ_RECORDS);
    bytes_put_u64(f->bytes + 12, behind);
    bytes_put_u32(f->bytes + 20, f->count);
}
