// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "views/report/report.h"

#include <math.h>
#include <string.h>

/*
 * Statistics of the fields' values, over the stored records (the values of lost records are unknown), and of metrics;
 * rates of aspects, totals of counters and spans.
 */

struct value {
    const struct summary_process *process;
    const struct summary_book *book;
    const struct summary_field *field;
    const struct report_unit *times; /* of all times of the table */
};

/*
 * Whether statistics of a sampler's field have a meaning. Three kinds have none: counters, which report_counters() has;
 * numbers that name a thing; values that the kernel does not provide (-1).
 */
static bool is_value(const struct summary_book *b, const struct summary_field *f)
{
    static const char *const names[] = {"pid", "thread", "cpu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->name, names[i]) == 0)
            return false;
    bool absent = f->min.is_int && f->min.i == -1 && f->max.i == -1;
    return !absent && !report_is_counter(b->name, f->name);
}

/* Calls `take` with each field; programs' first. */
static void each_field(const struct report *r, void (*take)(void *context, const struct value *v), void *context)
{
    const struct summary *s = r->summary;
    for (int role = ROLE_SUT; role <= ROLE_DAEMON; role++)
        for (size_t i = 0; i < s->process_count; i++) {
            const struct summary_process *p = &s->processes[i];
            for (size_t k = 0; (int)p->role == role && k < p->book_count; k++)
                for (size_t n = 0; n < p->books[k].field_count; n++)
                    if (role == ROLE_SUT || is_value(&p->books[k], &p->books[k].fields[n]))
                        take(context, &(struct value){p, &p->books[k], &p->books[k].fields[n], NULL});
        }
}

void report_process_columns(struct rows *w, const struct report *r, const struct summary_process *p,
                            const struct summary_book *b)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    rows_text(w, "process (pid)", NULL, name);
    rows_text(w, "aspect", NULL, b->name);
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

static void take_small(void *least, const struct value *v)
{
    const struct summary_field *f = v->field;
    double figure = f->p50.d != 0 ? f->p50.d : f->p99.d != 0 ? f->p99.d : f->max.d;
    report_take_least(least, (double)units_time(f->unit) * figure);
}

void report_take_least(double *least_ns, double ns)
{
    if (ns != 0 && fabs(ns) < *least_ns)
        *least_ns = fabs(ns);
}

struct report_unit report_unit_for(double least_ns)
{
    static const struct report_unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && least_ns < units[i].ns / 10)
        i++;
    return units[i];
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static void number_column(struct rows *w, const char *name, const struct summary_number *v, double unit)
{
    if (w->json && v->is_int)
        json_int(w->json, name, v->i);
    else if (v->is_int && unit == 1)
        rows_int(w, name, NULL, v->i);
    else
        rows_double(w, name, name, v->d, unit);
}

static void note_column(struct rows *w, const struct summary_book *b, const struct summary_field *f)
{
    uint64_t evaluated = f->count + f->unknown, left = b->stored > evaluated ? b->stored - evaluated : 0;
    char unknown[64] = "", not_evaluated[64] = "";
    if (f->unknown)
        snprintf(unknown, sizeof unknown, "(%s unknown)", units_count(f->unknown).s);
    if (left)
        snprintf(not_evaluated, sizeof not_evaluated, "(%s not evaluated)", units_count(left).s);
    rows_cell(w, "", 'l', "%s%s%s", unknown, f->unknown && left ? " " : "", not_evaluated);
    json_uint(w->json, "unknown", f->unknown);
    json_uint(w->json, "not_evaluated", left);
}

/* The mean of a counter's records times their rate; NaN below two records. */
static double total_rate(const struct summary_book *b, const struct summary_field *f)
{
    return f->mean * verdict_rate(b);
}

static bool is_total(const struct summary_book *b, const struct summary_field *f)
{
    return f->field == 0 && (b->kind == DICT_COUNTER || dict_kind_lasts(b->kind));
}

static void value_row(struct rows *w, const struct report *r, const void *item)
{
    const struct value *v = item;
    const struct summary_field *f = v->field;
    double ns = (double)units_time(f->unit), unit = ns > 0 && v->times ? v->times->ns / ns : 1;
    report_process_columns(w, r, v->process, v->book);
    rows_text(w, "field", "field", f->name);
    rows_text(w, "unit", NULL, ns > 0 && v->times ? v->times->name : f->unit);
    json_text(w->json, "unit", f->unit);
    rows_count(w, "values", "values", f->count);
    if (v->process->role == ROLE_DAEMON && !is_value(v->book, f))
        json_bool(w->json, "left_out", true);
    number_column(w, "min", &f->min, unit);
    rows_double(w, "mean", "mean", f->mean, unit);
    number_column(w, "p50", &f->p50, unit);
    number_column(w, "p99", &f->p99, unit);
    number_column(w, "max", &f->max, unit);
    number_column(w, "last", &f->last, unit);
    note_column(w, v->book, f);
    if (is_total(v->book, f)) {
        json_int(w->json, "total", f->total);
        json_double(w->json, "total_per_s", total_rate(v->book, f));
    }
}

struct values {
    struct rows *rows;
    struct report_unit times;
};

static void take_value(void *values, const struct value *v)
{
    struct values *all = values;
    rows_add(all->rows, value_row, &(struct value){v->process, v->book, v->field, &all->times});
}

static void add_values(struct rows *w, const struct report *r)
{
    double least = INFINITY;
    each_field(r, take_small, &least);
    each_field(r, take_value, &(struct values){w, report_unit_for(least)});
}

const struct rows_section report_values = {.title = "Values", .add = add_values};

/* ---- Totals ------------------------------------------------------------------------------------------------------ */

/* What the records of a wait wait for; "" of other kinds. */
static const char *reason_of(const struct summary_process *p, const struct summary_book *b)
{
    uint64_t at = (uint64_t)b->aspect - 1;
    return p->dict && at < p->dict->aspect_count ? dict_reason(&p->dict->aspects[at]) : "";
}

static void total_row(struct rows *w, const struct report *r, const void *item)
{
    const struct value *v = item;
    const struct summary_field *f = v->field;
    bool span = dict_kind_lasts(v->book->kind), beyond = f->total == INT64_MAX || f->total == INT64_MIN;
    report_process_columns(w, r, v->process, v->book);
    rows_cell(w, "total", 'r', "%s", (span ? number_double((double)f->total / CLOCK_S) : number_signed(f->total)).s);
    rows_double(w, "per second", NULL, total_rate(v->book, f), span ? CLOCK_S : 1);
    rows_text(w, "unit", NULL, span ? "s" : f->unit);
    const char *reason = reason_of(v->process, v->book);
    rows_cell(w, "", 'l', "%s%s%s%s", beyond ? "(or beyond)" : "",
              v->book->attempts > v->book->stored ? "(stored records only)" : "", reason[0] ? "waits for: " : "",
              reason);
}

static void take_total(void *rows, const struct value *v)
{
    if (is_total(v->book, v->field))
        rows_add(rows, total_row, v);
}

static void add_totals(struct rows *w, const struct report *r)
{
    each_field(r, take_total, w);
}

const struct rows_section report_totals = {.title = "Totals of counters and spans", .add = add_totals};

void report_json_values(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b)
{
    struct rows w = {.report = r, .json = j};
    json_text(j, "kind", dict_kind_name(b->kind));
    if (b->kind == DICT_WAIT)
        json_text(j, "reason", reason_of(p, b));
    json_array(j, "fields");
    for (size_t i = 0; i < b->field_count; i++)
        rows_add(&w, value_row, &(struct value){p, b, &b->fields[i], NULL});
    json_array_end(j);
}

/* ---- Rates and metrics ------------------------------------------------------------------------------------------- */

static void rate_row(struct rows *w, const struct report *r, const void *item)
{
    const struct value *v = item;
    report_process_columns(w, r, v->process, v->book);
    rows_double(w, "records/s", NULL, verdict_rate(v->book), 1);
    rows_ns(w, "over", NULL, v->book->last_ns - v->book->first_ns);
}

static void add_rates(struct rows *w, const struct report *r)
{
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        for (size_t k = 0; k < p->book_count; k++)
            if (p->books[k].stored)
                rows_add(w, rate_row, &(struct value){.process = p, .book = &p->books[k]});
    }
}

const struct rows_section report_rates = {.title = "Rates", .add = add_rates};

static void metric_row(struct rows *w, const struct report *r, const void *item)
{
    const struct history_series *m = item;
    const char *unit = report_metric_unit(r, m->metric);
    bool in_ns = unit && strcmp(unit, "ns") == 0;
    struct report_unit shown = in_ns ? report_unit_for(m->min > 0 ? m->min : m->max) : (struct report_unit){unit, 1};
    rows_text(w, "metric", "metric", m->metric);
    rows_text(w, "node", "node", report_node_name(r, m->node));
    rows_text(w, "process", "process", m->process);
    rows_text(w, "unit", NULL, shown.name);
    json_text(w->json, "unit", unit);
    rows_double(w, "mean", "mean", m->mean, shown.ns);
    rows_double(w, "min", "min", m->min, shown.ns);
    rows_double(w, "max", "max", m->max, shown.ns);
    rows_double(w, "last", "last", m->last, shown.ns);
    rows_count(w, "values", "values", m->count);
}

/* The dead time has a table of its own; so have the buckets of histograms, whose names have blanks. */
static int metric_rank(const struct report *r, const void *item)
{
    const char *name = ((const struct history_series *)item)->metric;
    (void)r;
    return strncmp(name, BUILTIN_LOOP, strlen(BUILTIN_LOOP)) == 0 || strchr(name, ' ') ? -1 : 0;
}

const struct rows_section report_metrics = {ROWS_LIST("Metrics", "metrics", metrics, metric_count, metric_row),
                                            .rank = metric_rank,
                                            .remark = "Metrics are taken once a second. Limits are judged more often, "
                                                      "and may have been worse. Values are of single records."};
