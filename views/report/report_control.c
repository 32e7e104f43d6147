// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

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

void report_conclusion(const struct report *r, struct table *t, const struct builtin_conclusion *f)
{
    const char *word = builtin_conclusion_name(f->what);
    if (!f->holds)
        table_cell(t, "%s: no longer", word);
    else if (f->what == CONCLUSION_INFEASIBLE)
        table_cell(t, "%s: monitoring needs %.3g %% of a CPU, and may use %.3g %%", word, f->needed, f->budget);
    else if (f->what == CONCLUSION_LOAD_SHEDDING)
        table_cell(t, "%s: aspects with an importance below %" PRId64 " are only counted", word, f->floor);
    else if (f->what == CONCLUSION_SATURATED)
        table_cell(t, "%s: knob %s is at %.0f, the end of its range, and %s still at %s", word, knob_name(r, f->floor),
                   f->budget, report_limit_text(r, f->limit), report_limit_value(r, (uint32_t)f->limit, f->needed).s);
    else
        table_cell(t, "%s: %s", word,
                   f->what == CONCLUSION_NOT_THE_MONITORS ? "polling less does not help"
                                                          : "polling more often is not possible");
}

void report_json_conclusions(const struct report *r, struct json *j)
{
    json_array(j, "conclusions");
    for (size_t i = 0; i < r->summary->conclusion_count; i++) {
        const struct builtin_conclusion *f = &r->summary->conclusions[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, f->node, f->at));
        json_text(j, "node", report_is_global(r, f->limit) ? NULL : report_node_name(r, f->node));
        json_text(j, "conclusion", builtin_conclusion_name(f->what));
        json_bool(j, "holds", f->holds);
        json_text(j, "limit", f->limit < 0 ? NULL : report_limit_text(r, f->limit));
        json_double(j, "needed", f->needed);
        json_double(j, "budget", f->budget);
        bool saturated = f->what == CONCLUSION_SATURATED;
        json_int(j, "importance_below", saturated ? 0 : f->floor);
        json_text(j, "knob", saturated ? knob_name(r, f->floor) : NULL);
        json_object_end(j);
    }
    json_array_end(j);
}

/* ---- Knobs ---------------------------------------------------------------------------------------------------------
 */

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
        json_text(j, "by", builtin_setter_name(k->cause));
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

/* ---- Setpoints of the resource manager, on each node ---------------------------------------------------------------
 */

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
