// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How long the intervals of the experiment took, and each stage of a chain: those whose last record lies in the shown
 * interval. Its first one is looked for from a second, or an interval, before that on.
 */
#include "views/top/top_source_internal.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "views/picture/interval_edges.h"

#include <math.h>

enum {
    RECORDS_MOST = 100000,   /* of an interval */
    TIMES_MEMORY = 16 << 20, /* bytes for their statistics */
};

struct intervals {
    struct top_source *s;
    uint32_t metric;           /* its number in the experiment */
    struct interval_part part; /* of the records that are read */
    struct interval_edges read;
};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static int take_record(const struct top_source_reading *r, const struct packet_record *record,
                       const struct levels_place *place)
{
    struct intervals *in = r->context;
    const struct catalogue_process *p = &r->s->c.processes[r->process];
    (void)place;
    if (!record)
        return 0;
    struct interval_event is = interval_event_of(&in->s->experiment->metrics[in->metric], &in->part, p->process, record,
                                                 catalogue_time(r->s->c.nodes[p->node], (int64_t)record->timestamp));
    if (interval_edges_add(&in->read, &is, r->number))
        return 0;
    r->s->left_out++;
    return 1;
}

/* Reads the records that stream `i` has of the interval. */
static int read_stream(struct intervals *in, size_t i)
{
    struct top_source *s = in->s;
    const struct catalogue_process *p = s->c.stream_processes[i] < 0 ? NULL : &s->c.processes[s->c.stream_processes[i]];
    const struct dict *d = p && p->process->role == ROLE_SUT ? p->process->dict : NULL;
    int64_t back = s->interval > CLOCK_S ? s->interval : CLOCK_S, from, until;
    int err = 0;
    for (uint32_t a = 0; d && a < d->aspect_count && !err; a++) {
        in->part = interval_part_of(&s->experiment->metrics[in->metric], p->process->name, &d->aspects[a]);
        if (in->part.has != INTERVAL_HAS_PART)
            continue;
        top_source_window(s, p->node, &from, &until);
        err = top_source_read(s, i, d->aspects[a].id, saturate_add(from, -back), until, take_record, in);
    }
    return err;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void take_time(void *context, const struct interval_time *time)
{
    struct intervals *in = context;
    struct top_source *s = in->s;
    int64_t process = catalogue_process_of_row(&s->c, time->to.source), from, until;
    if (process < 0)
        return;
    top_source_window(s, s->c.processes[process].node, &from, &until);
    if (time->to.own >= from && time->to.own <= until && !interval_times_add(&s->times, in->metric, time))
        s->left_out++;
}

/* What the times of `end` are of, by the metric's `per`. */
static const char *end_name(const struct top_source *s, const struct experiment_metric *m, uint32_t end)
{
    int64_t process = m->interval.by_end && m->per_process ? catalogue_process_of_row(&s->c, end) : -1;
    if (process >= 0)
        return s->c.processes[process].process->name;
    for (uint32_t i = 0; m->interval.by_end && !m->per_process && i < s->c.node_count; i++)
        if (s->c.nodes[i]->row == (int64_t)end)
            return s->c.nodes[i]->name;
    return "all";
}

/* The first limit on the metric, and a node that has its values. */
static struct top_id limit_of(const struct top_source *s, uint32_t metric)
{
    struct top_id id = TOP_ALL;
    id.node = 0;
    for (uint32_t i = 0; i < s->experiment->limit_count && id.limit < 0; i++)
        id.limit = s->experiment->limits[i].metric == (int)metric ? (int32_t)i : -1;
    for (uint32_t i = s->c.node_count ? (uint32_t)s->c.node_count : 0; i-- > 0;)
        if (id.limit >= 0 && history_limit(&s->c.history, i, (uint32_t)id.limit))
            id.node = i;
    return id;
}

static struct top_item *add_row(struct top_source *s, uint32_t metric, uint32_t part)
{
    const struct experiment_metric *m = &s->experiment->metrics[metric];
    bool whole = part == INTERVAL_WHOLE;
    struct top_item *item = top_source_add(s);
    if (!item)
        return NULL;
    item->id = limit_of(s, metric);
    item->id.aspect = part;
    item->id.field = metric;
    item->texts[0] = m->name;
    item->texts[1] = m->interval.aspects[whole ? 0 : part];
    item->texts[2] = m->interval.aspects[whole ? m->interval.count - 1 : part + 1];
    if (item->id.limit >= 0) {
        item->into = TOP_LIMITS;
        item->scope.limit = item->id.limit;
    }
    return item;
}

static void add_times(struct top_source *s, const struct interval_times_row *row)
{
    struct interval_statistics is = interval_times_of(row);
    struct top_item *item = add_row(s, is.metric, is.part);
    if (!item)
        return;
    item->id.instance = is.end;
    item->texts[3] = end_name(s, &s->experiment->metrics[is.metric], is.end);
    item->values[0] = (double)is.count;
    item->values[1] = is.p50;
    item->values[2] = is.p99;
    item->values[3] = is.max;
    item->values[4] = is.bound < INT64_MAX ? (double)is.bound : (double)NAN;
}

/* The whole of each end, and its stages behind it. */
static void add_rows(struct top_source *s, uint32_t metric)
{
    bool any = false;
    for (size_t i = 0; i < s->times.count; i++) {
        const struct interval_statistics *whole = &s->times.rows[i].is;
        if (whole->metric != metric || whole->part != INTERVAL_WHOLE)
            continue;
        any = true;
        add_times(s, &s->times.rows[i]);
        for (uint32_t part = 0; part + 1 < INTERVAL_WHOLE; part++)
            for (size_t k = 0; k < s->times.count; k++) {
                const struct interval_statistics *stage = &s->times.rows[k].is;
                if (stage->metric == metric && stage->end == whole->end && stage->part == part)
                    add_times(s, &s->times.rows[k]);
            }
    }
    if (!any)
        (void)add_row(s, metric, INTERVAL_WHOLE);
}

int top_source_intervals(struct top_source *s)
{
    struct intervals in = {.s = s};
    int err = s->experiment ? interval_edges_init(&in.read, RECORDS_MOST) : 0;
    interval_times_free(&s->times);
    s->times.memory = TIMES_MEMORY;
    for (; s->experiment && in.metric < s->experiment->metric_count && !err; in.metric++) {
        const struct experiment_metric *m = &s->experiment->metrics[in.metric];
        if (m->kind != METRIC_INTERVAL)
            continue;
        in.read.count = 0;
        for (size_t i = 0; i < s->c.stream_count && !err; i++)
            err = read_stream(&in, i);
        interval_edges_sort(&in.read);
        err = err ? err : interval_edges_match(&in.read, m, take_time, &in);
        if (!err)
            add_rows(s, in.metric);
    }
    interval_edges_fini(&in.read);
    return err;
}
