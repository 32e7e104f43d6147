// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/picture/interval_edges.h"

#include <stdlib.h>

int interval_edges_init(struct interval_edges *e, size_t most)
{
    *e = (struct interval_edges){.most = most, .events = malloc(most * sizeof *e->events)};
    return e->events ? 0 : BEZEL_ENOMEM;
}

void interval_edges_fini(struct interval_edges *e)
{
    free(e->events);
    *e = (struct interval_edges){0};
}

bool interval_edges_add(struct interval_edges *e, const struct interval_event *is, size_t stream)
{
    if (e->count == e->most)
        return false;
    e->events[e->count++] = (struct interval_edges_event){*is, stream};
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct interval_edges_event *x = a, *y = b;
    return (x->is.at.ns > y->is.at.ns) - (x->is.at.ns < y->is.at.ns);
}

void interval_edges_sort(struct interval_edges *e)
{
    qsort(e->events, e->count, sizeof *e->events, by_time);
}

/* The matcher remembers all of them: as many keys as there are records. */
int interval_edges_match(struct interval_edges *e, const struct experiment_metric *metric, interval_told *told,
                         void *context)
{
    struct experiment_metric m = *metric;
    struct interval *in;
    m.interval.memory = (uint32_t)e->count + 1;
    int err = interval_new(&m, INT64_MAX / 4, &in);
    if (err)
        return err;
    interval_tell(in, told, context);
    for (size_t i = 0; i < e->count; i++)
        interval_add(in, &e->events[i].is, e->events[i].is.at.ns);
    interval_finish(in, e->count ? e->events[e->count - 1].is.at.ns : 0, true);
    interval_free(in);
    return 0;
}
