// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/evaluator.h"

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
    case METRIC_QUANTILE:
        return STATISTIC_QUANTILE;
    default:
        return STATISTIC_MEAN;
    }
}

int evaluator_start(struct evaluator *r, const struct experiment_metric *metric)
{
    int err = 0;
    if (r->metric)
        return 0;
    if (metric->kind == METRIC_RATE)
        err = rate_new(metric->window, &r->rate);
    else if (metric->kind != METRIC_EN_ROUTE && metric->kind != METRIC_LOST)
        err = statistic_new(statistic_kind_of(metric->kind), metric->share, metric->window, &r->statistic);
    else if ((r->ratio = calloc(1, sizeof *r->ratio)))
        ratio_start(r->ratio, metric->window);
    else
        err = BEZEL_ENOMEM;
    if (!err)
        r->metric = metric;
    return err;
}

void evaluator_end(struct evaluator *r)
{
    rate_free(r->rate);
    statistic_free(r->statistic);
    free(r->ratio);
    *r = (struct evaluator){0};
}

void evaluator_reset(struct evaluator *r)
{
    if (r->rate)
        rate_reset(r->rate);
    if (r->statistic)
        statistic_reset(r->statistic);
    if (r->ratio)
        ratio_start(r->ratio, r->metric->window);
    r->level = 0;
}

void evaluator_records(struct evaluator *r, const struct packet_run *run, const struct statistic_field *field,
                       int64_t now)
{
    if (r->rate)
        rate_records(r->rate, run);
    else if (r->statistic)
        statistic_records(r->statistic, run, field, now);
}

void evaluator_count(struct evaluator *r, uint64_t attempts, int64_t now)
{
    if (r->rate)
        rate_count(r->rate, attempts, now);
}

/*
 * Ages between the first and the last are assumed to be spread evenly. A time in the future is an age of 0.
 */
void evaluator_taken(struct evaluator *r, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    double most = first < now ? (double)(now - first) : 0, least = last < now ? (double)(now - last) : 0;
    if (r->statistic)
        statistic_add_many(r->statistic, now, records, (most + least) / 2, least, most);
}

void evaluator_totals(struct evaluator *r, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now)
{
    if (!r->ratio)
        return;
    ratio_read(r->ratio, now, produced, lost);
    r->level = en_route;
}

void evaluator_take(struct evaluator *r, int64_t now)
{
    r->known = false;
    r->resolution = 0;
    r->at = now;
    if (r->rate)
        r->known = rate_value(r->rate, now, &r->value, &r->resolution);
    else if (r->statistic)
        r->known = statistic_value(r->statistic, now, &r->value, &r->at);
    else if (r->ratio)
        r->known = r->metric->kind == METRIC_LOST ? ratio_value(r->ratio, &r->value)
                                                  : ratio_level(r->ratio, r->level, &r->value);
    r->known = r->known && isfinite(r->value); /* a mean of very large numbers may overflow */
}

static void part_of_ratio(const struct evaluator *r, struct message_partial *part)
{
    uint64_t produced, lost;
    if (!ratio_growth(r->ratio, &produced, &lost))
        return;
    part->state = PARTIAL_KNOWN;
    part->value = 100 * (double)(r->metric->kind == METRIC_LOST ? lost : r->level);
    part->over = (double)produced;
}

static void part_of_statistic(struct evaluator *r, int64_t now, struct message_partial *part)
{
    uint64_t count = 0;
    double sum;
    part->state = PARTIAL_NONE;
    if (!r->known)
        return;
    part->state = PARTIAL_KNOWN;
    part->value = r->value;
    if (statistic_kind_of(r->metric->kind) != STATISTIC_MEAN || !statistic_sum(r->statistic, now, &sum, &count))
        return;
    part->value = sum;
    part->over = (double)count;
}

void evaluator_part(struct evaluator *r, int64_t now, struct message_partial *part)
{
    part->state = r->metric ? PARTIAL_UNKNOWN : PARTIAL_NONE;
    if (r->ratio)
        part_of_ratio(r, part);
    else if (r->statistic)
        part_of_statistic(r, now, part);
    else if (r->known) {
        part->state = PARTIAL_KNOWN;
        part->value = r->value;
        part->unsure = r->resolution;
    }
}
