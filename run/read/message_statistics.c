// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/message_statistics.h"

#include "base/grow.h"
#include "metric/histogram.h"
#include "run/read/record_messages.h"

#include <math.h>
#include <stdlib.h>

enum {
    SENT_MEMORY = 64 << 20,   /* bytes for messages that are sent and not received yet */
    VALUES_MEMORY = 64 << 20, /* bytes for latencies of all aspects */
};

struct row {
    struct message_statistics is;
    double sum, unawaited_sum;
    struct histogram latencies;
};

struct message_reading {
    struct row *rows;
    size_t count, capacity;
    struct hash_index index; /* numbers of rows, by process and aspect */
    struct record_messages *messages;
    size_t memory;
};

/* The row of an aspect; NULL if there is none. */
static struct row *row_of(struct message_reading *r, int64_t process, uint32_t aspect)
{
    int i = hash_index_find(&r->index, (uint64_t)process, aspect);
    return i < 0 ? NULL : &r->rows[i];
}

/* NULL: no memory. */
static struct row *add_row(struct message_reading *r, const struct record_item *item)
{
    if (!grow_list(&r->rows, &r->capacity, r->count, sizeof *r->rows) || !grow_index(&r->index, r->count))
        return NULL;
    hash_index_put(&r->index, (uint64_t)item->process->row, item->r->aspect, (uint32_t)r->count);
    struct row *row = &r->rows[r->count++];
    *row = (struct row){.is = {.process = item->process->row,
                               .aspect = item->r->aspect,
                               .kind = item->aspect->kind,
                               .min = INFINITY,
                               .max = -INFINITY,
                               .unawaited_max = -INFINITY}};
    return row;
}

/* How long the receiver had waited, ns; -1: not known. */
static int64_t waited(const struct record_item *item)
{
    for (uint32_t i = 0; i < item->aspect->field_count; i++)
        if (dict_is_duration(item->aspect, i))
            return (int64_t)packet_value(item->r, i);
    return -1;
}

static void add_unawaited(struct row *row, int64_t waited, double latency)
{
    if (waited < 0)
        return;
    double unawaited = fmax(latency - (double)waited, 0);
    row->is.asked++;
    row->is.unawaited_max = fmax(row->is.unawaited_max, unawaited);
    row->unawaited_sum += unawaited;
}

static void add_latency(struct message_reading *r, struct row *row, const struct record_item *item,
                        const struct record_sent *sent)
{
    struct message_statistics *s = &row->is;
    struct clock_reading took = record_message_took(sent, item);
    if (took.bound == INT64_MAX)
        return;
    double latency = (double)took.ns;
    struct histogram_cursor cursor = HISTOGRAM_CURSOR;
    if (!histogram_add(&row->latencies, &cursor, latency, &r->memory))
        return;
    histogram_end(&cursor);
    s->timed++;
    s->min = fmin(s->min, latency);
    s->max = fmax(s->max, latency);
    s->bound = took.bound > s->bound ? took.bound : s->bound;
    row->sum += latency;
    add_unawaited(row, waited(item), latency);
}

static void take_received(struct message_reading *r, struct row *row, const struct record_item *item)
{
    bool first;
    const struct record_sent *sent = record_messages_match(r->messages, item, &first);
    if (!sent) {
        row->is.unmatched++;
        return;
    }
    add_latency(r, row, item, sent);
    struct row *sender = first ? row_of(r, sent->process, sent->aspect) : NULL;
    if (sender && sender->is.unmatched)
        sender->is.unmatched--;
}

bool message_reading_wants(const struct dict_aspect *a)
{
    return a->kind == DICT_SENT || a->kind == DICT_RECEIVED;
}

bool message_reading_take(struct message_reading *r, const struct record_item *item)
{
    struct row *row = row_of(r, item->process->row, item->r->aspect);
    if (!row && !(row = add_row(r, item)))
        return false;
    row->is.records++;
    if (item->aspect->kind == DICT_RECEIVED) {
        take_received(r, row, item);
    } else {
        row->is.unmatched++; /* until it is received */
        row->is.contrary += item->proof == RECORD_CONTRARY;
        record_messages_add(r->messages, item);
    }
    return true;
}

static int give_rows(struct message_reading *r, struct message_table *t)
{
    t->rows = calloc(r->count + 1, sizeof *t->rows);
    if (!t->rows)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < r->count; i++) {
        struct row *row = &r->rows[i];
        struct message_statistics *s = &t->rows[i];
        *s = row->is;
        s->mean = s->timed ? row->sum / (double)s->timed : (double)NAN;
        s->p50 = fmin(floor(histogram_quantile(&row->latencies, 0.5)), s->max);
        s->p99 = fmin(floor(histogram_quantile(&row->latencies, 0.99)), s->max);
        if (s->timed == 0)
            s->min = s->max = s->p50 = s->p99 = (double)NAN;
        s->unawaited_mean = s->asked ? row->unawaited_sum / (double)s->asked : (double)NAN;
        if (s->asked == 0)
            s->unawaited_max = (double)NAN;
    }
    t->count = r->count;
    return 0;
}

struct message_reading *message_reading_new(void)
{
    struct message_reading *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct message_reading){.messages = record_messages_new(SENT_MEMORY), .memory = VALUES_MEMORY};
    if (r->messages) {
        record_messages_in_order(r->messages);
        return r;
    }
    free(r);
    return NULL;
}

int message_reading_end(struct message_reading *r, struct message_table *t)
{
    int err = give_rows(r, t);
    record_messages_free(r->messages);
    for (size_t i = 0; i < r->count; i++)
        histogram_free(&r->rows[i].latencies, &r->memory);
    free(r->index.slots);
    free(r->rows);
    free(r);
    return err;
}

void message_table_free(struct message_table *t)
{
    free(t->rows);
    *t = (struct message_table){0};
}
