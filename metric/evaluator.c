// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/evaluator.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "base/units.h"
#include "mdr/parts.h"

#include <math.h>
#include <stdlib.h>

static enum statistic_kind statistic_kind_of(enum experiment_metric_kind kind)
{
    switch (kind) {
    case METRIC_MIN:
        return STATISTIC_MIN;
    case METRIC_MAX:
    case METRIC_LATENCY_MAX:
    case METRIC_STORING_MAX:
        return STATISTIC_MAX;
    case METRIC_LAST:
        return STATISTIC_LAST;
    case METRIC_FIRST:
        return STATISTIC_FIRST;
    case METRIC_QUANTILE:
        return STATISTIC_QUANTILE;
    default:
        return STATISTIC_MEAN;
    }
}

static int new_buckets(const struct experiment_metric *metric, struct buckets **b)
{
    if (!(*b = calloc(1, sizeof **b)))
        return BEZEL_ENOMEM;
    (*b)->edges = &metric->edges;
    return 0;
}

/* Windows that follow one another, where the metric has such. */
static int tumble(struct evaluator *e)
{
    if (e->rate)
        rate_tumble(e->rate);
    return e->statistic ? statistic_tumble(e->statistic) : 0;
}

int evaluator_start(struct evaluator *e, const struct experiment_metric *metric)
{
    int err = 0;
    if (e->metric)
        return 0;
    e->unknown_until = e->open_until = INT64_MIN;
    e->since = INT64_MAX;
    if (metric->kind == METRIC_RATE || metric->kind == METRIC_COUNT)
        err = rate_new(metric->window, metric->where, &e->rate);
    else if (metric->kind == METRIC_HISTOGRAM)
        err = new_buckets(metric, &e->buckets);
    else if (metric->kind != METRIC_EN_ROUTE && metric->kind != METRIC_LOST)
        err = statistic_new(statistic_kind_of(metric->kind), metric->share, metric->window, &e->statistic);
    else if ((e->ratio = calloc(1, sizeof *e->ratio)))
        ratio_start(e->ratio, metric->window);
    else
        err = BEZEL_ENOMEM;
    if (!err && e->rate && !metric->tumbles)
        err = rate_refine(e->rate, metric->kind == METRIC_COUNT);
    if (!err && metric->tumbles)
        err = tumble(e);
    if (err)
        evaluator_end(e);
    else
        e->metric = metric;
    return err;
}

void evaluator_end(struct evaluator *e)
{
    rate_free(e->rate);
    statistic_free(e->statistic);
    free(e->ratio);
    free(e->buckets);
    *e = (struct evaluator){0};
}

void evaluator_reset(struct evaluator *e)
{
    if (e->rate)
        rate_reset(e->rate);
    if (e->statistic)
        statistic_reset(e->statistic);
    if (e->ratio)
        ratio_start(e->ratio, e->metric->window);
    e->level = 0;
    e->began = false;
    e->unknown_until = e->open_until = INT64_MIN;
    e->since = INT64_MAX;
}

void evaluator_begin(struct evaluator *e, uint64_t attempts)
{
    if (e->rate)
        rate_begin(e->rate, attempts);
}

static void take_records(struct evaluator *e, const struct packet_run *run, const struct statistic_field *field,
                         int64_t now)
{
    if (e->buckets)
        buckets_records(e->buckets, run, field);
    else if (e->rate)
        rate_records(e->rate, run);
    else if (e->statistic && e->metric->kind == METRIC_PERCENT)
        statistic_constant(e->statistic, run, 100, now);
    else if (e->statistic)
        statistic_records(e->statistic, run, field, now);
}

struct statistic_field evaluator_field(const struct experiment_metric *metric, const struct dict_aspect *aspect)
{
    const struct statistic_field none = {.at = STATISTIC_NO_FIELD};
    int at = dict_field_of(aspect, metric->field);
    if (at < 0)
        return none;
    const struct dict_field *f = &aspect->fields[at];
    double scale = metric->in_time ? (double)units_time(f->unit) : 1;
    if ((f->type != DICT_INT64 && f->type != DICT_FLOAT64) || scale == 0)
        return none;
    return (struct statistic_field){.at = at,
                                    .scale = scale,
                                    .is_float = f->type == DICT_FLOAT64,
                                    .unknown_below = statistic_unknown_below(aspect, (uint32_t)at)};
}

static struct packet_run part_of(const struct packet_run *run, uint32_t from, uint32_t until)
{
    struct packet_run part = *run;
    part.first += (size_t)from * run->stride;
    part.count = until - from;
    return part;
}

/*
 * A rate has to know of the other records as well, that they came; and a percentage is of all of them. For a rate one
 * whose value is not known has not come.
 */
static void take_others(struct evaluator *e, const struct packet_run *run, const struct where *where, int64_t now)
{
    if (e->metric->kind == METRIC_PERCENT)
        statistic_constant(e->statistic, run, 0, now);
    for (uint32_t from = 0, until; e->rate && from < run->count; from = until + 1) {
        until = where_seek_open(where, run, from);
        struct packet_run part = part_of(run, from, until);
        if (part.count > 0)
            rate_others(e->rate, &part);
    }
}

/* While a record is in the window of which nobody knows whether it meets the condition, a value of those that do is
 * not known. */
static void note_open(struct evaluator *e, const struct packet_run *run, const struct where *where, int64_t now)
{
    int64_t window = e->metric->window;
    for (uint32_t at = 0; (at = where_seek_open(where, run, at)) < run->count; at++) {
        int64_t made = (int64_t)packet_run_time(run, at), until;
        made = made < now ? made : now;
        until = saturate_add(made, e->metric->tumbles ? 2 * window - made % window : window);
        e->open_until = until > e->open_until ? until : e->open_until;
    }
}

static void take_chosen(struct evaluator *e, const struct packet_run *run, const struct where *where,
                        const struct statistic_field *field, int64_t now)
{
    bool meets = where_seek(where, run, 0, true) == 0;
    for (uint32_t from = 0, until; from < run->count; from = until, meets = !meets) {
        until = where_seek(where, run, from, !meets);
        struct packet_run part = part_of(run, from, until);
        if (meets)
            take_records(e, &part, field, now);
        else
            take_others(e, &part, where, now);
    }
}

void evaluator_records(struct evaluator *e, const struct packet_run *run, const struct statistic_field *field,
                       const struct where *where, int64_t now)
{
    if (!e->metric || !e->metric->where)
        take_records(e, run, field, now);
    else if (where->at != WHERE_NONE) {
        note_open(e, run, where, now);
        take_chosen(e, run, where, field, now);
    }
}

static void take_arrivals(struct evaluator *e, struct arrivals *a, const struct packet_run *run,
                          const struct statistic_field *field, int64_t now)
{
    int64_t missing = arrivals_take(a, e->metric, run, field, e->statistic, now);
    int64_t last = (int64_t)packet_run_time(run, run->count - 1);
    if (e->metric->kind == METRIC_TIME_MEAN && e->metric->per_process && (!e->began || last >= e->last_at)) {
        e->last_at = last;
        e->last = statistic_read(run, run->count - 1, field);
    }
    e->began = true;
    if (missing != INT64_MIN && missing + e->metric->window > e->unknown_until)
        e->unknown_until = missing + e->metric->window;
}

void evaluator_arrivals(struct evaluator *e, struct arrivals *a, const struct packet_run *run,
                        const struct statistic_field *field, const struct where *where, int64_t now)
{
    bool lacks = e->metric && e->metric->kind == METRIC_TIME_MEAN &&
                 (field->at == STATISTIC_NO_FIELD || (uint32_t)field->at >= run->value_count);
    if (!e->metric || lacks)
        return;
    if (!e->metric->where)
        take_arrivals(e, a, run, field, now);
    else if (where->at != WHERE_NONE)
        note_open(e, run, where, now);
    for (uint32_t from = 0, until; e->metric->where && from < run->count; from = until) {
        from = where_seek(where, run, from, true);
        until = where_seek(where, run, from, false);
        struct packet_run part = part_of(run, from, until);
        if (from < until)
            take_arrivals(e, a, &part, field, now);
    }
}

void evaluator_blind(struct evaluator *e, struct arrivals *a, int64_t now)
{
    arrivals_break(a);
    if (e->metric)
        e->unknown_until = now + e->metric->window;
}

void evaluator_silence(struct evaluator *e, int64_t silent)
{
    if (!e->metric)
        return;
    e->began = true;
    e->silent = silent;
}

/*
 * The sum of values, each for so many ns as it lasted in the window, and of these. The latest one lasts, as long as no
 * record follows; of the node it is not known, as several processes may have one.
 */
static bool sum_lasting(const struct evaluator *e, int64_t now, double *sum, uint64_t *ns)
{
    int64_t lasts = now - e->last_at < e->metric->window ? now - e->last_at : e->metric->window;
    bool goes_on = e->silent > 0 && e->metric->per_process && lasts > 0 && isfinite(e->last);
    if (!statistic_sum(e->statistic, now, sum, ns)) {
        *sum = 0;
        *ns = 0;
    }
    *sum += goes_on ? e->last * (double)lasts : 0;
    *ns += goes_on ? (uint64_t)lasts : 0;
    return *ns > 0;
}

/* A time that goes on counts as soon as it is the longest; a period that passed in it, at once. */
static void add_silence(struct evaluator *e, int64_t now)
{
    const struct experiment_metric *m = e->metric;
    double silent = (double)(m->arrivals == ARRIVALS_JITTER ? e->silent - m->period : e->silent), sum = 0;
    uint64_t count;
    if (m->kind == METRIC_MISSES) {
        e->known = e->began;
        e->at = now;
        e->value = arrivals_missed(m, e->silent) + (statistic_sum(e->statistic, now, &sum, &count) ? sum : 0);
    } else if (m->kind == METRIC_TIME_MEAN) {
        e->known = e->began && sum_lasting(e, now, &e->sum, &e->ns);
        e->at = now;
        e->value = e->known ? e->sum / (double)e->ns : e->value;
    } else if (m->kind == METRIC_MAX && silent > 0 && (m->arrivals == ARRIVALS_TIME || m->period) &&
               !(e->known && e->value >= silent)) {
        e->known = true;
        e->at = now;
        e->value = silent;
    }
    e->known = e->known && now >= e->unknown_until;
    e->silent = 0;
}

void evaluator_since(struct evaluator *e, int64_t at)
{
    if (e->since == INT64_MAX)
        e->since = at;
}

void evaluator_count(struct evaluator *e, uint64_t attempts, int64_t now)
{
    if (e->rate)
        rate_count(e->rate, attempts, now);
}

/* Assumes that the ages between the first and the last are spread evenly. A time in the future is an age of 0. */
void evaluator_taken(struct evaluator *e, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    double most = first < now ? (double)(now - first) : 0, least = last < now ? (double)(now - last) : 0;
    if (e->statistic)
        statistic_add_many(e->statistic, now, records, (most + least) / 2, least, most);
}

void evaluator_totals(struct evaluator *e, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now)
{
    if (!e->ratio)
        return;
    ratio_read(e->ratio, now, produced, lost);
    e->level = en_route;
}

/* A first window that has not passed may hold too much already, and what is made before it has is in no other one. */
static double least_of(const struct evaluator *e, int64_t now)
{
    uint64_t n;
    if (e->below)
        return fmax(e->value - e->resolution, 0);
    if (e->known || !rate_least(e->rate, now, &n))
        return 0;
    return e->metric->kind == METRIC_COUNT ? (double)n : (double)n * (double)CLOCK_S / (double)e->metric->window;
}

/* Of the records that are known to meet the condition: a largest value, or percentage, is it at least. */
static void take_open(struct evaluator *e, int64_t now)
{
    if (!e->metric || now >= e->open_until)
        return;
    bool grows = e->metric->kind == METRIC_PERCENT || (e->metric->kind == METRIC_MAX && !e->metric->arrivals);
    e->least = grows && e->known ? e->value : 0;
    e->known = e->below = false;
    e->open = true;
}

static bool take_number(struct evaluator *e, int64_t now)
{
    uint64_t n, all, lowest;
    if (!rate_number(e->rate, now, &n, &all, &lowest))
        return false;
    e->value = (double)n;
    e->joint = (double)all;
    e->lowest = (double)lowest;
    return true;
}

void evaluator_take(struct evaluator *e, int64_t now)
{
    e->known = false;
    e->resolution = 0;
    e->at = now;
    if (e->rate && e->metric->kind == METRIC_COUNT)
        e->known = take_number(e, now);
    else if (e->rate)
        e->known = rate_value(e->rate, now, &e->value, &e->resolution);
    else if (e->statistic)
        e->known = statistic_value(e->statistic, now, &e->value, &e->at);
    else if (e->ratio)
        e->known = e->metric->kind == METRIC_LOST ? ratio_value(e->ratio, &e->value)
                                                  : ratio_level(e->ratio, e->level, &e->value);
    if (e->metric && experiment_metric_is_of_arrivals(e->metric))
        add_silence(e, now);
    e->known = e->known && isfinite(e->value); /* a mean of very large numbers may overflow */
    e->partial = e->known && e->statistic && !statistic_is_whole(e->statistic, e->since, now);
    e->known = e->known && !e->partial;
    e->below = e->known && e->rate && rate_starts(e->rate, now);
    e->known = e->known && !e->below;
    e->joint = e->rate && e->metric->kind == METRIC_COUNT ? e->joint : e->value;
    e->open = !e->known && !e->below && e->rate && rate_is_open(e->rate, now);
    e->least = 0;
    take_open(e, now);
    e->least = e->rate ? least_of(e, now) : e->least;
}

double evaluator_for(const struct evaluator *e, bool any, double *resolution)
{
    double value = e->value;
    *resolution = e->resolution;
    if (e->rate && e->metric->kind == METRIC_COUNT)
        return any ? value : e->lowest;
    if (e->rate)
        (void)rate_limit(e->rate, e->at, any, &value, resolution);
    return value;
}

/* A divisor is further from 0 than it is uncertain. The furthest quotient is one of the ends. */
static void divide(struct evaluator *e, const struct evaluator *a, const struct evaluator *b)
{
    e->known = fabs(b->joint) > b->resolution;
    e->value = a->joint / b->joint;
    e->resolution = 0;
    for (int i = 0; i < 4; i++) {
        double over = i % 2 ? a->joint + a->resolution : a->joint - a->resolution;
        double under = i / 2 ? b->joint + b->resolution : b->joint - b->resolution;
        e->resolution = fmax(e->resolution, fabs(over / under - e->value));
    }
}

void evaluator_combine(struct evaluator *e, const struct experiment_metric *metric, const struct evaluator *a,
                       const struct evaluator *b)
{
    e->metric = metric;
    e->known = a->metric && b->metric && (a->known || a->below || a->above) && (b->known || b->below || b->above);
    e->open = a->open || b->open;
    e->at = a->at < b->at ? a->at : b->at;
    if (e->known && metric->kind == METRIC_RATIO)
        divide(e, a, b);
    else if (e->known) {
        e->value = a->joint - b->joint;
        e->resolution = a->resolution + b->resolution;
    }
    bool is_one = e->known && isfinite(e->value) && isfinite(e->resolution), low = a->below || b->above,
         high = a->above || b->below;
    bool all = metric->kind == METRIC_RATIO && a->below && b->below; /* of what both made in a whole window */
    e->known = is_one && !low && !high;
    e->below = is_one && low && (!high || all);
    e->above = is_one && high && !low;
    e->joint = e->value;
}

static void partial_of_ratio(const struct evaluator *e, struct message_partial *partial)
{
    uint64_t produced, lost;
    if (!ratio_growth(e->ratio, &produced, &lost))
        return;
    partial->state = PARTIAL_KNOWN;
    partial->value = 100 * (double)(e->metric->kind == METRIC_LOST ? lost : e->level);
    partial->over = (double)produced;
}

static void partial_of_statistic(struct evaluator *e, int64_t now, struct message_partial *partial)
{
    uint64_t count = 0;
    double sum;
    partial->state = now < e->unknown_until || e->partial || e->open ? PARTIAL_UNKNOWN : PARTIAL_NONE;
    if (e->partial && (e->metric->kind == METRIC_MIN || e->metric->kind == METRIC_MAX))
        partial->value = e->value; /* all of the window holds it, too */
    if (e->open && e->metric->kind == METRIC_MAX)
        partial->value = e->least;
    if (!e->known)
        return;
    partial->state = PARTIAL_KNOWN;
    partial->value = e->value;
    if (e->metric->kind == METRIC_TIME_MEAN) {
        partial->value = e->sum;
        partial->over = (double)e->ns;
    }
    if (e->metric->kind == METRIC_MISSES || e->metric->kind == METRIC_TIME_MEAN ||
        statistic_kind_of(e->metric->kind) != STATISTIC_MEAN || !statistic_sum(e->statistic, now, &sum, &count))
        return;
    partial->value = sum;
    partial->over = (double)count;
}

void evaluator_partial(struct evaluator *e, int64_t now, bool at_most, bool any, struct message_partial *partial)
{
    partial->state = e->metric ? PARTIAL_UNKNOWN : PARTIAL_NONE;
    if (e->ratio)
        partial_of_ratio(e, partial);
    else if (e->statistic)
        partial_of_statistic(e, now, partial);
    else if (e->known || (at_most && e->below)) {
        partial->state = PARTIAL_KNOWN;
        partial->value = evaluator_for(e, any, &partial->unsure);
    } else
        partial->value = e->least;
}

uint32_t evaluator_histogram(struct evaluator *e, int64_t now, uint8_t *to, uint32_t room)
{
    bool has = e->known && e->statistic && statistic_kind_of(e->metric->kind) == STATISTIC_QUANTILE;
    return has ? statistic_histogram(e->statistic, now, to, room) : 0;
}
