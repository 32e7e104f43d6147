// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "views/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The kernel's counters: samplers record how they stand since boot, the report by how much they grew. */

bool report_is_counter(const char *aspect, const char *field)
{
    enum experiment_sampler sampler = experiment_sampler_of(aspect);
    return sampler != EXPERIMENT_SAMPLERS && experiment_sampler_counts(sampler, field);
}

static double per_second(const struct counter_statistics *c, const struct counter_field *f)
{
    int64_t ns = c->last_ns - c->first_ns;
    return ns > 0 && f->known ? (double)f->grown * (double)CLOCK_S / (double)ns : NAN;
}

static struct units_text quantity(const char *unit, double value)
{
    if (isnan(value) || value < 0 || value > 9e18)
        return number_double(value);
    if (strcmp(unit, "ns") == 0)
        return units_duration((int64_t)value);
    return strcmp(unit, "B") == 0 ? units_bytes((uint64_t)value) : number_double(value);
}

struct counter {
    const struct counter_statistics *of;
    const struct counter_field *field;
};

static void counter_row(struct rows *w, const struct report *r, const void *item)
{
    const struct counter_statistics *c = ((const struct counter *)item)->of;
    const struct counter_field *f = ((const struct counter *)item)->field;
    char of[DICT_TEXT_MAX + 32];
    if (c->pid >= 0)
        snprintf(of, sizeof of, "%s (%" PRId64 ")", c->of, c->pid);
    else
        snprintf(of, sizeof of, "%s", c->of[0] ? c->of : "node");
    if (r->summary->node_count > 1)
        rows_cell(w, "of", 'l', "%s/%s", c->node, of);
    else
        rows_text(w, "of", NULL, of);
    json_text(w->json, "node", c->node);
    rows_text(w, "aspect", "aspect", c->aspect);
    json_text(w->json, "of", c->of[0] ? c->of : NULL);
    json_known_int(w->json, "pid", c->pid >= 0, c->pid);
    rows_text(w, "counter", "field", f->name);
    json_text(w->json, "unit", f->unit);
    json_uint(w->json, "samples", c->samples);
    json_int(w->json, "over_ns", c->last_ns - c->first_ns);
    json_known_int(w->json, "grown", f->known, f->grown);
    rows_cell(w, "grew by", 'r', "%s", quantity(f->unit, f->known ? (double)f->grown : NAN).s);
    rows_cell(w, "per second", 'r', "%s", quantity(f->unit, per_second(c, f)).s);
    json_double(w->json, "per_s", per_second(c, f));
    rows_cell(w, "at most", 'r', "%s", quantity(f->unit, f->most).s);
    json_double(w->json, "most_per_s", f->most);
}

static void add_counters(struct rows *w, const struct report *r)
{
    for (size_t i = 0; i < r->counters.count; i++)
        for (uint32_t k = 0; k < r->counters.rows[i].field_count; k++)
            if (r->counters.rows[i].fields[k].name[0])
                rows_add(w, counter_row, &(struct counter){&r->counters.rows[i], &r->counters.rows[i].fields[k]});
}

static void print_cut(const struct report *r, FILE *out)
{
    if (r->counters.cut)
        fputs("  There are too many samples: not all were read.\n", out);
}

const struct rows_section report_counters = {
    .title = "Counters of the kernel", .key = "counters", .add = add_counters, .text = print_cut};
