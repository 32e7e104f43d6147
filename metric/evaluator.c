// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/reading.h"

#include <math.h>
#include <stdlib.h>

static enum figure_kind figure_of(enum experiment_metric_kind kind)
{
    switch (kind) {
    case METRIC_MIN:
        return FIGURE_MIN;
    case METRIC_MAX:
    case METRIC_LATENCY_MAX:
    case METRIC_STORING_MAX:
        return FIGURE_MAX;
    case METRIC_LAST:
        return FIGURE_LAST;
    case METRIC_QUANTILE:
        return FIGURE_QUANTILE;
    default:
        return FIGURE_MEAN;
    }
}

int reading_start(struct reading *r, const struct experiment_metric *metric)
{
    int err = 0;
    if (r->metric)
        return 0;
    if (metric->kind == METRIC_RATE)
        err = rate_new(metric->window, &r->rate);
    else if (metric->kind != METRIC_EN_ROUTE && metric->kind != METRIC_LOST)
        err = figure_new(figure_of(metric->kind), metric->share, metric->window, &r->figure);
    else if ((r->share = calloc(1, sizeof *r->share)))
        share_start(r->share, metric->window);
    else
        err = BEZEL_ENOMEM;
    if (!err)
        r->metric = metric;
    return err;
}

void reading_end(struct reading *r)
{
    rate_free(r->rate);
    figure_free(r->figure);
    free(r->share);
    *r = (struct reading){0};
}

void reading_reset(struct reading *r)
{
    if (r->rate)
        rate_reset(r->rate);
    if (r->figure)
        figure_reset(r->figure);
    if (r->share)
        share_start(r->share, r->metric->window);
    r->level = 0;
}

void reading_records(struct reading *r, const struct packet_run *run, const struct figure_field *field, int64_t now)
{
    if (r->rate)
        rate_records(r->rate, run);
    else if (r->figure)
        figure_records(r->figure, run, field, now);
}

void reading_count(struct reading *r, uint64_t attempts, int64_t now)
{
    if (r->rate)
        rate_count(r->rate, attempts, now);
}

/*
 * The ages between the first and the last are taken to be spread evenly. A time from the future, which has been made to
 * fit by no more than it must, is an age of 0.
 */
void reading_taken(struct reading *r, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    double most = first < now ? (double)(now - first) : 0, least = last < now ? (double)(now - last) : 0;
    if (r->figure)
        figure_add_many(r->figure, now, records, (most + least) / 2, least, most);
}

void reading_flow(struct reading *r, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now)
{
    if (!r->share)
        return;
    share_read(r->share, now, produced, lost);
    r->level = en_route;
}

void reading_take(struct reading *r, int64_t now)
{
    r->known = false;
    r->resolution = 0;
    r->at = now;
    if (r->rate)
        r->known = rate_value(r->rate, now, &r->value, &r->resolution);
    else if (r->figure)
        r->known = figure_value(r->figure, now, &r->value, &r->at);
    else if (r->share)
        r->known = r->metric->kind == METRIC_LOST ? share_value(r->share, &r->value)
                                                  : share_level(r->share, r->level, &r->value);
    r->known = r->known && isfinite(r->value); /* a mean of what is near the largest number may have gone beyond it */
}

static void part_of_share(const struct reading *r, struct message_part *part)
{
    uint64_t produced, lost;
    if (!share_growth(r->share, &produced, &lost))
        return;
    part->state = PART_KNOWN;
    part->value = 100 * (double)(r->metric->kind == METRIC_LOST ? lost : r->level);
    part->over = (double)produced;
}

static void part_of_figure(struct reading *r, int64_t now, struct message_part *part)
{
    uint64_t count = 0;
    double sum;
    part->state = PART_NONE;
    if (!r->known)
        return;
    part->state = PART_KNOWN;
    part->value = r->value;
    if (figure_of(r->metric->kind) != FIGURE_MEAN || !figure_sum(r->figure, now, &sum, &count))
        return;
    part->value = sum;
    part->over = (double)count;
}

void reading_part(struct reading *r, int64_t now, struct message_part *part)
{
    part->state = r->metric ? PART_UNKNOWN : PART_NONE;
    if (r->share)
        part_of_share(r, part);
    else if (r->figure)
        part_of_figure(r, now, part);
    else if (r->known) {
        part->state = PART_KNOWN;
        part->value = r->value;
        part->unsure = r->resolution;
    }
}
