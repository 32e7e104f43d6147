// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The intervals of an experiment over a run: how long each stage took, what is unmatched, and at any moment of the
 * reading the statistic of the window that ends there. One thread.
 */
#ifndef BEZEL_RUN_READ_INTERVAL_STATISTICS_H
#define BEZEL_RUN_READ_INTERVAL_STATISTICS_H

#include "metric/interval.h"
#include "run/read/record_item.h"

/** Of one part of a metric, of one end, over the run. */
struct interval_statistics {
    uint32_t metric, end, part; /* metric: its number in the experiment; end, part: as in metric/interval.h */
    uint64_t count;
    double min, mean, p50, p99, max; /* ns; p50 and p99 are computed by histogram_quantile(); NaN: of none */
    int64_t bound;                   /* of the error of these, ns: the widest; INT64_MAX: unknown */
};

struct interval_table {
    size_t count; /* by metric and end; the whole before its stages */
    struct interval_statistics *rows;
    struct interval_counts *counts; /* by metric */
    uint64_t records;               /* that were read */
    bool cut;                       /* there are more */
};

/** How many records of `aspect` process `row` has lost: at times that the losses in its streams show, or at any. */
struct interval_losses {
    uint64_t (*lost)(const void *of, int64_t row, const char *aspect, bool timed);
    const void *of;
};

struct interval_reading;

/** Borrows `e` and `losses`, for the intervals of `e`. NULL: no memory. interval_reading_end() frees it. */
struct interval_reading *interval_reading_new(const struct experiment *e, const struct interval_losses *losses);

/** Whether an interval has a part in aspect `a`. */
bool interval_reading_wants(const struct interval_reading *r, const struct dict_aspect *a);

/** Takes in, behind the first look, what the processes of `m` have lost at unknown times. */
void interval_reading_begin(struct interval_reading *r, const struct model *m);

/** Takes in a record or a loss; they come in order. False: no memory. */
bool interval_reading_take(struct interval_reading *r, const struct record_item *item);

/** The matcher of metric number `metric`; NULL: that is no interval. */
struct interval *interval_reading_of(const struct interval_reading *r, uint32_t metric);

/** Gives the table, for interval_table_free(), and frees the reading. Returns 0 or BEZEL_ENOMEM. */
int interval_reading_end(struct interval_reading *r, struct interval_table *t) BEZEL_MUST_CHECK;
void interval_table_free(struct interval_table *t);

#endif
