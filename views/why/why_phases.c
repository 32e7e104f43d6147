// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Phases of a run: where curves of what it did change (analysis/phases.h), or where the monitor did something. The
 * curves have PARTS values over the time that is asked for, so memory does not grow with the run.
 */
#include "analysis/live.h"
#include "analysis/phases.h"
#include "base/saturate.h"
#include "run/history/history.h"
#include "views/why/why_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 256, END_PARTS = 4, EVENTS_MOST = 4096, GIVEN_MOST = 4 * EVENTS_MOST };
enum { CPU, SPANS, MESSAGES, CURVES };

struct curves {
    int64_t from, until;
    double of[CURVES][PARTS];
};

static const char *const names[WHY_PHASES] = {[WHY_FOUND] = "found",
                                              [WHY_SQUARES] = "squares",
                                              [WHY_KNOBS] = "knobs",
                                              [WHY_DECISIONS] = "decisions",
                                              [WHY_VIOLATIONS] = "violations"};

int why_phases_by(const char *text, enum why_phases *by)
{
    for (*by = WHY_FOUND; *by < WHY_PHASES; (*by)++)
        if (strcmp(names[*by], text) == 0)
            return 0;
    return BEZEL_EINVAL;
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static int64_t begin_of(const struct curves *c, size_t part)
{
    return c->from + (int64_t)((double)(c->until - c->from) * (double)part / PARTS);
}

static size_t part_of(const struct curves *c, int64_t at)
{
    double part = (double)(at - c->from) / (double)(c->until - c->from) * PARTS;
    return part < 0 ? 0 : part < PARTS ? (size_t)part : PARTS - 1;
}

static void add_interval(struct curves *c, const struct activity_interval *i)
{
    int64_t begin = i->begin > c->from ? i->begin : c->from, end = i->end < c->until ? i->end : c->until;
    for (size_t part = part_of(c, begin); begin < end && part < PARTS && begin_of(c, part) < end; part++) {
        int64_t from = begin_of(c, part), until = begin_of(c, part + 1);
        from = from > begin ? from : begin;
        until = until < end ? until : end;
        c->of[CPU][part] += until > from ? (double)(until - from) : 0;
    }
}

static bool takes_activity(const void *of, const struct dict_aspect *a)
{
    (void)of;
    return activity_wants(a);
}

static void take_item(struct curves *c, const struct record_item *item)
{
    if (!item->r)
        return;
    if (activity_is_interval(item->aspect)) {
        struct activity_interval i = activity_interval_of(item);
        add_interval(c, &i);
    } else if (item->process->role != ROLE_DAEMON && item->at.ns >= c->from && item->at.ns < c->until) {
        c->of[dict_kind_lasts(item->aspect->kind) ? SPANS : MESSAGES][part_of(c, item->at.ns)]++;
    }
}

/* Boundaries where the curves change. */
static int find_changes(const struct curves *c, enum why_phases by, int64_t *at, size_t *count)
{
    struct phases_curve curves[CURVES];
    size_t found[PARTS];
    for (size_t i = 0; i < CURVES; i++) {
        curves[i] = (struct phases_curve){c->of[i], 1e-9};
        for (size_t k = 0; k < PARTS; k++)
            curves[i].most = c->of[i][k] > curves[i].most ? c->of[i][k] : curves[i].most;
    }
    int err = by == WHY_FOUND ? phases_find(curves, CURVES, PARTS, 0, found, count)
                              : phases_split(curves, CURVES, PARTS, 0, found, count);
    size_t n = err ? 0 : *count;
    *count = 0;
    for (size_t i = 0; i < n; i++) /* at its ends a run begins and ends */
        if (found[i] >= END_PARTS && found[i] <= PARTS - END_PARTS)
            at[(*count)++] = begin_of(c, found[i]);
    return err;
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

static const struct model_node *node_of(const struct model *m, uint32_t number)
{
    const struct model_node *n = m->nodes;
    while (n && number-- > 0)
        n = n->next;
    return n;
}

static void add_given(const struct model *m, uint32_t node, int64_t own, int64_t *at, size_t *count)
{
    const struct model_node *n = node_of(m, node);
    if (n && *count < GIVEN_MOST)
        at[(*count)++] = saturate_ns(run_clock_at(&n->run_clock, saturate_ns(own)).ns);
}

static int find_given(const char *run, const struct model *m, enum why_phases by, int64_t *at, size_t *count)
{
    struct history h;
    enum builtin table = by == WHY_KNOBS ? BUILTIN_KNOB : BUILTIN_DECISION;
    int err = history_open(&h, run, by == WHY_VIOLATIONS ? HISTORY_OF_LIMITS : HISTORY_OF_EVENTS, EVENTS_MOST);
    err = err ? err : history_read(&h);
    for (size_t i = 0; i < h.event_count && by != WHY_VIOLATIONS && !err; i++)
        if (h.events[i].table == table)
            add_given(m, h.events[i].node, h.events[i].at, at, count);
    for (size_t i = 0; i < h.violation_count && by == WHY_VIOLATIONS && !err; i++) {
        add_given(m, h.violations[i].node, h.violations[i].begin, at, count);
        add_given(m, h.violations[i].node, h.violations[i].end, at, count);
    }
    history_close(&h);
    return err;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static int read_run(const char *run, enum why_phases by, struct curves *c, int64_t *at, size_t *count)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    int64_t newest = INT64_MIN;
    filter.takes = takes_activity;
    filter.from = c->from;
    filter.until = saturate_add(c->until, LIVE_LATE); /* intervals are recorded after they ended */
    int err = run_reader_newest(run, &filter, &newest);
    c->until = newest < c->until ? newest : c->until;
    err = err ? err : run_reader_open_all(run, &filter, &reader);
    if (!err && (err = run_reader_next(reader, &item)) > 0) {
        c->from = item.at.ns > c->from ? item.at.ns : c->from;
        do
            if (c->until > c->from)
                take_item(c, &item);
        while (by <= WHY_SQUARES && (err = run_reader_next(reader, &item)) > 0);
    }
    if (err >= 0 && c->until > c->from)
        err = by <= WHY_SQUARES ? find_changes(c, by, at, count)
                                : find_given(run, run_reader_model(reader, NULL), by, at, count);
    run_reader_close(reader);
    return err < 0 ? err : 0;
}

int why_find_phases(const char *run, enum why_phases by, const struct why_question *q, struct why_limits *w)
{
    struct curves *c = calloc(1, sizeof *c);
    int64_t *at = malloc(GIVEN_MOST * sizeof *at);
    size_t count = 0;
    int err = c && at ? 0 : BEZEL_ENOMEM;
    if (!err) {
        c->from = q->from;
        c->until = q->until;
        err = read_run(run, by, c, at, &count);
    }
    for (size_t i = 0, n = err ? 0 : phases_join(at, count, c->from, c->until, WHY_LIMITS_MOST); i <= n && !err; i++) {
        struct why_question *is = &w->questions[w->question_count++];
        *is = *q;
        is->phase = (unsigned)i + 1;
        is->phases = (unsigned)n + 1;
        is->from = i ? at[i - 1] : q->from;
        is->until = i < n ? at[i] : q->until;
    }
    free(c);
    free(at);
    return err;
}
