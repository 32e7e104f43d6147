// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The limits of a run that has ended, at its end: the verdict that its report has. */
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
