// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Where each metric of an experiment is computed, and what crosses the network for it. */
#include "base/units.h"
#include "config/experiment.h"
#include "config/schema.h"

#include <string.h>

/* The manager asks the collector twice in a sampling period, at most so often. */
#define ASKED_LEAST INT64_C(10000000)

static const struct experiment_limit *limit_on(const struct experiment *e, uint32_t metric, bool global)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric == (int)metric && e->limits[i].global == global)
            return &e->limits[i];
    return NULL;
}

static void print_interval(const struct experiment *e, uint32_t i, FILE *out)
{
    const struct experiment_interval *of = &e->metrics[i].interval;
    int64_t every = e->adapt.every / 2 > ASKED_LEAST ? e->adapt.every / 2 : ASKED_LEAST;
    fputs("the collector that stores the run. To it: the records of ", out);
    for (uint32_t k = 0; k < of->count; k++)
        fprintf(out, "%s%s%s%s",
                k == 0               ? ""
                : k + 1 == of->count ? " and "
                                     : ", ",
                of->aspects[k], of->processes[k] ? " of " : "", of->processes[k] ? of->processes[k] : "");
    fputs(" from all nodes, which it stores", out);
    if (limit_on(e, i, true))
        fprintf(out, ". To the manager: the value, every %s", units_exact_duration(every).s);
    else
        fputs("; it is computed when they have been stored, for the report", out);
}

static const char *partial_of(const struct experiment *e, uint32_t metric)
{
    switch (experiment_join_of(e, (int)metric)) {
    case JOIN_HISTOGRAM:
        return "the histogram of its values, 12 bytes for each bucket that has some";
    case JOIN_RATIO:
        return "two numbers";
    case JOIN_SUM:
    case JOIN_LEAST:
    case JOIN_MOST:
    case JOIN_NOT:
        break;
    }
    return "a number";
}

static void print_of_node(const struct experiment *e, uint32_t i, FILE *out)
{
    const struct experiment_metric *m = &e->metrics[i];
    const struct experiment_limit *own = limit_on(e, i, false);
    fputs(m->per_process ? "each node, of each of its processes. To the collector: the values, once a second"
                         : "each node. To the collector: its value, once a second",
          out);
    if (limit_on(e, i, true))
        fprintf(out, ". To the manager, which joins them: %s, every %s", partial_of(e, i),
                units_exact_duration(e->adapt.every).s);
    if (own && experiment_is_managed(e))
        fprintf(out, ". To the manager, which decides: the value that the limit %s is judged by, every %s", own->text,
                units_exact_duration(e->adapt.every).s);
}

int experiment_print_places(const struct experiment *e, FILE *out)
{
    bool remote = e->collector.node != NULL;
    for (uint32_t i = 0; i < e->node_count; i++)
        remote = remote || e->nodes[i].address;
    for (uint32_t i = 0; i < e->metric_count; i++) {
        fprintf(out, "%s: in ", e->metrics[i].name);
        if (e->metrics[i].kind == METRIC_INTERVAL)
            print_interval(e, i, out);
        else
            print_of_node(e, i, out);
        fputs(".\n", out);
    }
    if (e->metric_count > 0 && !remote)
        fputs("All nodes are of one machine, so nothing of this crosses a network.\n", out);
    return ferror(out) ? BEZEL_ESYS : 0;
}
