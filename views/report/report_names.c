// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "resmgr/agent/agent.h"
#include "run/verdict/names.h"
#include "views/report/report.h"

#include <math.h>

static bool is_running(const struct report *r)
{
    return r->verdict->run == RUN_RUNNING;
}

/* The aspect of the metric of limit `l`, if no process recorded it for so long as its window: a number needs a whole
 * one. For an upper bound that begins with a process: if none that has it was there for so long. */
static const char *too_short(const struct report *r, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric < 0 ? NULL : &r->experiment->metrics[l->metric];
    if (m && m->operands)
        m = &r->experiment->metrics[experiment_metric_operand(r->experiment, m, 0)];
    for (size_t i = 0; m && m->aspect && i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        const struct summary_book *b = summary_book_of(p, m->aspect);
        int64_t until = verdict_there_until(r->summary, p);
        bool at_most = l->compare == COMPARE_AT_MOST, is_there = until == INT64_MIN || until - p->started >= m->window;
        if (b && (at_most ? is_there : b->last_ns - b->first_ns >= m->window))
            return NULL;
    }
    return m && experiment_metric_is_counted(m) ? m->aspect : NULL;
}

/* Says why nothing was judged of limit `limit` although its metric has what it needs; nothing if that is not known.
 */
static void say_why_unjudged(const struct report *r, size_t limit, FILE *out)
{
    const struct experiment_limit *l = &r->experiment->limits[limit];
    int64_t settling = 0, unknown = 0;
    const char *brief = too_short(r, l);
    bool seen = false; /* at an instant that ends no judged time */
    bool any = false;
    for (size_t i = 0; i < r->summary->limit_count; i++) {
        const struct builtin_limit *row = &r->summary->limits[i];
        if (row->limit != (int64_t)limit)
            continue;
        if (row->settling > 0 && settling == 0)
            unknown = 0; /* that was of nodes without a value */
        unknown = (row->settling > 0 || settling == 0) && row->unknown > unknown ? row->unknown : unknown;
        settling = row->settling > settling ? row->settling : settling;
        seen = seen || !isnan(row->worst);
        any = true;
    }
    int64_t unjudged = r->verdict->limits[limit].unjudged, lasted = r->verdict->duration;
    unknown = unknown < lasted ? unknown : lasted;
    if (unjudged > 0 && unjudged >= unknown)
        return; /* which is the reason, and was said: its metric may have had values then */
    if (settling > unknown)
        fprintf(out,
                ": a limit of kind hold is judged after adaptation has had %s to settle, and the run ended before that",
                units_duration(agent_settling(r->experiment, l)).s);
    else if ((unknown > 0 || !any) && unjudged == 0 && brief)
        fprintf(out, ": no process %s %s%s for so long as its metric's window, %s",
                l->compare == COMPARE_AT_MOST ? "that has" : "recorded", brief,
                l->compare == COMPARE_AT_MOST ? " was there" : "",
                units_duration(experiment_limit_window(r->experiment, l)).s);
    else if (unknown > 0 && seen)
        fputs(": its metric had a value only right before a process ended, or at one sampling instant, which counts no "
              "time",
              out);
    else if (unknown > 0)
        fprintf(out, ": its metric had no value at any time in %s", units_duration(unknown - unjudged).s);
    else if (settling == 0 && unjudged == 0 && seen)
        fputs(": its metric had a value at one sampling instant alone, and what counts is the time between two", out);
    else if (settling == 0 && unjudged == 0 && r->verdict->duration < 2 * r->experiment->adapt.every)
        fprintf(out, ": the run was too short for its sampling instants, which are %s apart",
                units_duration(r->experiment->adapt.every).s);
    if (unjudged > 0)
        fprintf(out, ", and it was not judged for %s more", units_duration(unjudged).s);
}

void report_unjudged(const struct report *r, size_t limit, FILE *out)
{
    struct names_found found;
    const struct experiment_limit *l = &r->experiment->limits[limit];
    if (l->metric >= 0 && names_metric(r->summary, r->experiment, (uint32_t)l->metric, &found)) {
        if (!is_running(r) || found.kind != NAMES_NO_RECORDS)
            fprintf(out, ": %s", found.text);
    } else if (!is_running(r)) {
        say_why_unjudged(r, limit, out);
    }
}

struct name {
    const char *of;
    const struct names_found *found;
};

static void name_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const kinds[] = {"aspect", "field", "number", "time", "records", "knob"};
    const struct name *n = item;
    (void)r;
    rows_text(w, "", "of", n->of);
    json_text(w->json, "lacks", kinds[n->found->kind]);
    json_text(w->json, "name", n->found->name);
    json_text(w->json, "nearest", n->found->nearest);
    rows_text(w, "", "text", n->found->text);
}

static void add_name(void *rows, const char *of, const struct names_found *found)
{
    rows_add(rows, name_row, &(struct name){of, found});
}

static void add_names(struct rows *w, const struct report *r)
{
    (void)names_each(r->summary, r->experiment, is_running(r), add_name, w);
}

const struct rows_section report_names = {
    .title = "Names that nothing has", .key = "names", .bare = true, .add = add_names};
