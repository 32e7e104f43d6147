// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/interval_statistics.h"

#include "metric/histogram.h"
#include "run/model/interval_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MEMORY = 64 << 20 /* bytes for the times of all metrics */ };

struct row {
    struct interval_statistics is;
    double sum;
    struct histogram times;
};

struct interval_reading {
    const struct experiment *experiment;
    const struct interval_losses *losses;
    struct interval **of; /* by metric; NULL where that is no interval */
    uint32_t metric;      /* whose records are taken now */
    struct row *rows;
    size_t count, capacity;
    int64_t *latest; /* by stream: the time of its latest record */
    size_t streams;
    int64_t now;
    size_t memory;
    uint64_t records;
    bool short_of_memory;
};

/* ---- Times ------------------------------------------------------------------------------------------------------- */

static struct row *row_of(struct interval_reading *r, uint32_t end, uint32_t part)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].is.metric == r->metric && r->rows[i].is.end == end && r->rows[i].is.part == part)
            return &r->rows[i];
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 16;
        struct row *rows = realloc(r->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        r->rows = rows;
        r->capacity = capacity;
    }
    r->rows[r->count] =
        (struct row){.is = {.metric = r->metric, .end = end, .part = part, .min = INFINITY, .max = -INFINITY}};
    return &r->rows[r->count++];
}

static void take_time(void *context, const struct interval_time *time)
{
    struct interval_reading *r = context;
    struct row *row = row_of(r, time->end, time->part);
    int64_t took = time->took.ns, bound = time->took.bound;
    struct histogram_cursor cursor = HISTOGRAM_CURSOR;
    if (!row || !histogram_add(&row->times, &cursor, (double)took, &r->memory)) {
        r->short_of_memory = true;
        return;
    }
    histogram_end(&cursor);
    row->is.count++;
    row->is.min = fmin(row->is.min, (double)took);
    row->is.max = fmax(row->is.max, (double)took);
    row->is.bound = bound > row->is.bound ? bound : row->is.bound;
    row->sum += (double)took;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

struct interval *interval_reading_of(const struct interval_reading *r, uint32_t metric)
{
    return r->of[metric];
}

bool interval_reading_wants(const struct interval_reading *r, const struct dict_aspect *a)
{
    for (uint32_t i = 0; i < r->experiment->metric_count; i++)
        if (r->of[i] && experiment_metric_is_of(&r->experiment->metrics[i], a->name))
            return true;
    return false;
}

/* Takes into metric r->metric that process `p` has lost records at each position of which it has the aspect. */
static void lose(struct interval_reading *r, const struct model_process *p, int64_t from, int64_t until, uint64_t count)
{
    const struct experiment_metric *m = &r->experiment->metrics[r->metric];
    for (uint32_t i = 0; i < m->interval.count; i++) {
        if (!experiment_interval_takes(&m->interval, i, p->name))
            continue;
        bool timed = from != INT64_MIN || until != INT64_MAX;
        uint64_t lost = r->losses->lost(r->losses->of, p->row, m->interval.aspects[i], timed);
        if (lost > 0)
            interval_lost(r->of[r->metric], i, interval_end_of(m, p), from, until, timed && count < lost ? count : lost,
                          r->now);
    }
}

void interval_reading_begin(struct interval_reading *r, const struct model *m)
{
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++)
        for (const struct model_node *n = m->nodes; r->of[r->metric] && n; n = n->next)
            for (const struct model_process *p = n->processes; p; p = p->next)
                lose(r, p, INT64_MIN, INT64_MAX, 0);
}

/* The time of the record before this item in its stream; INT64_MIN + 1: there was none. */
static bool step_stream(struct interval_reading *r, const struct record_item *item, int64_t *before)
{
    if (item->stream >= r->streams) {
        size_t count = 2 * item->stream + 16;
        int64_t *more = realloc(r->latest, count * sizeof *more);
        if (!more)
            return false;
        for (size_t i = r->streams; i < count; i++)
            more[i] = INT64_MIN + 1;
        r->latest = more;
        r->streams = count;
    }
    *before = r->latest[item->stream];
    r->latest[item->stream] = item->at.ns;
    return true;
}

static void take_record(struct interval_reading *r, const struct record_item *item)
{
    const struct experiment_metric *m = &r->experiment->metrics[r->metric];
    struct interval_part part = interval_part_of(m, item->process->name, item->aspect);
    if (part.has != INTERVAL_HAS_PART)
        return;
    struct interval_event e = interval_event_of(m, &part, item->process, item->r, item->at);
    interval_add(r->of[r->metric], &e, r->now);
}

bool interval_reading_take(struct interval_reading *r, const struct record_item *item)
{
    int64_t before;
    if (!step_stream(r, item, &before))
        return false;
    r->now = item->at.ns > r->now ? item->at.ns : r->now;
    r->records += item->r != NULL;
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++)
        if (r->of[r->metric] && item->r)
            take_record(r, item);
        else if (r->of[r->metric])
            lose(r, item->process, before, item->at.ns, item->lost);
    return !r->short_of_memory;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void free_reading(struct interval_reading *r)
{
    for (uint32_t i = 0; r->of && i < r->experiment->metric_count; i++)
        interval_free(r->of[i]);
    for (size_t i = 0; i < r->count; i++)
        histogram_free(&r->rows[i].times, &r->memory);
    free(r->of);
    free(r->rows);
    free(r->latest);
    free(r);
}

struct interval_reading *interval_reading_new(const struct experiment *e, const struct interval_losses *losses)
{
    struct interval_reading *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct interval_reading){.experiment = e,
                                   .losses = losses,
                                   .now = INT64_MIN,
                                   .memory = VALUES_MEMORY,
                                   .of = calloc(e->metric_count + 1, sizeof *r->of)};
    for (uint32_t i = 0; r->of && i < e->metric_count; i++)
        if (e->metrics[i].kind == METRIC_INTERVAL) {
            if (interval_new(&e->metrics[i], e->order.wait, &r->of[i]) != 0)
                r->short_of_memory = true;
            else
                interval_tell(r->of[i], take_time, r);
        }
    if (r->of && !r->short_of_memory)
        return r;
    free_reading(r);
    return NULL;
}

static int by_place(const void *a, const void *b)
{
    const struct interval_statistics *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->part + 1) % INTERVAL_PARTS < (y->part + 1) % INTERVAL_PARTS ? -1 : 1;
}

static void finish(struct interval_reading *r, struct interval_counts *counts)
{
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++)
        if (r->of[r->metric]) {
            interval_finish(r->of[r->metric], r->now);
            counts[r->metric] = interval_counts(r->of[r->metric]);
        }
}

static int give(struct interval_reading *r, struct interval_table *t)
{
    *t = (struct interval_table){.counts = calloc(r->experiment->metric_count + 1, sizeof *t->counts),
                                 .records = r->records};
    if (!t->counts)
        return BEZEL_ENOMEM;
    finish(r, t->counts);
    t->rows = calloc(r->count + 1, sizeof *t->rows);
    for (; t->rows && t->count < r->count; t->count++) {
        struct row *row = &r->rows[t->count];
        struct interval_statistics *s = &t->rows[t->count];
        *s = row->is;
        s->mean = row->sum / (double)s->count;
        s->p50 = fmin(floor(histogram_quantile(&row->times, 0.5)), s->max);
        s->p99 = fmin(floor(histogram_quantile(&row->times, 0.99)), s->max);
    }
    if (t->rows)
        qsort(t->rows, t->count, sizeof *t->rows, by_place);
    return t->rows && !r->short_of_memory ? 0 : BEZEL_ENOMEM;
}

int interval_reading_end(struct interval_reading *r, struct interval_table *t)
{
    int err = give(r, t);
    free_reading(r);
    return err;
}

void interval_table_free(struct interval_table *t)
{
    free(t->rows);
    free(t->counts);
    *t = (struct interval_table){0};
}
