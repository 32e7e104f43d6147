// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The limits of a run that has ended, at its end: the verdict that its report has. While it goes on, nodes that are not
 * heard: what they said last may not be so any more. */
#include "base/clock.h"
#include "base/saturate.h"
#include "run/verdict/verdict.h"
#include "views/report/report.h"
#include "views/top/top_source_internal.h"

#include <string.h>

static void judge(struct top_source *s)
{
    struct interval_table intervals;
    s->was_judged = true;
    if (!s->experiment || report_load_summary(s->path, false, &s->summary) != 0)
        return;
    if (report_judge(s->path, false, s->summary, s->experiment, REPORT_DATA, &intervals, &s->verdict) == 0)
        interval_table_free(&intervals);
}

void top_source_judge(struct top_source *s, bool at_end)
{
    if (at_end && !s->was_judged)
        judge(s);
    s->at_end = at_end && s->verdict;
}

void top_source_forget_verdict(struct top_source *s)
{
    verdict_free(s->verdict);
    summary_free(s->summary);
}

enum verdict_is top_source_verdict(const struct top_source *s, uint32_t node, int32_t limit)
{
    for (size_t i = 0; i < s->summary->limit_count; i++) {
        const struct builtin_limit *l = &s->summary->limits[i];
        if (l->limit == limit && strcmp(s->summary->nodes[l->node].name, s->c.nodes[node]->name) == 0)
            return l->epoch > 0 ? s->verdict->limits[limit].is : s->verdict->rows[i].is;
    }
    return s->verdict->limits[limit].is;
}

void top_source_count_verdicts(const struct top_source *s, struct top_data *d)
{
    d->judged = true;
    d->damaged = d->damaged || s->summary->missing > 0;
    for (size_t i = 0; i < s->verdict->limit_count; i++) {
        d->violated += s->verdict->limits[i].is >= VERDICT_VIOLATED;
        d->unknown += s->verdict->limits[i].is == VERDICT_UNKNOWN;
    }
}

/* ---- nodes that are not heard ---- */

/* The run's time of the last that came of the daemons of `node`. */
static int64_t heard(const struct top_source *s, uint32_t node, int64_t first)
{
    int64_t last = first;
    for (size_t i = 0; i < s->c.stream_count; i++) {
        int64_t number = s->c.stream_processes[i];
        const struct catalogue_process *p = number < 0 ? NULL : &s->c.processes[number];
        if (!p || p->process->role != ROLE_DAEMON || p->node != node)
            continue;
        int64_t at = catalogue_time(s->c.nodes[node], levels_stream(s->c.levels, i)->last).ns;
        last = at > last ? at : last;
    }
    return last;
}

void top_source_find_unheard(struct top_source *s, struct top_data *d)
{
    int64_t now = d->mirror.partial ? d->last : clock_now() + clock_realtime_offset(), most = 0;
    if (!s->experiment || (s->experiment->limit_count == 0 && s->experiment->trigger_count == 0))
        return; /* a node need not record anything then */
    for (uint32_t i = 0; i < s->c.node_count; i++) {
        bool is_last = !s->c.nodes[i]->left;
        for (uint32_t later = i + 1; later < s->c.node_count; later++)
            is_last = is_last && strcmp(s->c.nodes[later]->name, s->c.nodes[i]->name) != 0;
        int64_t unheard = saturate_sub(now, heard(s, i, d->first));
        if (!is_last || unheard <= verdict_unheard_after(s->experiment))
            continue;
        s->nodes[i].unheard = unheard;
        if (unheard > most)
            snprintf(d->unheard, sizeof d->unheard, "; %s NOT HEARD for %s", s->c.nodes[i]->name,
                     units_duration(unheard).s);
        most = unheard > most ? unheard : most;
    }
}

bool top_source_unheard(const struct top_source *s, uint32_t node)
{
    bool is = false;
    for (uint32_t i = 0; i < s->c.node_count; i++)
        is = is || (s->nodes[i].unheard > 0 && (node == TOP_ANY || node == i));
    return is;
}
