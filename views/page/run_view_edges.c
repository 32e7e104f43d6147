// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_edges.h"

#include "views/picture/interval_edges.h"

#include <stdlib.h>

enum {
    EVENTS_MOST = 20000, /* of an interval in a picture */
    EDGES_MOST = 2000,   /* of all intervals */
};

struct edges {
    struct run_view *v;
    struct json *j;
    uint32_t number; /* of the interval, among the intervals */
    const struct experiment_metric *metric;
    struct interval_part part; /* of the row that is read */
    uint32_t row_count, row_most;
    size_t stream, put;
    struct interval_edges read;
    const struct interval_edges_event **placed; /* in the order of processes and their clocks */
};

void run_view_put_intervals(const struct run_view *v, struct json *j)
{
    json_array(j, "intervals");
    for (uint32_t i = 0; v->experiment && i < v->experiment->metric_count; i++) {
        const struct experiment_metric *m = &v->experiment->metrics[i];
        if (m->kind != METRIC_INTERVAL)
            continue;
        json_object(j, NULL);
        json_text(j, "metric", m->name);
        json_array(j, "aspects");
        for (uint32_t k = 0; k < m->interval.count; k++)
            json_text(j, NULL, m->interval.aspects[k]);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static int take_record(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct edges *e = context;
    (void)place;
    if (!r)
        return 0;
    if (++e->row_count > e->row_most)
        return 1;
    const struct model_process *p = levels_stream(e->v->c.levels, e->stream)->process;
    struct clock_reading at = catalogue_time(p->node, (int64_t)r->timestamp);
    struct interval_event is = interval_event_of(e->metric, &e->part, p, r, at);
    return !interval_edges_add(&e->read, &is, e->stream);
}

/* Takes the records of a row, if they are of the interval; none of one that has more than it may. */
static void take_row(struct edges *e, const struct page_row *row, int64_t from, int64_t until)
{
    size_t n = row->records > 0 && row->aspect > 0 && row->key < 0 ? run_view_choose(e->v, row) : 0,
           before = e->read.count;
    const struct model_process *p = n ? levels_stream(e->v->c.levels, e->v->chosen[0])->process : NULL;
    if (!p || !p->dict || row->aspect > p->dict->aspect_count)
        return;
    e->part = interval_part_of(e->metric, p->name, &p->dict->aspects[row->aspect - 1]);
    e->row_count = 0;
    e->row_most = row->records;
    int64_t begin = run_view_own(e->v, p->node, from), end = run_view_own(e->v, p->node, until);
    for (size_t i = 0; i < n && e->part.has == INTERVAL_HAS_PART; i++) {
        e->stream = e->v->chosen[i];
        if (levels_records(e->v->c.levels, e->stream, row->aspect, begin > 0 ? begin : 0, end, take_record, e) != 0)
            e->read.count = before;
    }
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static int compare_places(uint32_t source, int64_t own, const struct interval_event *y)
{
    if (source != y->source)
        return source < y->source ? -1 : 1;
    return (own > y->own) - (own < y->own);
}

static int by_place(const void *a, const void *b)
{
    const struct interval_edges_event *const *x = a, *const *y = b;
    return compare_places((*x)->is.source, (*x)->is.own, &(*y)->is);
}

static int find_place(const void *a, const void *b)
{
    const struct interval_record *x = a;
    const struct interval_edges_event *const *y = b;
    return compare_places(x->source, x->own, &(*y)->is);
}

static void put_end(const struct edges *e, const struct interval_edges_event *event)
{
    json_uint(e->j, NULL, event->stream);
    json_int(e->j, NULL, event->is.at.ns - e->v->started);
}

/* Of a chain its stages are drawn, which make up the whole. */
static void take_time(void *context, const struct interval_time *t)
{
    struct edges *e = context;
    bool whole = t->part == INTERVAL_WHOLE;
    if (whole != (e->metric->interval.count == 2) || e->put == EDGES_MOST)
        return;
    const struct interval_edges_event *const *from =
        bsearch(&t->from, e->placed, e->read.count, sizeof *e->placed, find_place);
    const struct interval_edges_event *const *to =
        bsearch(&t->to, e->placed, e->read.count, sizeof *e->placed, find_place);
    if (!from || !to)
        return;
    e->put++;
    json_array(e->j, NULL);
    json_uint(e->j, NULL, e->number);
    json_uint(e->j, NULL, whole ? 0 : t->part);
    put_end(e, *from);
    put_end(e, *to);
    json_int(e->j, NULL, t->took.ns);
    json_known_int(e->j, NULL, t->took.bound < INT64_MAX, t->took.bound);
    json_array_end(e->j);
}

static int match(struct edges *e)
{
    interval_edges_sort(&e->read);
    for (size_t i = 0; i < e->read.count; i++)
        e->placed[i] = &e->read.events[i];
    qsort(e->placed, e->read.count, sizeof *e->placed, by_place);
    return interval_edges_match(&e->read, e->metric, take_time, e);
}

int run_view_put_edges(struct run_view *v, const struct page_request *q, int64_t from, int64_t until, struct json *j)
{
    struct edges e = {.v = v, .j = j};
    int err = 0;
    json_array(j, "edges");
    for (uint32_t i = 0; v->experiment && i < v->experiment->metric_count && !err; i++) {
        e.metric = &v->experiment->metrics[i];
        if (e.metric->kind != METRIC_INTERVAL)
            continue;
        if (!e.placed)
            err = interval_edges_init(&e.read, EVENTS_MOST);
        if (!e.placed)
            e.placed = malloc(EVENTS_MOST * sizeof *e.placed);
        err = err || e.placed ? err : BEZEL_ENOMEM;
        e.read.count = 0;
        for (size_t k = 0; k < q->row_count && !err; k++)
            take_row(&e, &q->rows[k], from, until);
        if (!err && e.read.count > 1)
            err = match(&e);
        e.number++;
    }
    json_array_end(j);
    free(e.placed);
    interval_edges_fini(&e.read);
    return err;
}
