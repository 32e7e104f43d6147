// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/json.h"
#include "ecs/report/report.h"
#include "ecs/report/table.h"

#include <inttypes.h>
#include <math.h>

/* Statistics of spans, counters and gauges, over the stored records: the values of lost records are unknown. */

typedef void kind_row(struct table *t, const struct summary_book *b);

static void span_row(struct table *t, const struct summary_book *b)
{
    const struct summary_latency *d = &b->values.durations;
    table_cell(t, "%s", units_count(b->stored).s);
    table_cell(t, "%s", number_double(verdict_rate(b)).s);
    table_cell(t, "%s", units_duration(b->values.total).s);
    table_cell(t, "%s", units_duration(d->median).s);
    table_cell(t, "%s", units_duration(d->p99).s);
    table_cell(t, "%s", units_duration(d->max).s);
}

/* The mean of a counter's records times their rate; NaN below two records. */
static double counter_rate(const struct summary_book *b)
{
    return (double)b->values.total / (double)b->stored * verdict_rate(b);
}

static void counter_row(struct table *t, const struct summary_book *b)
{
    table_cell(t, "%s", number_signed(b->values.total).s);
    table_cell(t, "%s", number_double(counter_rate(b)).s);
    table_cell(t, "%s", b->values.unit);
    table_cell(t, "%s", b->attempts > b->stored ? "(stored records only)" : "");
}

static void gauge_row(struct table *t, const struct summary_book *b)
{
    table_cell(t, "%s", number_double(b->values.last).s);
    table_cell(t, "%s", number_double(b->values.min).s);
    table_cell(t, "%s", number_double(b->values.max).s);
    table_cell(t, "%s", b->values.unit);
}

static const struct kind_section {
    enum dict_kind kind;
    const char *title, *columns;
    const char *heads[8];
    kind_row *row;
} sections[] = {
    {DICT_SPAN,
     "Spans",
     "llrrrrrr",
     {"process (pid)", "aspect", "spans", "spans/s", "total", "median", "p99", "max"},
     span_row},
    {DICT_COUNTER, "Counters", "llrrll", {"process (pid)", "aspect", "total", "per second", "unit", ""}, counter_row},
    {DICT_GAUGE, "Gauges", "llrrrl", {"process (pid)", "aspect", "last", "min", "max", "unit"}, gauge_row},
};

/* Adds the rows of `p` to the section. *t is NULL until the first row. */
static void section_rows(const struct report *r, const struct kind_section *section, struct table **t,
                         const struct summary_process *p)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        if (b->kind != section->kind || b->stored == 0)
            continue;
        if (!*t)
            *t = table_with_heads(section->columns, section->heads);
        table_cell(*t, "%s", name);
        table_cell(*t, "%s", b->name);
        section->row(*t, b);
    }
}

void report_kinds(const struct report *r, FILE *out)
{
    if (!report_opens_processes(r))
        return;
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        struct table *t = NULL;
        for (size_t i = 0; i < r->summary->process_count; i++)
            if (report_shows(r, &r->summary->processes[i]))
                section_rows(r, &sections[k], &t, &r->summary->processes[i]);
        if (t) {
            report_title(r, sections[k].title, out);
            table_print(t, 2, out);
        }
    }
}

void report_json_kind(struct json *j, const struct summary_book *b)
{
    const struct summary_values *v = &b->values;
    json_text(j, "kind", dict_kind_name(b->kind));
    if (b->kind == DICT_SPAN) {
        json_object(j, "durations");
        json_uint(j, "known", v->durations.count);
        json_int(j, "total_ns", v->total);
        json_int(j, "median_ns", v->durations.median);
        json_int(j, "p99_ns", v->durations.p99);
        json_int(j, "max_ns", v->durations.max);
        json_object_end(j);
    } else if (b->kind == DICT_COUNTER) {
        json_text(j, "unit", v->unit);
        json_int(j, "total", v->total);
        json_double(j, "total_per_s", counter_rate(b));
    } else if (b->kind == DICT_GAUGE) {
        json_text(j, "unit", v->unit);
        json_double(j, "last", v->last);
        json_double(j, "min", v->min);
        json_double(j, "max", v->max);
    }
}
