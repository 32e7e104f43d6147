// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/check.h"
#include "config/diagnostics.h"
#include "config/knobs.h"
#include "config/real_time.h"

#include <string.h>

/* ---- sensing and adaptation ---- */

static void check_ring(struct reader *r, const struct tree *root, const struct experiment *e)
{
    uint32_t n = e->sensing.ring_records;
    const struct tree *t = tree_get(tree_get(tree_get(root, "sensing"), "ring"), "records");
    if (t && (n & (n - 1)) != 0)
        reader_wrong(r, t, "%u is not a power of two; allowed: 64, 128, 256 ... 1048576", n);
}

const struct experiment_limit *check_first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                const struct tree **tree)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !l->text)
            continue;
        if (window == 0 || experiment_limit_window(e, l) > window) {
            *tree = t;
            return l;
        }
    }
    return NULL;
}

#define CHECK_EVERY_MAX (10 * CLOCK_S) /* as in fields.c */

/* Without adapt.every: half the longest window of a 'hold' limit, between the default and CHECK_EVERY_MAX. */
static void choose_every(struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !l->text)
            continue;
        int64_t half = experiment_limit_window(e, l) / 2;
        if (half > e->adapt.every)
            e->adapt.every = half < CHECK_EVERY_MAX ? half : CHECK_EVERY_MAX;
    }
}

/* A manager handles so many limits at once (POLICY_LIMITS_MAX). */
static void check_manager_limits(struct reader *r, const struct tree *at, const struct experiment *e)
{
    uint32_t holds = 0, globals = 0;
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].kind == LIMIT_HOLD)
            *(e->limits[i].global ? &globals : &holds) += 1;
    if (e->adapt.by == ADAPT_BY_MANAGER && holds * e->node_count + globals > EXPERIMENT_MANAGED_MAX)
        reader_wrong(r, at,
                     "one manager handles at most %d 'hold' limits, and %u on each of %u nodes are more: remove some",
                     EXPERIMENT_MANAGED_MAX, holds, e->node_count);
}

static void check_adapt(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *policy = tree_get(adapt, "policy"), *at;
    const struct tree *period = tree_get(tree_get(tree_get(root, "sensing"), "poll"), "period");
    if (adapt)
        e->adapt.at = adapt->key_at;
    if (!tree_get(adapt, "every"))
        choose_every(e);
    check_global(r, root, e);
    check_manager_limits(r, tree_get(tree_get(adapt, "by") ? adapt : root, tree_get(adapt, "by") ? "by" : "limits"), e);
    if (!policy)
        check_choose_policy(adapt, e, check_first_hold(root, e, 0, &at) != NULL);
    check_policy(r, policy, e);
    check_max_age(r, root, e);
    knobs_check(r, root, e);
    if (!experiment_policy_can(e->adapt.policy, POLICY_MOVES))
        return;
    if (!policy)
        policy = check_entries(tree_get(root, "limits"), e->limit_count); /* the policy follows from a limit */
    if (e->sensing.mode == POLL_BUSY_WAIT)
        reader_wrong(r, policy, "policy %s adapts the polling period, and busy-wait has none: use %s'mode: polling'",
                     experiment_policy_word((int)e->adapt.policy), check_needs_records(e) ? "" : "spp, or ");
    else if (e->sensing.period < e->adapt.period_min || e->sensing.period > e->adapt.period_max)
        reader_wrong(r, period ? period : policy,
                     "the polling period at the start, %s, is outside adapt.period, %s .. %s",
                     units_exact_duration(e->sensing.period).s, units_exact_duration(e->adapt.period_min).s,
                     units_exact_duration(e->adapt.period_max).s);
}

/* A spool needs a size. */
static void check_spool(struct reader *r, const struct tree *root)
{
    const struct tree *sensing = tree_get(root, "sensing"), *spool = sensing ? tree_get(sensing, "spool") : NULL;
    if (spool && spool->kind == TREE_MAP && !tree_get(spool, "size"))
        reader_missing(r, spool, "size", "is missing; expected: the largest size of the spool, such as '1 GiB'");
}

void experiment_check(struct reader *r, const struct tree *root, struct experiment *e)
{
    if (root->kind != TREE_MAP)
        return;
    check_nodes(r, root, e);
    check_processes(r, root, e);
    check_metrics(r, root, e);
    check_limits(r, root, e);
    check_ring(r, root, e);
    check_spool(r, root);
    check_adapt(r, root, e);
    real_time_check(r, root, e);
    check_keys(r, root, e);
    if (r->found->errors > 0 || r->out_of_memory)
        return;
    check_warn(r, root, e);
    real_time_warn(r, root, e);
}
