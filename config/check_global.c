// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_own.h"

#include "config/findings.h"

/* ---- Limits on the whole ----------------------------------------------------------------------------------------- */

/* Why nodes' values of metric `m` make no value of the whole, and what to do; NULL: they do. */
static const char *not_joined(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (m && m->per_process)
        return "has a value for each process; give it 'per: node' in 'metrics', so that each node has one to join";
    if (experiment_join_of(e, l->metric) != JOIN_NOT)
        return NULL;
    return m->kind == METRIC_QUANTILE
               ? "is a quantile, and quantiles are not combined across nodes: leave 'per' out (a bound that holds on "
                 "every "
                 "node holds over all of them), or use 'max' or 'mean'"
               : "is of the latest record, and clocks of several nodes do not tell which one that is: leave 'per' out, "
                 "or use 'min', 'max' or 'mean'";
}

static void check_joins(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        const char *why = l->whole && l->text ? not_joined(e, l) : NULL;
        if (why)
            reader_wrong(r, tree_get(t, "per"), "metric %s %s", findings_quote(e->metrics[l->metric].name).s, why);
    }
}

/* The first limit to be held on the whole: nobody but a manager can adapt to it. */
static const struct experiment_limit *first_held(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].whole && e->limits[i].kind == LIMIT_HOLD && e->limits[i].text)
            return &e->limits[i];
    return NULL;
}

void check_whole(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *by = tree_get(adapt, "by");
    const struct experiment_limit *held = first_held(e);
    check_joins(r, root, e);
    if (!held || (tree_get(adapt, "policy") && e->adapt.policy == POLICY_NONE))
        return;
    if (!by)
        e->adapt.by = ADAPT_BY_MANAGER;
    else if (e->adapt.by == ADAPT_BY_NODE)
        reader_wrong(r, by,
                     "no node sees the whole that limit %s (line %u) is on: use 'by: manager', or 'expect' in place of "
                     "'hold', which is only judged",
                     findings_quote(held->text).s, held->at.line);
}
