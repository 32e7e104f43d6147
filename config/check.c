// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_own.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/check.h"
#include "config/findings.h"
#include "config/real_time.h"

#include <string.h>

static const char sensor_cpu[] = "sensor_cpu";

/* ---- metrics and limits ---- */

static void check_metrics(struct reader *r, const struct tree *root, struct experiment *e)
{
    static const char *const others[] = {"count", "quantile", "interval", "last"};
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (; t; t = t->next) {
        bool has_kind = tree_get(t, "rate") != NULL;
        if (strcmp(t->key, sensor_cpu) == 0)
            reader_wrong_key(r, t, "is built in: limits may use it as it is");
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            has_kind = has_kind || tree_get(t, others[i]);
        if (!has_kind && !t->refused && (t->kind == TREE_MAP || t->absent))
            reader_missing(r, t, "rate", "is missing; expected: the aspect whose records per second count");
    }
}

static bool find_metric(struct reader *r, const struct tree *t, const struct experiment *e, const char *name,
                        struct experiment_limit *l)
{
    struct findings_near near = {.wanted = name};
    if (strcmp(name, sensor_cpu) == 0) {
        l->metric = LIMIT_ON_SENSOR_CPU;
        return true;
    }
    for (uint32_t i = 0; i < e->metric_count; i++) {
        if (!e->metrics[i].name)
            continue;
        if (strcmp(e->metrics[i].name, name) == 0) {
            l->metric = (int)i;
            return true;
        }
        findings_near_consider(&near, e->metrics[i].name);
    }
    findings_near_consider(&near, sensor_cpu);
    if (near.best)
        reader_wrong(r, t, "there is no metric %s; did you mean '%s'?", findings_quote(name).s, near.best);
    else
        reader_wrong(r, t, "there is no metric %s; define it in 'metrics', or use sensor_cpu", findings_quote(name).s);
    return false;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* "METRIC >= NUMBER [unit]" */
static void read_limit(struct reader *r, const struct tree *t, const struct experiment *e, struct experiment_limit *l)
{
    const char *text = reader_text(r, t, "a limit such as fps >= 29"), *why = NULL;
    char name[EXPERIMENT_NAME_MAX + 1];
    if (!text)
        return;
    text = skip_blanks(text);
    size_t n = strspn(text, schema_name_characters);
    const char *op = skip_blanks(text + n);
    if (n == 0 || n > EXPERIMENT_NAME_MAX || (strncmp(op, ">=", 2) != 0 && strncmp(op, "<=", 2) != 0)) {
        reader_wrong(r, t, "%s is no limit; expected: METRIC >= NUMBER or METRIC <= NUMBER", findings_quote(text).s);
        return;
    }
    memcpy(name, text, n);
    name[n] = '\0';
    l->compare = op[0] == '>' ? COMPARE_AT_LEAST : COMPARE_AT_MOST;
    if (!find_metric(r, t, e, name, l))
        return;
    bool is_cpu = l->metric == LIMIT_ON_SENSOR_CPU;
    if ((is_cpu ? units_read_percent : units_read_rate)(op + 2, &l->bound, &why) != 0)
        reader_wrong(r, t, "the bound in %s is wrong: %s", findings_quote(text).s, why);
    else if (is_cpu && l->compare == COMPARE_AT_LEAST)
        reader_wrong(r, t, "sensor_cpu is a cost; expected: sensor_cpu <= NUMBER %%");
    l->text = reader_copy(r, text);
    if (l->text)
        for (n = strlen(l->text); n > 0 && strchr(" \t", l->text[n - 1]); n--)
            l->text[n - 1] = '\0';
}

static void check_limits(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        struct experiment_limit *l = &e->limits[i];
        const struct tree *hold = tree_get(t, "hold"), *expect = tree_get(t, "expect");
        if (t->kind != TREE_MAP || t->refused)
            continue;
        l->kind = hold ? LIMIT_HOLD : LIMIT_EXPECT;
        if (hold && expect)
            reader_wrong_key(r, expect, "stands beside 'hold': a limit is either adapted to or only judged");
        else if (hold || expect)
            read_limit(r, hold ? hold : expect, e, l);
        else
            reader_missing(r, t, "hold", "is missing; expected: 'hold: METRIC >= NUMBER', or 'expect' to judge only");
    }
}

/* ---- sensing and adaptation ---- */

static void check_ring(struct reader *r, const struct tree *root, const struct experiment *e)
{
    uint32_t n = e->sensing.ring_records;
    const struct tree *t = tree_get(tree_get(tree_get(root, "sensing"), "ring"), "records");
    if (t && (n & (n - 1)) != 0)
        reader_wrong(r, t, "%u is no power of two; allowed: 64, 128, 256 ... 1048576", n);
}

const struct experiment_limit *check_first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                const struct tree **tree)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !l->text)
            continue;
        if (window == 0 || (l->metric != LIMIT_ON_SENSOR_CPU && e->metrics[l->metric].window > window)) {
            *tree = t;
            return l;
        }
    }
    return NULL;
}

#define CHECK_EVERY_MAX (10 * CLOCK_S) /* as in fields.c */

/*
 * Where the file does not say how often to decide: not faster than half the window of what is held (but for its
 * default).
 */
static void choose_every(struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind != LIMIT_HOLD || !l->text || l->metric == LIMIT_ON_SENSOR_CPU)
            continue;
        int64_t half = e->metrics[l->metric].window / 2;
        if (half > e->adapt.every)
            e->adapt.every = half < CHECK_EVERY_MAX ? half : CHECK_EVERY_MAX;
    }
}

static void check_adapt(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *policy = tree_get(adapt, "policy"), *at;
    const struct tree *period = tree_get(tree_get(tree_get(root, "sensing"), "poll"), "period");
    if (adapt)
        e->adapt.at = adapt->key_at;
    if (!tree_get(adapt, "every"))
        choose_every(e);
    if (!policy)
        e->adapt.policy = check_first_hold(root, e, 0, &at) ? POLICY_SPP : POLICY_NONE;
    if (!experiment_policy_moves(e->adapt.policy)) /* which nothing but the file makes it: below, `policy` is there */
        return;
    if (e->sensing.mode == POLL_BUSY_WAIT)
        reader_wrong(r, policy, "%s adapts the polling period, and busy-wait has none: use spp, or 'mode: polling'",
                     experiment_policy_word((int)e->adapt.policy));
    else if (e->sensing.period < e->adapt.period_min || e->sensing.period > e->adapt.period_max)
        reader_wrong(r, period ? period : policy, "the period at the start, %s, is outside of adapt.period, %s .. %s",
                     units_exact_duration(e->sensing.period).s, units_exact_duration(e->adapt.period_min).s,
                     units_exact_duration(e->adapt.period_max).s);
}

/* A folder alone is no spool. */
static void check_spool(struct reader *r, const struct tree *root)
{
    const struct tree *sensing = tree_get(root, "sensing"), *spool = sensing ? tree_get(sensing, "spool") : NULL;
    if (spool && spool->kind == TREE_MAP && !tree_get(spool, "size"))
        reader_missing(r, spool, "size", "is missing; expected: how much of the disk it may take, as '1 GiB'");
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
    experiment_check_keys(r, root, e);
    if (r->found->errors > 0 || r->out_of_memory)
        return;
    check_doubt(r, root, e);
    real_time_doubt(r, root, e);
}
