// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Metrics `histogram` over a run, counted from its stored records: those that nobody counted while it went on. One
 * thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_BUCKETS_STATISTICS_H
#define BEZEL_RUN_READ_BUCKETS_STATISTICS_H

#include "mdr/message.h"
#include "metric/buckets.h"

/** Of the processes of a name on a node, or of the node. */
struct buckets_row {
    uint32_t metric;                    /* its number in the experiment */
    int64_t node;                       /* its row in the database */
    char process[MESSAGE_NAME_MAX + 1]; /* of a node its name, as in the rows of metrics */
    struct buckets buckets;
};

struct buckets_table {
    size_t count; /* by metric */
    struct buckets_row *rows;
    bool cut; /* not all records could be read */
};

/**
 * Counts the metrics of `e` in run directory `run`, which has ended; rows borrow from `e`. Returns 0 or BEZEL_ENOMEM;
 * in both cases *t is for buckets_table_free().
 */
int buckets_table_read(const char *run, const struct experiment *e, struct buckets_table *t) BEZEL_MUST_CHECK;
void buckets_table_free(struct buckets_table *t);

#endif
