// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * Histograms with chosen edges. A node records what came into each bucket since it recorded before, under the bucket's
 * name, so the sum of these values is the number of all. Those of another file are counted from the records.
 */

struct counted_row {
    const struct experiment_metric *metric;
    uint32_t bucket;
    const char *node, *process; /* NULL: all */
    double count, all;
};

double report_bucket_count(const struct summary *s, const struct history_series *like, const char *bucket)
{
    double sum = 0;
    for (size_t i = 0; i < s->metric_count; i++) {
        const struct history_series *m = &s->metrics[i];
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

static void add_counts(struct rows *w, const struct experiment_metric *m, const char *node, const char *process,
                       const double *counts)
{
    double all = 0;
    for (uint32_t b = 0; b <= m->edges.count; b++)
        all += counts[b];
    for (uint32_t b = 0; b <= m->edges.count; b++)
        rows_add(w, counted_row, &(struct counted_row){m, b, node, process, counts[b], all});
}

/* The buckets of the process or node of `like`; NULL: of all together. */
static void add_buckets(struct rows *w, const struct report *r, const struct experiment_metric *m,
                        const struct history_series *like)
{
    char name[EXPERIMENT_BUCKET_NAME_SIZE];
    double counts[BUCKETS_MAX];
    for (uint32_t b = 0; b <= m->edges.count; b++) {
        experiment_bucket_name(m, b, name, sizeof name);
        counts[b] = report_bucket_count(r->summary, like, name);
    }
    add_counts(w, m, like ? report_node_name(r, like->node) : NULL, like ? like->process : NULL, counts);
}

static const char *node_of_row(const struct report *r, int64_t row)
{
    for (uint32_t i = 0; i < r->summary->node_count; i++)
        if (r->summary->nodes[i].row == row)
            return report_node_name(r, i);
    return NULL;
}

static void add_counted(struct rows *w, const struct report *r)
{
    const struct buckets_table *t = &r->histograms;
    double sums[BUCKETS_MAX] = {0}, counts[BUCKETS_MAX];
    for (size_t i = 0, owners = 1; i < t->count; i++, owners++) {
        const struct buckets_row *row = &t->rows[i];
        const struct experiment_metric *m = &r->experiment->metrics[row->metric];
        for (uint32_t b = 0; b <= m->edges.count; b++)
            sums[b] += counts[b] = (double)row->buckets.counts[b];
        add_counts(w, m, node_of_row(r, row->node), row->process, counts);
        if (i + 1 < t->count && t->rows[i + 1].metric == row->metric)
            continue;
        if (owners > 1)
            add_counts(w, m, NULL, NULL, sums);
        memset(sums, 0, sizeof sums);
        owners = 0;
    }
}

static void add_recorded(struct rows *w, const struct report *r)
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

static void add_histograms(struct rows *w, const struct report *r)
{
    if (r->summary->judged_anew)
        add_counted(w, r);
    else
        add_recorded(w, r);
}

/* Records of `aspect` that ended before they were stored. */
static uint64_t reduced_of(const struct report *r, const char *aspect)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->summary->process_count; i++)
        for (size_t b = 0; b < r->summary->processes[i].book_count; b++)
            if (strcmp(r->summary->processes[i].books[b].name, aspect) == 0)
                sum += r->summary->processes[i].books[b].reduced;
    return sum;
}

static bool histograms_read(const struct experiment *e, const char *aspect)
{
    bool any = false;
    for (uint32_t i = 0; i < e->metric_count; i++)
        any |= e->metrics[i].kind == METRIC_HISTOGRAM && strcmp(e->metrics[i].aspect, aspect) == 0;
    return any;
}

static void print_cut(const struct report *r, FILE *out)
{
    struct rows w = {.report = r, .bare = true};
    if (!r->summary->judged_anew)
        report_expired_lines(&w, histograms_read, "they are not counted here");
    rows_print_table(&w, out);
    for (uint32_t i = 0; r->summary->judged_anew && i < r->experiment->metric_count; i++) {
        const struct experiment_metric *m = &r->experiment->metrics[i];
        uint64_t reduced = m->kind == METRIC_HISTOGRAM ? reduced_of(r, m->aspect) : 0;
        if (reduced > 0)
            fprintf(out, "%s: %s records of %s are not counted: they were reduced to values (sensing.keep).\n", m->name,
                    units_count(reduced).s, m->aspect);
    }
    if (r->histograms.cut)
        fputs("Not all records could be read: these are fewer than there were.\n", out);
}

const struct rows_section report_histograms = {
    .title = "Histograms", .key = "histograms", .add = add_histograms, .text = print_cut};
