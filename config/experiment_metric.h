// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Metrics and limits of the experiment model (config/experiment.h), and questions about them. */
#ifndef BEZEL_CONFIG_EXPERIMENT_METRIC_H
#define BEZEL_CONFIG_EXPERIMENT_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct experiment;

/** A place in the file, from 1; line 0: a default, which is not in the file. */
struct experiment_place {
    uint32_t line, column;
};

/**
 * What a metric is computed from: the rate of an aspect, in records per second; a numeric field of its records; the
 * times of records of several aspects, on whatever nodes; or the monitoring of all records of a node: these metrics are
 * built in, and have the name of their kind.
 */
enum experiment_metric_kind {
    METRIC_RATE,
    METRIC_MEAN,
    METRIC_MIN,
    METRIC_MAX,
    METRIC_LAST,
    METRIC_QUANTILE,
    METRIC_FIRST,       /* the value of the first record of the window */
    METRIC_COUNT,       /* count: records in the window */
    METRIC_PERCENT,     /* percent: of the records in the window, those that meet `where` */
    METRIC_TIME_MEAN,   /* time-mean: mean of a field, each value weighed by the time until the next one */
    METRIC_MISSES,      /* misses: periods that passed without a record */
    METRIC_HISTOGRAM,   /* histogram: records by the value of a field, between chosen edges; it has no value */
    METRIC_RATIO,       /* ratio: the value of one metric over that of another */
    METRIC_DIFFERENCE,  /* difference: the value of one metric less that of another */
    METRIC_INTERVAL,    /* the time between records of several aspects that belong together, ns */
    METRIC_LATENCY,     /* monitoring_latency, ns: mean age of records when they are taken from their rings */
    METRIC_LATENCY_MAX, /* monitoring_latency_max, ns: of the oldest one */
    METRIC_EN_ROUTE,    /* en_route_ratio, percent: records under way, of those produced in the window */
    METRIC_LOST,        /* lost_ratio, percent: records lost in the window, of those produced in it */
    METRIC_STORING,     /* storing_latency, ns: mean age of records when the collector has acknowledged them */
    METRIC_STORING_MAX, /* storing_latency_max, ns: of the oldest one */
    METRIC_KINDS
};

enum {
    EXPERIMENT_STAGES_MAX = 8,         /* aspects of an interval */
    EXPERIMENT_MATCH_MEMORY_MIN = 256, /* keys of an interval that are remembered */
    EXPERIMENT_MATCH_MEMORY_MAX = 1 << 20,
    EXPERIMENT_MATCH_MEMORY = 65536, /* ... by default */
};

/** Of METRIC_INTERVAL: which records belong together, and the statistic of the times between them. */
struct experiment_interval {
    char **aspects;                         /* from that of the first record to that of the last, NULL-terminated */
    char *processes[EXPERIMENT_STAGES_MAX]; /* globs: whose records of each count; NULL: all processes' */
    uint32_t count;                         /* 2 .. EXPERIMENT_STAGES_MAX; 0: no interval */
    uint32_t memory;
    char *match; /* the field with equal values in records that belong together; NULL: they are of one message */
    enum experiment_metric_kind statistic; /* METRIC_MEAN .. METRIC_QUANTILE */
    bool by_end; /* one value for each process or node that makes the last records (per_process); else one in all */
};

/** What a statistic reads where it reads no field: the times of records of one thread, in ns. */
enum experiment_arrivals {
    ARRIVALS_NONE,
    ARRIVALS_TIME,  /* inter-arrival: from a record to the next */
    ARRIVALS_JITTER /* inter-arrival-jitter: by how much that differs from `period`, or else from the time before */
};

enum { EXPERIMENT_EDGES_MAX = 16 };

/** Of METRIC_HISTOGRAM: where its buckets end, ascending; the last bucket is above the last edge. */
struct experiment_edges {
    uint32_t count;
    bool in_time; /* they are in ns, whatever the unit of the field */
    double at[EXPERIMENT_EDGES_MAX];
};

/** A value over a window. */
struct experiment_metric {
    char *name;
    enum experiment_metric_kind kind;
    char *aspect; /* NULL: built in, of two other metrics, or an interval; see experiment_metric_aspect() */
    char *field;  /* of METRIC_TIME_MEAN, METRIC_HISTOGRAM, and METRIC_MEAN to METRIC_QUANTILE unless `arrivals`; else
                     NULL */
    enum experiment_arrivals arrivals;
    struct experiment_interval interval;
    char **operands; /* of METRIC_RATIO and METRIC_DIFFERENCE: the names of both metrics, NULL-terminated; else NULL */
    struct experiment_edges edges;
    char *where;      /* only records that meet this condition (base/condition.h) count; NULL: all */
    double share;     /* of METRIC_QUANTILE, or an interval's quantile: 0 .. 1; default 0.99 */
    int64_t period;   /* ns, 1 us .. 1 h: of METRIC_MISSES, and of ARRIVALS_JITTER if it is to be one; else 0 */
    bool in_time;     /* a limit has a unit of time: the value is in ns, whatever the unit of the field */
    int64_t window;   /* ns, 10 ms .. 1 h; default 1 s */
    bool tumbles;     /* windows follow one another; else the value at any time is that of the window that ends then */
    bool per_process; /* one value for each process (the default), else one for each node */
    struct experiment_place at;
};

enum { LIMIT_ON_SENSOR_CPU = -1 }; /* in experiment_limit.metric: percent of one CPU that bezeld uses */

#define EXPERIMENT_SNAPSHOT_MAX INT64_C(600000000000) /* ns */

enum experiment_limit_kind { LIMIT_HOLD, LIMIT_EXPECT };
enum experiment_compare { COMPARE_AT_LEAST, COMPARE_AT_MOST }; /* >=, <= */

enum experiment_unit { UNIT_NUMBER, UNIT_PER_SECOND, UNIT_PERCENT, UNIT_DURATION };

struct experiment_limit {
    enum experiment_limit_kind kind;
    int metric; /* index, or LIMIT_ON_SENSOR_CPU */
    enum experiment_compare compare;
    double bound;
    enum experiment_unit unit; /* of `bound`; a duration is in ns */
    bool global;         /* on one value for all nodes together, judged by the manager; else on each node's value */
    uint32_t priority;   /* 0 (default) is first: of several violated limits the policy reacts to the first */
    int64_t persistence; /* `for`: ns that the bound must be broken before the limit is violated; default 0 */
    double tolerance;    /* share of the judged time, 0 .. 1, that may be in violation */
    char *text;          /* as in the file: "fps >= 29" */
    int64_t snapshot; /* `on-violation`: ns, 10 ms .. 10 min, for which flight recorders are then saved; 0: not saved */
    struct experiment_place at;
};

/** How the values of a metric on each node are joined to one value for all nodes. */
enum experiment_join {
    JOIN_NOT,   /* they cannot be joined */
    JOIN_SUM,   /* they are added */
    JOIN_RATIO, /* numerators and denominators are added */
    JOIN_LEAST,
    JOIN_MOST,
    JOIN_HISTOGRAM /* the histograms of the values are added */
};

/** How values of `metric` (an index, or LIMIT_ON_SENSOR_CPU) are joined. Pure. */
enum experiment_join experiment_join_of(const struct experiment *e, int metric);

/** Whether `kind` is built in: a property of the monitoring, which shorter polling periods improve. Pure. */
bool experiment_metric_is_built_in(enum experiment_metric_kind kind);

/**
 * The tolerance of limit `l` if the file gives none: 0 of a metric that one value decides, and of a count or ratio that
 * may not exceed 0, because a tolerance would hide the very value, or record, that is asked for; else 0.01. Pure.
 */
double experiment_default_tolerance(const struct experiment *e, const struct experiment_limit *l);

/** Whether it compares the times of records that follow one another. Pure. */
bool experiment_metric_is_of_arrivals(const struct experiment_metric *m);

/**
 * The word of what a statistic reads where it reads no field, in place of a field's name, which has no '-'. NULL: of
 * ARRIVALS_NONE. Static storage. Pure.
 */
const char *experiment_arrivals_word(enum experiment_arrivals arrivals);

/** Whether it is a number of records, for which sensors' counters stand where it has no condition. Pure. */
bool experiment_metric_is_counted(const struct experiment_metric *m);

/** Whether records give its value, so that it is unknown without them: the counters of a rate or count are enough.
 * Pure. */
bool experiment_metric_reads_records(const struct experiment_metric *m);

/** The `i`-th aspect whose records `m` is computed from; NULL: there is none. Pure. */
const char *experiment_metric_aspect(const struct experiment_metric *m, uint32_t i);

/** Writes how bucket `i` of a histogram is called: "delay <= 1 ms", "delay 1 ms .. 5 ms", "delay > 5 ms". Pure. */
void experiment_bucket_name(const struct experiment_metric *m, uint32_t i, char *name, size_t size);

/** The index of the metric that is operand `i` (0 or 1) of `m`; -1: `m` has none, or `e` has no such metric. Pure. */
int experiment_metric_operand(const struct experiment *e, const struct experiment_metric *m, int i);

/** Whether `m` is computed from records of aspect `name`. Pure. */
bool experiment_metric_is_of(const struct experiment_metric *m, const char *name);

/** Whether records of a process called `name` count at position `at` of interval `i`. Pure. */
bool experiment_interval_takes(const struct experiment_interval *i, uint32_t at, const char *name);

/** Whether limit `l` is on an interval, which no node sees whole: then it is global, and no node has a share of it. */
bool experiment_limit_is_on_interval(const struct experiment *e, const struct experiment_limit *l);

/* Windows before an instant of which records are told apart by their own times (metric/rate.c). */
enum { EXPERIMENT_WINDOWS_TIMED = 4 };

/**
 * Whether the values of limit `l`, a rate or number of records or of two such, do not tell that it held, or that it was
 * `broken`: counters are read at sampling instants, so that with a shorter window the value is of the whole sampling
 * period. Pure.
 */
bool experiment_limit_is_blurred(const struct experiment *e, const struct experiment_limit *l, bool broken);

/** Whether windows of limit `l` are shorter than `adapt.every`, and leave records out that nothing else sees. Pure. */
bool experiment_limit_skips(const struct experiment *e, const struct experiment_limit *l);

/** The name of a built-in metric; the key of the others. Static storage. Pure. */
const char *experiment_metric_word(enum experiment_metric_kind kind);

/** Window of the metric of limit `l`, ns. Pure. */
int64_t experiment_limit_window(const struct experiment *e, const struct experiment_limit *l);

/**
 * Index of the first limit that contradicts limit `i`: no values meet both bounds, on one metric or on two that are
 * computed from the same records. -1: none. Pure.
 */
int experiment_limit_contradicts(const struct experiment *e, uint32_t i);

/** Whether two metrics are defined alike, each of the metrics of its own experiment. False also if memory is short. */
bool experiment_metric_is_same(const struct experiment_metric *a, const struct experiment_metric *b);

#endif
