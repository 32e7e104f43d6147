// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/json.h"
#include "ecs/view/run_view_internal.h"
#include "ecs/view/run_view_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MOST = 200 };

struct listing {
    struct run_view *v;
    const struct model_process *process;
    const struct page_row *wanted;
    size_t stream;
    uint64_t count;
    bool more, damaged;
    struct json j;
};

static void put_bytes(struct json *j, const struct levels_place *place)
{
    char text[2 * PACKET_RECORD_MAX_BYTES + 1] = "";
    for (size_t i = 0; i < place->bytes && i < PACKET_RECORD_MAX_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", place->raw[i]);
    json_text(j, "bytes", text);
}

static void put_fields(struct json *j, const struct dict *d, const struct packet_record *r)
{
    const struct dict_aspect *a = &d->aspects[r->aspect - 1];
    json_text(j, "aspect", a->name);
    json_array(j, "fields"); /* [name, value, unit] */
    for (uint32_t i = 0; i < r->value_count; i++) {
        json_array(j, NULL);
        json_text(j, NULL, a->fields[i].name);
        run_view_put_value(j, NULL, d, r, i);
        json_text(j, NULL, a->fields[i].unit);
        json_array_end(j);
    }
    json_array_end(j);
}

static void put_place(struct listing *l, int64_t own, const struct levels_place *place)
{
    struct json *j = &l->j;
    char text[24];
    struct clock_reading at = run_clock_at(&l->process->node->run_clock, own);
    json_int(j, "at", run_view_time(l->v, l->process->node, own));
    json_known_int(j, "bound", at.bound < INT64_MAX, at.bound);
    snprintf(text, sizeof text, "%" PRId64, own);
    json_text(j, "own", text); /* ns of the node's clock: all 64 bits */
    json_uint(j, "stream", l->stream);
    json_text(j, "file", place->path);
    json_uint(j, "packet", place->packet);
    json_uint(j, "offset", place->record);
}

static int list_record(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct listing *l = context;
    if (r && l->wanted->key >= 0 && run_view_key(&l->process->dict->aspects[r->aspect - 1], r) != l->wanted->key)
        return 0;
    if (l->count == RECORDS_MOST)
        return l->more = true, 1;
    l->count++;
    json_object(&l->j, NULL);
    put_place(l, (int64_t)(r ? r->timestamp : place->header->timestamp_end), place);
    if (r) {
        put_fields(&l->j, l->process->dict, r);
        put_bytes(&l->j, place);
    } else {
        json_uint(&l->j, "lost", place->lost);
    }
    json_object_end(&l->j);
    return 0;
}

int run_view_records(struct run_view *v, const struct page_request *q, int64_t deadline, FILE *out)
{
    struct listing l = {.v = v, .wanted = &q->rows[0], .j = {.out = out, .compact = true}};
    size_t n = run_view_choose(v, l.wanted);
    int err = 0;
    json_object(&l.j, NULL);
    json_text(&l.j, "is", "records");
    json_uint(&l.j, "sequence", q->sequence);
    json_array(&l.j, "records");
    levels_set_deadline(v->levels, deadline);
    for (size_t i = 0; i < n && err >= 0 && !l.more; i++) {
        l.stream = v->chosen[i];
        l.process = levels_stream(v->levels, l.stream)->process;
        int64_t from = run_view_own(v, l.process->node, q->from);
        if (l.process->dict)
            err = levels_records(v->levels, l.stream, l.wanted->aspect, from > 0 ? from : 0,
                                 run_view_own(v, l.process->node, q->until), list_record, &l);
        l.damaged = l.damaged || err == BEZEL_EMALFORMED || levels_stream(v->levels, l.stream)->cut;
        err = err == BEZEL_EMALFORMED ? 0 : err;
    }
    json_array_end(&l.j);
    json_bool(&l.j, "more", l.more);
    json_bool(&l.j, "damaged", l.damaged);
    json_bool(&l.j, "cut", levels_was_cut(v->levels));
    levels_set_deadline(v->levels, INT64_MAX);
    json_object_end(&l.j);
    return err < 0 ? err : 0;
}
