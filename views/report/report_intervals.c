// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"

#include <math.h>
#include <stdio.h>

/* Times between records that belong together, and records without a counterpart, from what is stored. */

/* ---- Times ------------------------------------------------------------------------------------------------------- */

struct time_row {
    const struct interval_statistics *is;
    struct report_unit unit;
};

static const struct experiment_metric *metric_of(const struct report *r, const struct interval_statistics *s)
{
    return &r->experiment->metrics[s->metric];
}

/* What has this value: "all", or a process or node. */
static void end_name(const struct report *r, const struct interval_statistics *s, char *name, size_t size)
{
    const struct experiment_metric *m = metric_of(r, s);
    snprintf(name, size, "all");
    for (size_t i = 0; m->interval.by_end && i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        if (m->per_process && (uint32_t)p->row == s->end)
            report_process_pid(r, p, name, size);
        else if (!m->per_process && (uint32_t)r->summary->nodes[p->node].row == s->end)
            snprintf(name, size, "%s", report_node_name(r, p->node));
    }
}

static void time_row(struct rows *w, const struct report *r, const void *item)
{
    const struct time_row *row = item;
    const struct interval_statistics *s = row->is;
    const struct experiment_metric *m = metric_of(r, s);
    bool whole = s->part == INTERVAL_WHOLE;
    uint32_t from = whole ? 0 : s->part, to = whole ? m->interval.count - 1 : s->part + 1;
    char name[REPORT_PROCESS_SIZE];
    end_name(r, s, name, sizeof name);
    rows_text(w, "metric", "metric", m->name);
    rows_text(w, "from", "from", m->interval.aspects[from]);
    rows_text(w, "to", "to", m->interval.aspects[to]);
    rows_text(w, "of", "of", name);
    json_bool(w->json, "whole", whole);
    rows_count(w, "times", "count", s->count);
    rows_text(w, "unit", NULL, row->unit.name);
    rows_double(w, "min", "min_ns", s->min, row->unit.ns);
    rows_double(w, "mean", "mean_ns", s->mean, row->unit.ns);
    rows_double(w, "p50", "p50_ns", s->p50, row->unit.ns);
    rows_double(w, "p99", "p99_ns", s->p99, row->unit.ns);
    rows_double(w, "max", "max_ns", s->max, row->unit.ns);
    rows_known_ns(w, "error up to", "error_ns", s->bound < INT64_MAX, s->bound);
}

static void add_times(struct rows *w, const struct report *r)
{
    double least = INFINITY;
    for (size_t i = 0; i < r->intervals.count; i++)
        report_take_least(&least, r->intervals.rows[i].p50);
    struct report_unit unit = report_unit_for(least);
    for (size_t i = 0; i < r->intervals.count; i++)
        rows_add(w, time_row, &(struct time_row){&r->intervals.rows[i], unit});
}

static void print_cut(const struct report *r, FILE *out)
{
    for (uint32_t i = 0; r->summary->judged_anew && i < r->experiment->metric_count; i++)
        if (r->experiment->metrics[i].kind == METRIC_INTERVAL && experiment_interval_is_reduced(r->experiment, i))
            fprintf(out, "%s: its records ended at the collector (sensing.keep), so nobody can compute it now.\n",
                    r->experiment->metrics[i].name);
    if (r->intervals.cut && r->intervals.records > 0)
        fprintf(out, "These are of the first %s records: not all could be read.\n",
                units_count(r->intervals.records).s);
}

const struct rows_section report_intervals = {
    .title = "Intervals", .key = "intervals", .add = add_times, .text = print_cut};

/* ---- Records without counterpart --------------------------------------------------------------------------------- */

struct unmatched_row {
    const struct experiment_metric *metric;
    const struct interval_counts *counts;
    bool ends;
};

static void unmatched_row(struct rows *w, const struct report *r, const void *item)
{
    const struct unmatched_row *row = item;
    const struct interval_counts *c = row->counts;
    const uint64_t *by = row->ends ? c->ends : c->beginnings;
    uint32_t last = row->metric->interval.count - 1;
    (void)r;
    rows_text(w, "metric", "metric", row->metric->name);
    rows_text(w, "records of", "aspect", row->metric->interval.aspects[row->ends ? last : 0]);
    rows_text(w, "without", NULL, row->ends ? "beginning" : "end");
    json_bool(w->json, "ends", row->ends);
    rows_count(w, "lost", "lost", by[INTERVAL_LOST]);
    rows_count(w, "late", "late", by[INTERVAL_LATE]);
    rows_count(w, "no memory", "evicted", by[INTERVAL_EVICTED]);
    rows_count(w, "ambiguous", "ambiguous", by[INTERVAL_AMBIGUOUS]);
    rows_count(w, "under way", "under_way", row->ends ? c->waiting : c->open);
    rows_count(w, "repeated", "repeated", c->repeated[row->ends ? last : 0]);
    rows_count(w, "negative", "negative", row->ends ? c->negative : 0);
    json_uint(w->json, "matched", c->matched);
    json_uint(w->json, "no_key", c->keyless);
    json_uint(w->json, "left_out", c->crowded);
    json_uint(w->json, "times_left_out", c->unkept);
}

static bool has_unmatched(const struct interval_counts *c, bool ends)
{
    const uint64_t *by = ends ? c->ends : c->beginnings;
    uint64_t sum = ends ? c->waiting + c->negative : c->open + c->repeated[0];
    for (int i = 0; i < INTERVAL_CAUSES; i++)
        sum += by[i];
    return sum > 0;
}

static void add_unmatched(struct rows *w, const struct report *r)
{
    for (uint32_t i = 0; r->intervals.counts && i < r->experiment->metric_count; i++) {
        const struct experiment_metric *m = &r->experiment->metrics[i];
        const struct interval_counts *c = &r->intervals.counts[i];
        for (int ends = 0; m->kind == METRIC_INTERVAL && ends < 2; ends++)
            if (w->json || r->all || has_unmatched(c, ends))
                rows_add(w, unmatched_row, &(struct unmatched_row){m, c, ends});
    }
}

static void print_left_out(const struct report *r, FILE *out)
{
    for (uint32_t i = 0; r->intervals.counts && i < r->experiment->metric_count; i++) {
        const struct interval_counts *c = &r->intervals.counts[i];
        if (c->keyless > 0)
            fprintf(out, "%s: %s records have no value by which they match.\n", r->experiment->metrics[i].name,
                    units_count(c->keyless).s);
        if (c->crowded > 0)
            fprintf(out, "%s: %s records were left out: more than %d have one value, or more than %d make ends.\n",
                    r->experiment->metrics[i].name, units_count(c->crowded).s, INTERVAL_SAME_KEY_MAX,
                    INTERVAL_ENDS_MAX);
        if (c->unkept > 0)
            fprintf(out, "%s: %s times are in no row of *Intervals*: the collector had no more memory for them.\n",
                    r->experiment->metrics[i].name, units_count(c->unkept).s);
    }
}

const struct rows_section report_unmatched = {
    .title = "Unmatched records of intervals", .key = "unmatched", .add = add_unmatched, .text = print_left_out};
