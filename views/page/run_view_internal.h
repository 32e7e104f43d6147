// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by run_view*.c; run_view.h is the interface. */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_INTERNAL_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_INTERNAL_H

#include "config/experiment.h"
#include "views/page/run_view.h"
#include "views/picture/catalogue.h"

#include <limits.h>

struct run_view {
    char run[PATH_MAX];
    struct catalogue c; /* its history: of records in which the monitor tells of several limits or metrics at once */
    struct experiment *experiment; /* NULL: it cannot be read */
    int64_t started;               /* ns since 1970 */
    int64_t newest;
    uint64_t ahead;             /* streams that end in a time that is still to come */
    uint64_t restarts, updates; /* how often the start was found to be another one */
    const size_t *chosen;       /* streams */
};

/** Finds the streams of a row: v->chosen. Returns their number; 0: there is no such process or stream. */
size_t run_view_choose(struct run_view *v, const struct page_row *row);

/** The time of pages at `own` of the node's clock, and back; exact to 1 ns where the clock did not jump. */
int64_t run_view_time(const struct run_view *v, const struct model_node *node, int64_t own);
int64_t run_view_own(const struct run_view *v, const struct model_node *node, int64_t time);

#endif
