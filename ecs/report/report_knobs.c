// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <inttypes.h>

static const char *cause_word(int cause)
{
    static const char *const words[] = {"operator", "manager", "agent", "kept", "end"};
    return cause >= 0 && cause < (int)(sizeof words / sizeof *words) ? words[cause] : "?";
}

static void knob_row(const struct report *r, struct table *t, size_t i)
{
    const struct summary_knob *k = &r->summary->knobs[i];
    struct summary_process p = {.node = k->node, .name = k->process};
    char name[REPORT_PROCESS_SIZE];
    report_process_name(r, &p, name, sizeof name);
    table_cell(t, "%.3f s", (double)report_run_time(r, k->node, k->at) / (double)CLOCK_S);
    table_cell(t, "%s", name);
    table_cell(t, "%s", k->name);
    table_cell(t, "%s", cause_word(k->cause));
    table_cell(t, "%" PRId64, k->before);
    table_cell(t, "%" PRId64, k->after);
    table_cell(t, "%s", k->unit);
    if (k->limit < 0)
        table_cell(t, "%s", "");
    else
        table_cell(t, "%s (%s)", report_limit_text(r, k->limit), report_limit_value(r, (uint32_t)k->limit, k->value).s);
}

void report_knobs(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"time", "process", "knob", "by", "from", "to", "unit", "for"};
    report_rows(r, "Knobs", "rlllrrll", heads, r->summary->knob_count, knob_row, out);
}

void report_json_knobs(const struct report *r, struct json *j)
{
    json_array(j, "knobs");
    for (size_t i = 0; i < r->summary->knob_count; i++) {
        const struct summary_knob *k = &r->summary->knobs[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, k->node, k->at));
        json_text(j, "node", report_node_name(r, k->node));
        json_text(j, "process", k->process);
        json_uint_text(j, "instance", k->instance);
        json_text(j, "knob", k->name);
        json_text(j, "by", cause_word(k->cause));
        json_int(j, "before", k->before);
        json_int(j, "after", k->after);
        json_text(j, "unit", k->unit);
        json_text(j, "limit", k->limit < 0 ? NULL : report_limit_text(r, k->limit));
        json_double(j, "value", k->value);
        json_int(j, "epoch", k->epoch);
        json_int(j, "sequence", k->sequence);
        json_object_end(j);
    }
    json_array_end(j);
}
