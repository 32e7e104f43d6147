// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <inttypes.h>

enum { CHANGES_SHOWN = 20 }; /* unless all is asked for */

static const char *cause_word(int cause)
{
    static const char *const words[] = {"operator", "manager", "agent", "kept", "end"};
    return cause >= 0 && cause < (int)(sizeof words / sizeof *words) ? words[cause] : "?";
}

static void knob_row(const struct report *r, struct table *t, const struct summary_knob *k)
{
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
    const struct summary *s = r->summary;
    if (s->knob_count == 0)
        return;
    bool cut = s->knob_count > CHANGES_SHOWN && !r->all;
    report_title(r, "Knobs", out);
    struct table *t = table_with_heads("rlllrrll", heads);
    for (size_t i = 0; i < s->knob_count; i++)
        if (!cut || i < CHANGES_SHOWN / 2 || i >= s->knob_count - CHANGES_SHOWN / 2)
            knob_row(r, t, &s->knobs[i]);
    table_print(t, 2, out);
    if (cut)
        fprintf(out, "  (%zu more between them: --all shows them)\n", s->knob_count - CHANGES_SHOWN);
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
