// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Checks that hold for every text given to experiment_read(), right or wrong; for unit and property tests and the
 * fuzzer. */
#ifndef BEZEL_TESTS_LIB_EXPERIMENTS_H
#define BEZEL_TESTS_LIB_EXPERIMENTS_H

#include "config/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENTS_REQUIRE(condition, ...)                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition);                              \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline bool experiments_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool experiments_same_vector(char *const *a, char *const *b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b;
}

static inline bool experiments_same_process(const struct experiment_process *a, const struct experiment_process *b)
{
    return experiments_same_text(a->name, b->name) && a->node == b->node && experiments_same_vector(a->argv, b->argv) &&
           experiments_same_text(a->attach, b->attach) && experiments_same_text(a->directory, b->directory) &&
           experiments_same_vector(a->environment, b->environment) && a->instances == b->instances &&
           a->output == b->output;
}

static inline bool experiments_same_metric(const struct experiment_metric *a, const struct experiment_metric *b)
{
    return experiments_same_text(a->name, b->name) && a->kind == b->kind &&
           experiments_same_text(a->aspect, b->aspect) && experiments_same_text(a->field, b->field) &&
           experiments_same_text(a->where, b->where) && a->share == b->share && a->window == b->window &&
           a->per_process == b->per_process;
}

static inline bool experiments_same_limit(const struct experiment_limit *a, const struct experiment_limit *b)
{
    return a->kind == b->kind && a->metric == b->metric && a->compare == b->compare && a->bound == b->bound &&
           a->persistence == b->persistence && a->tolerance == b->tolerance &&
           experiments_same_text(a->text, b->text) && a->unit == b->unit && a->priority == b->priority;
}

static inline bool experiments_same_knob(const struct experiment_knob *a, const struct experiment_knob *b)
{
    return experiments_same_text(a->name, b->name) && a->process == b->process && a->serves == b->serves &&
           a->helps == b->helps && a->min == b->min && a->max == b->max && a->step == b->step && a->order == b->order &&
           a->settle == b->settle;
}

static inline bool experiments_same_rules(const struct experiment_rule *a, const struct experiment_rule *b)
{
    for (; a && b && a->pattern && b->pattern; a++, b++)
        if (strcmp(a->pattern, b->pattern) != 0 || a->value != b->value)
            return false;
    return (!a || !a->pattern) && (!b || !b->pattern);
}

static inline bool experiments_same_clock(const struct clock_keeping *a, const struct clock_keeping *b)
{
    return a->by == b->by && a->bound == b->bound;
}

static inline bool experiments_same_real_time(const struct experiment_real_time *a,
                                              const struct experiment_real_time *b)
{
    return a->policy == b->policy && a->priority == b->priority && a->runtime == b->runtime &&
           a->deadline == b->deadline && a->period == b->period && memcmp(&a->cpu, &b->cpu, sizeof a->cpu) == 0 &&
           memcmp(&a->io_cpu, &b->io_cpu, sizeof a->io_cpu) == 0 && a->lock_memory == b->lock_memory &&
           a->timer_slack == b->timer_slack;
}

static inline bool experiments_same_parents(const struct experiment_parents *a, const struct experiment_parents *b)
{
    static const struct experiment_parents root = {1, {EXPERIMENT_ROOT}}; /* as printed, where none are given */
    a = a->count ? a : &root;
    b = b->count ? b : &root;
    return a->count == b->count && memcmp(a->of, b->of, a->count * sizeof *a->of) == 0;
}

static inline bool experiments_same_inner(const struct experiment_inner *a, const struct experiment_inner *b)
{
    return experiments_same_text(a->name, b->name) && experiments_same_text(a->node, b->node) &&
           experiments_same_text(a->listen, b->listen) && experiments_same_text(a->control, b->control) &&
           a->buffer == b->buffer && experiments_same_parents(&a->parents, &b->parents);
}

/** Whether two models are equal, except for places. */
static inline bool experiments_same(const struct experiment *a, const struct experiment *b)
{
    bool same = experiments_same_text(a->name, b->name) && a->duration == b->duration && a->grace == b->grace &&
                a->node_count == b->node_count && a->process_count == b->process_count &&
                a->metric_count == b->metric_count && a->limit_count == b->limit_count &&
                a->sensing.ring_records == b->sensing.ring_records &&
                a->sensing.ring_threads == b->sensing.ring_threads && a->sensing.mode == b->sensing.mode &&
                a->sensing.period == b->sensing.period && a->sensing.forward == b->sensing.forward &&
                a->sensing.window_bytes == b->sensing.window_bytes && a->sensing.when_full == b->sensing.when_full &&
                experiments_same_vector(a->sensing.count, b->sensing.count) &&
                experiments_same_vector(a->sensing.off, b->sensing.off) && a->adapt.policy == b->adapt.policy &&
                a->adapt.every == b->adapt.every && a->adapt.period_min == b->adapt.period_min &&
                a->adapt.period_max == b->adapt.period_max && experiments_same_text(a->store.listen, b->store.listen) &&
                a->store.sync == b->store.sync && a->store.keep.bytes == b->store.keep.bytes &&
                a->store.keep.time == b->store.keep.time;
    same =
        same && a->sensing.accumulate == b->sensing.accumulate && a->sensing.accumulate_or == b->sensing.accumulate_or;
    same = same && a->sensing.batch == b->sensing.batch && experiments_same_rules(a->sensing.expire, b->sensing.expire);
    same = same && a->adapt.max_age == b->adapt.max_age && a->adapt.knob_count == b->adapt.knob_count &&
           experiments_same_rules(a->sensing.importance, b->sensing.importance);
    same = same && experiments_same_clock(&a->collector.clock, &b->collector.clock) &&
           order_settings_same(&a->order, &b->order);
    same = same && experiments_same_real_time(&a->sensing.real_time, &b->sensing.real_time);
    for (uint32_t i = 0; same && i < a->node_count; i++)
        same = experiments_same_text(a->nodes[i].name, b->nodes[i].name) &&
               experiments_same_text(a->nodes[i].dir, b->nodes[i].dir) &&
               experiments_same_text(a->nodes[i].address, b->nodes[i].address) &&
               experiments_same_clock(&a->nodes[i].clock, &b->nodes[i].clock) &&
               experiments_same_parents(&a->nodes[i].parents, &b->nodes[i].parents);
    same = same && a->inner_count == b->inner_count;
    for (uint32_t i = 0; same && i < a->inner_count; i++)
        same = experiments_same_inner(&a->inner[i], &b->inner[i]);
    for (uint32_t i = 0; same && i < a->process_count; i++)
        same = experiments_same_process(&a->processes[i], &b->processes[i]);
    for (uint32_t i = 0; same && i < a->metric_count; i++)
        same = experiments_same_metric(&a->metrics[i], &b->metrics[i]);
    for (uint32_t i = 0; same && i < a->limit_count; i++)
        same = experiments_same_limit(&a->limits[i], &b->limits[i]);
    for (uint32_t i = 0; same && i < a->adapt.knob_count; i++)
        same = experiments_same_knob(&a->adapt.knobs[i], &b->adapt.knobs[i]);
    return same;
}

/* Length in bytes of the line break at `p`, as YAML 1.1 knows them; 0: none. */
static inline size_t experiments_break(const unsigned char *p, size_t left)
{
    if (left >= 2 && p[0] == '\r' && p[1] == '\n')
        return 2;
    if (p[0] == '\r' || p[0] == '\n')
        return 1;
    if (left >= 2 && p[0] == 0xc2 && p[1] == 0x85)
        return 2;
    return left >= 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9) ? 3 : 0;
}

/** Whether `at` is a character of the text, or directly behind the last one of its line. */
static inline bool experiments_is_inside(const char *text, size_t n, struct experiment_place at)
{
    const unsigned char *p = (const unsigned char *)text;
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < n;) {
        size_t ends = experiments_break(p + i, n - i);
        if (line == at.line && ends)
            return at.column >= 1 && at.column <= column;
        column = ends ? 1 : column + ((p[i] & 0xc0) != 0x80);
        line += ends != 0;
        i += ends ? ends : 1;
    }
    return line == at.line && at.column >= 1 && at.column <= column;
}

/* Findings are sentences with a place in the text, in the order of the text; `errors` is their number of errors. */
static inline void experiments_check_findings(const char *text, size_t n, const struct experiment_diagnostics *found)
{
    size_t errors = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct experiment_diagnostic *d = &found->list[i];
        errors += !d->warning;
        EXPERIMENTS_REQUIRE(d->sentence && d->sentence[0] && d->path, "finding %zu", i);
        EXPERIMENTS_REQUIRE(experiments_is_inside(text, n, d->at), "%u:%u: %s", d->at.line, d->at.column, d->sentence);
        EXPERIMENTS_REQUIRE(i == 0 || d[-1].at.line < d->at.line ||
                                (d[-1].at.line == d->at.line && d[-1].at.column <= d->at.column),
                            "%u:%u after %u:%u", d->at.line, d->at.column, d[-1].at.line, d[-1].at.column);
        for (const char *c = d->sentence; *c; c++)
            EXPERIMENTS_REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f, "control character %d in a sentence", *c);
    }
    EXPERIMENTS_REQUIRE(found->count < 1000 ? found->errors == errors : found->errors >= errors, "%zu", found->errors);
}

/* The printed model is read back as the same model, without a new finding, and prints the same. */
static inline void experiments_check_printed(const struct experiment *e, size_t warnings)
{
    char *printed = NULL, *again = NULL;
    size_t n = 0, m = 0;
    struct experiment *back = NULL;
    struct experiment_diagnostics found;
    FILE *out = open_memstream(&printed, &n);
    EXPERIMENTS_REQUIRE(out && experiment_print(e, out) == 0 && fclose(out) == 0, "memory");
    int err = experiment_read(printed, n, &back, &found);
    EXPERIMENTS_REQUIRE(err == 0, "%s: %s\n%s", found.count ? found.list[0].path : "",
                        found.count ? found.list[0].sentence : "", printed);
    EXPERIMENTS_REQUIRE(found.count <= warnings, "%zu warnings, not %zu", found.count, warnings);
    EXPERIMENTS_REQUIRE(experiments_same(e, back), "\n%s", printed);
    out = open_memstream(&again, &m);
    EXPERIMENTS_REQUIRE(out && experiment_print(back, out) == 0 && fclose(out) == 0, "memory");
    EXPERIMENTS_REQUIRE(n == m && memcmp(printed, again, n) == 0, "\n%s\n%s", printed, again);
    experiment_diagnostics_free(&found);
    experiment_free(back);
    free(printed);
    free(again);
}

/* What is sent to the bezeld of a node is an experiment, too, with the same limits and processes for it. */
static inline void experiments_check_part(const struct experiment *e, uint32_t node)
{
    char *printed = NULL;
    size_t n = 0;
    struct experiment *part = NULL;
    struct experiment_diagnostics found;
    EXPERIMENTS_REQUIRE(experiment_part_text(e, node, &printed, &n) == 0, "memory");
    int err = experiment_read(printed, n, &part, &found);
    EXPERIMENTS_REQUIRE(err == 0, "node %u: %s: %s\n%s", node, found.count ? found.list[0].path : "",
                        found.count ? found.list[0].sentence : "", printed);
    EXPERIMENTS_REQUIRE(part->node_count == e->node_count && part->limit_count == e->limit_count &&
                            part->process_count == e->process_count && part->adapt.knob_count == e->adapt.knob_count,
                        "node %u:\n%s", node, printed);
    for (uint32_t i = 0; i < e->process_count; i++) {
        const struct experiment_process *p = &e->processes[i], *q = &part->processes[i];
        bool same = strcmp(p->name, q->name) == 0 && p->node == q->node;
        if (p->node == node)
            same = same && !p->attach == !q->attach && (!p->attach || strcmp(p->attach, q->attach) == 0);
        EXPERIMENTS_REQUIRE(same, "node %u:\n%s", node, printed);
    }
    EXPERIMENTS_REQUIRE(memcmp(&e->adapt.every, &part->adapt.every, sizeof e->adapt.every) == 0 &&
                            e->adapt.policy == part->adapt.policy && e->adapt.by == part->adapt.by &&
                            e->sensing.accumulate == part->sensing.accumulate &&
                            e->sensing.accumulate_or == part->sensing.accumulate_or,
                        "node %u:\n%s", node, printed);
    EXPERIMENTS_REQUIRE(order_settings_same(&part->order, &e->order), "node %u:\n%s", node, printed);
    static const struct clock_keeping nobody;
    EXPERIMENTS_REQUIRE(
        experiments_same_clock(&e->nodes[node].clock, &part->nodes[node].clock) &&
            experiments_same_clock((int)node == experiment_collector_node(e) ? &e->collector.clock : &nobody,
                                   &part->collector.clock),
        "node %u:\n%s", node, printed);
    experiment_diagnostics_free(&found);
    experiment_free(part);
    free(printed);
}

/** Reads `n` bytes at `text`, and makes all checks of this file. Returns whether it is an experiment. */
static inline bool experiments_require_invariants(const char *text, size_t n)
{
    struct experiment *e = NULL;
    struct experiment_diagnostics found;
    int err = experiment_read(text, n, &e, &found);
    EXPERIMENTS_REQUIRE(err == 0 || err == BEZEL_EMALFORMED, "%s", err_text(err));
    EXPERIMENTS_REQUIRE((err == 0) == (found.errors == 0) && (err == 0) == (e != NULL), "%zu errors", found.errors);
    experiments_check_findings(text, n, &found);
    if (e) {
        experiments_check_printed(e, found.count);
        experiments_check_part(e, 0);
        experiments_check_part(e, e->node_count - 1);
    }
    experiment_free(e);
    experiment_diagnostics_free(&found);
    return err == 0;
}

#endif
