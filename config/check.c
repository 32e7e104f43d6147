// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/units.h"
#include "config/aspect_keep.h"
#include "config/collectors.h"
#include "config/diagnostics.h"
#include "config/knobs.h"
#include "config/real_time.h"
#include "config/triggers.h"

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
        if (window == 0 || (l->metric >= 0 && experiment_limit_window(e, l) > window)) {
            *tree = t;
            return l;
        }
    }
    return NULL;
}

#define CHECK_EVERY_MAX (10 * CLOCK_S) /* as in fields.c */

/*
 * Without adapt.every: half the longest window of a 'hold' limit, between the default and CHECK_EVERY_MAX. That of
 * sensor_cpu does not count: policies go by the use since the last decision.
 */
static void choose_every(struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !l->text || l->metric == LIMIT_ON_SENSOR_CPU)
            continue;
        int64_t half = experiment_limit_window(e, l) / 2;
        if (half > e->adapt.every)
            e->adapt.every = half < CHECK_EVERY_MAX ? half : CHECK_EVERY_MAX;
    }
}

/*
 * The first 'hold' limit on a metric that is made of records, and therefore unknown while collection is off. A policy
 * that turns collection on only when the limit holds would never do so.
 */
static const struct experiment_limit *first_that_needs_records(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->text && l->metric >= 0 &&
            experiment_metric_reads_records(&e->metrics[l->metric]))
            return l;
    }
    return NULL;
}

/* Whether a 'hold' limit is on the flow of records, which shorter polling periods help. */
static bool wants_shorter(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->text && l->metric >= 0 &&
            experiment_metric_is_built_in(e->metrics[l->metric].kind))
            return true;
    }
    return false;
}

/*
 * Busy-wait has no period to adapt, so SPP is its default; limits that need records are refused there with any policy.
 * If the only limits are budgets, the period does not fall below sensing.poll.period: a budget is an upper bound, not
 * something to use up.
 */
static void choose_policy(const struct tree *adapt, struct experiment *e, bool holds)
{
    struct experiment_adapt *a = &e->adapt;
    bool fixed_period = e->sensing.mode == POLL_BUSY_WAIT && !first_that_needs_records(e);
    a->policy = !holds ? POLICY_NONE : fixed_period ? POLICY_SPP : POLICY_ELASTIC;
    if (!experiment_policy_can(a->policy, POLICY_MOVES) || tree_get(adapt, "period"))
        return;
    if (!wants_shorter(e))
        a->period_min = e->sensing.period;
    if (a->period_max < e->sensing.period)
        a->period_max = e->sensing.period;
}

static void check_policy(struct reader *r, const struct tree *policy, const struct experiment *e)
{
    const struct experiment_limit *l = first_that_needs_records(e);
    bool waits_for_limits = experiment_policy_can(e->adapt.policy, POLICY_ADAPTS) &&
                            !experiment_policy_can(e->adapt.policy, POLICY_SETTLES);
    if (l && policy && waits_for_limits)
        reader_wrong(r, policy,
                     "policy %s turns collection on again only when limit %s (line %u) is known to hold, but it is "
                     "unknown while collection is off: use elastic",
                     experiment_policy_word((int)e->adapt.policy), diagnostics_quote(l->text).s, l->at.line);
}

static void check_max_age(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *max_age = tree_get(adapt, "max-age");
    struct experiment_adapt *a = &e->adapt;
    if (a->max_age == 0 || !max_age)
        return;
    if (a->max_age < a->every)
        reader_wrong(r, max_age,
                     "is less than adapt.every, %s: every observation would be too old at the next decision",
                     units_exact_duration(a->every).s);
    if (!experiment_policy_can(a->policy, POLICY_SETTLES))
        return;
    int64_t longest = a->max_age / 2;
    if (!tree_get(adapt, "period") && longest < a->period_max && longest >= a->period_min)
        a->period_max = longest;
    if (a->period_max > longest)
        reader_wrong(r, tree_get(adapt, "period") ? tree_get(adapt, "period") : max_age,
                     "the polling period may become %s, which is more than half of adapt.max-age, %s: records would be "
                     "too old when a poll takes them",
                     units_exact_duration(a->period_max).s, units_exact_duration(a->max_age).s);
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
    if (!policy)
        choose_policy(adapt, e, check_first_hold(root, e, 0, &at) != NULL);
    check_policy(r, policy, e);
    check_max_age(r, root, e);
    knobs_check(r, root, e);
    if (!experiment_policy_can(e->adapt.policy, POLICY_MOVES))
        return;
    if (!policy)
        policy = check_entries(tree_get(root, "limits"), e->limit_count); /* the policy follows from a limit */
    if (e->sensing.mode == POLL_BUSY_WAIT)
        reader_wrong(r, policy, "policy %s adapts the polling period, and busy-wait has none: use %s'mode: polling'",
                     experiment_policy_word((int)e->adapt.policy), first_that_needs_records(e) ? "" : "spp, or ");
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

/* Records that accumulate must be taken together, and before they expire. */
static void check_forward(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    const struct tree *sensing = tree_get(root, "sensing"), *t = tree_get(sensing, "expire");
    const struct tree *forward = tree_get(sensing, "forward");
    if (forward && forward->kind == TREE_MAP && !tree_get(forward, "accumulate"))
        reader_missing(r, forward, "accumulate",
                       "is missing; expected: the number of records to wait for, such as 128");
    if (s->accumulate <= 1)
        return;
    if (s->forward == FORWARD_COLLECT)
        reader_wrong(r, tree_get(forward, "accumulate"),
                     "contradicts 'poll: {forward: collect}', which forwards each record alone: use 'forward: batch'");
    const struct experiment_rule *x = s->expire;
    for (t = t && x ? t->first : NULL; t && x->pattern; t = t->next) {
        if (t->refused || strcmp(t->key, x->pattern) != 0)
            continue; /* a wrong entry, which the model lacks */
        if (x->value > 0 && x->value <= s->accumulate_or)
            reader_wrong(r, t,
                         "is not longer than the time that records may wait for others, %s (sensing.forward.or): they "
                         "would expire in their rings; make 'or' shorter",
                         units_exact_duration(s->accumulate_or).s);
        x++;
    }
}

/* ---- keys ---- */

static const char no_folder[] = "needs 'store.keys': the folder in which `bezel keygen` stored the key";

bool check_is_of_this_machine(const char *listen)
{
    struct address address;
    const char *why;
    return address_read(listen, &address, &why) != 0 || address_is_loopback(&address);
}

/* Remote nodes need the operator's key, and a collector that they can reach. */
static void check_remote(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *store = tree_get(root, "store"), *control = tree_get(root, "control");
    const struct tree *t = check_entries(tree_get(root, "nodes"), e->node_count);
    bool any = false;
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct tree *address = tree_get(t, "address");
        if (!experiment_is_remote(&e->nodes[i]))
            continue;
        any = true;
        if (!e->store.keys)
            reader_wrong(r, address,
                         "a bezeld is commanded over tcp only with keys: make them with `bezel keygen --dir DIR NAME`, "
                         "and add 'store: {keys: DIR}'");
        else if (e->store.listen && check_is_of_this_machine(e->store.listen) &&
                 collectors_leads_to_root(&e->nodes[i].parents) &&
                 !experiment_is_beside(e, (int)i, true, EXPERIMENT_ROOT))
            reader_wrong(r, tree_get(store, "listen"),
                         "%s cannot be reached from node %s at %s: give the address or interface of this machine in "
                         "its network, or leave 'listen' out",
                         e->store.listen, e->nodes[i].name, e->nodes[i].address);
    }
    t = check_entries(tree_get(root, "nodes"), e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        if (!e->nodes[i].address && tree_get(t, "on-loss"))
            reader_wrong_key(r, tree_get(t, "on-loss"),
                             "is for a node with an address: a bezeld that is started for the run is started again");
    if (any && !e->store.listen)
        e->store.listen = reader_copy(r, "tcp://*:*");
    if (any && !e->control_key)
        e->control_key = reader_copy(r, "operator");
    if (control && !any)
        reader_wrong(r, control, "is for nodes with an address tcp://HOST:PORT, and there is none");
}

/* The collector runs on a remote node, and is reached at a port that is known before it runs. */
static void check_collector(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *collector = tree_get(root, "collector"), *control = tree_get(collector, "control");
    struct address address;
    const char *why;
    int node = experiment_collector_node(e);
    bool elsewhere = !tree_get(collector, "clock") || tree_get(collector, "directory") || control;
    if (collector && collector->kind == TREE_MAP && !tree_get(collector, "node") && elsewhere)
        reader_missing(r, collector, "node",
                       "is missing; expected: the name of a node with an address tcp://HOST:PORT");
    if (!e->collector.node)
        return;
    if (node < 0)
        reader_wrong(r, tree_get(collector, "node"), "there is no node '%s'", e->collector.node);
    else if (!experiment_is_remote(&e->nodes[node]))
        reader_wrong(r, tree_get(collector, "node"),
                     "node '%s' has no address tcp://HOST:PORT: without 'collector' the collector runs on the machine "
                     "of `bezel run`",
                     e->collector.node);
    if (!e->collector.control)
        e->collector.control = reader_copy(r, EXPERIMENT_COLLECTOR_CONTROL);
    else if (address_read(e->collector.control, &address, &why) != 0 || address.port == 0)
        reader_wrong(r, control, "needs a port, by which `bezel run` reaches it: tcp://*:7768");
}

/* ---- clocks ---- */

static void check_clock(struct reader *r, const struct tree *clock, const struct clock_keeping *keeping)
{
    const struct tree *bound = tree_get(clock, "bound");
    if (keeping->by == CLOCK_KEPT_BY_PTP && !bound)
        reader_missing(r, clock, "bound",
                       "is missing; expected: the bound of the error of CLOCK_REALTIME, such as '1 us', which PTP does "
                       "not tell the kernel");
    else if (keeping->by == CLOCK_KEPT_BY_CHRONY && bound)
        reader_wrong_key(r, bound, "is for ptp: chrony tells the kernel its bound, from where it is read");
}

static void check_clocks(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "nodes"), e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        check_clock(r, tree_get(t, "clock"), &e->nodes[i].clock);
    check_clock(r, tree_get(tree_get(root, "collector"), "clock"), &e->collector.clock);
}

/* ---- keys of peers ---- */

static const char beyond[] = "an address beyond 127.0.0.1 requires keys: make them with `bezel keygen --dir DIR NAME`, "
                             "and add 'keys: DIR'";

static void without_keys(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *store = tree_get(root, "store"), *nodes = tree_get(root, "nodes");
    if (tree_get(store, "key"))
        reader_wrong_key(r, tree_get(store, "key"), "%s", no_folder);
    for (const struct tree *t = nodes ? nodes->first : NULL; t; t = t->next)
        if (tree_get(t, "key"))
            reader_wrong_key(r, tree_get(t, "key"), "%s", no_folder);
    if (e->store.listen && !check_is_of_this_machine(e->store.listen))
        reader_wrong(r, tree_get(store, "listen"), "%s", beyond);
    if (e->store.serve && !check_is_of_this_machine(e->store.serve))
        reader_wrong(r, tree_get(store, "serve"), "%s", beyond);
}

/* Each node takes a connection. */
static void choose_connections(const struct tree *root, struct experiment *e)
{
    const struct tree *limits = tree_get(tree_get(root, "store"), "limits");
    if (!tree_get(limits, "connections") && e->store.limits.connections < e->node_count)
        e->store.limits.connections = e->node_count;
}

static void check_keys(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *keys = tree_get(tree_get(root, "store"), "keys");
    if (!keys) {
        without_keys(r, root, e);
        return;
    }
    e->store.keys_at = keys->at;
    if (!e->store.key)
        e->store.key = reader_copy(r, "collector");
    for (uint32_t i = 0; i < e->node_count; i++)
        if (!e->nodes[i].key && e->nodes[i].name)
            e->nodes[i].key = reader_copy(r, e->nodes[i].name);
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
    check_forward(r, root, e);
    choose_connections(root, e);
    check_adapt(r, root, e);
    aspect_keep_check(r, root, e);
    triggers_check(r, root, e);
    real_time_check(r, root, e);
    check_keys(r, root, e);
    collectors_check(r, root, e);
    check_places(r, root, e);
    check_remote(r, root, e);
    check_collector(r, root, e);
    check_clocks(r, root, e);
    if (r->found->errors > 0 || r->out_of_memory)
        return;
    check_quiet_period(root, e);
    check_unasked(root, e);
    check_warn(r, root, e);
    real_time_warn(r, root, e);
    check_drop_sensor_cpu(e);
}
