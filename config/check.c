// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/command.h"
#include "config/findings.h"
#include "config/real_time.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char sensor_cpu[] = "sensor_cpu";

/* The first entry of a section, NULL where the section is not there or was refused: then its array is empty as well. */
static const struct tree *entries(const struct tree *section, uint32_t count)
{
    return section && count > 0 ? section->first : NULL;
}

/* ---- nodes ---- */

static void check_nodes(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *section = tree_get(root, "nodes"), *t = entries(section, e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        for (uint32_t j = 0; e->nodes[i].dir && j < i; j++)
            if (e->nodes[j].dir && strcmp(e->nodes[i].dir, e->nodes[j].dir) == 0)
                reader_wrong(r, tree_get(t, "dir"), "two nodes share no folder: it is that of node %s too",
                             findings_quote(e->nodes[j].name ? e->nodes[j].name : "").s);
    if (e->node_count > 0 || (section && section->children > 0))
        return;
    struct experiment_node *local = calloc(1, sizeof *local);
    free(e->nodes); /* of an empty map */
    e->nodes = local;
    if (!local) {
        r->out_of_memory = true;
        return;
    }
    e->node_count = 1;
    local->name = reader_copy(r, "local");
}

static void resolve_node(struct reader *r, const struct tree *t, const struct experiment *e,
                         struct experiment_process *p)
{
    const struct tree *value = tree_get(t, "node");
    p->node = value || e->node_count != 1 ? UINT32_MAX : 0; /* no node: an error, now or already */
    if (e->node_count == 0)
        return;
    if (!value) {
        if (e->node_count > 1)
            reader_missing(r, t, "node", "is missing; expected: the name of one of the %u nodes", e->node_count);
        return;
    }
    const char *text = reader_text(r, value, "the name of a node");
    if (!text)
        return;
    struct findings_near near = {.wanted = text};
    for (uint32_t i = 0; i < e->node_count; i++) {
        const char *name = e->nodes[i].name ? e->nodes[i].name : "";
        if (strcmp(name, text) == 0) {
            p->node = i;
            return;
        }
        findings_near_consider(&near, name);
    }
    if (near.best)
        reader_wrong(r, value, "there is no node %s; did you mean '%s'?", findings_quote(text).s, near.best);
    else
        reader_wrong(r, value, "there is no node %s; name it in 'nodes', or leave it out", findings_quote(text).s);
}

/* ---- processes ---- */

/* Nodes that attach and have no folder of their own use the one that programs use by default, which has one reader. */
static void check_default_folder(struct reader *r, const struct tree *t, const struct experiment *e)
{
    const struct experiment_process *first = NULL;
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i];
        if (!p->attach || p->node >= e->node_count || e->nodes[p->node].dir)
            continue;
        if (!first)
            first = p;
        if (p->node != first->node)
            reader_wrong_key(r, tree_get(t, "attach"),
                             "two nodes that attach share the default folder (see line %u): give one of them a 'dir'",
                             first->at.line);
    }
}

/* What belongs to a process that Bezel starts, or to one that it finds, not to both. */
static void check_process(struct reader *r, const struct tree *t)
{
    static const char *const of_started[] = {"instances", "directory", "environment", "output"};
    const struct tree *command = tree_get(t, "command"), *attach = tree_get(t, "attach");
    if (command && attach)
        reader_wrong_key(r, attach, "stands beside 'command': a process is either started or attached to");
    else if (!command && !attach)
        reader_missing(r, t, "command",
                       "is missing; expected: a program to start, or 'attach' with a glob of running ones");
    else if (attach)
        for (size_t i = 0; i < sizeof of_started / sizeof *of_started; i++)
            if (tree_get(t, of_started[i]))
                reader_wrong_key(r, tree_get(t, of_started[i]),
                                 "is for a process that is started ('command'), not for one that is attached to");
}

/* Whether `name` is that of `p` or of one of its instances. */
static bool is_instance_of(const char *name, const struct experiment_process *p)
{
    size_t n = strlen(p->name);
    uint64_t number;
    const char *why;
    if (strncmp(name, p->name, n) != 0)
        return false;
    if (name[n] == '\0')
        return true;
    return p->instances > 1 && name[n] == '.' && units_read_count(name + n + 1, &number, &why) == 0 && number >= 1 &&
           number <= p->instances;
}

static void check_process_names(struct reader *r, const struct tree *t, struct experiment *e)
{
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i];
        char last[EXPERIMENT_NAME_MAX + 16];
        if (!p->name)
            continue;
        experiment_instance_name(p, p->instances - 1, last, sizeof last);
        if (strlen(last) > EXPERIMENT_NAME_MAX)
            reader_wrong(r, tree_get(t, "name"), "with the number of its instances, as in '%s', it is longer than %d",
                         last, EXPERIMENT_NAME_MAX);
        for (uint32_t j = 0; j < i; j++) {
            const struct experiment_process *q = &e->processes[j];
            if (q->name && (is_instance_of(p->name, q) || is_instance_of(q->name, p))) {
                reader_wrong(r, tree_get(t, "name"), "is taken by the process of line %u", q->at.line);
                break;
            }
        }
    }
}

/* A name from the program's file name, with '_' for what a name does not hold. */
static char *name_of_program(struct reader *r, const char *program)
{
    const char *slash = strrchr(program, '/');
    char name[EXPERIMENT_NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", slash && slash[1] ? slash + 1 : program);
    for (char *c = name; *c; c++)
        if (!strchr(schema_name_characters, *c) || (c == name && (*c == '.' || *c == '-')))
            *c = '_';
    return reader_copy(r, name);
}

/* `command:` at the top: one process on the only node. */
static void add_short_form(struct reader *r, const struct tree *command, struct experiment *e)
{
    struct experiment_process *p = malloc(sizeof *p);
    if (!p) {
        r->out_of_memory = true;
        return;
    }
    *p = schema_default_process;
    p->at = command->key_at;
    e->processes = p;
    e->process_count = 1;
    command_read(r, command, &p->argv);
    if (p->argv)
        p->name = name_of_program(r, p->argv[0]);
    if (e->node_count > 1)
        reader_wrong_key(r, command, "with several nodes, say which one: list it in 'processes', with 'node'");
}

static void check_processes(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *section = tree_get(root, "processes"), *command = tree_get(root, "command");
    const struct tree *t = entries(section, e->process_count);
    if (command && section)
        reader_wrong_key(r, command, "stands beside 'processes': give one of them");
    else if (command && !command->refused)
        add_short_form(r, command, e);
    else if (!command && !section)
        reader_missing(r, root, "command", "is missing; expected: a program to start, or 'processes' with several");
    else if (section && section->kind == TREE_LIST && section->children == 0)
        reader_wrong(r, section, "is empty; expected: a process to start ('command') or to attach to ('attach')");
    check_process_names(r, t, e);
    for (uint32_t i = 0; t; t = t->next, i++) {
        if (t->kind != TREE_MAP || t->refused)
            continue;
        check_process(r, t);
        resolve_node(r, t, e, &e->processes[i]);
    }
    check_default_folder(r, entries(section, e->process_count), e);
}

/* ---- metrics and limits ---- */

static void check_metrics(struct reader *r, const struct tree *root, struct experiment *e)
{
    static const char *const others[] = {"count", "quantile", "interval", "last"};
    const struct tree *t = entries(tree_get(root, "metrics"), e->metric_count);
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
    const struct tree *t = entries(tree_get(root, "limits"), e->limit_count);
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

/*
 * The first limit to be held, on a metric with a window above `window` where that is not 0; *tree is where it stands.
 */
static const struct experiment_limit *first_hold(const struct tree *root, const struct experiment *e, int64_t window,
                                                 const struct tree **tree)
{
    const struct tree *t = entries(tree_get(root, "limits"), e->limit_count);
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
        e->adapt.policy = first_hold(root, e, 0, &at) ? POLICY_SPP : POLICY_NONE;
    if (e->adapt.policy != POLICY_DPP) /* which nothing but the file makes it: below, `policy` is there */
        return;
    if (e->sensing.mode == POLL_BUSY_WAIT)
        reader_wrong(r, policy, "dpp adapts the polling period, and busy-wait has none: use spp, or 'mode: polling'");
    else if (e->sensing.period < e->adapt.period_min || e->sensing.period > e->adapt.period_max)
        reader_wrong(r, period ? period : policy, "the period at the start, %s, is outside of adapt.period, %s .. %s",
                     units_exact_duration(e->sensing.period).s, units_exact_duration(e->adapt.period_min).s,
                     units_exact_duration(e->adapt.period_max).s);
}

/* ---- doubts: about a file without errors ---- */

static void doubt_unused_metrics(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        bool used = false;
        for (uint32_t j = 0; j < e->limit_count; j++)
            used = used || e->limits[j].metric == (int)i;
        if (!used)
            reader_doubt(r, t, "no limit reads this metric");
    }
}

/* The pattern of `patterns` that matches `name`, NULL where none does. */
static const char *find_match(char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return *patterns;
    return NULL;
}

static void doubt_blind_metrics(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const char *match = find_match(e->sensing.off, e->metrics[i].aspect);
        if (match)
            reader_doubt(r, tree_get(t, "rate"), "is unknown: %s in sensing.aspects.off switches this aspect off",
                         findings_quote(match).s);
    }
}

/* A bound that the polling period alone may use up. */
static void doubt_expiries(struct reader *r, const struct tree *expire, const struct experiment_sensing *s)
{
    const struct tree *t = expire ? expire->first : NULL;
    if (s->mode == POLL_BUSY_WAIT || !s->expire)
        return;
    for (const struct experiment_expiry *e = s->expire; e->pattern && t; e++, t = t->next)
        if (e->bound > 0 && e->bound <= s->period)
            reader_doubt(r, t, "is not above the polling period, %s: most records are older when they are taken",
                         units_exact_duration(s->period).s);
}

static void doubt_polling(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *poll = tree_get(tree_get(root, "sensing"), "poll");
    const struct tree *period = tree_get(poll, "period"), *batch = tree_get(poll, "batch");
    if (e->sensing.mode == POLL_BUSY_WAIT && period)
        reader_doubt(r, period, "is not used in busy-wait mode");
    if (e->sensing.mode == POLL_BUSY_WAIT && e->sensing.doorbell)
        reader_doubt(r, tree_get(poll, "doorbell"), "is not used in busy-wait mode, which never sleeps");
    if (e->limit_count > 0 && e->sensing.doorbell)
        reader_doubt(r, tree_get(poll, "doorbell"), "has no effect: where limits are judged no node sleeps");
    if (e->sensing.forward == FORWARD_COLLECT && e->sensing.batch > 0)
        reader_doubt(r, batch, "is not used with 'forward: collect', which takes one record a poll");
    doubt_expiries(r, tree_get(tree_get(root, "sensing"), "expire"), &e->sensing);
}

static void doubt_adapt(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *policy = tree_get(adapt, "policy"), *at;
    const struct tree *every = tree_get(adapt, "every");
    const struct experiment_limit *hold = first_hold(root, e, 0, &at);
    if (e->adapt.policy == POLICY_NONE) {
        if (hold)
            reader_doubt(r, policy, "with policy none nothing is adapted: 'hold' limits (line %u) are only judged",
                         hold->at.line);
        return;
    }
    if (!hold)
        reader_doubt(r, policy, "there is nothing to adapt to: no limit says 'hold'");
    hold = every ? first_hold(root, e, 2 * e->adapt.every, &at) : NULL;
    if (hold)
        reader_doubt(
            r, every,
            "adapt decides every %s, faster than half the window (%s) of metric %s, and sees the effect of a decision "
            "late: a shorter window or a longer adapt.every avoids swinging",
            units_exact_duration(e->adapt.every).s, units_exact_duration(e->metrics[hold->metric].window).s,
            findings_quote(e->metrics[hold->metric].name).s);
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
    doubt_unused_metrics(r, root, e);
    doubt_blind_metrics(r, root, e);
    doubt_polling(r, root, e);
    doubt_adapt(r, root, e);
    real_time_doubt(r, root, e);
}
