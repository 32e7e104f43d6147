// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the times of an aspect's records tell, in one process: the time from one record to the next, its jitter, the
 * periods in which none came, and how long a value lasted. Each thread's records are compared with one another, as a
 * ring has them in their order; what is found goes to a statistic, with the time at which it was found.
 *
 * Records that are missing, by the stream's count of them, hide when they came: no time is taken across them, and the
 * result says when that was. Pure, but that a thread's first record may allocate; one owner.
 */
#ifndef BEZEL_METRIC_ARRIVALS_H
#define BEZEL_METRIC_ARRIVALS_H

#include "config/experiment.h"
#include "metric/statistic.h"

/** The latest record of a thread. */
struct arrivals_stream {
    uint32_t stream;
    bool any, any_gap;
    uint64_t missing;
    int64_t last, gap; /* ns; meaningful if `any`, `any_gap` */
    double value;      /* of METRIC_TIME_MEAN: that of the record */
};

/** All zeros: no record came. */
struct arrivals {
    uint32_t count, at; /* at: the one that was used last */
    struct arrivals_stream *streams;
};

void arrivals_end(struct arrivals *a);

/** Compares no later record with an earlier one: records may have been made in between that nobody sees. */
void arrivals_break(struct arrivals *a);

/**
 * Takes in the records of a run, of which all count, and which arrived at `now`. `s` takes the results of `m`; of
 * METRIC_MISSES it is a mean, of which the sum is read. `field` is the place of the field of METRIC_TIME_MEAN, which
 * takes a value once for each ns that it lasted; else it is not used. Returns the time of a record that follows missing
 * ones, or that nothing can be remembered of for want of memory; else INT64_MIN.
 */
int64_t arrivals_take(struct arrivals *a, const struct experiment_metric *m, const struct packet_run *run,
                      const struct statistic_field *field, struct statistic *s, int64_t now);

/** The periods of `m`, of METRIC_MISSES, that passed in `silent` ns without a record, as far as the window reaches. */
double arrivals_missed(const struct experiment_metric *m, int64_t silent);

#endif
