// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"

#include <math.h>
#include <string.h>

/*
 * Histograms with chosen edges. A node records what came into each bucket since it recorded before, under the bucket's
 * name, so the sum of these values is the number of all.
 */

struct counted_row {
    const struct experiment_metric *metric;
    uint32_t bucket;
    const char *node, *process; /* NULL: all */
    double count, all;
};

static double count_of(const struct report *r, const struct history_series *like, const char *bucket)
{
    double sum = 0;
    for (size_t i = 0; i < r->summary->metric_count; i++) {
        const struct history_series *m = &r->summary->metrics[i];
        bool is_its = !like || (m->node == like->node && strcmp(m->process, like->process) == 0);
        sum += is_its && m->count > 0 && strcmp(m->metric, bucket) == 0 ? m->mean * (double)m->count : 0;
    }
    return round(sum);
}

static void counted_row(struct rows *w, const struct report *r, const void *item)
{
    const struct counted_row *b = item;
    const struct experiment_edges *e = &b->metric->edges;
    char name[EXPERIMENT_BUCKET_NAME_SIZE];
    experiment_bucket_name(b->metric, b->bucket, name, sizeof name);
    rows_text(w, "metric", "metric", b->metric->name);
    rows_text(w, "node", NULL, b->node ? b->node : "all");
    rows_text(w, "process", NULL, b->process ? b->process : "all");
    json_text(w->json, "node", b->node);
    json_text(w->json, "process", b->process);
    rows_text(w, "value", NULL, name + strlen(b->metric->name) + 1);
    json_double(w->json, "above", b->bucket > 0 ? e->at[b->bucket - 1] : (double)NAN);
    json_double(w->json, "up_to", b->bucket < e->count ? e->at[b->bucket] : (double)NAN);
    json_text(w->json, "unit", report_metric_unit(r, b->metric->name));
    rows_count(w, "records", "records", (uint64_t)b->count);
    rows_share(w, "share", "share", b->all > 0 ? b->count / b->all : (double)NAN);
}

/* The buckets of the process or node of `like`; NULL: of all together. */
static void add_buckets(struct rows *w, const struct report *r, const struct experiment_metric *m,
                        const struct history_series *like)
{
    char name[EXPERIMENT_BUCKET_NAME_SIZE];
    double counts[EXPERIMENT_EDGES_MAX + 1], all = 0;
    for (uint32_t b = 0; b <= m->edges.count; b++) {
        experiment_bucket_name(m, b, name, sizeof name);
        all += counts[b] = count_of(r, like, name);
    }
    for (uint32_t b = 0; b <= m->edges.count; b++)
        rows_add(w, counted_row,
                 &(struct counted_row){m, b, like ? report_node_name(r, like->node) : NULL, like ? like->process : NULL,
                                       counts[b], all});
}

static void add_histograms(struct rows *w, const struct report *r)
{
    char first[EXPERIMENT_BUCKET_NAME_SIZE];
    for (uint32_t i = 0; i < r->experiment->metric_count; i++) {
        const struct experiment_metric *m = &r->experiment->metrics[i];
        size_t owners = 0;
        if (m->kind != METRIC_HISTOGRAM)
            continue;
        experiment_bucket_name(m, 0, first, sizeof first);
        for (size_t k = 0; k < r->summary->metric_count; k++)
            if (strcmp(r->summary->metrics[k].metric, first) == 0) {
                add_buckets(w, r, m, &r->summary->metrics[k]);
                owners++;
            }
        if (owners > 1)
            add_buckets(w, r, m, NULL);
    }
}

const struct rows_section report_histograms = {.title = "Histograms", .key = "histograms", .add = add_histograms};
