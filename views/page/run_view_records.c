// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The list of records of a row. Of more than a list takes, it has those that are nearest to one moment: the middle of
 * the time, or where a field has its largest or least value. Of the records behind the moment, the first ones of each
 * stream suffice. Before it, a stream can only be read forwards: so a part before the moment is looked at that grows
 * until it has enough.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/saturate.h"
#include "views/page/run_view_internal.h"
#include "views/page/run_view_value.h"
#include "views/picture/shown_record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    RECORDS_MOST = 200,
    NARROWER = 12, /* an extreme is looked for in columns 1 << 12 times as narrow each time */
    COLUMNS_MOST = (1 << NARROWER) + 2,
    PART_GROWS = 4,
};

struct listing {
    struct run_view *v;
    const struct page_row *wanted;
    const struct model_process *process;
    size_t stream;
    int64_t middle; /* of the node's clock */
    uint64_t taken; /* of the part that is read */
    bool counts;    /* it is only counted */
    bool more, damaged;
    size_t count;
    struct shown_record list[RECORDS_MOST];
};

/* ---- what it lies around ----------------------------------------------------------------------------------------- */

/* The column with the largest or least value; NULL: none has a value. */
static const struct levels_column *extreme_of(const struct levels_column *columns, ssize_t n, bool most)
{
    const struct levels_column *found = NULL;
    for (ssize_t i = 0; i < n; i++) {
        double value = most ? columns[i].max : columns[i].min, best = !found ? 0 : most ? found->max : found->min;
        if (value == value && (!found || (most ? value > best : value < best)))
            found = &columns[i];
    }
    return found;
}

/* Where the field has its extreme, in columns that become narrower; the middle where it has none. */
static int64_t find_extreme(const struct listing *l, size_t streams, int64_t from, int64_t until, bool most)
{
    struct levels_column *columns = malloc(COLUMNS_MOST * sizeof *columns);
    int64_t middle = from + (until - from) / 2;
    unsigned width = 0;
    while ((until - from) >> width >> NARROWER)
        width++;
    for (bool is_last = !columns; !is_last; width = width > NARROWER ? width - NARROWER : 0) {
        ssize_t n = levels_columns(l->v->c.levels, l->v->chosen, streams, l->wanted->aspect, (uint32_t)l->wanted->field,
                                   from, until, width, columns, COLUMNS_MOST);
        const struct levels_column *found = extreme_of(columns, n, most);
        is_last = !found || width == 0;
        if (!found)
            break;
        int64_t end = saturate_add(found->begin, (INT64_C(1) << width) - 1);
        middle = from = found->begin > from ? found->begin : from;
        until = end < until ? end : until;
    }
    free(columns);
    return middle;
}

/* ---- what it has ------------------------------------------------------------------------------------------------- */

static uint64_t distance(const struct listing *l, int64_t own)
{
    return own > l->middle ? (uint64_t)own - (uint64_t)l->middle : (uint64_t)l->middle - (uint64_t)own;
}

/* The place for a record at `own`: of the furthest one where there is no more room. NULL: it is the furthest itself. */
static struct shown_record *place_for(struct listing *l, int64_t own)
{
    if (l->count < RECORDS_MOST)
        return &l->list[l->count++];
    struct shown_record *furthest = &l->list[0];
    for (size_t i = 1; i < l->count; i++)
        if (distance(l, l->list[i].at) > distance(l, furthest->at))
            furthest = &l->list[i];
    l->more = true;
    return distance(l, own) < distance(l, furthest->at) ? furthest : NULL;
}

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct listing *l = context;
    int64_t own = (int64_t)(r ? r->timestamp : place->header->timestamp_end);
    if (r && l->wanted->key >= 0 && run_view_key(&l->process->dict->aspects[r->aspect - 1], r) != l->wanted->key)
        return 0;
    l->taken++;
    if (l->counts)
        return l->taken > RECORDS_MOST;
    struct shown_record *it = place_for(l, own);
    if (!it)
        return own > l->middle; /* what follows is further */
    shown_record_keep(it, r, place, l->stream);
    return 0;
}

/* Reads a part of a stream. Returns 0 or an error. */
static int read_part(struct listing *l, int64_t from, int64_t until, bool counts)
{
    l->taken = 0;
    l->counts = counts;
    int err = levels_records(l->v->c.levels, l->stream, l->wanted->aspect, from, until, take, l);
    l->damaged = l->damaged || err == BEZEL_EMALFORMED;
    return err == BEZEL_EMALFORMED || err > 0 ? 0 : err;
}

/* Where the part before the middle begins that has enough. */
static int begin_before(struct listing *l, int64_t from, int64_t *begin)
{
    int err = 0;
    for (int64_t part = CLOCK_MS;; part = part > INT64_MAX / PART_GROWS ? INT64_MAX : part * PART_GROWS) {
        *begin = saturate_sub(l->middle, part) > from ? saturate_sub(l->middle, part) : from;
        if (*begin == from)
            return 0;
        err = read_part(l, *begin, l->middle - 1, true);
        if (err || l->taken > RECORDS_MOST || levels_was_cut(l->v->c.levels)) {
            l->more = true;
            return err;
        }
    }
}

static int read_stream(struct listing *l, int64_t from, int64_t until)
{
    int64_t begin = from;
    int err = read_part(l, l->middle, until, false);
    if (!err && from < l->middle)
        err = begin_before(l, from, &begin);
    if (!err && from < l->middle)
        err = read_part(l, begin, l->middle - 1, false);
    return err;
}

/* ---- the message ------------------------------------------------------------------------------------------------- */

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

static void put_bytes(struct json *j, const struct shown_record *it)
{
    char text[2 * PACKET_RECORD_MAX_BYTES + 1] = "";
    for (size_t i = 0; i < it->bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", it->raw[i]);
    json_text(j, "bytes", text);
}

static void put_place(const struct listing *l, const struct shown_record *it, struct json *j)
{
    char text[24];
    const struct model_node *node = l->process->node;
    struct clock_reading at = run_clock_at(&node->run_clock, it->at);
    json_int(j, "at", run_view_time(l->v, node, it->at));
    json_known_int(j, "bound", at.bound < INT64_MAX, at.bound);
    snprintf(text, sizeof text, "%" PRId64, it->at);
    json_text(j, "own", text); /* ns of the node's clock: all 64 bits */
    json_uint(j, "stream", it->stream);
    json_text(j, "file", levels_stream(l->v->c.levels, it->stream)->path);
    json_uint(j, "packet", it->packet);
    json_uint(j, "offset", it->record);
}

/* The record that the list lies around, by its value; SIZE_MAX: around none, or others have the same value. */
static size_t find_chosen(const struct listing *l, enum page_around around)
{
    size_t found = SIZE_MAX;
    double best = 0;
    bool is_alone = true;
    for (size_t i = 0; i < l->count && around != PAGE_AROUND_MIDDLE; i++) {
        struct packet_record r = shown_record_read(&l->list[i], l->process->dict);
        double value = r.aspect == l->wanted->aspect
                           ? shown_record_number(&l->process->dict->aspects[r.aspect - 1], &r, l->wanted->field)
                           : (double)NAN;
        if (found != SIZE_MAX && value == best)
            is_alone = false;
        if (value == value && (found == SIZE_MAX || (around == PAGE_AROUND_MOST ? value > best : value < best))) {
            found = i;
            best = value;
            is_alone = true;
        }
    }
    return is_alone ? found : SIZE_MAX;
}

static void put_list(struct listing *l, enum page_around around, struct json *j)
{
    qsort(l->list, l->count, sizeof *l->list, shown_record_compare);
    size_t chosen = find_chosen(l, around);
    for (size_t i = 0; i < l->count; i++) {
        struct packet_record r = shown_record_read(&l->list[i], l->process->dict);
        json_object(j, NULL);
        put_place(l, &l->list[i], j);
        if (r.aspect) {
            put_fields(j, l->process->dict, &r);
            put_bytes(j, &l->list[i]);
        } else {
            json_uint(j, "lost", l->list[i].lost);
        }
        if (i == chosen)
            json_bool(j, "chosen", true);
        json_object_end(j);
    }
}

/* Fills the list. Returns 0 or an error. */
static int fill(struct listing *l, const struct page_request *q, size_t n)
{
    int err = 0;
    l->process = levels_stream(l->v->c.levels, l->v->chosen[0])->process;
    int64_t from = run_view_own(l->v, l->process->node, q->from);
    int64_t until = run_view_own(l->v, l->process->node, q->until);
    from = from > 0 ? from : 0;
    const struct dict *d = l->process->dict;
    if (!d || until < from || l->wanted->aspect > d->aspect_count)
        return 0;
    bool is_extreme = q->around != PAGE_AROUND_MIDDLE && l->wanted->aspect > 0 &&
                      (uint32_t)l->wanted->field < d->aspects[l->wanted->aspect - 1].field_count;
    l->middle = is_extreme ? find_extreme(l, n, from, until, q->around == PAGE_AROUND_MOST) : from + (until - from) / 2;
    for (size_t i = 0; i < n && !err; i++) {
        l->stream = l->v->chosen[i];
        err = read_stream(l, from, until);
        l->damaged = l->damaged || levels_stream(l->v->c.levels, l->stream)->cut;
    }
    return err;
}

int run_view_records(struct run_view *v, const struct page_request *q, int64_t deadline, FILE *out)
{
    struct json j = {.out = out, .compact = true};
    struct listing *l = calloc(1, sizeof *l);
    if (!l)
        return BEZEL_ENOMEM;
    l->v = v;
    l->wanted = &q->rows[0];
    size_t n = run_view_choose(v, l->wanted);
    levels_set_deadline(v->c.levels, deadline);
    int err = n ? fill(l, q, n) : 0;
    json_object(&j, NULL);
    json_text(&j, "is", "records");
    json_uint(&j, "sequence", q->sequence);
    json_array(&j, "records");
    put_list(l, q->around, &j);
    json_array_end(&j);
    json_bool(&j, "more", l->more);
    json_bool(&j, "damaged", l->damaged);
    json_bool(&j, "cut", levels_was_cut(v->c.levels));
    levels_set_deadline(v->c.levels, INT64_MAX);
    json_object_end(&j);
    free(l);
    return err;
}
