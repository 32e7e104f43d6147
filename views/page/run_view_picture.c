// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/json.h"
#include "base/saturate.h"
#include "views/page/run_view_edges.h"
#include "views/page/run_view_messages.h"
#include "views/page/run_view_strip.h"
#include "views/page/run_view_value.h"
#include "views/picture/shown_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MOST = PAGE_REQUEST_PIXELS + 2,
    COLUMNS_OF_ALL = 1 << 17, /* of all rows of a picture: 6 MiB */
    RECORDS_OF_ALL = 20000,   /* likewise, beyond one row */
    SCAN_MOST = 200000,       /* records that a row with a key, or with records, looks at */
    BACK_COLUMNS = 64,        /* looked at for the value that holds at the window's begin */
    BACK_STEP = 4,            /* each time in columns 16 times as wide */
    SPANS_BEYOND = 64,        /* windows behind this one in which its spans may end */
    FIELD_VALUE = 2,          /* of observations and of metrics */
};

/* A message that was received: when, and when, in which stream and as which aspect it was sent. */
struct pair {
    int64_t at, sent_at;
    size_t sender;
    uint32_t aspect;
};

/* A row of a picture that is being made. */
struct row {
    struct run_view *v;
    const struct page_row *wanted;
    const struct model_process *process;
    const struct dict_aspect *aspect; /* NULL: all */
    size_t streams, stream;           /* in v->chosen; the number of the one that is read */
    unsigned width;                   /* log2 of a column's ns */
    int64_t from, until;              /* of the node's clock */
    struct levels_column *columns;
    size_t count;
    bool cut, damaged;                       /* not all was read: it would take too long; it cannot be read */
    uint64_t scanned, records, records_most; /* the last: that are wanted beside the columns */
    struct json *json;                       /* where records go; NULL: they are only counted, or make columns */
    const struct record_messages *messages;  /* of the picture; NULL: none */
    struct pair *pairs;                      /* room for records_most; NULL: none are wanted */
    size_t pair_count;
};

/* The part of a picture that is made of arrays. */
struct arrays {
    double *values;
    size_t used, capacity;
    bool failed;
};

static void put(struct arrays *a, double value)
{
    a->failed = a->failed || !grow_list(&a->values, &a->capacity, a->used, sizeof *a->values);
    if (!a->failed)
        a->values[a->used++] = value;
}

/* The least width of columns of which no more than `pixels` are in `time` ns. */
static unsigned width_of(int64_t time, uint32_t pixels)
{
    unsigned width = 0;
    while (width < 60 && (time >> width) >= (int64_t)pixels)
        width++;
    return width;
}

/* ---- a key: one limit, or one metric of a process, of an aspect that has records of all of them ------------------ */

static int add_to_column(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct row *row = context;
    (void)place;
    if (!r)
        return 0;
    if (++row->scanned > SCAN_MOST)
        return row->cut = true, 1;
    if (run_view_key(row->aspect, r) != row->wanted->key)
        return 0;
    int64_t begin = (int64_t)(r->timestamp >> row->width << row->width);
    struct levels_column *c = row->count ? &row->columns[row->count - 1] : NULL;
    if (!c || begin > c->begin) {
        if (row->count == COLUMNS_MOST)
            return 1;
        c = &row->columns[row->count++];
        *c = (struct levels_column){.begin = begin, .min = NAN, .max = NAN, .last = NAN};
    }
    double value = shown_record_number(row->aspect, r, row->wanted->field);
    c->count++;
    c->last = value;
    c->min = fmin(c->min, value);
    c->max = fmax(c->max, value);
    return 0;
}

/* How many records of its aspect the row has in its time; UINT64_MAX: an error. */
static uint64_t count_records(struct row *row)
{
    uint64_t sum = 0;
    ssize_t n = levels_columns(row->v->c.levels, row->v->chosen, row->streams, row->wanted->aspect, LEVELS_COUNT,
                               row->from, row->until, row->width, row->columns, COLUMNS_MOST);
    for (ssize_t i = 0; i < n; i++)
        sum += row->columns[i].count;
    return n < 0 ? UINT64_MAX : sum;
}

/* A string of the process; NULL: it has none of this number. */
static const char *string_of(const struct row *row, int64_t number)
{
    const struct dict *d = row->process->dict;
    return number > 0 && number <= d->string_count ? d->strings[number - 1] : NULL;
}

/* The history of the key: of a limit or of a metric; NULL: it has none. */
static const struct history_series *history_of(const struct row *row)
{
    const struct history *h = &row->v->c.history;
    const uint32_t *builtins = row->process->builtins;
    int64_t key = row->wanted->key;
    int64_t number = catalogue_process_of_row(&row->v->c, row->wanted->process);
    uint32_t node = number < 0 ? 0 : row->v->c.processes[number].node;
    if (row->wanted->field != FIELD_VALUE || row->process->role != ROLE_DAEMON)
        return NULL;
    if (row->wanted->aspect == builtins[BUILTIN_OBSERVATION])
        return history_limit(h, node, (uint32_t)key);
    const char *metric = string_of(row, key & 0xfff), *process = string_of(row, key >> 12); /* run_view_key() */
    bool fits = row->process->dict->string_count <= 0xfff;
    return fits && metric && process && row->wanted->aspect == builtins[BUILTIN_METRIC]
               ? history_metric(h, node, metric, process)
               : NULL;
}

/*
 * Makes the columns from the history of the key, where its columns are no wider, or too many records are in the time.
 * It is of all processes that monitored the node, one after the other: those of this one lie in its stream's time.
 * Returns the time up to which they are made; INT64_MIN: none are.
 */
static int64_t take_history(struct row *row)
{
    const struct levels_stream *stream = levels_stream(row->v->c.levels, row->v->chosen[0]);
    const struct history_series *s = row->streams == 1 ? history_of(row) : NULL;
    if (!s || !s->columns.list || (s->columns.width > row->width && count_records(row) <= SCAN_MOST))
        return INT64_MIN;
    row->width = s->columns.width > row->width ? s->columns.width : row->width;
    int64_t from = row->from >> row->width << row->width, until = row->until | ((INT64_C(1) << row->width) - 1);
    from = from > stream->first ? from : stream->first;
    until = until < stream->last ? until : stream->last;
    struct history_column *columns = malloc(COLUMNS_MOST * sizeof *columns);
    size_t n = columns && from <= until
                   ? history_columns_take(&s->columns, from, until, row->width, columns, COLUMNS_MOST)
                   : 0;
    for (size_t i = 0; i < n; i++) {
        const struct history_column *c = &columns[i];
        int64_t begin = c->at >> row->width << row->width;
        row->columns[i] =
            (struct levels_column){.begin = begin, .count = c->count, .min = c->min, .max = c->max, .last = c->last};
    }
    row->count = n;
    free(columns);
    return row->v->c.history.settled ? s->end : INT64_MAX;
}

/* Reads records of one of the row's streams; where it is damaged, up to there. Returns 0, 1 or an error. */
static int read_stream(struct row *row, size_t stream, int64_t from, int64_t until, levels_take *take)
{
    int err = levels_records(row->v->c.levels, stream, row->wanted->aspect, from, until, take, row);
    row->damaged = row->damaged || err == BEZEL_EMALFORMED;
    return err == BEZEL_EMALFORMED ? 0 : err;
}

/* Whether the node was monitored by another process of this name behind the row's. */
static bool is_followed(const struct row *row)
{
    const struct catalogue *c = &row->v->c;
    const struct model_process *is = row->process;
    bool followed = false;
    for (size_t i = 0; i < c->process_count && is->role == ROLE_DAEMON; i++) {
        const struct model_process *p = c->processes[i].process;
        followed = followed || (p->role == ROLE_DAEMON && p->started > is->started && strcmp(p->name, is->name) == 0 &&
                                strcmp(p->node->name, is->node->name) == 0);
    }
    return followed;
}

/* The time up to which the monitor's process knew a value: its last record's, if another process went on behind it. */
static int64_t known_until(const struct row *row)
{
    int64_t last = is_followed(row) ? INT64_MIN : INT64_MAX;
    for (size_t i = 0; i < row->streams; i++) {
        const struct levels_stream *stream = levels_stream(row->v->c.levels, row->v->chosen[i]);
        last = stream->last > last ? stream->last : last;
    }
    return last;
}

/* A monitor's process records them in one stream, in order. A column without values ends the last one's. */
static int columns_of_key(struct row *row)
{
    int64_t until = take_history(row), known = known_until(row);
    int err = 0;
    for (size_t i = 0; i < row->streams && err >= 0 && until < row->until; i++)
        err = read_stream(row, row->v->chosen[i], until < row->from ? row->from : until + 1, row->until, add_to_column);
    if (known >= row->from && known < row->until && row->count < COLUMNS_MOST)
        row->columns[row->count++] =
            (struct levels_column){.begin = saturate_add(known, 1), .min = NAN, .max = NAN, .last = NAN};
    return err < 0 ? err : 0;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static int columns_of(struct row *row)
{
    if (row->wanted->key >= 0 && row->aspect)
        return columns_of_key(row);
    uint32_t field = row->wanted->field < 0 ? LEVELS_COUNT : (uint32_t)row->wanted->field;
    ssize_t n = levels_columns(row->v->c.levels, row->v->chosen, row->streams, row->wanted->aspect, field, row->from,
                               row->until, row->width, row->columns, COLUMNS_MOST);
    row->count = n > 0 ? (size_t)n : 0;
    return n < 0 ? (int)n : 0;
}

/*
 * The value that holds when the window begins: that of the last column that ends before, looked for in ever wider
 * columns. NAN: there is none.
 */
static double value_before(struct row *row)
{
    struct levels_column *columns = row->columns;
    struct row back = *row;
    int64_t until = row->from;
    if (row->wanted->key >= 0 && known_until(row) < row->from)
        return NAN;
    unsigned width = row->width > 2 * BACK_STEP ? row->width - 2 * BACK_STEP : 0; /* up to a fraction of a column */
    for (; width <= 58; width += BACK_STEP) {
        int64_t span = width < 57 ? (int64_t)BACK_COLUMNS << width : INT64_MAX;
        back.width = width;
        back.until = (until >> width << width) - 1;
        back.from = until > span ? until - span : 0;
        back.count = 0;
        back.scanned = 0;
        if (back.until < back.from || columns_of(&back) != 0)
            return NAN;
        for (size_t i = back.count; i > 0; i--)
            if (columns[i - 1].count > 0)
                return columns[i - 1].last;
        if (back.from == 0)
            return NAN;
    }
    return NAN;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static bool is_span(const struct row *row)
{
    return row->aspect && dict_kind_lasts(row->aspect->kind);
}

static bool is_in_window(const struct row *row, const struct packet_record *r)
{
    if (row->wanted->key >= 0 && run_view_key(row->aspect, r) != row->wanted->key)
        return false;
    if (!is_span(row))
        return true;
    int64_t duration = (int64_t)packet_value(r, 0);
    return saturate_sub((int64_t)r->timestamp, duration > 0 ? duration : 0) <= row->until;
}

/* Notes a received message whose sending is in the picture. */
static void take_pair(struct row *row, const struct packet_record *r)
{
    if (!row->pairs || row->pair_count == row->records_most)
        return;
    struct record_item received = catalogue_item(row->process, row->stream, r);
    const struct record_sent *sent = record_messages_pair(row->messages, &received);
    if (!sent)
        return;
    row->pairs[row->pair_count++] =
        (struct pair){.at = run_view_time(row->v, row->process->node, (int64_t)r->timestamp),
                      .sent_at = run_view_time(row->v, levels_stream(row->v->c.levels, sent->stream)->process->node,
                                               (int64_t)sent->time),
                      .sender = sent->stream,
                      .aspect = sent->aspect};
}

/* Counts the records, or writes them as [time, stream, aspect, value...]. */
static int take_record(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct row *row = context;
    (void)place;
    if (!r)
        return 0;
    if (++row->scanned > SCAN_MOST)
        return row->records = UINT64_MAX, 1;
    if (!is_in_window(row, r))
        return 0;
    if (!row->json)
        return ++row->records > row->records_most;
    take_pair(row, r);
    json_array(row->json, NULL);
    json_int(row->json, NULL, run_view_time(row->v, row->process->node, (int64_t)r->timestamp));
    json_uint(row->json, NULL, row->stream);
    row->records++;
    json_uint(row->json, NULL, r->aspect);
    for (uint32_t i = 0; i < r->value_count; i++)
        run_view_put_value(row->json, NULL, row->process->dict, r, i);
    json_array_end(row->json);
    return 0;
}

/* A span is recorded at its end: those that end behind the window may have begun in it. */
static int64_t last_end(struct row *row)
{
    int64_t window = row->until - row->from, most = 0;
    if (!is_span(row))
        return row->until;
    ssize_t n = levels_columns(
        row->v->c.levels, row->v->chosen, row->streams, row->wanted->aspect, 0, row->until,
        saturate_add(row->until, window > INT64_MAX / SPANS_BEYOND ? INT64_MAX / 2 : window * SPANS_BEYOND),
        width_of(window * 2, 64), row->columns, COLUMNS_MOST);
    for (ssize_t i = 0; i < n; i++)
        if (row->columns[i].max > (double)most)
            most = (int64_t)fmin(row->columns[i].max, 1e15);
    return saturate_add(row->until, most);
}

static int scan(struct row *row, int64_t until)
{
    int err = 0;
    row->records = row->scanned = 0;
    for (size_t i = 0; i < row->streams && err >= 0 && row->records <= row->records_most; i++) {
        row->stream = row->v->chosen[i];
        err = read_stream(row, row->stream, row->from, until, take_record);
        if (levels_was_cut(row->v->c.levels))
            row->records = UINT64_MAX;
    }
    return err < 0 ? err : 0;
}

/* Member `pairs`: [time, time of the sending, its stream, its aspect]. */
static void put_pairs(const struct row *row, struct json *j)
{
    json_array(j, "pairs");
    for (size_t i = 0; i < row->pair_count; i++) {
        json_array(j, NULL);
        json_int(j, NULL, row->pairs[i].at);
        json_int(j, NULL, row->pairs[i].sent_at);
        json_uint(j, NULL, row->pairs[i].sender);
        json_uint(j, NULL, row->pairs[i].aspect);
        json_array_end(j);
    }
    json_array_end(j);
}

/* Member `records`, where there are no more than are wanted. */
static int put_records(struct row *row, struct json *j)
{
    int64_t until = last_end(row);
    row->json = NULL;
    int err = scan(row, until);
    if (err || row->records > row->records_most)
        return err;
    levels_set_deadline(row->v->c.levels, INT64_MAX); /* it has just been read */
    if (row->messages && row->aspect && row->aspect->kind == DICT_RECEIVED)
        row->pairs = malloc(row->records_most * sizeof *row->pairs);
    json_array(j, "records");
    row->json = j;
    err = scan(row, until);
    json_array_end(j);
    if (row->pairs)
        put_pairs(row, j);
    free(row->pairs);
    return err;
}

/* ---- a picture --------------------------------------------------------------------------------------------------- */

static void put_arrays(const struct row *row, struct arrays *a)
{
    const struct levels_column *c = row->columns;
    for (size_t i = 0; i < row->count; i++)
        put(a, (double)run_view_time(row->v, row->process->node, c[i].begin));
    for (size_t i = 0; i < row->count; i++)
        put(a, (double)c[i].count);
    for (size_t i = 0; i < row->count; i++)
        put(a, (double)c[i].lost);
    for (size_t i = 0; i < row->count && row->wanted->field >= 0; i++)
        put(a, c[i].min);
    for (size_t i = 0; i < row->count && row->wanted->field >= 0; i++)
        put(a, c[i].max);
    for (size_t i = 0; i < row->count && row->wanted->field >= 0; i++)
        put(a, c[i].last);
}

static bool begin_row(struct row *row, int64_t from, int64_t until, uint32_t pixels)
{
    struct run_view *v = row->v;
    row->streams = run_view_choose(v, row->wanted);
    if (row->streams == 0)
        return false;
    row->process = levels_stream(v->c.levels, v->chosen[0])->process;
    const struct dict *d = row->process->dict;
    if (row->wanted->aspect > 0 && (!d || row->wanted->aspect > d->aspect_count))
        return false;
    row->aspect = row->wanted->aspect ? &d->aspects[row->wanted->aspect - 1] : NULL;
    if (row->wanted->key >= 0 && !row->aspect)
        return false;
    if (row->wanted->field >= 0 && (!row->aspect || (uint32_t)row->wanted->field >= row->aspect->field_count))
        return false;
    row->from = run_view_own(v, row->process->node, from);
    row->until = run_view_own(v, row->process->node, until);
    row->from = row->from > 0 ? row->from : 0;
    row->width = width_of(until - from, pixels);
    return row->until >= row->from;
}

static bool holds_on(const struct row *row)
{
    return row->wanted->field >= 0 && (row->process->role == ROLE_DAEMON || row->aspect->kind == DICT_GAUGE);
}

static bool is_damaged(const struct row *row)
{
    bool damaged = row->damaged;
    for (size_t i = 0; i < row->streams; i++)
        damaged = damaged || levels_stream(row->v->c.levels, row->v->chosen[i])->cut;
    return damaged;
}

static int put_row(struct row *row, const struct page_request *q, int64_t from, int64_t until, int64_t deadline,
                   struct json *j, struct arrays *a)
{
    uint32_t share = COLUMNS_OF_ALL / (uint32_t)q->row_count, pixels = q->pixels < share ? q->pixels : share;
    int err = 0;
    json_object(j, NULL);
    if (begin_row(row, from, until, pixels)) {
        struct clock_reading bound = run_clock_at(&row->process->node->run_clock, row->until);
        struct strip strip = {0};
        bool is_strip = run_view_is_strip(row->wanted, row->aspect);
        levels_set_deadline(row->v->c.levels, deadline);
        double before = holds_on(row) && !is_strip ? value_before(row) : NAN;
        err = is_strip ? run_view_strip(row->v, row->wanted, row->streams, from, until, pixels / 2, &strip, &row->cut)
                       : columns_of(row);
        json_bool(j, "cut", row->cut || levels_was_cut(row->v->c.levels));
        json_uint(j, "columns", row->count);
        json_bool(j, "values", row->wanted->field >= 0);
        json_double(j, "wide", ldexp(1, (int)row->width));
        json_known_int(j, "bound", bound.bound < INT64_MAX, bound.bound);
        json_double(j, "before", before);
        put_arrays(row, a);
        if (is_strip)
            run_view_put_strip(row->v, &strip, j);
        else if (!err && row->records_most > 0)
            err = put_records(row, j);
        strip_fini(&strip);
        json_bool(j, "damaged", is_damaged(row));
        levels_set_deadline(row->v->c.levels, INT64_MAX);
    }
    json_object_end(j);
    return err;
}

static int put_rows(struct run_view *v, const struct page_request *q, int64_t from, int64_t until, int64_t deadline,
                    struct json *j, struct arrays *a)
{
    struct levels_column *columns = malloc(COLUMNS_MOST * sizeof *columns);
    int err = columns ? 0 : BEZEL_ENOMEM;
    uint64_t left = RECORDS_OF_ALL;
    levels_set_deadline(v->c.levels, deadline);
    struct record_messages *messages = run_view_messages(v, q, from, until);
    json_array(j, "rows");
    for (size_t i = 0; i < q->row_count && !err; i++) {
        struct row row = {.v = v, .wanted = &q->rows[i], .columns = columns, .messages = messages};
        row.records_most = row.wanted->records < left ? row.wanted->records : left;
        err = put_row(&row, q, from, until, deadline, j, a);
        left -= row.records <= row.records_most ? row.records : 0;
    }
    json_array_end(j);
    levels_set_deadline(v->c.levels, deadline);
    if (!err)
        err = run_view_put_edges(v, q, from, until, j);
    levels_set_deadline(v->c.levels, INT64_MAX);
    record_messages_free(messages);
    free(columns);
    return err;
}

/* Puts header and arrays into one frame. */
static int make_frame(const char *header, size_t header_bytes, const struct arrays *a, char **bytes, size_t *n)
{
    size_t head = (4 + header_bytes + 7) / 8 * 8;
    *n = head + a->used * sizeof(double);
    *bytes = calloc(1, *n ? *n : 1);
    if (!*bytes)
        return BEZEL_ENOMEM;
    for (int i = 0; i < 4; i++)
        (*bytes)[i] = (char)(header_bytes >> 8 * i);
    memcpy(*bytes + 4, header, header_bytes);
    for (size_t i = 0; i < a->used; i++) {
        uint64_t bits;
        memcpy(&bits, &a->values[i], sizeof bits);
        for (int k = 0; k < 8; k++)
            (*bytes)[head + 8 * i + (size_t)k] = (char)(bits >> 8 * k);
    }
    return 0;
}

static void put_head(const struct run_view *v, const struct page_request *q, int64_t from, int64_t until,
                     const struct run_view_state *state, struct json *j)
{
    json_object(j, NULL);
    json_text(j, "is", "picture");
    json_uint(j, "sequence", q->sequence);
    json_int(j, "from", from);
    json_int(j, "until", until);
    json_int(j, "newest", v->newest);
    json_uint(j, "ahead", v->ahead);
    json_bool(j, "live", state->live);
    json_bool(j, "behind", state->behind);
    json_double(j, "cpu", state->cpu);
    json_uint(j, "memory", state->memory);
    json_uint(j, "skipped", state->skipped);
    json_text(j, "trouble", state->trouble);
}

int run_view_picture(struct run_view *v, const struct page_request *q, int64_t from, int64_t until,
                     const struct run_view_state *state, int64_t deadline, char **bytes, size_t *n)
{
    struct arrays arrays = {0};
    char *header = NULL;
    size_t header_bytes = 0;
    FILE *out = open_memstream(&header, &header_bytes);
    if (!out)
        return BEZEL_ENOMEM;
    struct json j = {.out = out, .compact = true};
    put_head(v, q, from, until, state, &j);
    int err = put_rows(v, q, from, until, deadline, &j, &arrays);
    json_object_end(&j);
    if (fclose(out) != 0 || arrays.failed)
        err = err ? err : BEZEL_ENOMEM;
    if (!err)
        err = make_frame(header, header_bytes, &arrays, bytes, n);
    free(header);
    free(arrays.values);
    return err;
}
