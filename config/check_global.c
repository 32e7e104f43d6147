// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "config/diagnostics.h"

/* Why the nodes' values cannot be joined to one, and the remedy, for a message that begins with the metric. NULL: they
 * can. */
static const char *not_joined(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (m && m->per_process)
        return "has one value per process, and a global limit needs one per node: give the metric 'per: node' in "
               "'metrics'";
    if (experiment_join_of(e, l->metric) != JOIN_NOT)
        return NULL;
    return m->kind == METRIC_QUANTILE ? "is a quantile, which cannot be combined across nodes: remove 'per: global' (a "
                                        "bound that holds on every node holds over all of them), or use 'max' or 'mean'"
                                      : "is of the latest record, which the clocks of several nodes cannot determine: "
                                        "remove 'per: global', or use 'min', 'max' or 'mean'";
}

static void check_joins(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        const char *why = l->global && l->text ? not_joined(e, l) : NULL;
        if (why)
            reader_wrong(r, tree_get(t, "per"), "metric %s %s", diagnostics_quote(e->metrics[l->metric].name).s, why);
    }
}

/* The first global 'hold' limit: only a manager can adapt to it. */
static const struct experiment_limit *first_held(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].global && e->limits[i].kind == LIMIT_HOLD && e->limits[i].text)
            return &e->limits[i];
    return NULL;
}

void check_global(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *by = tree_get(adapt, "by");
    const struct experiment_limit *held = first_held(e);
    check_joins(r, root, e);
    if (!held || (tree_get(adapt, "policy") && !experiment_policy_can(e->adapt.policy, POLICY_ADAPTS)))
        return;
    if (!by)
        e->adapt.by = ADAPT_BY_MANAGER;
    else if (e->adapt.by == ADAPT_BY_NODE)
        reader_wrong(r, by,
                     "limit %s (line %u) is global, and no node sees the records of the others: use 'by: manager', or "
                     "replace 'hold' by 'expect', which is only judged",
                     diagnostics_quote(held->text).s, held->at.line);
}
