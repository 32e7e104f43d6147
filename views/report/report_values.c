// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Statistics of the fields' values, over the stored records: the values of lost records are unknown. */

struct rows {
    const struct report *report;
    const char *columns, *const *heads;
    struct table *table;      /* NULL until the first row */
    size_t count;             /* of rows, also those that are left out */
    struct report_unit times; /* of all times of the table */
    double least;             /* of the times, ns */
};

typedef void take_field(struct rows *rows, const struct summary_process *p, const struct summary_book *b,
                        const struct summary_field *f);

/*
 * Whether statistics of a sampler's field say something: not of counters, which report_counters() has, of numbers that
 * name a thing, and of what the kernel does not provide (-1).
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

/* Whether nobody asked for the samples of `p`: then violations alone lead to them (report_looks()). */
static bool is_unasked(const struct report *r, const struct summary_process *p)
{
    bool samples = p->book_count > 0 && experiment_sampler_of(p->books[0].name) != EXPERIMENT_SAMPLERS;
    return samples && r->experiment && r->experiment->sensing.sampled_unasked;
}

/* Calls `take` with each field; programs' first. */
static void each_field(struct rows *rows, take_field *take)
{
    const struct summary *s = rows->report->summary;
    for (int role = ROLE_SUT; role <= ROLE_DAEMON; role++)
        for (size_t i = 0; i < s->process_count; i++) {
            const struct summary_process *p = &s->processes[i];
            bool shown = role == ROLE_SUT || rows->report->all || !is_unasked(rows->report, p);
            for (size_t k = 0; (int)p->role == role && shown && k < p->book_count; k++)
                for (size_t n = 0; n < p->books[k].field_count; n++)
                    if (role == ROLE_SUT || is_value(&p->books[k], &p->books[k].fields[n]))
                        take(rows, p, &p->books[k], &p->books[k].fields[n]);
        }
}

/* Begins a row with process and aspect. False: it is left out. */
static bool begin_row(struct rows *rows, const struct summary_process *p, const struct summary_book *b)
{
    char name[REPORT_PROCESS_SIZE];
    if (rows->count++ >= REPORT_ROWS_MOST && !rows->report->all)
        return false;
    if (!rows->table)
        rows->table = table_with_heads(rows->columns, rows->heads);
    report_process_pid(rows->report, p, name, sizeof name);
    table_cell(rows->table, "%s", name);
    table_cell(rows->table, "%s", b->name);
    return true;
}

static void print_rows(const struct rows *rows, const char *title, FILE *out)
{
    if (!rows->table)
        return;
    report_title(rows->report, title, out);
    table_print(rows->table, 2, out);
    report_left_out(rows->report, rows->count, out);
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

static void take_small(struct rows *rows, const struct summary_process *p, const struct summary_book *b,
                       const struct summary_field *f)
{
    (void)p, (void)b;
    double figure = f->p50.d != 0 ? f->p50.d : f->p99.d != 0 ? f->p99.d : f->max.d;
    double ns = (double)units_time(f->unit) * fabs(figure);
    if (ns > 0 && ns < rows->least)
        rows->least = ns;
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

static struct units_text number_text(const struct summary_number *v, double scale)
{
    return v->is_int && scale == 1 ? number_signed(v->i) : number_double(v->d * scale);
}

static void note_cell(struct table *t, const struct summary_book *b, const struct summary_field *f)
{
    uint64_t evaluated = f->count + f->unknown;
    char text[96];
    int n = 0;
    text[0] = '\0';
    if (f->unknown)
        n = snprintf(text, sizeof text, "(%s unknown)", units_count(f->unknown).s);
    if (b->stored > evaluated)
        snprintf(text + n, sizeof text - (size_t)n, "%s(%s not evaluated)", n ? " " : "",
                 units_count(b->stored - evaluated).s);
    table_cell(t, "%s", text);
}

static void value_row(struct rows *rows, const struct summary_process *p, const struct summary_book *b,
                      const struct summary_field *f)
{
    const struct summary_number *const numbers[] = {&f->min, NULL, &f->p50, &f->p99, &f->max, &f->last};
    double ns = (double)units_time(f->unit), scale = ns > 0 ? ns / rows->times.ns : 1;
    if (!begin_row(rows, p, b))
        return;
    table_cell(rows->table, "%s", f->name);
    table_cell(rows->table, "%s", ns > 0 ? rows->times.name : f->unit);
    table_cell(rows->table, "%s", units_count(f->count).s);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        table_cell(rows->table, "%s", (numbers[i] ? number_text(numbers[i], scale) : number_double(f->mean * scale)).s);
    note_cell(rows->table, b, f);
}

static void print_values(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "field", "unit", "values", "min",
                                        "mean",          "p50",    "p99",   "max",  "last",   ""};
    struct rows rows = {.report = r, .columns = "llllrrrrrrrl", .heads = heads, .least = INFINITY};
    each_field(&rows, take_small);
    rows.times = report_unit_for(rows.least);
    each_field(&rows, value_row);
    print_rows(&rows, "Values", out);
}

/* ---- Totals ------------------------------------------------------------------------------------------------------ */

/* The mean of a counter's records times their rate; NaN below two records. */
static double total_rate(const struct summary_book *b, const struct summary_field *f)
{
    return f->mean * verdict_rate(b);
}

static bool is_total(const struct summary_book *b, const struct summary_field *f)
{
    return f->field == 0 && (b->kind == DICT_COUNTER || b->kind == DICT_SPAN);
}

static void total_row(struct rows *rows, const struct summary_process *p, const struct summary_book *b,
                      const struct summary_field *f)
{
    bool span = b->kind == DICT_SPAN;
    if (!is_total(b, f) || !begin_row(rows, p, b))
        return;
    table_cell(rows->table, "%s", (span ? number_double((double)f->total / CLOCK_S) : number_signed(f->total)).s);
    table_cell(rows->table, "%s", number_double(total_rate(b, f) / (double)(span ? CLOCK_S : 1)).s);
    table_cell(rows->table, "%s", span ? "s" : f->unit);
    bool beyond = f->total == INT64_MAX || f->total == INT64_MIN;
    table_cell(rows->table, "%s%s", beyond ? "(or beyond)" : "",
               b->attempts > b->stored ? "(stored records only)" : "");
}

static void print_totals(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"process (pid)", "aspect", "total", "per second", "unit", ""};
    struct rows rows = {.report = r, .columns = "llrrll", .heads = heads};
    each_field(&rows, total_row);
    print_rows(&rows, "Totals of counters and spans", out);
}

void report_values(const struct report *r, FILE *out)
{
    if (!report_opens_processes(r))
        return;
    print_values(r, out);
    print_totals(r, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_number(struct json *j, const char *key, const struct summary_number *v)
{
    if (v->is_int)
        json_int(j, key, v->i);
    else
        json_double(j, key, v->d);
}

void report_json_values(struct json *j, const struct summary_process *p, const struct summary_book *b)
{
    json_text(j, "kind", dict_kind_name(b->kind));
    json_array(j, "fields");
    for (size_t i = 0; i < b->field_count; i++) {
        const struct summary_field *f = &b->fields[i];
        uint64_t evaluated = f->count + f->unknown;
        json_object(j, NULL);
        json_text(j, "field", f->name);
        json_text(j, "unit", f->unit);
        json_uint(j, "values", f->count);
        json_uint(j, "unknown", f->unknown);
        json_uint(j, "not_evaluated", b->stored > evaluated ? b->stored - evaluated : 0);
        if (p->role == ROLE_DAEMON && !is_value(b, f))
            json_bool(j, "left_out", true);
        put_number(j, "min", &f->min);
        json_double(j, "mean", f->mean);
        put_number(j, "p50", &f->p50);
        put_number(j, "p99", &f->p99);
        put_number(j, "max", &f->max);
        put_number(j, "last", &f->last);
        if (is_total(b, f)) {
            json_int(j, "total", f->total);
            json_double(j, "total_per_s", total_rate(b, f));
        }
        json_object_end(j);
    }
    json_array_end(j);
}
