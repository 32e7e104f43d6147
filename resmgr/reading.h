// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The value of one metric of one process, or of the node: puts the evaluator that the metric's kind needs behind one
 * face. One owner; only reading_start() allocates, and of a quantile reading_records().
 */
#ifndef BEZEL_RESMGR_READING_H
#define BEZEL_RESMGR_READING_H

#include "config/experiment.h"
#include "mdr/message.h"
#include "metric/figure.h"
#include "metric/rate.h"
#include "metric/share.h"

struct reading {
    const struct experiment_metric *metric; /* NULL: it was not started; then nothing is known */
    struct rate *rate;                      /* which one is there is the kind's */
    struct figure *figure;
    struct share *share;
    uint64_t level; /* of METRIC_EN_ROUTE: records under way */
    /* At the last reading_take(). */
    bool known;
    double value, resolution;
    int64_t at; /* time of the latest thing that it is made of; meaningful where known */
};

/** Nothing where it was started. Borrows `metric`. Returns 0, BEZEL_ENOMEM. */
int reading_start(struct reading *r, const struct experiment_metric *metric) BEZEL_MUST_CHECK;
void reading_end(struct reading *r);

/** Forgets everything. */
void reading_reset(struct reading *r);

/**
 * Records of the aspect that the metric reads, which came at `now`; `field` is where they have what it reads, of a
 * metric that reads a field.
 */
void reading_records(struct reading *r, const struct packet_run *run, const struct figure_field *field, int64_t now);

/** The counter of attempts of that aspect. */
void reading_count(struct reading *r, uint64_t attempts, int64_t now);

/** `records` were taken at `now`, of times `first` to `last`. */
void reading_taken(struct reading *r, uint32_t records, int64_t first, int64_t last, int64_t now);

/** What became of all records of the SUT's processes, cumulative, and how many are under way. */
void reading_flow(struct reading *r, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now);

/** Brings known, value, resolution and `at` up to date. */
void reading_take(struct reading *r, int64_t now);

/**
 * What it adds to the value of the whole, by its metric's join; `limit` and `silent` are the caller's. After
 * reading_take() at the same time.
 */
void reading_part(struct reading *r, int64_t now, struct message_part *part);

#endif
