// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/json.h"
#include "ecs/report/report.h"
#include "ecs/report/table.h"

#include <inttypes.h>

void report_knob(const struct report *r, struct table *t, const struct builtin_knob *k)
{
    static const char *const by_whom[] = {"operator", "manager", "agent", "kept", "end of observation"};
    const char *by = k->cause >= 0 && k->cause < 5 ? by_whom[k->cause] : "?";
    char change[512];
    snprintf(change, sizeof change, "%s: knob %s of %s, %" PRId64 " -> %" PRId64 "%s%s", by, k->knob, k->process,
             k->before, k->after, k->unit[0] ? " " : "", k->unit);
    if (k->limit < 0)
        table_cell(t, "%s", change);
    else
        table_cell(t, "%s, for %s (%s)", change, report_limit_text(r, k->limit),
                   report_limit_value(r, (uint32_t)k->limit, k->value).s);
}

void report_json_knobs(const struct report *r, struct json *j)
{
    json_array(j, "knobs");
    for (size_t i = 0; i < r->summary->knob_count; i++) {
        const struct builtin_knob *k = &r->summary->knobs[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, k->node, k->at));
        json_text(j, "node", report_node_name(r, k->node));
        json_text(j, "process", k->process);
        json_uint_text(j, "instance", (uint64_t)k->instance);
        json_text(j, "knob", k->knob);
        json_text(j, "by", builtin_turner_name(k->cause));
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
