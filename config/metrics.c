// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/experiment.h"

#include <fnmatch.h>
#include <string.h>

enum { FIELDS_MOST = 12 }; /* an aspect has at most so many */

bool experiment_metric_is_built_in(enum experiment_metric_kind kind)
{
    return kind >= METRIC_LATENCY;
}

bool experiment_metric_is_of_arrivals(const struct experiment_metric *m)
{
    return m->arrivals != ARRIVALS_NONE || m->kind == METRIC_MISSES || m->kind == METRIC_TIME_MEAN;
}

const char *experiment_arrivals_word(enum experiment_arrivals arrivals)
{
    static const char *const words[] = {
        [ARRIVALS_NONE] = NULL, [ARRIVALS_TIME] = "inter-arrival", [ARRIVALS_JITTER] = "inter-arrival-jitter"};
    return words[arrivals];
}

bool experiment_metric_is_counted(const struct experiment_metric *m)
{
    return m->kind == METRIC_RATE || m->kind == METRIC_COUNT;
}

bool experiment_metric_reads_records(const struct experiment_metric *m)
{
    return !experiment_metric_is_counted(m) || m->where;
}

const char *experiment_metric_aspect(const struct experiment_metric *m, uint32_t i)
{
    if (i < m->interval.count)
        return m->interval.aspects[i];
    return i == 0 ? m->aspect : NULL;
}

int experiment_metric_operand(const struct experiment *e, const struct experiment_metric *m, int i)
{
    for (uint32_t at = 0; m->operands && m->operands[i] && at < e->metric_count; at++)
        if (e->metrics[at].name && strcmp(e->metrics[at].name, m->operands[i]) == 0)
            return (int)at;
    return -1;
}

bool experiment_metric_is_of(const struct experiment_metric *m, const char *name)
{
    const char *aspect;
    for (uint32_t i = 0; (aspect = experiment_metric_aspect(m, i)); i++)
        if (strcmp(aspect, name) == 0)
            return true;
    return false;
}

/* A process of several instances is meant by its name. */
bool experiment_interval_takes(const struct experiment_interval *i, uint32_t at, const char *name)
{
    const char *pattern = i->processes[at];
    size_t n = pattern ? strlen(pattern) : 0;
    if (!pattern || fnmatch(pattern, name, 0) == 0)
        return true;
    return strncmp(pattern, name, n) == 0 && name[n] == '.' && name[n + 1] &&
           name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0';
}

bool experiment_limit_is_on_interval(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric != LIMIT_ON_SENSOR_CPU && e->metrics[l->metric].kind == METRIC_INTERVAL;
}

/* Whether the value of metric number `at` is of a whole sampling period. Where windows follow one another there is
 * none. */
static bool is_of_period(const struct experiment *e, int at)
{
    return at >= 0 && experiment_metric_is_counted(&e->metrics[at]) && !e->metrics[at].tumbles &&
           e->metrics[at].window < e->adapt.every;
}

/*
 * A number of records is the most of any window, of the last EXPERIMENT_WINDOWS_TIMED of them. A rate that is too high
 * or low in a period is so in some part of it.
 */
bool experiment_limit_is_blurred(const struct experiment *e, const struct experiment_limit *l, bool broken)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (!m || (!m->operands && l->bound <= 0)) /* no records at all, in whatever time */
        return false;
    if (!is_of_period(e, l->metric) && !is_of_period(e, experiment_metric_operand(e, m, 0)) &&
        !is_of_period(e, experiment_metric_operand(e, m, 1)))
        return false;
    if (m->kind != METRIC_COUNT)
        return !broken || l->tolerance > 0 || l->persistence > 0;
    return l->compare == COMPARE_AT_MOST ? broken && e->adapt.every > EXPERIMENT_WINDOWS_TIMED * m->window : !broken;
}

bool experiment_limit_skips(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    if (!m || m->window >= e->adapt.every)
        return false;
    enum experiment_metric_kind kind = m->kind == METRIC_INTERVAL ? m->interval.statistic : m->kind;
    bool at_most = l->compare == COMPARE_AT_MOST; /* then a stray record is found */
    bool is_found = kind == METRIC_MISSES || (kind == METRIC_MAX && at_most) || (kind == METRIC_MIN && !at_most) ||
                    (experiment_metric_is_counted(m) && !m->tumbles && !(kind == METRIC_COUNT && at_most && m->where));
    return !is_found;
}

/* Whether one value of a window decides the metric: the least, the largest, the latest, or a quantile next to these. */
static bool is_single_extreme(const struct experiment_metric *m)
{
    switch (m->kind == METRIC_INTERVAL ? m->interval.statistic : m->kind) {
    case METRIC_MIN:
    case METRIC_MAX:
    case METRIC_LAST:
    case METRIC_FIRST:
    case METRIC_MISSES:
    case METRIC_LATENCY_MAX:
    case METRIC_STORING_MAX:
        return true;
    case METRIC_QUANTILE:
        return m->share > 0.99 || m->share < 0.01;
    default:
        return false;
    }
}

/* Whether the limit allows for no record at all: a single one, at any time, is what is asked for. */
static bool allows_for_none(const struct experiment_metric *m, const struct experiment_limit *l)
{
    bool counts =
        m->kind == METRIC_COUNT || m->kind == METRIC_RATE || m->kind == METRIC_PERCENT || m->kind == METRIC_LOST;
    return counts && l->compare == COMPARE_AT_MOST && l->bound <= 0;
}

double experiment_default_tolerance(const struct experiment *e, const struct experiment_limit *l)
{
    const struct experiment_metric *m = l->metric == LIMIT_ON_SENSOR_CPU ? NULL : &e->metrics[l->metric];
    return m && (is_single_extreme(m) || allows_for_none(m, l)) ? 0 : 0.01;
}

const char *experiment_metric_word(enum experiment_metric_kind kind)
{
    static const char *const words[] = {
        [METRIC_RATE] = "rate",
        [METRIC_MEAN] = "mean",
        [METRIC_MIN] = "min",
        [METRIC_MAX] = "max",
        [METRIC_LAST] = "last",
        [METRIC_QUANTILE] = "quantile",
        [METRIC_FIRST] = "first",
        [METRIC_COUNT] = "count",
        [METRIC_PERCENT] = "percent",
        [METRIC_TIME_MEAN] = "time-mean",
        [METRIC_MISSES] = "misses",
        [METRIC_HISTOGRAM] = "histogram",
        [METRIC_RATIO] = "ratio",
        [METRIC_DIFFERENCE] = "difference",
        [METRIC_INTERVAL] = "interval",
        [METRIC_LATENCY] = "monitoring_latency",
        [METRIC_LATENCY_MAX] = "monitoring_latency_max",
        [METRIC_EN_ROUTE] = "en_route_ratio",
        [METRIC_LOST] = "lost_ratio",
        [METRIC_STORING] = "storing_latency",
        [METRIC_STORING_MAX] = "storing_latency_max",
    };
    return words[kind];
}

enum experiment_sampler experiment_sampler_of(const char *name)
{
    static const char *const aspects[EXPERIMENT_SAMPLERS] = {
        [EXPERIMENT_SAMPLER_CPU] = "node_cpu",
        [EXPERIMENT_SAMPLER_MEMORY] = "node_memory",
        [EXPERIMENT_SAMPLER_NETWORK] = "node_network",
        [EXPERIMENT_SAMPLER_DISK] = "node_disk",
        [EXPERIMENT_SAMPLER_PRESSURE] = "node_pressure",
        [EXPERIMENT_SAMPLER_TEMPERATURE] = "node_temperature",
        [EXPERIMENT_SAMPLER_FREQUENCY] = "node_frequency",
        [EXPERIMENT_SAMPLER_PROCESSES] = "process_usage",
        [EXPERIMENT_SAMPLER_PERF] = "process_perf",
        [EXPERIMENT_SAMPLER_INTERRUPTS] = "node_interrupts",
        [EXPERIMENT_SAMPLER_SCHEDULING] = "thread_scheduling",
        [EXPERIMENT_SAMPLER_SWITCHES] = "thread_interval",
    };
    int i = 0;
    if (strcmp(name, "thread_ready") == 0 || strcmp(name, "thread_wait") == 0)
        return EXPERIMENT_SAMPLER_SWITCHES;
    while (i < EXPERIMENT_SAMPLERS && strcmp(aspects[i], name) != 0)
        i++;
    return (enum experiment_sampler)i;
}

bool experiment_sampler_counts(enum experiment_sampler sampler, const char *field)
{
    static const char *const counters[EXPERIMENT_SAMPLERS][FIELDS_MOST] = {
        [EXPERIMENT_SAMPLER_CPU] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "switches",
                                    "forks"},
        [EXPERIMENT_SAMPLER_NETWORK] = {"rx_bytes", "rx_packets", "rx_errors", "rx_drops", "tx_bytes", "tx_packets",
                                        "tx_errors", "tx_drops"},
        [EXPERIMENT_SAMPLER_DISK] = {"reads", "read_bytes", "read_time", "writes", "write_bytes", "write_time", "busy"},
        [EXPERIMENT_SAMPLER_PRESSURE] = {"some", "full"},
        [EXPERIMENT_SAMPLER_PROCESSES] = {"user", "system", "running", "waiting", "minor_faults", "major_faults"},
        [EXPERIMENT_SAMPLER_PERF] = {"cycles", "instructions", "cache_misses", "branch_misses", "task", "switches",
                                     "migrations"},
    };
    for (int i = 0; i < FIELDS_MOST && counters[sampler][i]; i++)
        if (strcmp(counters[sampler][i], field) == 0)
            return true;
    return false;
}

enum experiment_join experiment_join_of(const struct experiment *e, int metric)
{
    static const enum experiment_join joins[METRIC_KINDS] = {
        [METRIC_RATE] = JOIN_SUM,           [METRIC_MEAN] = JOIN_RATIO,
        [METRIC_MIN] = JOIN_LEAST,          [METRIC_MAX] = JOIN_MOST,
        [METRIC_LAST] = JOIN_NOT, /* clocks of several nodes do not show which
                                     record is the latest */
        [METRIC_QUANTILE] = JOIN_HISTOGRAM, [METRIC_FIRST] = JOIN_NOT,
        [METRIC_COUNT] = JOIN_SUM,          [METRIC_PERCENT] = JOIN_RATIO,
        [METRIC_TIME_MEAN] = JOIN_RATIO,    [METRIC_MISSES] = JOIN_SUM,
        [METRIC_RATIO] = JOIN_NOT,          [METRIC_DIFFERENCE] = JOIN_NOT,
        [METRIC_INTERVAL] = JOIN_NOT, /* no node has its beginnings and its ends */
        [METRIC_LATENCY] = JOIN_RATIO,      [METRIC_LATENCY_MAX] = JOIN_MOST,
        [METRIC_EN_ROUTE] = JOIN_RATIO,     [METRIC_LOST] = JOIN_RATIO,
        [METRIC_STORING] = JOIN_RATIO,      [METRIC_STORING_MAX] = JOIN_MOST,
    };
    return metric == LIMIT_ON_SENSOR_CPU ? JOIN_SUM : joins[e->metrics[metric].kind];
}

int64_t experiment_limit_window(const struct experiment *e, const struct experiment_limit *l)
{
    return l->metric == LIMIT_ON_SENSOR_CPU ? e->sensor_cpu_window : e->metrics[l->metric].window;
}

/* Whether both are statistics of the same values. */
static bool reads_the_same(const struct experiment_metric *a, const struct experiment_metric *b)
{
    if (a->field && b->field)
        return strcmp(a->field, b->field) == 0;
    return a->arrivals && a->arrivals == b->arrivals && a->period == b->period;
}

/* Whether in the long run no value of `a` can exceed one of `b`, for any windows. */
static bool is_never_above(const struct experiment_metric *a, const struct experiment_metric *b)
{
    if (a == b)
        return true;
    if (!a->aspect || !b->aspect || strcmp(a->aspect, b->aspect) != 0 || a->in_time != b->in_time)
        return false;
    bool same_records = a->where && b->where ? strcmp(a->where, b->where) == 0 : !a->where && !b->where;
    if (a->kind == METRIC_RATE && b->kind == METRIC_RATE)
        return (same_records || !b->where) &&
               (a->per_process || !b->per_process); /* a node's includes those of its processes */
    bool same = a->kind == b->kind && a->share <= b->share;
    return same_records && reads_the_same(a, b) && (same || a->kind == METRIC_MIN || b->kind == METRIC_MAX);
}

static bool excludes(const struct experiment *e, const struct experiment_limit *least,
                     const struct experiment_limit *most)
{
    bool on_cpu = least->metric == LIMIT_ON_SENSOR_CPU || most->metric == LIMIT_ON_SENSOR_CPU;
    return least->compare == COMPARE_AT_LEAST && most->compare == COMPARE_AT_MOST && least->bound > most->bound &&
           !on_cpu && (most->global || !least->global) &&
           is_never_above(&e->metrics[least->metric], &e->metrics[most->metric]);
}

int experiment_limit_contradicts(const struct experiment *e, uint32_t i)
{
    for (uint32_t j = 0; j < e->limit_count; j++)
        if (excludes(e, &e->limits[i], &e->limits[j]) || excludes(e, &e->limits[j], &e->limits[i]))
            return (int)j;
    return -1;
}
