// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/buckets_statistics.h"

#include "base/grow.h"
#include "metric/evaluator.h"
#include "run/read/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 65536, RECORDS_MOST = 20000000 };

/* The row of metric number `metric` for a record; those of a metric come together. NULL: no memory. */
static struct buckets_row *row_of(struct buckets_table *t, const struct experiment *e, uint32_t metric,
                                  const struct record_item *item)
{
    const struct model_node *node = item->process->node;
    const char *process = e->metrics[metric].per_process ? item->process->name : node->name;
    for (size_t i = t->count; i > 0 && t->rows[i - 1].metric == metric; i--)
        if (t->rows[i - 1].node == node->row && strcmp(t->rows[i - 1].process, process) == 0)
            return &t->rows[i - 1];
    if (t->count == ROWS_MOST || !grow_by_one(&t->rows, t->count, sizeof *t->rows))
        return NULL;
    struct buckets_row *row = &t->rows[t->count++];
    *row = (struct buckets_row){.metric = metric, .node = node->row, .buckets.edges = &e->metrics[metric].edges};
    snprintf(row->process, sizeof row->process, "%s", process);
    return row;
}

static int read_metric(struct run_reader *reader, const struct experiment *e, uint32_t metric, struct buckets_table *t)
{
    struct record_item item;
    uint64_t records = 0;
    int more = 1;
    while (more == 1 && records <= RECORDS_MOST && (more = run_reader_next(reader, &item)) == 1) {
        struct buckets_row *row = item.r ? row_of(t, e, metric, &item) : NULL;
        if (item.r && !row)
            return BEZEL_ENOMEM;
        if (!row)
            continue;
        struct packet_run run = record_item_run(&item);
        struct statistic_field field = evaluator_field(&e->metrics[metric], item.aspect);
        buckets_records(&row->buckets, &run, &field);
        records++;
    }
    t->cut = t->cut || more != 0 || run_reader_totals(reader).cut > 0;
    return 0;
}

int buckets_table_read(const char *run, const struct experiment *e, struct buckets_table *t)
{
    int err = 0;
    *t = (struct buckets_table){0};
    for (uint32_t i = 0; i < e->metric_count && !err; i++) {
        const struct experiment_metric *m = &e->metrics[i];
        struct record_filter filter = RECORD_FILTER_ALL;
        struct run_reader *reader = NULL;
        const char *why;
        if (m->kind != METRIC_HISTOGRAM)
            continue;
        filter.aspect = m->aspect;
        if ((m->where && condition_read(m->where, &filter.condition, &why) != 0) ||
            run_reader_open_all(run, &filter, &reader) != 0)
            t->cut = true;
        else
            err = read_metric(reader, e, i, t);
        run_reader_close(reader);
    }
    return err;
}

void buckets_table_free(struct buckets_table *t)
{
    free(t->rows);
    *t = (struct buckets_table){0};
}
