// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The intervals of a picture: from the record at which one began to that at which it ended. One thread. */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_EDGES_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_EDGES_H

#include "base/json.h"
#include "views/page/run_view_internal.h"

/**
 * Writes member `edges`: [metric's number among the intervals, stage from 0, stream and time of its beginning, of its
 * end, bound of the error between them or null]. They belong together as metric/interval.h says, of the records of
 * those rows of `q` that have no more than they may, up to the deadline of the levels. Returns 0 or BEZEL_ENOMEM.
 */
int run_view_put_edges(struct run_view *v, const struct page_request *q, int64_t from, int64_t until,
                       struct json *j) BEZEL_MUST_CHECK;

/** Writes member `intervals` of the catalogue: the name and the aspects of each. */
void run_view_put_intervals(const struct run_view *v, struct json *j);

#endif
