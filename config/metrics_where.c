// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Where each metric of an experiment is computed, and what crosses the network for it. It is the lowest place that has
 * all its records and evaluates: the node, or of an interval the root.
 */
#include "base/units.h"
#include "config/check_internal.h"
#include "config/collectors.h"
#include "config/diagnostics.h"

#include <string.h>

/* The manager asks the collector twice in a sampling period, at most so often. */
#define ASKED_LEAST INT64_C(10000000)

static const char at_node[] = "node", at_root[] = "root";

static const char *place_of(const struct experiment_metric *m)
{
    return m->kind == METRIC_INTERVAL ? at_root : at_node;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* `at` of metric `m`, which is at `t`. */
static void check_place(struct reader *r, const struct tree *t, const struct experiment *e,
                        const struct experiment_metric *m)
{
    const char *text = reader_text(r, t, "node, or root"), *place = place_of(m);
    if (!text || strcmp(text, place) == 0)
        return;
    if (strcmp(text, at_node) == 0)
        reader_wrong(r, t,
                     "no node has the records of the others: an interval is computed by the collector that "
                     "stores the run; give 'at: root'");
    else if (experiment_inner_find(e, text) >= 0)
        reader_wrong(r, t, "inner collector %s passes records on, and computes no metric; give 'at: %s'",
                     diagnostics_quote(text).s, place);
    else if (strcmp(text, at_root) == 0)
        reader_wrong(r, t,
                     "each node computes this metric, and the root only metrics of several nodes (intervals); "
                     "give 'at: node'");
    else
        collectors_unknown(r, t, e, at_node, ": allowed: node, or root, the collector that stores the run");
}

static const struct experiment_metric *find_metric(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->metric_count; i++)
        if (e->metrics[i].name && strcmp(e->metrics[i].name, name) == 0)
            return &e->metrics[i];
    return &schema_default_metric; /* sensor_cpu, a node's */
}

void check_places(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count), *at;
    for (; t; t = t->next)
        if ((at = tree_get(t, "at")))
            check_place(r, at, e, find_metric(e, t->key));
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static const struct experiment_limit *limit_on(const struct experiment *e, uint32_t metric, bool global)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric == (int)metric && e->limits[i].global == global)
            return &e->limits[i];
    return NULL;
}

/* What the root does with the records of an interval. */
static void print_kept(const struct experiment *e, const struct experiment_interval *of, FILE *out)
{
    uint32_t reduced = 0, n = 0;
    for (uint32_t k = 0; k < of->count; k++)
        reduced += experiment_reduces_at_root(e, of->aspects[k]);
    if (reduced == of->count)
        fputs(", which end there", out);
    else
        fputs(", which it stores", out);
    for (uint32_t k = 0; k < of->count && reduced < of->count; k++)
        if (experiment_reduces_at_root(e, of->aspects[k]))
            fprintf(out, "%s%s", n++ > 0 ? " and " : " but for those of ", of->aspects[k]);
    if (n > 0)
        fputs(", which end there", out);
}

static void print_interval(const struct experiment *e, uint32_t i, FILE *out)
{
    const struct experiment_interval *of = &e->metrics[i].interval;
    int64_t every = e->adapt.every / 2 > ASKED_LEAST ? e->adapt.every / 2 : ASKED_LEAST;
    fputs("the root, the collector that stores the run. To it: the records of ", out);
    for (uint32_t k = 0; k < of->count; k++)
        fprintf(out, "%s%s%s%s",
                k == 0               ? ""
                : k + 1 == of->count ? " and "
                                     : ", ",
                of->aspects[k], of->processes[k] ? " of " : "", of->processes[k] ? of->processes[k] : "");
    fputs(" from all nodes", out);
    print_kept(e, of, out);
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
    if (m->aspect && experiment_reduces(e, m->aspect))
        fprintf(out, "; the records of %s end in the node", m->aspect);
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
