// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/interval_statistics.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "run/model/interval_records.h"
#include "run/rundb/rundb_live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES_MEMORY = 64 << 20 /* bytes for the times of all metrics */ };

enum { RECENT = 4096 /* first records whose ends are compared; a power of two */ };

/* A first record that was ended lately, and by whom first. */
struct recent {
    int64_t own;
    uint32_t source, end;
    bool shared; /* by others as well */
};

/* What is kept of a metric. */
struct matched {
    struct interval *by;          /* NULL: it is no interval */
    int64_t since;                /* interval_reading_since() */
    size_t wait_count, idle;      /* idle: that have a last record behind each first one */
    struct interval_waits *waits; /* interval_reading_waits() */
    struct recent *recent;        /* RECENT, of a metric that has such */
};

struct interval_reading {
    const struct experiment *experiment;
    const struct interval_losses *losses;
    struct matched *of; /* by metric */
    uint32_t metric;    /* whose records are taken now */
    struct interval_times times;
    int64_t *latest; /* by stream: the time of its latest record */
    size_t streams;
    int64_t now;
    uint64_t records;
    bool short_of_memory;
};

/* ---- Times ------------------------------------------------------------------------------------------------------- */

static struct interval_waits *waits_of(struct matched *m, uint32_t end)
{
    size_t i = 0;
    while (i < m->wait_count && m->waits[i].end != end)
        i++;
    return i < m->wait_count ? &m->waits[i] : NULL;
}

/* Whether others end what `time`'s process ends tells receivers of one message from workers that share them out. */
static void note_shared(struct matched *m, const struct interval_time *time)
{
    struct interval_waits *w = waits_of(m, time->end), *first;
    if (!w)
        return;
    w->times++;
    uint64_t hash = ((uint64_t)time->from.own ^ (uint64_t)time->from.source << 48) * UINT64_C(0x9e3779b97f4a7c15);
    struct recent *r = &m->recent[hash >> 32 & (RECENT - 1)];
    if (r->own != time->from.own || r->source != time->from.source) {
        *r = (struct recent){time->from.own, time->from.source, time->end, false};
    } else if (r->end != time->end) {
        w->shared++;
        if (!r->shared && (first = waits_of(m, r->end)))
            first->shared++;
        r->shared = true;
    }
}

static void take_time(void *context, const struct interval_time *time)
{
    struct interval_reading *r = context;
    if (!interval_times_add(&r->times, r->metric, time))
        r->short_of_memory = true;
    if (r->of[r->metric].recent && time->part == INTERVAL_WHOLE)
        note_shared(&r->of[r->metric], time);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

struct interval *interval_reading_of(const struct interval_reading *r, uint32_t metric)
{
    return r->of[metric].by;
}

int64_t interval_reading_since(const struct interval_reading *r, uint32_t metric)
{
    return r->of[metric].since;
}

size_t interval_reading_waits(const struct interval_reading *r, uint32_t metric, const struct interval_waits **list)
{
    *list = r->of[metric].waits;
    return r->of[metric].wait_count;
}

bool interval_reading_wants(const struct interval_reading *r, const struct dict_aspect *a)
{
    for (uint32_t i = 0; i < r->experiment->metric_count; i++)
        if (r->of[i].by && experiment_metric_is_of(&r->experiment->metrics[i], a->name))
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
            interval_lost(r->of[r->metric].by, i, interval_end_of(m, p), from, until,
                          timed && count < lost ? count : lost, r->now);
    }
}

void interval_reading_begin(struct interval_reading *r, const struct model *m)
{
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++)
        for (const struct model_node *n = m->nodes; r->of[r->metric].by && n; n = n->next)
            for (const struct model_process *p = n->processes; p; p = p->next)
                lose(r, p, INT64_MIN, INT64_MAX, 0);
}

/* The time of the record before this item in its stream; INT64_MIN + 1: there was none. */
static bool step_stream(struct interval_reading *r, const struct record_item *item, int64_t *before)
{
    if (item->stream >= r->streams) {
        size_t count = 2 * item->stream + 16;
        if (!grow_to(&r->latest, count, sizeof *r->latest))
            return false;
        while (r->streams < count)
            r->latest[r->streams++] = INT64_MIN + 1;
    }
    *before = r->latest[item->stream];
    r->latest[item->stream] = item->at.ns;
    return true;
}

/* A record of `end` at the last position came; at position 0 one that each of them may wait for. */
static bool step_waits(struct matched *m, bool is_last, uint32_t end, int64_t at)
{
    for (size_t i = 0; i < m->wait_count && !is_last && m->idle > 0; i++)
        if (m->waits[i].since == INT64_MAX) {
            m->waits[i].since = at;
            m->idle--;
        }
    struct interval_waits *w = is_last ? waits_of(m, end) : NULL;
    if (!is_last || (w && w->since == INT64_MAX))
        return true;
    if (!w && !grow_by_one(&m->waits, m->wait_count, sizeof *m->waits))
        return false;
    if (!w)
        m->waits[m->wait_count++] = (struct interval_waits){.end = end, .since = INT64_MAX};
    else
        w->since = INT64_MAX;
    m->idle++;
    return true;
}

static void take_record(struct interval_reading *r, const struct record_item *item)
{
    const struct experiment_metric *m = &r->experiment->metrics[r->metric];
    struct interval_part part = interval_part_of(m, item->process->name, item->aspect);
    if (part.has != INTERVAL_HAS_PART)
        return;
    int64_t *since = &r->of[r->metric].since;
    if (part.position + 1 == m->interval.count)
        *since = INT64_MAX;
    else if (part.position == 0 && item->at.ns < *since)
        *since = item->at.ns;
    struct interval_event e = interval_event_of(m, &part, item->process, item->r, item->at);
    if (m->interval.by_end && (part.position == 0 || part.position + 1 == m->interval.count))
        r->short_of_memory =
            !step_waits(&r->of[r->metric], part.position > 0, e.end, item->at.ns) || r->short_of_memory;
    interval_add(r->of[r->metric].by, &e, r->now);
}

bool interval_reading_take(struct interval_reading *r, const struct record_item *item)
{
    int64_t before;
    if (!step_stream(r, item, &before))
        return false;
    r->now = item->at.ns > r->now ? item->at.ns : r->now;
    r->records += item->r != NULL;
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++)
        if (r->of[r->metric].by && item->r)
            take_record(r, item);
        else if (r->of[r->metric].by)
            lose(r, item->process, before, item->at.ns, item->lost);
    return !r->short_of_memory;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void free_reading(struct interval_reading *r)
{
    for (uint32_t i = 0; r->of && i < r->experiment->metric_count; i++) {
        interval_free(r->of[i].by);
        free(r->of[i].waits);
        free(r->of[i].recent);
    }
    interval_times_free(&r->times);
    free(r->of);
    free(r->latest);
    free(r);
}

static int begin_metric(struct interval_reading *r, const struct experiment_metric *metric, struct matched *m)
{
    m->since = INT64_MAX;
    if (metric->kind != METRIC_INTERVAL)
        return 0;
    int err = interval_new(metric, r->experiment->order.wait, &m->by);
    err = err ? err : interval_keep_late(m->by);
    if (!err && metric->interval.by_end && !(m->recent = calloc(RECENT, sizeof *m->recent)))
        err = BEZEL_ENOMEM;
    if (err)
        return err;
    interval_tell(m->by, take_time, r);
    return 0;
}

struct interval_reading *interval_reading_new(const struct experiment *e, const struct interval_losses *losses)
{
    struct interval_reading *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct interval_reading){.experiment = e,
                                   .losses = losses,
                                   .now = INT64_MIN,
                                   .times = {.memory = VALUES_MEMORY},
                                   .of = calloc(e->metric_count + 1, sizeof *r->of)};
    r->short_of_memory = !r->of;
    for (uint32_t i = 0; !r->short_of_memory && i < e->metric_count; i++)
        r->short_of_memory = begin_metric(r, &e->metrics[i], &r->of[i]) != 0;
    if (!r->short_of_memory)
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

/* `ended`: nothing waits for nodes that are late. */
static void finish(struct interval_reading *r, int64_t ended, struct interval_counts *counts)
{
    int64_t until = saturate_add(ended > r->now ? ended : r->now, ended > INT64_MIN ? r->experiment->order.wait : 0);
    for (r->metric = 0; r->metric < r->experiment->metric_count; r->metric++) {
        struct interval *in = r->of[r->metric].by;
        if (!in)
            continue;
        interval_finish(in, until, ended > INT64_MIN);
        counts[r->metric] = interval_counts(in);
    }
}

static int give(struct interval_reading *r, int64_t ended, struct interval_table *t)
{
    *t = (struct interval_table){.counts = calloc(r->experiment->metric_count + 1, sizeof *t->counts),
                                 .records = r->records};
    if (!t->counts)
        return BEZEL_ENOMEM;
    finish(r, ended, t->counts);
    t->rows = calloc(r->times.count + 1, sizeof *t->rows);
    for (; t->rows && t->count < r->times.count; t->count++)
        t->rows[t->count] = interval_times_of(&r->times.rows[t->count]);
    if (t->rows)
        qsort(t->rows, t->count, sizeof *t->rows, by_place);
    return t->rows && !r->short_of_memory ? 0 : BEZEL_ENOMEM;
}

int interval_reading_end(struct interval_reading *r, int64_t ended, struct interval_table *t)
{
    int err = give(r, ended, t);
    free_reading(r);
    return err;
}

/* ---- What the collector has stored ------------------------------------------------------------------------------- */

static int read_stored(struct interval_times *times, const char *(*property)(const void *of, const char *key),
                       const void *of)
{
    const char *text;
    char key[64];
    int err = 0;
    do {
        snprintf(key, sizeof key, RUNDB_INTERVAL "%zu", times->count);
        text = property(of, key);
        err = text ? interval_times_read(times, text) : 0;
    } while (text && !err);
    return err;
}

static void drop_read(struct interval_table *t, const struct experiment *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!experiment_interval_is_reduced(e, t->rows[i].metric))
            t->rows[kept++] = t->rows[i];
    t->count = kept;
}

static int add_stored(struct interval_table *t, const struct experiment *e, const struct interval_times *times)
{
    if (!grow_to(&t->rows, t->count + times->count + 1, sizeof *t->rows))
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < times->count; i++)
        if (times->rows[i].is.metric < e->metric_count && experiment_interval_is_reduced(e, times->rows[i].is.metric))
            t->rows[t->count++] = interval_times_of(&times->rows[i]);
    qsort(t->rows, t->count, sizeof *t->rows, by_place);
    return 0;
}

int interval_table_take_stored(struct interval_table *t, const struct experiment *e,
                               const char *(*property)(const void *of, const char *key), const void *of)
{
    struct interval_times times = {.memory = VALUES_MEMORY};
    int err = t->counts ? read_stored(&times, property, of) : 0;
    if (!err && t->counts) {
        drop_read(t, e);
        err = add_stored(t, e, &times);
    }
    for (uint32_t i = 0; i < e->metric_count && t->counts && !err; i++) {
        char key[64];
        snprintf(key, sizeof key, RUNDB_INTERVAL_COUNTS "%" PRIu32, i);
        const char *text = experiment_interval_is_reduced(e, i) ? property(of, key) : NULL;
        if (text)
            t->counts[i] = interval_counts_read(text);
    }
    interval_times_free(&times);
    return err;
}

void interval_table_free(struct interval_table *t)
{
    free(t->rows);
    free(t->counts);
    *t = (struct interval_table){0};
}
