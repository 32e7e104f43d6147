// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The value of one metric of one process, or of the node: one interface to rate, statistic and ratio, of which the
 * metric's kind needs one. One owner. Only evaluator_start() allocates, and for a quantile evaluator_records().
 */
#ifndef BEZEL_METRIC_EVALUATOR_H
#define BEZEL_METRIC_EVALUATOR_H

#include "config/experiment.h"
#include "metric/arrivals.h"
#include "metric/buckets.h"
#include "metric/rate.h"
#include "metric/ratio.h"
#include "metric/statistic.h"
#include "metric/where.h"

struct message_partial;

struct evaluator {
    const struct experiment_metric *metric; /* NULL: not started, the value is unknown */
    struct rate *rate;                      /* one of these three, by the metric's kind; the others are NULL */
    struct statistic *statistic;
    struct ratio *ratio;
    struct buckets *buckets; /* of METRIC_HISTOGRAM, which has no value: who records the counts sets them to 0 */
    uint64_t level;          /* of METRIC_EN_ROUTE: records under way */
    int64_t since;           /* evaluator_since(); INT64_MAX: not called */
    /* Of times between records: */
    bool began;
    int64_t unknown_until; /* until then a time across missing records is in the window */
    int64_t open_until;    /* until then a record that may meet the condition, or not, is in the window */
    int64_t silent;        /* ns without a record, until now */
    int64_t last_at;       /* of METRIC_TIME_MEAN: the latest record, ... */
    double last, sum;      /* ... its value, and at the last evaluator_take() the sum of values ... */
    uint64_t ns;           /* ... over so long a time */
    /* At the last evaluator_take(). */
    bool known;
    bool open;    /* not known, and there is a value: records of the window have not come */
    bool partial; /* not known, and `value` is that of a window that began before `since` */
    /* Not known, and `value` is that of a window in which a source made its first record: for an upper bound it is one,
     * also a ratio of two that start so; of a metric of two, where that makes it greater, for a lower bound. */
    bool below, above;
    double value, resolution;
    double lowest; /* of METRIC_COUNT, where known: for a lower bound, without records older than the window */
    double joint;  /* what it is in a metric of two: numbers of records, and rates, are of one and the same time */
    double least;  /* of a value that is not known: it is this at least; else 0 */
    int64_t at;    /* time of the latest record or reading in the value; meaningful where known */
};

/** Starts it for `metric`, which it borrows; does nothing where it is started. Returns 0 or BEZEL_ENOMEM. */
int evaluator_start(struct evaluator *e, const struct experiment_metric *metric) BEZEL_MUST_CHECK;
void evaluator_end(struct evaluator *e);

/** The place of the metric's field in records of `aspect`, which has a field of that name and a fitting type; or none.
 */
struct statistic_field evaluator_field(const struct experiment_metric *metric, const struct dict_aspect *aspect);

/** Drops all records and readings. */
void evaluator_reset(struct evaluator *e);

/** Another process's records follow, behind counter `attempts`. Those before it stay; how fast it makes them begins
 * anew. */
void evaluator_begin(struct evaluator *e, uint64_t attempts);

/**
 * Takes in records of the metric's aspect, which arrived at `now`. `field` is the place of the metric's field in them;
 * not used by metrics without a field. `where` is the metric's condition for them: where it names no field of theirs,
 * none is taken in, and a rate knows that they are missing. Not used by metrics without `where`.
 */
void evaluator_records(struct evaluator *e, const struct packet_run *run, const struct statistic_field *field,
                       const struct where *where, int64_t now);

/**
 * The same of a metric of the times between records, with `a` for what is known of the process that made them. While a
 * time across missing records is in the window, the value is unknown.
 */
void evaluator_arrivals(struct evaluator *e, struct arrivals *a, const struct packet_run *run,
                        const struct statistic_field *field, const struct where *where, int64_t now);

/** Records of the process of `a` may have been made until `now` that nobody sees. */
void evaluator_blind(struct evaluator *e, struct arrivals *a, int64_t now);

/** After its latest record, `silent` ns passed without another one: for the next evaluator_take(), which forgets it. */
void evaluator_silence(struct evaluator *e, int64_t silent);

/**
 * From `at` on all records are seen; the first call counts, until evaluator_reset(). Where windows follow one another,
 * a statistic of one that began earlier is unknown, as a rate is by its counter.
 */
void evaluator_since(struct evaluator *e, int64_t at);

/** Takes in the counter of attempts of the metric's aspect. */
void evaluator_count(struct evaluator *e, uint64_t attempts, int64_t now);

/** Takes in that `records` records with times `first` to `last` were taken from a ring at `now`. */
void evaluator_taken(struct evaluator *e, uint32_t records, int64_t first, int64_t last, int64_t now);

/** Takes in the totals of the SUT's processes: records produced and lost, cumulative, and records under way. */
void evaluator_totals(struct evaluator *e, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now);

/** Brings known, value, resolution, `least` and `at` up to date. */
void evaluator_take(struct evaluator *e, int64_t now);

/**
 * Its value where known. Of numbers of records and rates: with `any` the largest of a window that ended since the
 * reading before, else that of the last one. *resolution: the half-width of its uncertainty.
 */
double evaluator_for(const struct evaluator *e, bool any, double *resolution);

/**
 * Of a metric of two others: its value, from those of the operands `a` and `b`, which are up to date; unknown where one
 * of these is, or where a divisor may be 0. Needs no evaluator_start().
 */
void evaluator_combine(struct evaluator *e, const struct experiment_metric *metric, const struct evaluator *a,
                       const struct evaluator *b);

/**
 * Writes what this node contributes to the value over all nodes, for a limit from above (`at_most`) or below; `any` as
 * in evaluator_for(). The caller sets `limit` and `silent`. Call after evaluator_take() at the same time.
 */
void evaluator_partial(struct evaluator *e, int64_t now, bool at_most, bool any, struct message_partial *partial);

/**
 * Of a quantile: writes the histogram that belongs to that partial, at most `room` bytes. Returns the number of its
 * buckets; 0: it is of no quantile, or has no room or memory, so that the partial is unknown.
 */
uint32_t evaluator_histogram(struct evaluator *e, int64_t now, uint8_t *to, uint32_t room);

#endif
