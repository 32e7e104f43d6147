// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/report/json.h"
#include "ecs/report/report.h"
#include "ecs/report/table.h"

#include <inttypes.h>

/* ---- Why a limit is infeasible ----------------------------------------------------------------------------------- */

void report_why(const struct report *r, const struct verdict_limit *l, FILE *out)
{
    switch (l->why) {
    case WHY_BUDGET:
        fprintf(out, "because monitoring needs %.3g %% of a CPU at the longest polling period", l->needed);
        break;
    case WHY_NOT_THE_MONITORS:
        fputs("and polling less did not help (the monitor is not the cause)", out);
        break;
    case WHY_STARVED:
        fputs("and polling more often was not possible within budget and bounds", out);
        break;
    case WHY_CONTRADICTION:
        fprintf(out, "because it contradicts %s", report_limit_text(r, l->contradicts));
        break;
    case WHY_OFF:
    case WHY_NONE:
        fputs("also while collection was off", out);
        break;
    }
}

void report_json_why(const struct report *r, const struct verdict_limit *l, struct json *j)
{
    json_text(j, "why", verdict_why_name(l->why));
    json_double(j, "needed", l->needed);
    json_double(j, "budget", l->budget);
    json_text(j, "contradicts", l->why == WHY_CONTRADICTION ? report_limit_text(r, l->contradicts) : NULL);
}

/* ---- Conclusions of policies ------------------------------------------------------------------------------------- */

static const char *knob_name(const struct report *r, int64_t i)
{
    const struct experiment_adapt *a = &r->experiment->adapt;
    return i >= 0 && i < a->knob_count ? a->knobs[i].name : "?";
}

void report_conclusion(const struct report *r, struct table *t, const struct builtin_finding *f)
{
    const char *word = builtin_finding_name(f->what);
    if (!f->holds)
        table_cell(t, "%s: no longer", word);
    else if (f->what == FINDING_INFEASIBLE)
        table_cell(t, "%s: monitoring needs %.3g %% of a CPU, and may use %.3g %%", word, f->needed, f->budget);
    else if (f->what == FINDING_LOAD_SHEDDING)
        table_cell(t, "%s: aspects with an importance below %" PRId64 " are only counted", word, f->floor);
    else if (f->what == FINDING_SATURATED)
        table_cell(t, "%s: knob %s is at %.0f, the end of its range, and %s still at %s", word, knob_name(r, f->floor),
                   f->budget, report_limit_text(r, f->limit), report_limit_value(r, (uint32_t)f->limit, f->needed).s);
    else
        table_cell(t, "%s: %s", word,
                   f->what == FINDING_NOT_THE_MONITORS ? "polling less does not help"
                                                       : "polling more often is not possible");
}

void report_json_conclusions(const struct report *r, struct json *j)
{
    json_array(j, "conclusions");
    for (size_t i = 0; i < r->summary->finding_count; i++) {
        const struct builtin_finding *f = &r->summary->findings[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, f->node, f->at));
        json_text(j, "node", report_is_global(r, f->limit) ? NULL : report_node_name(r, f->node));
        json_text(j, "conclusion", builtin_finding_name(f->what));
        json_bool(j, "holds", f->holds);
        json_text(j, "limit", f->limit < 0 ? NULL : report_limit_text(r, f->limit));
        json_double(j, "needed", f->needed);
        json_double(j, "budget", f->budget);
        bool saturated = f->what == FINDING_SATURATED;
        json_int(j, "importance_below", saturated ? 0 : f->floor);
        json_text(j, "knob", saturated ? knob_name(r, f->floor) : NULL);
        json_object_end(j);
    }
    json_array_end(j);
}
