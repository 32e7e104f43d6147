// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_own.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/findings.h"

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

/* What a built-in metric is made of is no question. */
static void check_built_in(struct reader *r, const struct tree *t, struct experiment_metric *m,
                           enum experiment_metric_kind kind)
{
    for (const struct tree *key = t->kind == TREE_MAP ? t->first : NULL; key; key = key->next)
        if (strcmp(key->key, "window") != 0 && strcmp(key->key, "per") != 0)
            reader_wrong_key(r, key, "is no key of a metric that is built in; allowed here: window, per");
    const struct tree *per = tree_get(t, "per");
    if (per && m->per_process)
        reader_wrong(r, per, "is of all that a node monitors; expected: node");
    m->per_process = false;
    m->kind = kind;
}

static void check_kind(struct reader *r, const struct tree *t, struct experiment_metric *m)
{
    const struct tree *found = NULL;
    for (int kind = METRIC_RATE; kind <= METRIC_QUANTILE; kind++) {
        const char *word = experiment_metric_word((enum experiment_metric_kind)kind);
        const struct tree *key = tree_get(t, word);
        if (key && found)
            reader_wrong_key(r, key, "stands beside '%s': a metric is one figure", found->key);
        if (!key || found)
            continue;
        found = key;
        m->kind = (enum experiment_metric_kind)kind;
    }
    bool later = tree_get(t, "count") || tree_get(t, "interval");
    if (!found && !later)
        reader_missing(r, t, "rate",
                       "is missing; expected: the aspect whose records per second count, or one of mean, min, max, "
                       "last, quantile with a field 'of' an aspect");
    if (!found)
        return;
    if (m->kind != METRIC_RATE && !tree_get(t, "of"))
        reader_missing(r, t, "of", "is missing; expected: the aspect whose field '%s' names", found->key);
    if (m->kind == METRIC_RATE && tree_get(t, "of"))
        reader_wrong_key(r, tree_get(t, "of"), "goes with a field; 'rate' names the aspect itself");
    if (m->kind != METRIC_QUANTILE && tree_get(t, "share"))
        reader_wrong_key(r, tree_get(t, "share"), "goes with 'quantile'");
}

void check_metrics(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        enum experiment_metric_kind kind = built_in(t->key);
        if (strcmp(t->key, sensor_cpu) == 0)
            reader_wrong_key(r, t, "is built in: limits may use it as it is");
        if (t->refused || (t->kind != TREE_MAP && !t->absent))
            continue;
        if (kind != METRIC_RATE)
            check_built_in(r, t, &e->metrics[i], kind);
        else
            check_kind(r, t, &e->metrics[i]);
    }
}

/* ---- what a limit is on ------------------------------------------------------------------------------------------ */

/* Appends a built-in metric that the file does not mention; its index, or -1. */
static int add_built_in(struct reader *r, struct experiment *e, enum experiment_metric_kind kind)
{
    struct experiment_metric *more = realloc(e->metrics, (e->metric_count + 1) * sizeof *more);
    char *name = reader_copy(r, experiment_metric_word(kind));
    if (more)
        e->metrics = more;
    if (!more || !name) {
        free(name);
        r->out_of_memory = true;
        return -1;
    }
    more[e->metric_count] = (struct experiment_metric){.name = name, .kind = kind, .share = 0.99, .window = CLOCK_S};
    return (int)e->metric_count++;
}

static bool find_metric(struct reader *r, const struct tree *t, struct experiment *e, const char *name,
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
    if (built_in(name) != METRIC_RATE && e->metric_count < EXPERIMENT_METRICS_MAX)
        return (l->metric = add_built_in(r, e, built_in(name))) >= 0;
    findings_near_consider(&near, sensor_cpu);
    for (int kind = METRIC_LATENCY; kind < METRIC_KINDS; kind++)
        findings_near_consider(&near, experiment_metric_word((enum experiment_metric_kind)kind));
    if (near.best)
        reader_wrong(r, t, "there is no metric %s; did you mean '%s'?", findings_quote(name).s, near.best);
    else
        reader_wrong(r, t, "there is no metric %s; define it in 'metrics', or use sensor_cpu", findings_quote(name).s);
    return false;
}

static enum experiment_unit unit_of(const struct experiment *e, const struct experiment_limit *l)
{
    if (l->metric == LIMIT_ON_SENSOR_CPU)
        return UNIT_PERCENT;
    switch (e->metrics[l->metric].kind) {
    case METRIC_RATE:
        return UNIT_PER_SECOND;
    case METRIC_LATENCY:
    case METRIC_LATENCY_MAX:
    case METRIC_STORING:
    case METRIC_STORING_MAX:
        return UNIT_DURATION;
    case METRIC_EN_ROUTE:
    case METRIC_LOST:
        return UNIT_PERCENT;
    default:
        return UNIT_NUMBER;
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

/* The bound of a field: a number, with a minus where it is negative, or a duration where the field is in ns. */
static int read_number(const char *text, struct experiment_limit *l, const char **why)
{
    const char *numeric = text + strspn(text, " \t"), *ignored;
    bool minus = *numeric == '-';
    if (units_read_rate(numeric + minus, &l->bound, why) == 0 && !strchr(numeric, '/')) {
        l->bound = minus ? -l->bound : l->bound;
        return 0;
    }
    if (read_duration(text, &l->bound, &ignored) == 0) {
        l->unit = UNIT_DURATION;
        return 0;
    }
    *why = "a number is expected, or a duration of a field of time; there is no other unit";
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
        reader_wrong(r, t, "%s is no limit; expected: METRIC >= NUMBER or METRIC <= NUMBER", findings_quote(text).s);
        return;
    }
    memcpy(name, text, n);
    name[n] = '\0';
    l->compare = op[0] == '>' ? COMPARE_AT_LEAST : COMPARE_AT_MOST;
    if (!find_metric(r, t, e, name, l))
        return;
    l->unit = unit_of(e, l);
    if (read_bound(op + 2, l, &why) != 0)
        reader_wrong(r, t, "the bound in %s is wrong: %s", findings_quote(text).s, why);
    else if (is_cost(e, l) && l->compare == COMPARE_AT_LEAST)
        reader_wrong(r, t, "%s is a cost; expected: %s <= NUMBER %s", name, name, l->unit == UNIT_PERCENT ? "%" : "ms");
    l->text = reader_copy(r, text);
    if (l->text)
        for (n = strlen(l->text); n > 0 && strchr(" \t", l->text[n - 1]); n--)
            l->text[n - 1] = '\0';
}

/* Values of a field are in its own unit, or in ns where a limit says that it is one of time: not both. */
static void check_time(struct reader *r, const struct tree *root, struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].text && e->limits[i].unit == UNIT_DURATION && e->limits[i].metric >= 0)
            e->metrics[e->limits[i].metric].in_time = true;
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->text && l->unit == UNIT_NUMBER && l->bound != 0 && e->metrics[l->metric].in_time)
            reader_wrong(r, tree_get(t, l->kind == LIMIT_HOLD ? "hold" : "expect"),
                         "the bound in %s has no unit, where another limit on the metric has one of time",
                         findings_quote(l->text).s);
    }
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
            reader_wrong_key(r, expect, "stands beside 'hold': a limit is either adapted to or only judged");
        else if (hold || expect)
            read_limit(r, hold ? hold : expect, e, l);
        else
            reader_missing(r, t, "hold", "is missing; expected: 'hold: METRIC >= NUMBER', or 'expect' to judge only");
        if (expect && !hold && tree_get(t, "priority"))
            reader_wrong_key(r, tree_get(t, "priority"),
                             "goes with 'hold': nothing answers a limit that is only judged");
    }
    check_time(r, root, e);
}

/* ---- adaptation -------------------------------------------------------------------------------------------------- */

/*
 * The first limit to be held whose metric is unknown while collection is off, for it is made of records: a policy that
 * waits for it to hold before it turns collection on would wait for ever.
 */
static const struct experiment_limit *first_that_needs_records(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->text && l->metric >= 0 && e->metrics[l->metric].kind != METRIC_RATE)
            return l;
    }
    return NULL;
}

bool check_needs_records(const struct experiment *e)
{
    return first_that_needs_records(e) != NULL;
}

/* Whether a limit to be held is on how records flow: polling more often is what helps it. */
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
 * A busy-wait has no period to move; what needs records is refused there, whatever the policy. Who states a budget and
 * no more does not ask for polls that cost all of it: they come no more often than the file says.
 */
void check_choose_policy(const struct tree *adapt, struct experiment *e, bool holds)
{
    struct experiment_adapt *a = &e->adapt;
    bool still = e->sensing.mode == POLL_BUSY_WAIT && !check_needs_records(e);
    a->policy = !holds ? POLICY_NONE : still ? POLICY_SPP : POLICY_ELASTIC;
    if (a->policy != POLICY_ELASTIC || tree_get(adapt, "period"))
        return;
    if (!wants_shorter(e))
        a->period_min = e->sensing.period;
    if (a->period_max < e->sensing.period)
        a->period_max = e->sensing.period;
}

void check_policy(struct reader *r, const struct tree *policy, const struct experiment *e)
{
    const struct experiment_limit *l = first_that_needs_records(e);
    if (l && policy && (e->adapt.policy == POLICY_SPP || e->adapt.policy == POLICY_DPP))
        reader_wrong(r, policy,
                     "%s turns collection on again when limit %s (line %u) is known to hold, and it is unknown while "
                     "collection is off: use elastic",
                     experiment_policy_word((int)e->adapt.policy), findings_quote(l->text).s, l->at.line);
}

void check_hysteresis(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *hysteresis = tree_get(adapt, "hysteresis");
    struct experiment_adapt *a = &e->adapt;
    if (a->hysteresis == 0 || !hysteresis)
        return;
    if (a->hysteresis < a->every)
        reader_wrong(r, hysteresis,
                     "is less than adapt.every, %s: all that is observed would be too old at the next "
                     "decision",
                     units_exact_duration(a->every).s);
    if (!experiment_policy_moves(a->policy) || a->policy == POLICY_DPP)
        return;
    int64_t longest = a->hysteresis / 2;
    if (!tree_get(adapt, "period") && longest < a->period_max && longest >= a->period_min)
        a->period_max = longest;
    if (a->period_max > longest)
        reader_wrong(
            r, tree_get(adapt, "period") ? tree_get(adapt, "period") : hysteresis,
            "polling may come to %s, which is more than half of adapt.hysteresis, %s: records would be too old "
            "when they are taken",
            units_exact_duration(a->period_max).s, units_exact_duration(a->hysteresis).s);
}
