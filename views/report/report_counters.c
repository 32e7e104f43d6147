// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"
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
    return ns > 0 ? (double)f->grown * (double)CLOCK_S / (double)ns : NAN;
}

static struct units_text quantity(const char *unit, double value)
{
    if (isnan(value) || value < 0 || value > 9e18)
        return number_double(value);
    if (strcmp(unit, "ns") == 0)
        return units_duration((int64_t)value);
    return strcmp(unit, "B") == 0 ? units_bytes((uint64_t)value) : number_double(value);
}

static void counter_row(const struct report *r, struct table *t, const struct counter_statistics *c,
                        const struct counter_field *f)
{
    char of[DICT_TEXT_MAX + 32];
    if (c->pid >= 0)
        snprintf(of, sizeof of, "%s (%" PRId64 ")", c->of, c->pid);
    else
        snprintf(of, sizeof of, "%s", c->of[0] ? c->of : "node");
    if (r->summary->node_count > 1)
        table_cell(t, "%s/%s", c->node, of);
    else
        table_cell(t, "%s", of);
    table_cell(t, "%s", c->aspect);
    table_cell(t, "%s", f->name);
    table_cell(t, "%s", quantity(f->unit, (double)f->grown).s);
    table_cell(t, "%s", quantity(f->unit, per_second(c, f)).s);
    table_cell(t, "%s", quantity(f->unit, f->most).s);
}

void report_counters(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"of", "aspect", "counter", "grew by", "per second", "at most"};
    struct table *t = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < r->counters.count; i++)
        for (uint32_t k = 0; k < r->counters.rows[i].field_count; k++) {
            const struct counter_field *f = &r->counters.rows[i].fields[k];
            if (!f->name[0] || (f->grown == 0 && !r->all) || (rows++ >= REPORT_ROWS_MOST && !r->all))
                continue;
            t = t ? t : table_with_heads("lllrrr", heads);
            counter_row(r, t, &r->counters.rows[i], f);
        }
    if (!t)
        return;
    report_title(r, "Counters of the kernel", out);
    table_print(t, 2, out);
    report_left_out(r, rows, out);
    if (r->counters.cut)
        fputs("  Not all samples were read: bezel report --all\n", out);
}

void report_json_counters(const struct report *r, struct json *j)
{
    json_array(j, "counters");
    for (size_t i = 0; i < r->counters.count; i++) {
        const struct counter_statistics *c = &r->counters.rows[i];
        for (uint32_t k = 0; k < c->field_count; k++) {
            if (!c->fields[k].name[0])
                continue;
            json_object(j, NULL);
            json_text(j, "node", c->node);
            json_text(j, "aspect", c->aspect);
            json_text(j, "of", c->of[0] ? c->of : NULL);
            json_known_int(j, "pid", c->pid >= 0, c->pid);
            json_text(j, "field", c->fields[k].name);
            json_text(j, "unit", c->fields[k].unit);
            json_uint(j, "samples", c->samples);
            json_int(j, "over_ns", c->last_ns - c->first_ns);
            json_int(j, "grown", c->fields[k].grown);
            json_double(j, "per_s", per_second(c, &c->fields[k]));
            json_double(j, "most_per_s", c->fields[k].most);
            json_object_end(j);
        }
    }
    json_array_end(j);
}
