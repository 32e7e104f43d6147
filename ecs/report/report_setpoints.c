// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

/* What became of the resource manager's settings, on each node. */

void report_obeyed(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"node", "manager", "obeyed", "expired", "outdated", "repeated", "cut", "lost"};
    if (r->summary->obeyed_count == 0)
        return;
    report_title(r, "Settings of the manager", out);
    struct table *t = table_with_heads("lrrrrrrr", heads);
    for (size_t i = 0; i < r->summary->obeyed_count; i++) {
        const struct summary_obeyed *o = &r->summary->obeyed[i];
        const int64_t counts[] = {o->epoch, o->obeyed, o->expired, o->outdated, o->repeated, o->cut, o->lost};
        table_cell(t, "%s", report_node_name(r, o->node));
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            table_cell(t, "%s", figure_signed(counts[k]).s);
    }
    table_print(t, 2, out);
}

void report_json_obeyed(const struct report *r, struct json *j)
{
    json_array(j, "settings");
    for (size_t i = 0; i < r->summary->obeyed_count; i++) {
        const struct summary_obeyed *o = &r->summary->obeyed[i];
        json_object(j, NULL);
        json_text(j, "node", report_node_name(r, o->node));
        json_int(j, "epoch", o->epoch);
        json_int(j, "obeyed", o->obeyed);
        json_int(j, "expired", o->expired);
        json_int(j, "outdated", o->outdated);
        json_int(j, "repeated", o->repeated);
        json_int(j, "cut", o->cut);
        json_int(j, "lost", o->lost);
        json_int(j, "untold", o->untold);
        json_object_end(j);
    }
    json_array_end(j);
}
