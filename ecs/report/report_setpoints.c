// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/json.h"
#include "ecs/report/report.h"
#include "ecs/report/table.h"

/* What became of the resource manager's setpoints, on each node. */

void report_setpoints(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node",     "manager",  "applied", "expired",
                                        "outdated", "repeated", "clamped", "lost"};
    if (r->summary->setpoints_count == 0)
        return;
    report_title(r, "Setpoints of the manager", out);
    struct table *t = table_with_heads("lrrrrrrr", heads);
    for (size_t i = 0; i < r->summary->setpoints_count; i++) {
        const struct builtin_setpoints *o = &r->summary->setpoints[i];
        const int64_t counts[] = {o->epoch, o->applied, o->expired, o->outdated, o->repeated, o->clamped, o->lost};
        table_cell(t, "%s", report_node_name(r, o->node));
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            table_cell(t, "%s", number_signed(counts[k]).s);
    }
    table_print(t, 2, out);
}

void report_json_setpoints(const struct report *r, struct json *j)
{
    json_array(j, "setpoints");
    for (size_t i = 0; i < r->summary->setpoints_count; i++) {
        const struct builtin_setpoints *o = &r->summary->setpoints[i];
        json_object(j, NULL);
        json_text(j, "node", report_node_name(r, o->node));
        json_int(j, "epoch", o->epoch);
        json_int(j, "applied", o->applied);
        json_int(j, "expired", o->expired);
        json_int(j, "outdated", o->outdated);
        json_int(j, "repeated", o->repeated);
        json_int(j, "clamped", o->clamped);
        json_int(j, "lost", o->lost);
        json_int(j, "unsent", o->unsent);
        json_object_end(j);
    }
    json_array_end(j);
}
