// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The times that matchers (metric/interval.h) found: of each metric, end and part how many, how long, and how they are
 * distributed. A row can be written as text and read again, so that it goes on growing in another life. One owner.
 */
#ifndef BEZEL_RUN_MODEL_INTERVAL_TIMES_H
#define BEZEL_RUN_MODEL_INTERVAL_TIMES_H

#include "metric/histogram.h"
#include "metric/interval.h"

/** Of one part of a metric, of one end. */
struct interval_statistics {
    uint32_t metric, end, part; /* metric: its number in the experiment; end, part: as in metric/interval.h */
    uint64_t count;
    double min, mean, p50, p99, max; /* ns; p50 and p99 are computed by histogram_quantile(); NaN: of none */
    int64_t bound;                   /* of the error of these, ns: the widest; INT64_MAX: unknown */
};

struct interval_times_row {
    struct interval_statistics is; /* but mean, p50 and p99 */
    double sum;
    struct histogram times;
    bool changed; /* for who writes it */
};

/** `memory`: bytes that the times of all rows may take yet. All else zeros is empty. */
struct interval_times {
    struct interval_times_row *rows;
    size_t count, capacity, memory;
    uint64_t unkept[EXPERIMENT_METRICS_MAX]; /* times of each metric that found no memory */
};

/** Adds a time of metric number `metric`. False: no memory; it is counted. */
bool interval_times_add(struct interval_times *t, uint32_t metric, const struct interval_time *time);

/** The statistics of a row. */
struct interval_statistics interval_times_of(const struct interval_times_row *row);

/**
 * A row as text, for free(); NULL: no memory. ..._read() adds the row that `text` has. Returns 0,
 * BEZEL_EMALFORMED or BEZEL_ENOMEM.
 */
char *interval_times_text(const struct interval_times_row *row);
int interval_times_read(struct interval_times *t, const char *text) BEZEL_MUST_CHECK;

/** Counts as text, into `size` bytes, and read from it again. */
void interval_counts_text(const struct interval_counts *c, char *text, size_t size);
struct interval_counts interval_counts_read(const char *text);

/** Adds what an earlier life counted: what was under way then is lost. */
void interval_counts_add(struct interval_counts *c, struct interval_counts before);

void interval_times_free(struct interval_times *t);

#endif
