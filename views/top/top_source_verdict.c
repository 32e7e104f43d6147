// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What limits are by the verdict that the report has: of a run that has ended, at its end, the verdict; of one that
 * goes on, at its newest time, what was judged last, but for what lasts and no instant judges: nodes that are not
 * heard, processes that are silent, waits that are open.
 */
#include "base/clock.h"
#include "mdr/manage.h"
#include "run/verdict/verdict.h"
#include "views/report/report.h"
#include "views/top/top_source_internal.h"

#include <string.h>

enum { COST = 50 }; /* judging takes at most one part in so many of the time */

void top_source_forget_verdict(struct top_source *s)
{
    verdict_free(s->verdict);
    summary_free(s->summary);
    s->verdict = NULL;
    s->summary = NULL;
}

static void judge(struct top_source *s, bool running)
{
    struct interval_table intervals;
    int64_t began = clock_process_cpu();
    top_source_forget_verdict(s);
    if (s->experiment && summary_load(s->path, &s->summary) == 0 &&
        report_judge(s->path, running, s->summary, s->experiment, REPORT_DATA, &intervals, &s->verdict) == 0)
        interval_table_free(&intervals);
    s->judged_at = clock_now();
    s->judge_again = s->judged_at + COST * (clock_process_cpu() - began);
    s->judged_running = running;
}

void top_source_judge(struct top_source *s, bool running, bool newest)
{
    bool is_due = s->judged_at == 0 || running != s->judged_running || (running && clock_now() >= s->judge_again);
    if (newest && is_due)
        judge(s, running);
    s->judged = newest && s->verdict;
    s->at_end = s->judged && !running;
}

/* The row of the summary that tells of a limit on `node`, as it is numbered here; NULL: none does. */
static const struct builtin_limit *row_of(const struct top_source *s, uint32_t node, int32_t limit)
{
    const struct builtin_limit *found = NULL;
    for (const struct builtin_limit *l = s->summary->limits; l < s->summary->limits + s->summary->limit_count; l++)
        if (l->limit == limit && strcmp(s->summary->nodes[l->node].name, s->c.nodes[node]->name) == 0)
            found = l;
    return found;
}

/* The verdict of that row; of none, and of what a manager judged, over all nodes. */
static const struct verdict_limit *verdict_of(const struct top_source *s, const struct builtin_limit *row,
                                              int32_t limit)
{
    bool is_joint = !row || row->epoch > 0;
    return is_joint ? &s->verdict->limits[limit] : &s->verdict->rows[row - s->summary->limits];
}

enum verdict_is top_source_is(const struct top_source *s, uint32_t node, int32_t limit, int64_t state)
{
    struct verdict_limit none = {0};
    if (!s->judged || (size_t)limit >= s->verdict->limit_count)
        return verdict_now(&none, state);
    const struct verdict_limit *l = verdict_of(s, row_of(s, node, limit), limit);
    return s->at_end ? l->is : verdict_now(l, state);
}

void top_source_end_limit(const struct top_source *s, uint32_t node, int32_t limit, struct builtin_limit *l)
{
    bool any = s->at_end && (size_t)limit < s->verdict->limit_count;
    const struct builtin_limit *row = any ? row_of(s, node, limit) : NULL;
    if (!row)
        return;
    l->at = row->at;
    l->violated = row->violated;
    l->worst = verdict_worst(s->summary, verdict_of(s, row, limit), row);
}

/* Of a limit on all nodes: what it is where it is worst, among those where it was judged. */
static enum verdict_is worst_of(const struct top_source *s, int32_t limit)
{
    bool any = false;
    enum verdict_is worst = s->judged ? s->verdict->limits[limit].lasts : VERDICT_HELD;
    for (uint32_t node = 0; node < s->c.node_count; node++) {
        int64_t state = s->nodes[node].limits[limit].state;
        enum verdict_is is = top_source_is(s, node, limit, state);
        any = any || state != MESSAGE_LIMIT_UNKNOWN;
        worst = state != MESSAGE_LIMIT_UNKNOWN && is > worst ? is : worst;
    }
    return any || worst > VERDICT_UNKNOWN ? worst : VERDICT_UNKNOWN;
}

void top_source_count_limits(const struct top_source *s, struct top_data *d)
{
    d->judged = s->at_end;
    d->copied = s->at_end && s->summary->copied;
    d->damaged = d->damaged || (s->at_end && s->summary->missing > 0);
    d->limit_count = s->experiment ? s->experiment->limit_count : 0;
    for (size_t i = 0; i < d->limit_count; i++) {
        enum verdict_is is = s->at_end ? s->verdict->limits[i].is : worst_of(s, (int32_t)i);
        d->violated += is >= VERDICT_VIOLATED;
        d->unknown += is == VERDICT_UNKNOWN;
    }
}

/* ---- what lasts ---- */

/* The longest wait that breaks a limit, or may. */
static const struct builtin_open *longest_open(const struct top_source *s, int64_t *lasted)
{
    const struct builtin_open *longest = NULL;
    *lasted = 0;
    for (size_t i = 0; i < s->verdict->limit_count; i++) {
        const struct verdict_limit *l = &s->verdict->limits[i];
        if (l->open && l->open->state == OPEN_NOW && l->open_ns > *lasted) {
            longest = l->open;
            *lasted = l->open_ns;
        }
    }
    return longest;
}

/* The limit for which a process has been silent for longest; NULL: there is none. */
static const struct verdict_limit *most_silent(const struct verdict *v)
{
    const struct verdict_limit *most = NULL;
    for (const struct verdict_limit *l = v->limits; l < v->limits + v->limit_count; l++)
        most = l->silent > (most ? most->silent : 0) ? l : most;
    return most;
}

static void find_unheard(struct top_source *s)
{
    for (uint32_t i = 0; i < s->c.node_count; i++)
        for (const struct summary_node *n = s->summary->nodes; n < s->summary->nodes + s->summary->node_count; n++)
            if (strcmp(n->name, s->c.nodes[i]->name) == 0)
                s->nodes[i].unheard = verdict_unheard(s->verdict, s->summary, s->experiment, n) > 0;
}

void top_source_find_lasting(struct top_source *s, struct top_data *d)
{
    if (!s->judged || s->at_end)
        return;
    int64_t lasted;
    const struct summary_node *n = verdict_unheard_node(s->verdict, s->summary, s->experiment);
    const struct builtin_open *o = longest_open(s, &lasted);
    const struct verdict_limit *silent = most_silent(s->verdict);
    find_unheard(s);
    size_t used = 0;
    if (n)
        used = (size_t)snprintf(d->lasts, sizeof d->lasts, "; %s NOT HEARD for %s", n->name,
                                units_duration(verdict_unheard(s->verdict, s->summary, s->experiment, n)).s);
    if (silent && used < sizeof d->lasts)
        used += (size_t)snprintf(d->lasts + used, sizeof d->lasts - used, "; %s SILENT for at least %s",
                                 silent->mute->name, units_duration(silent->silent).s);
    if (o && used < sizeof d->lasts)
        snprintf(d->lasts + used, sizeof d->lasts - used, "; %s of %s OPEN for %s", o->aspect, o->process,
                 units_duration(lasted).s);
}

bool top_source_unheard(const struct top_source *s, uint32_t node)
{
    bool is = false;
    for (uint32_t i = 0; i < s->c.node_count; i++)
        is = is || (s->nodes[i].unheard && (node == TOP_ANY || node == i));
    return is;
}
