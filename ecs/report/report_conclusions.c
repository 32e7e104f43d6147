// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/self.h"
#include "ecs/table.h"

#include <inttypes.h>

/* ---- Why a limit cannot hold ------------------------------------------------------------------------------------- */

void report_why(const struct report *r, const struct verdict_limit *l, FILE *out)
{
    switch (l->why) {
    case WHY_BUDGET:
        fprintf(out, "for monitoring needs %.3g %% at the longest polling period", l->needed);
        break;
    case WHY_BLAMELESS:
        fputs("and polling less did not help: the monitor is not to blame", out);
        break;
    case WHY_STARVED:
        fputs("and polling more often was not possible within budget and bounds", out);
        break;
    case WHY_CONTRADICTION:
        fprintf(out, "for it excludes %s", report_limit_text(r, l->contradicts));
        break;
    case WHY_OFF:
    case WHY_NONE:
        fputs("and still with collection off", out);
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

/* ---- What was found ---------------------------------------------------------------------------------------------- */

static const char *finding_word(int what)
{
    static const char *const words[] = {"infeasible", "blameless", "starved", "shed", "violated", "spent"};
    return what >= 0 && what < (int)(sizeof words / sizeof *words) ? words[what] : "?";
}

static const char *knob_name(const struct report *r, int64_t i)
{
    const struct experiment_adapt *a = &r->experiment->adapt;
    return i >= 0 && i < a->knob_count ? a->knobs[i].name : "?";
}

static void spent_cell(const struct report *r, struct table *t, const struct summary_finding *f, const char *before)
{
    table_cell(t, "%sknob %s is at %.0f, the end of its range, and %s is at %s", before, knob_name(r, f->floor),
               f->budget, report_limit_text(r, f->limit), report_limit_value(r, (uint32_t)f->limit, f->needed).s);
}

void report_finding(const struct report *r, struct table *t, const struct summary_finding *f, bool with_word)
{
    char before[32] = "";
    if (with_word)
        snprintf(before, sizeof before, "%s: ", finding_word(f->what));
    if (!f->holds)
        table_cell(t, "%sno longer", before);
    else if (f->what == SELF_FINDING_INFEASIBLE)
        table_cell(t, "%sneeds %.3g %% of a CPU, may use %.3g %%", before, f->needed, f->budget);
    else if (f->what == SELF_FINDING_SHED)
        table_cell(t, "%saspects of an importance below %" PRId64, before, f->floor);
    else if (f->what == SELF_FINDING_SPENT)
        spent_cell(r, t, f, before);
    else if (f->what == SELF_FINDING_VIOLATED)
        table_cell(t, "%s%s, for the first time", before, report_limit_text(r, f->limit));
    else
        table_cell(t, "%s%s", before,
                   f->what == SELF_FINDING_BLAMELESS ? "polling less does not help"
                                                     : "polling more often is not possible");
}

static void finding_row(const struct report *r, struct table *t, size_t i)
{
    const struct summary_finding *f = &r->summary->findings[i];
    table_cell(t, "%.3f s", (double)report_run_time(r, f->node, f->at) / (double)CLOCK_S);
    table_cell(t, "%s", report_where(r, f->node, f->limit));
    table_cell(t, "%s", finding_word(f->what));
    report_finding(r, t, f, false);
}

void report_findings(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"time", "node", "finding", ""};
    report_rows(r, "Findings", "rlll", heads, r->summary->finding_count, finding_row, out);
}

void report_json_findings(const struct report *r, struct json *j)
{
    json_array(j, "findings");
    for (size_t i = 0; i < r->summary->finding_count; i++) {
        const struct summary_finding *f = &r->summary->findings[i];
        json_object(j, NULL);
        json_int(j, "time_ns", report_run_time(r, f->node, f->at));
        json_text(j, "node", report_is_whole(r, f->limit) ? NULL : report_node_name(r, f->node));
        json_text(j, "finding", finding_word(f->what));
        json_bool(j, "holds", f->holds);
        json_text(j, "limit", f->limit < 0 ? NULL : report_limit_text(r, f->limit));
        json_double(j, "needed", f->needed);
        json_double(j, "budget", f->budget);
        bool spent = f->what == SELF_FINDING_SPENT;
        json_int(j, "importance_below", spent ? 0 : f->floor);
        json_text(j, "knob", spent ? knob_name(r, f->floor) : NULL);
        json_object_end(j);
    }
    json_array_end(j);
}
