// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a run says of itself as metrics of OpenMetrics: verdicts, limits, values, books, costs, clocks, latencies, as
 * its report has them (docs/METRICS.md). While a run goes on, values that nobody has said for verdict_unheard_after()
 * are unknown. One thread; reads files.
 */
#ifndef BEZEL_MEDIATORS_METRICS_RUN_METRICS_H
#define BEZEL_MEDIATORS_METRICS_RUN_METRICS_H

#include "base/clock.h"
#include "mediators/metrics/exposition.h"
#include "run/history/summary.h"
#include "run/verdict/verdict.h"

/** A run. Set `path` and `name`, both borrowed; the rest zero. */
struct run_metrics {
    const char *path, *name; /* the run directory; the value of label `run` */
    bool running;
    struct experiment *experiment;
    struct summary *summary; /* NULL, like the next: the run could not be read */
    struct verdict *verdict;
    uint64_t left_out; /* lines of samples that had no room */
    int64_t now;       /* ns of the run's time */
    uint32_t *newest;  /* private, as all below: of each node, the last one with its name */
    bool *latest;      /* of each row of a limit: none tells of it later */
    struct run_metrics_group *groups;
    size_t group_count;
};

/** Reads and judges the run. Returns 0, or an error, after logging it; run_metrics_free() is for both. */
int run_metrics_load(struct run_metrics *r) BEZEL_MUST_CHECK;
void run_metrics_free(struct run_metrics *r);

/** Adds the families of `count` runs to `x`, but for its end. The heaviest come first, should there be too many. */
void run_metrics_write(struct exposition *x, struct run_metrics *runs, size_t count);

#endif
