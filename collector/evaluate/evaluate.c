// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/evaluate/evaluate.h"

#include "base/log.h"
#include "base/saturate.h"
#include "collector/evaluate/evaluate_internal.h"
#include "mdr/manage.h"
#include "metric/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 64,              /* records that a matcher takes at a time */
    TIMES_MEMORY = 64 << 20, /* bytes for the times of records that end here */
};

struct evaluate *evaluate_new(const struct model *m, struct rundb *rundb, int64_t now)
{
    struct evaluate *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->model = m;
    e->rundb = rundb;
    e->times.memory = TIMES_MEMORY;
    e->life = (uint64_t)now;
    return e;
}

static void clear(struct evaluate *e)
{
    for (uint32_t i = 0; i < EXPERIMENT_METRICS_MAX; i++) {
        interval_free(e->metrics[i].interval);
        free(e->metrics[i].before);
    }
    interval_times_free(&e->times);
    memset(e->metrics, 0, sizeof e->metrics);
    if (e->experiment)
        experiment_free(e->experiment);
    free(e->text);
    e->experiment = NULL;
    e->text = NULL;
}

void evaluate_free(struct evaluate *e)
{
    if (e)
        clear(e);
    free(e);
}

/* The run's time, which does not go back. */
static int64_t advance(struct evaluate *e, int64_t now)
{
    int64_t time = saturate_add(now, e->model->ahead);
    e->now = time > e->now ? time : e->now;
    return e->now;
}

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

/* A time between records that end here. */
static void take_time(void *context, const struct interval_time *time)
{
    struct evaluated *m = context;
    struct evaluate *e = m->of;
    uint32_t metric = (uint32_t)(m - e->metrics);
    if (interval_times_add(&e->times, metric, time) || e->times_full)
        return;
    e->times_full = true;
    log_warn(
        "BEZEL-METRIC",
        "metric %s: the times of intervals have come to %d MiB: some from here on are in no row of the report, which "
        "counts them",
        e->experiment->metrics[metric].name, TIMES_MEMORY >> 20);
}

/*
 * What was under way before this is lost: an end without a beginning may have had one of then. So it widens its value,
 * as if a beginning had been lost.
 */
static int begin(struct evaluate *e, uint32_t metric)
{
    struct evaluated *m = &e->metrics[metric];
    if (m->interval)
        return 0;
    int err = interval_new(&e->experiment->metrics[metric], e->experiment->order.wait, &m->interval);
    m->of = e;
    if (!err && experiment_interval_is_reduced(e->experiment, metric))
        interval_tell(m->interval, take_time, m);
    if (!err)
        interval_lost(m->interval, 0, 0, INT64_MIN / 2, e->began, 1, e->began);
    return err;
}

/* Whether a program has recorded already, of which an earlier life of the collector, or nobody, evaluated a part. */
static bool has_begun(const struct model *m)
{
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            if (p->role == ROLE_SUT)
                return true;
    return false;
}

const char *evaluate_configure(struct evaluate *e, const char *text, int64_t now)
{
    if (e->text && strcmp(e->text, text) == 0)
        return NULL;
    struct experiment_diagnostics found = {0};
    clear(e);
    int err = experiment_read(text, strlen(text), &e->experiment, &found);
    experiment_diagnostics_free(&found);
    if (err)
        return "it cannot read the experiment: is it of another version?";
    e->text = strdup(text);
    e->configured++;
    e->began = advance(e, now);
    e->follows = has_begun(e->model);
    err = e->text ? 0 : BEZEL_ENOMEM;
    for (uint32_t i = 0; i < e->experiment->limit_count && !err; i++)
        if (experiment_limit_is_on_interval(e->experiment, &e->experiment->limits[i]))
            err = begin(e, (uint32_t)e->experiment->limits[i].metric);
    err = err ? err : evaluate_load(e);
    if (err)
        clear(e);
    return err ? "it has no memory to match records: lower 'memory' of the metrics" : NULL;
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

const struct evaluate_watch *evaluate_watch_of(struct evaluate *e, struct model_process *p)
{
    struct evaluate_watch *w = p->evaluated;
    if (!e->experiment || !p->dict)
        return NULL;
    if (!w || w->configured != e->configured || w->aspects != p->dict->aspect_count) {
        free(w);
        p->evaluated = w = evaluate_watch_new(e->experiment, e->configured, p);
        for (uint32_t i = 0; w && i < w->count; i++)
            e->metrics[w->points[i].metric].any = true;
    }
    return w && w->count > 0 ? w : NULL;
}

static bool is_last(const struct experiment_metric *m, const struct interval_part *part)
{
    return part->position + 1 == m->interval.count;
}

/* A process counts what was lost, and not of which aspect: so any that it has may have been. */
static void add_lost(struct evaluate *e, const struct evaluate_watch *w, const struct model_process *p,
                     const struct packet_header *h, const struct validate_found *found)
{
    struct clock_reading from = run_clock_at(&p->node->run_clock, (int64_t)found->since);
    struct clock_reading until = run_clock_at(&p->node->run_clock, (int64_t)h->timestamp_begin);
    for (const struct evaluate_point *at = w->points; at < w->points + w->count; at++) {
        const struct experiment_metric *m = &e->experiment->metrics[at->metric];
        interval_lost(e->metrics[at->metric].interval, at->part.position,
                      is_last(m, &at->part) ? interval_end_of(m, p) : 0, saturate_sub(from.ns, from.bound),
                      saturate_add(until.ns, until.bound), found->lost, e->now);
    }
}

static void note_newest(struct evaluated *m, struct clock_reading at, int64_t now)
{
    if (at.ns < m->newest)
        return;
    m->newest = at.ns;
    m->collected = now > at.ns ? saturate_sub(now, at.ns) : 0;
}

/* Takes a run of records that one point reads. */
static void add_run(struct evaluate *e, const struct evaluate_point *point, struct model_process *p,
                    const struct packet_run *run, struct clock_stretch *near)
{
    const struct experiment_metric *m = &e->experiment->metrics[point->metric];
    struct interval *in = e->metrics[point->metric].interval;
    struct interval_event events[BATCH];
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        struct packet_record r = packet_run_record(run, i);
        struct clock_reading at = run_clock_at_near(&p->node->run_clock, near, (int64_t)r.timestamp);
        events[count++] = interval_event_of(m, &point->part, p, &r, at);
        if (is_last(m, &point->part))
            note_newest(&e->metrics[point->metric], at, e->now);
        if (count < BATCH && i + 1 < run->count)
            continue;
        interval_add_all(in, events, count, e->now);
        count = 0;
    }
}

static void take_run(struct evaluate *e, const struct evaluate_watch *w, struct model_process *p,
                     const struct packet_run *run, struct clock_stretch *near)
{
    if (!bitset_has(&w->read, run->aspect))
        return;
    for (const struct evaluate_point *at = w->points; at < w->points + w->count; at++)
        if (at->aspect == run->aspect)
            add_run(e, at, p, run, near);
}

void evaluate_packet(struct evaluate *e, const struct model_stream *s, const struct packet_header *h,
                     const uint8_t *packet, const struct validate_found *found, int64_t now)
{
    struct model_process *p = s->process;
    const struct evaluate_watch *w = evaluate_watch_of(e, p);
    struct clock_stretch near = {0};
    struct packet_run run = found->all;
    size_t offset = PACKET_HEADER_BYTES;
    if (!w)
        return;
    (void)advance(e, now);
    if (found->lost)
        add_lost(e, w, p, h, found);
    if (run.count)
        take_run(e, w, p, &run, &near);
    else
        while (packet_next_run(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &run) > 0)
            take_run(e, w, p, &run, &near);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* A beginning may be under way while its end is here: for so long that is no loss. Each end is looked at later, too. */
static int64_t settle_of(const struct experiment_metric *m)
{
    return m->window / 2;
}

/* How bad a value is for the limit: a violation before what is open, and that before what holds. */
static int rank(const struct experiment_limit *l, const struct interval_value *v)
{
    bool holds;
    return !interval_decides(v, l->compare, l->bound, &holds) ? 1 : holds ? 0 : 2;
}

static bool is_worse(const struct experiment_limit *l, const struct interval_value *a, const struct interval_value *b)
{
    if (rank(l, a) != rank(l, b))
        return rank(l, a) > rank(l, b);
    return l->compare == COMPARE_AT_LEAST ? a->value < b->value : a->value > b->value;
}

/* The value of the end that is furthest from holding. False: none has one. */
static bool find_worst(const struct evaluate *e, const struct experiment_limit *l, struct interval_value *worst)
{
    const struct experiment_metric *m = &e->experiment->metrics[l->metric];
    struct interval *in = e->metrics[l->metric].interval;
    uint32_t count;
    bool any = false;
    const uint32_t *ends = interval_ends(in, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct interval_value v;
        if (!interval_value(in, ends[i], INTERVAL_WHOLE, settle_of(m), e->now, &v))
            continue;
        if (!any || is_worse(l, &v, worst))
            *worst = v;
        any = true;
    }
    return any;
}

/* A clock that is not related to the run's has a bound of INT64_MAX. */
static enum message_lack lack_of(const struct interval_value *v)
{
    if (v->unknown > 0)
        return LACK_LOST;
    return v->high - v->low < (double)INT64_MAX ? LACK_PRECISION : LACK_CLOCKS;
}

static struct message_value value_of(const struct evaluate *e, uint32_t limit)
{
    const struct experiment_limit *l = &e->experiment->limits[limit];
    const struct evaluated *m = &e->metrics[l->metric];
    struct message_value none = {.limit = limit, .state = m->any ? PARTIAL_UNKNOWN : PARTIAL_NONE};
    struct interval_value v = {0};
    bool is_run_clock = memcmp(e->model->clock, e->model->run_clock, sizeof e->model->clock) == 0;
    bool begins = e->follows && e->now - e->began < e->experiment->metrics[l->metric].window;
    none.lack = !is_run_clock ? LACK_CLOCKS : begins ? LACK_BEGIN : LACK_RECORDS;
    if (!is_run_clock || none.lack == LACK_BEGIN || !find_worst(e, l, &v) || !isfinite(v.value))
        return none;
    int64_t age = e->now > v.newest ? saturate_sub(e->now, v.newest) : 0;
    return (struct message_value){.limit = limit,
                                  .state = PARTIAL_KNOWN,
                                  .lack = lack_of(&v),
                                  .value = v.value,
                                  .low = v.low,
                                  .high = v.high,
                                  .age = age,
                                  .collected = m->collected < age ? m->collected : age};
}

void evaluate_values(struct evaluate *e, int64_t now, struct message_values *values)
{
    *values = (struct message_values){.life = e->life, .at = (uint64_t)now};
    if (!e->experiment)
        return;
    (void)advance(e, now);
    for (uint32_t i = 0; i < EXPERIMENT_METRICS_MAX; i++)
        if (e->metrics[i].interval)
            interval_advance(e->metrics[i].interval, e->now);
    for (uint32_t i = 0; i < e->experiment->limit_count; i++)
        if (experiment_limit_is_on_interval(e->experiment, &e->experiment->limits[i]))
            values->list[values->count++] = value_of(e, i);
}
