// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/remote_reader.h"

#include "collector/remote/remote_schemas.h"

#include <stdlib.h>

struct remote_reader {
    struct remote_link link;
    struct read_records records;
    size_t offset; /* in these */
    uint32_t left; /* items of these */
    struct remote_schemas schemas;
    struct packet_header packet; /* of the last item */
    struct packet_record record;
    struct remote_reader_totals totals;
    int64_t logical; /* of the last item */
};

const char *remote_reader_why(const struct remote_reader *r)
{
    return r->link.why;
}

const struct read_reading *remote_reader_said(const struct remote_reader *r)
{
    return &r->link.reading;
}

const struct model *remote_reader_model(const struct remote_reader *r, uint64_t *age)
{
    if (age)
        *age = r->schemas.age;
    return r->schemas.model;
}

struct remote_reader_totals remote_reader_totals(const struct remote_reader *r)
{
    return r->totals;
}

/* ---- messages of the server -------------------------------------------------------------------------------------- */

static int take_message(struct remote_reader *r, const struct read_message *m)
{
    struct remote_link *l = &r->link;
    switch (m->type) {
    case READ_HEARTBEAT:
    case READ_READING:
        return 0;
    case READ_SCHEMA: {
        int err = remote_schemas_take(&r->schemas, &m->schema);
        return err ? remote_link_fail(l, err, "%s sends a process that makes no sense, or too many", l->place) : 0;
    }
    case READ_RECORDS:
        r->records = m->records;
        r->offset = 0;
        r->left = m->records.count;
        r->totals.behind = m->records.behind;
        return 0;
    case READ_END:
        r->totals.cut = m->end.cut;
        r->totals.rest = m->end.rest;
        r->totals.behind = m->end.behind;
        return 0;
    default:
        return remote_link_fail(l, BEZEL_EMALFORMED, "%s sends what a server does not send", l->place);
    }
}

/* Waits for the next message, and takes it. An END with an error counts, too. */
static int receive(struct remote_reader *r, int64_t deadline)
{
    struct read_message m = {.type = READ_HEARTBEAT};
    int err = remote_link_receive(&r->link, &m, deadline);
    if (!err || (err != BEZEL_EAGAIN && r->link.over))
        err = take_message(r, &m) ? r->link.error : err;
    return err;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

/* Whether the record is one of the process. */
static bool read_record(struct remote_reader *r, const struct read_item *item, const struct dict *d)
{
    struct packet_record *to = &r->record;
    to->aspect = bytes_get_u32(item->record);
    to->timestamp = bytes_get_u64(item->record + 4);
    to->value_count = (item->record_bytes - PACKET_RECORD_BYTES) / 8;
    to->values = item->record + PACKET_RECORD_BYTES;
    return to->aspect >= 1 && to->aspect <= d->aspect_count && d->field_counts[to->aspect] == to->value_count;
}

/* Gives the next item of the last message. Returns 1, 0 if there is none, or an error. */
static int next_item(struct remote_reader *r, struct record_item *to)
{
    struct read_item item;
    if (r->left == 0 || !read_item_get(&r->records, &r->offset, &item))
        return 0;
    r->left--;
    const struct model_process *p = remote_schemas_find(&r->schemas, item.schema);
    if (!p || (item.order != READ_LOSS && !read_record(r, &item, p->dict)))
        return remote_link_fail(&r->link, BEZEL_EMALFORMED, "%s sends a record that its process cannot have made",
                                r->link.place);
    r->packet = (struct packet_header){.instance = p->instance, .ring = item.ring, .thread = item.thread};
    *to = (struct record_item){.process = p,
                               .packet = &r->packet,
                               .lost = item.lost,
                               .time = item.time,
                               .at = {item.run_time, item.error < 0 ? INT64_MAX : item.error},
                               .logical = r->logical = record_logical(r->logical, item.run_time)};
    if (item.order == READ_LOSS) {
        r->totals.lost += item.lost;
        return 1;
    }
    to->r = &r->record;
    to->aspect = &p->dict->aspects[r->record.aspect - 1];
    to->lost = 0;
    to->time = r->record.timestamp;
    to->proof = (enum record_proof)item.order;
    r->totals.records++;
    r->totals.proofs[item.order]++;
    return 1;
}

int remote_reader_next(struct remote_reader *r, struct record_item *item, int64_t deadline)
{
    int err = r->link.error ? r->link.error : next_item(r, item);
    while (!err && !r->link.over) {
        err = receive(r, deadline);
        if (!err)
            err = next_item(r, item);
    }
    return err;
}

int remote_reader_feed(struct remote_reader *r, const uint8_t *bytes, size_t n)
{
    struct record_item item;
    struct read_message m;
    int err = remote_link_take(&r->link, bytes, n, &m), items = 0;
    if (!err || r->link.over)
        err = take_message(r, &m) ? r->link.error : err;
    while (!err && (err = next_item(r, &item)) > 0) {
        items++;
        err = 0;
    }
    return err < 0 ? err : items;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

struct remote_reader *remote_reader_new(void)
{
    struct remote_reader *r = calloc(1, sizeof *r);
    if (r && remote_schemas_init(&r->schemas) == 0)
        return r;
    free(r);
    return NULL;
}

int remote_reader_open(const struct remote_place *place, const struct read_request *request, struct remote_reader **out)
{
    struct remote_reader *r = *out = remote_reader_new();
    if (!r)
        return BEZEL_ENOMEM;
    struct read_message m = {.type = READ_READ, .read = *request};
    m.read.credit = READ_CREDIT_MAX;
    r->logical = INT64_MIN;
    int err = remote_link_open(&r->link, place, &m);
    while (!err && !r->link.answered && !r->link.over)
        err = receive(r, INT64_MAX);
    if (!err && !r->link.answered)
        err = remote_link_fail(&r->link, BEZEL_EMALFORMED, "%s ends before it has answered", r->link.place);
    return err;
}

void remote_reader_close(struct remote_reader *r)
{
    if (!r)
        return;
    remote_link_close(&r->link);
    remote_schemas_fini(&r->schemas);
    free(r);
}
