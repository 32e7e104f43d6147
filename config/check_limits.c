// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/units.h"
#include "config/diagnostics.h"
#include "config/edges.h"
#include "config/intervals.h"
#include "config/operands.h"

#include <stdlib.h>
#include <string.h>

static const char sensor_cpu[] = "sensor_cpu";

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* The kind of built-in metric `name`; METRIC_RATE where it is none. */
static enum experiment_metric_kind built_in(const char *name)
{
    for (int kind = METRIC_LATENCY; kind < METRIC_KINDS; kind++)
        if (strcmp(experiment_metric_word((enum experiment_metric_kind)kind), name) == 0)
            return (enum experiment_metric_kind)kind;
    return METRIC_RATE;
}

/* A built-in metric has no keys that say what it is computed from. */
static void check_built_in(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    for (const struct tree *key = t->kind == TREE_MAP ? t->first : NULL; key; key = key->next)
        if (strcmp(key->key, "window") != 0 && strcmp(key->key, "per") != 0)
            reader_wrong_key(r, key, "is not a key of a built-in metric; allowed here: window, per");
    const struct tree *per = tree_get(t, "per");
    if (per && m->per_process)
        reader_wrong(r, per, "a built-in metric has one value per node; expected: node");
    m->per_process = false;
}

/* The times of records instead of a field; and the period of those that need one. */
static void check_arrivals(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    const struct tree *period = tree_get(t, "period");
    for (int i = ARRIVALS_TIME; m->field && i <= ARRIVALS_JITTER; i++)
        if (strcmp(m->field, experiment_arrivals_word((enum experiment_arrivals)i)) == 0)
            m->arrivals = (enum experiment_arrivals)i;
    if (m->arrivals && m->kind == METRIC_TIME_MEAN)
        reader_wrong(r, tree_get(t, "time-mean"),
                     "is a time, which is over when it is known; expected: a field, or 'mean'");
    if (m->arrivals) {
        free(m->field);
        m->field = NULL;
        m->in_time = true;
    }
    if (m->kind == METRIC_MISSES && !period)
        reader_missing(r, t, "period",
                       "is missing; expected: the time within which the next record must come, such as 20 ms");
    else if (m->kind == METRIC_MISSES && m->period > m->window)
        reader_wrong(r, period, "is longer than the metric's window, %s, which then has room for no period",
                     units_exact_duration(m->window).s);
    else if (period && m->kind != METRIC_MISSES && m->arrivals != ARRIVALS_JITTER)
        reader_wrong_key(r, period, "applies only to 'misses' and to a statistic of inter-arrival-jitter");
    if (m->tumbles && experiment_metric_is_of_arrivals(m))
        reader_wrong(r, tree_get(t, "windows"),
                     "a metric of the times between records counts a silence while it lasts, so its window ends now; "
                     "expected: sliding");
}

static void check_kind(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    const struct tree *found = NULL, *match = tree_get(t, "match"), *memory = tree_get(t, "memory");
    if (match)
        reader_wrong_key(r, match, "applies only to 'interval'");
    if (memory)
        reader_wrong_key(r, memory, "applies only to 'interval'");
    for (int kind = METRIC_RATE; kind < METRIC_RATIO; kind++) {
        const char *word = experiment_metric_word((enum experiment_metric_kind)kind);
        const struct tree *key = tree_get(t, word);
        if (key && found)
            reader_wrong_key(r, key, "cannot be combined with '%s': a metric is one rate or statistic", found->key);
        if (!key || found)
            continue;
        found = key;
        m->kind = (enum experiment_metric_kind)kind;
    }
    if (!found)
        reader_missing(
            r, t, "rate",
            "is missing; expected: the aspect whose records are counted per second, or instead one of count, "
            "percent and misses with an aspect, of mean, min, max, last and quantile with a field, and 'of' "
            "with its aspect, or 'interval' with aspects");
    if (!found)
        return;
    bool is_of_aspect = (m->kind < METRIC_MEAN || m->kind > METRIC_QUANTILE) && m->kind != METRIC_TIME_MEAN &&
                        m->kind != METRIC_FIRST && m->kind != METRIC_HISTOGRAM;
    if (!is_of_aspect && !tree_get(t, "of"))
        reader_missing(r, t, "of", "is missing; expected: the aspect that has the field named by '%s'", found->key);
    if (is_of_aspect && tree_get(t, "of"))
        reader_wrong_key(r, tree_get(t, "of"), "applies only to a metric of a field; '%s' names the aspect itself",
                         found->key);
    edges_check(r, t, m);
    check_arrivals(r, t, m);
    if (m->kind == METRIC_PERCENT && !tree_get(t, "where"))
        reader_missing(r, t, "where",
                       "is missing; expected: the condition of the records that are to be counted, such as latency > 5 "
                       "ms");
    if (m->kind != METRIC_QUANTILE && tree_get(t, "share"))
        reader_wrong_key(r, tree_get(t, "share"), "applies only to 'quantile'");
}

/* Samplers record what they observe of all processes and threads into one stream of the node. */
static void check_sampled(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    const struct tree *per = tree_get(t, "per");
    if (!m->aspect || experiment_sampler_of(m->aspect) == EXPERIMENT_SAMPLERS)
        return;
    if (per && m->per_process)
        reader_wrong(r, per, "%s is recorded by a sampler: the metric has one value per node; expected: node",
                     m->aspect);
    m->per_process = false;
}

void check_metrics(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        enum experiment_metric_kind kind = built_in(t->key);
        bool on_cpu = strcmp(t->key, sensor_cpu) == 0;
        if (t->refused || (t->kind != TREE_MAP && !t->absent))
            continue;
        e->metrics[i].kind = kind;
        if (on_cpu)
            e->sensor_cpu_window = e->metrics[i].window;
        if (on_cpu || kind != METRIC_RATE)
            check_built_in(r, t, &e->metrics[i]);
        else if (intervals_has(t))
            intervals_check(r, t, &e->metrics[i]);
        else if (!operands_has(t))
            check_kind(r, t, &e->metrics[i]);
        check_sampled(r, t, &e->metrics[i]);
    }
    t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        if (operands_has(t) && !intervals_has(t) && built_in(t->key) == METRIC_RATE)
            operands_check(r, t, e, &e->metrics[i]);
}

/* Until now the metrics were as many as the entries of the file. */
void check_drop_sensor_cpu(struct experiment *e)
{
    uint32_t at = 0;
    while (at < e->metric_count && strcmp(e->metrics[at].name, sensor_cpu) != 0)
        at++;
    if (at == e->metric_count)
        return;
    free(e->metrics[at].name);
    e->metric_count--;
    memmove(&e->metrics[at], &e->metrics[at + 1], (e->metric_count - at) * sizeof *e->metrics);
    for (uint32_t i = 0; i < e->limit_count; i++)
        e->limits[i].metric -= e->limits[i].metric > (int)at;
}

/* ---- what a limit is on ------------------------------------------------------------------------------------------ */

/* Appends a built-in metric that the file does not mention; its index, or -1. */
static int add_built_in(struct reader *r, struct experiment *e, enum experiment_metric_kind kind)
{
    char *name = reader_copy(r, experiment_metric_word(kind));
    if (!name || !grow_to(&e->metrics, e->metric_count + 1, sizeof *e->metrics)) {
        free(name);
        r->out_of_memory = true;
        return -1;
    }
    e->metrics[e->metric_count] =
        (struct experiment_metric){.name = name, .kind = kind, .share = 0.99, .window = CLOCK_S};
    return (int)e->metric_count++;
}

static bool find_metric(struct reader *r, const struct tree *t, struct experiment *e, const char *name,
                        struct experiment_limit *l)
{
    struct near near = {.wanted = name};
    if (strcmp(name, sensor_cpu) == 0) {
        l->metric = LIMIT_ON_SENSOR_CPU;
        return true;
    }
    for (uint32_t i = 0; i < e->metric_count; i++) {
        if (!e->metrics[i].name)
            continue;
        if (strcmp(e->metrics[i].name, name) == 0 && e->metrics[i].kind == METRIC_HISTOGRAM) {
            reader_wrong(r, t,
                         "metric %s is a histogram, which has no single value; a limit may be on 'percent' or 'count', "
                         "with 'where' for the edge",
                         diagnostics_quote(name).s);
            return false;
        }
        if (strcmp(e->metrics[i].name, name) == 0) {
            l->metric = (int)i;
            return true;
        }
        near_consider(&near, e->metrics[i].name);
    }
    if (built_in(name) != METRIC_RATE && e->metric_count < EXPERIMENT_METRICS_MAX)
        return (l->metric = add_built_in(r, e, built_in(name))) >= 0;
    near_consider(&near, sensor_cpu);
    for (int kind = METRIC_LATENCY; kind < METRIC_KINDS; kind++)
        near_consider(&near, experiment_metric_word((enum experiment_metric_kind)kind));
    reader_no_such(r, t, "metric", &near, "; define it in 'metrics', or use a built-in one such as sensor_cpu");
    return false;
}

/* A difference has the unit of what it is of. */
static enum experiment_unit unit_of(const struct experiment *e, const struct experiment_limit *l)
{
    if (l->metric == LIMIT_ON_SENSOR_CPU)
        return UNIT_PERCENT;
    const struct experiment_metric *m = &e->metrics[l->metric];
    int operand = m->kind == METRIC_DIFFERENCE ? experiment_metric_operand(e, m, 0) : -1;
    switch (operand < 0 ? m->kind : e->metrics[operand].kind) {
    case METRIC_RATE:
        return UNIT_PER_SECOND;
    case METRIC_INTERVAL:
    case METRIC_LATENCY:
    case METRIC_LATENCY_MAX:
    case METRIC_STORING:
    case METRIC_STORING_MAX:
        return UNIT_DURATION;
    case METRIC_EN_ROUTE:
    case METRIC_LOST:
    case METRIC_PERCENT:
        return UNIT_PERCENT;
    default:
        return m->arrivals ? UNIT_DURATION : UNIT_NUMBER;
    }
}

static int read_duration(const char *text, double *bound, const char **why)
{
    int64_t ns;
    int err = units_read_duration(text, &ns, why);
    if (!err)
        *bound = (double)ns;
    return err;
}

/* The bound of a field: a number, or a duration where the field is a time, with a minus where it is negative. */
static int read_number(const char *text, struct experiment_limit *l, const char **why)
{
    const char *numeric = text + strspn(text, " \t"), *ignored;
    bool minus = *numeric == '-';
    bool is_number = units_read_number(numeric + minus, &l->bound, why) == 0;
    if (is_number || read_duration(numeric + minus, &l->bound, &ignored) == 0) {
        l->bound = minus ? -l->bound : l->bound;
        l->unit = is_number ? l->unit : UNIT_DURATION;
        return 0;
    }
    if (!numeric[minus] || numeric[minus + strspn(numeric + minus, "0123456789. \t")])
        *why = "a number is expected, or a duration if the field is a time; there are no other units";
    return BEZEL_EINVAL;
}

static int read_bound(const char *text, struct experiment_limit *l, const char **why)
{
    switch (l->unit) {
    case UNIT_PERCENT:
        return units_read_percent(text, &l->bound, why);
    case UNIT_DURATION:
        return read_duration(text, &l->bound, why);
    case UNIT_PER_SECOND:
        return units_read_rate(text, &l->bound, why);
    case UNIT_NUMBER:
        break;
    }
    return read_number(text, l, why);
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static bool is_cost(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric == LIMIT_ON_SENSOR_CPU || experiment_metric_is_built_in(e->metrics[l->metric].kind);
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* "METRIC >= NUMBER [unit]" */
static void read_limit(struct reader *r, const struct tree *t, struct experiment *e, struct experiment_limit *l)
{
    const char *text = reader_text(r, t, "a limit such as fps >= 29"), *why = NULL;
    char name[EXPERIMENT_NAME_MAX + 1];
    if (!text)
        return;
    text = skip_blanks(text);
    size_t n = strspn(text, schema_name_characters);
    const char *op = skip_blanks(text + n);
    if (n == 0 || n > EXPERIMENT_NAME_MAX || (strncmp(op, ">=", 2) != 0 && strncmp(op, "<=", 2) != 0)) {
        reader_wrong(r, t, "%s is not a limit; expected: METRIC >= NUMBER or METRIC <= NUMBER",
                     diagnostics_quote(text).s);
        return;
    }
    memcpy(name, text, n);
    name[n] = '\0';
    l->compare = op[0] == '>' ? COMPARE_AT_LEAST : COMPARE_AT_MOST;
    if (!find_metric(r, t, e, name, l))
        return;
    l->unit = unit_of(e, l);
    if (read_bound(op + 2, l, &why) != 0)
        reader_wrong(r, t, "the bound in %s is wrong: %s", diagnostics_quote(text).s, why);
    else if (is_cost(e, l) && l->compare == COMPARE_AT_LEAST)
        reader_wrong(r, t, "%s is a cost, which is limited from above; expected: %s <= NUMBER %s", name, name,
                     l->unit == UNIT_PERCENT ? "%" : "ms");
    l->text = reader_copy(r, text);
    if (l->text)
        for (n = strlen(l->text); n > 0 && strchr(" \t", l->text[n - 1]); n--)
            l->text[n - 1] = '\0';
}

/* Values of a field are in its own unit, or in ns if a limit has a unit of time; all its limits must agree. */
static void check_time(struct reader *r, const struct tree *root, struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].text && e->limits[i].unit == UNIT_DURATION && e->limits[i].metric >= 0)
            e->metrics[e->limits[i].metric].in_time = true;
    operands_share_time(e);
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->text && l->unit == UNIT_NUMBER && l->bound != 0 && e->metrics[l->metric].in_time)
            reader_wrong(
                r, tree_get(t, l->kind == LIMIT_HOLD ? "hold" : "expect"),
                "the bound in %s has no unit, and another limit on the same metric has a unit of time: add the unit",
                diagnostics_quote(l->text).s);
    }
}

/* An interval's value is of all nodes, so what judges it is the manager. */
static void check_on_interval(struct reader *r, const struct tree *t, struct experiment *e, struct experiment_limit *l)
{
    const struct tree *per = tree_get(t, "per");
    if (!l->text || !experiment_limit_is_on_interval(e, l))
        return;
    if (per && !l->global)
        reader_wrong(r, per, "%s is an interval, which no node sees whole: its limits are global; expected: global",
                     diagnostics_quote(e->metrics[l->metric].name).s);
    l->global = true;
}

void check_limits(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        struct experiment_limit *l = &e->limits[i];
        const struct tree *hold = tree_get(t, "hold"), *expect = tree_get(t, "expect");
        if (t->kind != TREE_MAP || t->refused)
            continue;
        l->kind = hold ? LIMIT_HOLD : LIMIT_EXPECT;
        if (hold && expect)
            reader_wrong_key(
                r, expect,
                "cannot be combined with 'hold': a limit is either adapted to ('hold') or only judged ('expect')");
        else if (hold || expect)
            read_limit(r, hold ? hold : expect, e, l);
        else
            reader_missing(r, t, "hold", "is missing; expected: 'hold: METRIC >= NUMBER', or 'expect' to judge only");
        check_on_interval(r, t, e, l);
        if (l->text && !tree_get(t, "tolerance"))
            l->tolerance = experiment_default_tolerance(e, l);
        if (expect && !hold && tree_get(t, "priority"))
            reader_wrong_key(r, tree_get(t, "priority"),
                             "applies only to 'hold': nothing adapts to a limit that is only judged");
    }
    check_time(r, root, e);
}

/* ---- global limits ----------------------------------------------------------------------------------------------- */

/* Why the nodes' values cannot be joined to one, and the remedy, for a message that begins with the metric. NULL: they
 * can. */
static const char *not_joined(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (experiment_limit_is_on_interval(e, l))
        return NULL;
    if (m && m->per_process)
        return "has one value per process, and a global limit needs one per node: give the metric 'per: node' in "
               "'metrics'";
    if (m && m->operands)
        return "is of two values of a node, which are not joined: remove 'per: global'";
    if (experiment_join_of(e, l->metric) != JOIN_NOT)
        return NULL;
    return "is of the first or latest record, which the clocks of several nodes cannot determine: remove 'per: "
           "global', or use 'min', 'max' or 'mean'";
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
    bool adapts = !tree_get(adapt, "policy") || experiment_policy_can(e->adapt.policy, POLICY_ADAPTS);
    if (!held || (!adapts && e->adapt.knob_count == 0))
        return;
    if (!by)
        e->adapt.by = ADAPT_BY_MANAGER;
    else if (e->adapt.by == ADAPT_BY_NODE)
        reader_wrong(r, by,
                     "limit %s (line %u) is global, and no node sees the records of the others: use 'by: manager', or "
                     "replace 'hold' by 'expect', which is only judged",
                     diagnostics_quote(held->text).s, held->at.line);
}
