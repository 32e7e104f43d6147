// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The times between the records of an interval that a view has read, in whatever order it read them: of a window of
 * time, without what was lost. Its records match as everywhere (metric/interval.h). Pure, one owner.
 */
#ifndef BEZEL_VIEWS_PICTURE_INTERVAL_EDGES_H
#define BEZEL_VIEWS_PICTURE_INTERVAL_EDGES_H

#include "run/model/interval_records.h"

struct interval_edges_event {
    struct interval_event is;
    size_t stream;
};

struct interval_edges {
    size_t count, most;
    struct interval_edges_event *events;
};

/** Room for `most` records. Returns 0 or BEZEL_ENOMEM; interval_edges_fini() in both cases. */
int interval_edges_init(struct interval_edges *e, size_t most) BEZEL_MUST_CHECK;
void interval_edges_fini(struct interval_edges *e);

/** Adds a record of `stream`. False: there is no room. */
bool interval_edges_add(struct interval_edges *e, const struct interval_event *is, size_t stream);

/** Brings them into the order of time. */
void interval_edges_sort(struct interval_edges *e);

/** Calls `told` for all times between them, which are records of `metric` and sorted. Returns 0 or BEZEL_ENOMEM. */
int interval_edges_match(struct interval_edges *e, const struct experiment_metric *metric, interval_told *told,
                         void *context) BEZEL_MUST_CHECK;

#endif
