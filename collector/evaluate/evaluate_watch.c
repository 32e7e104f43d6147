// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/evaluate/evaluate_internal.h"

#include "base/log.h"

#include <stdlib.h>

static bool is_limited(const struct experiment *e, uint32_t metric)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric == (int)metric)
            return true;
    return false;
}

static void log_lacking(const struct experiment_metric *m, const struct dict_aspect *a)
{
    log_warn("BEZEL-METRIC", "metric %s: aspect %s of a process has %s%s: its records belong to no others", m->name,
             a->name, m->interval.match ? "no field " : "no messages of the kind",
             m->interval.match ? m->interval.match : "");
}

/* Adds the points of metric `number` in the dictionary of a process, for which there is room in `w`. */
static void add_points(const struct experiment *e, uint32_t number, const struct model_process *p,
                       struct evaluate_watch *w)
{
    const struct experiment_metric *m = &e->metrics[number];
    for (const struct dict_aspect *a = p->dict->aspects; a < p->dict->aspects + p->dict->aspect_count; a++) {
        struct interval_part part = interval_part_of(m, p->name, a);
        if (part.has == INTERVAL_HAS_NO_KEY)
            log_lacking(m, a);
        if (part.has != INTERVAL_HAS_PART)
            continue;
        w->points[w->count++] = (struct evaluate_point){.aspect = a->id, .metric = number, .part = part};
        bitset_add(&w->read, a->id);
        if (p->role == ROLE_SUT && experiment_reduces_at_root(e, a->name)) {
            bitset_add(&w->reduces, a->id);
            w->reduces_any = true;
        }
    }
}

struct evaluate_watch *evaluate_watch_new(const struct experiment *e, uint32_t configured,
                                          const struct model_process *p)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < e->metric_count; i++)
        most += e->metrics[i].interval.count; /* an aspect of a process is in an interval once */
    struct evaluate_watch *w = calloc(1, sizeof *w + most * sizeof w->points[0]);
    if (!w)
        return NULL;
    w->configured = configured;
    w->aspects = p->dict->aspect_count;
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (is_limited(e, i))
            add_points(e, i, p, w);
    return w;
}
