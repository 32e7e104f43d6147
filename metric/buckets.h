// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Counts of numbers between chosen edges: a histogram whose buckets the experiment file gives. Bucket i has the numbers
 * above edge i - 1, up to edge i; the last one those above all edges. Histograms of several processes and nodes are
 * merged by adding their counts. Pure; one owner.
 */
#ifndef BEZEL_METRIC_BUCKETS_H
#define BEZEL_METRIC_BUCKETS_H

#include "config/experiment.h"
#include "metric/statistic.h"

enum { BUCKETS_MAX = EXPERIMENT_EDGES_MAX + 1 };

/** With zeros for counts it is empty. */
struct buckets {
    const struct experiment_edges *edges; /* borrowed */
    uint64_t counts[BUCKETS_MAX];
};

/** Counts the finite numbers in `field` of the records of a run. */
void buckets_records(struct buckets *b, const struct packet_run *run, const struct statistic_field *field);

#endif
