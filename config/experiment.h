// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The experiment model: what a file says, checked, with every default filled in. docs/EXPERIMENT.md is the reference
 * for users. The model is read-only after experiment_read(); it owns all its texts.
 */
#ifndef BEZEL_CONFIG_EXPERIMENT_H
#define BEZEL_CONFIG_EXPERIMENT_H

#include "base/err.h"
#include "config/policies.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    EXPERIMENT_NAME_MAX = 63, /* letters, digits, '_', '-', '.'; the first is no '.' or '-' */
    EXPERIMENT_NODES_MAX = 64,
    EXPERIMENT_PROCESSES_MAX = 256,
    EXPERIMENT_INSTANCES_MAX = 256,
    EXPERIMENT_METRICS_MAX = 64,
    EXPERIMENT_LIMITS_MAX = 64,
    EXPERIMENT_PRIORITY_MAX = 1000,
    EXPERIMENT_IMPORTANCE_MAX = 1000,
    EXPERIMENT_PATTERNS_MAX = 64,
    EXPERIMENT_MANAGED_MAX = 512,    /* limits to be held, of all nodes together, where a manager decides */
    EXPERIMENT_SETTLING = 10,        /* decisions that adaptation is given before a limit to be held is judged */
    EXPERIMENT_SYNC_BYTES = 4 << 20, /* what a store that syncs now and then collects at most */
    EXPERIMENT_BATCH_MAX = 1000000,
    EXPERIMENT_FILE_MAX = 1 << 20,
    EXPERIMENT_CPUS_MAX = 1024,
    EXPERIMENT_KNOBS_MAX = 16,
};

/** A place in the file, 1-based; line 0: a default that the file does not mention. */
struct experiment_place {
    uint32_t line, column;
};

/** A machine of the experiment. In this version every node stands on this machine, with a folder of its own. */
struct experiment_node {
    char *name;
    char *dir;     /* folder of its segments, window and sockets (BEZEL_DIR); NULL: one is made for the run */
    char *key;     /* name of its key in store.keys (default: the node's name); NULL: without store.keys */
    char *address; /* control endpoint of the standing bezeld that serves it; NULL: one is started for the run */
    struct experiment_place at;
};

enum experiment_output { OUTPUT_FILE, OUTPUT_TERMINAL, OUTPUT_NONE };

/** One entry of `processes`: either launched (argv) or attached to (attach). */
struct experiment_process {
    char *name;
    uint32_t node;      /* index */
    char **argv;        /* NULL-terminated; NULL where it is attached to */
    char *attach;       /* glob on the path of the executable, or on its file name where it holds no '/' */
    char *directory;    /* working directory; NULL: that of `bezel run` */
    char **environment; /* "NAME=value", NULL-terminated; may be NULL */
    uint32_t instances; /* 1 .. EXPERIMENT_INSTANCES_MAX; named name.1, name.2 ... where above 1 */
    enum experiment_output output;
    struct experiment_place at;
};

enum experiment_poll_mode { POLL_POLLING, POLL_BUSY_WAIT };
enum experiment_forward { FORWARD_BATCH, FORWARD_COLLECT }; /* BF, CF */

enum experiment_when_full { WHEN_FULL_DISCARD, WHEN_FULL_OVERWRITE };

/** A set of CPUs by their numbers; empty: nothing is said. */
struct experiment_cpus {
    uint64_t bits[EXPERIMENT_CPUS_MAX / 64];
};

enum experiment_real_time_policy { REAL_TIME_UNCHANGED, REAL_TIME_OTHER, REAL_TIME_FIFO, REAL_TIME_DEADLINE };

/** How the thread of bezeld that polls is placed. */
struct experiment_real_time {
    enum experiment_real_time_policy policy;
    uint32_t priority;                 /* of FIFO: 1 .. 99; default 10 */
    int64_t runtime, deadline, period; /* of DEADLINE, ns: runtime <= deadline <= period; else 0 or as in the file */
    struct experiment_cpus cpu;        /* of that thread */
    struct experiment_cpus io_cpu;     /* of ZeroMQ's threads */
    bool lock_memory;
    int64_t timer_slack; /* ns, 1 ns .. 10 ms; default 1 us */
    struct experiment_place at;
};

/** What of the node, and of the SUT's processes, is sampled: docs/SAMPLERS.md. */
enum experiment_sampler {
    EXPERIMENT_SAMPLER_CPU,
    EXPERIMENT_SAMPLER_MEMORY,
    EXPERIMENT_SAMPLER_NETWORK,
    EXPERIMENT_SAMPLER_DISK,
    EXPERIMENT_SAMPLER_PRESSURE,
    EXPERIMENT_SAMPLER_TEMPERATURE,
    EXPERIMENT_SAMPLER_FREQUENCY,
    EXPERIMENT_SAMPLER_PROCESSES,
    EXPERIMENT_SAMPLER_PERF,
    EXPERIMENT_SAMPLERS
};

/** What holds for the aspects that a pattern matches; of several that match, the last one counts. */
struct experiment_rule {
    char *pattern;
    int64_t value;
};

struct experiment_sensing {
    uint32_t ring_records;               /* power of two, 64 .. 1048576; default 4096 */
    enum experiment_when_full when_full; /* overwrite: flight recorder, read by snapshots */
    enum experiment_poll_mode mode;
    int64_t period; /* ns, 1 us .. 10 s; default 1 ms */
    enum experiment_forward forward;
    uint32_t batch;        /* records that a poll takes at most, 0 .. EXPERIMENT_BATCH_MAX; default 0: all that wait */
    int doorbell;          /* an idle node sleeps until somebody knocks; default 0 */
    uint64_t window_bytes; /* 1 MiB .. 1 GiB; default 16 MiB */
    uint64_t spool_bytes;  /* 1 MiB .. 1024 GiB; default 0: none */
    char *spool_dir;       /* absolute; NULL: EXPERIMENT_SPOOL_DIR */
    struct experiment_rule *expire;     /* latency bounds, ns, 0 .. 1 h, 0: none; ends with pattern NULL; NULL: none */
    struct experiment_rule *importance; /* likewise: 1 .. EXPERIMENT_IMPORTANCE_MAX */
    char **count, **off; /* patterns of aspects, NULL-terminated, at most EXPERIMENT_PATTERNS_MAX; NULL: none */
    struct experiment_real_time real_time;
    int64_t sampler[EXPERIMENT_SAMPLERS]; /* period of each, ns, 1 ms .. 1 h; 0: not sampled */
};

/**
 * What a metric is made of: the rate of an aspect, in records a second; a numeric field of its records; or what the
 * node's monitoring does with all records of the SUT: these are built in, and named as their kind.
 */
enum experiment_metric_kind {
    METRIC_RATE,
    METRIC_MEAN,
    METRIC_MIN,
    METRIC_MAX,
    METRIC_LAST,
    METRIC_QUANTILE,
    METRIC_LATENCY,     /* monitoring_latency, ns: mean age of records when they are taken from their rings */
    METRIC_LATENCY_MAX, /* monitoring_latency_max, ns: of the oldest one */
    METRIC_EN_ROUTE,    /* en_route_ratio, percent: records under way, of those produced in the window */
    METRIC_LOST,        /* lost_ratio, percent: records lost in the window, of those produced in it */
    METRIC_STORING,     /* storing_latency, ns: mean age of records when the collector has acknowledged them */
    METRIC_STORING_MAX, /* storing_latency_max, ns: of the oldest one */
    METRIC_KINDS
};

/** A figure over a sliding window. */
struct experiment_metric {
    char *name;
    enum experiment_metric_kind kind;
    char *aspect;     /* NULL: built in */
    char *field;      /* of METRIC_MEAN to METRIC_QUANTILE; else NULL */
    double share;     /* of METRIC_QUANTILE: 0 .. 1; default 0.99 */
    bool in_time;     /* its field is one of time, and its value in ns, whatever the field's unit: limits say so */
    int64_t window;   /* ns, 10 ms .. 1 h; default 1 s */
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
    enum experiment_unit unit; /* in which the bound is written; a duration is in ns */
    bool whole;                /* on one value for all nodes together, which the manager judges; else on each node's */
    uint32_t priority;         /* 0 (default) first: of several broken limits the first one is answered */
    int64_t persistence;       /* `for`: ns that it must be broken before it counts as violated; default 0 */
    double tolerance;          /* share of the judged time, 0 .. 1, that may be in violation; default 0.01 */
    char *text;                /* as it stands in the file: "fps >= 29" */
    int64_t snapshot; /* `on-violation`: ns, 10 ms .. 10 min, that flight recorders are saved then; 0: they are not */
    struct experiment_place at;
};

#define EXPERIMENT_POLICY(NAME, name, word, moves) POLICY_##NAME,
enum experiment_policy { EXPERIMENT_POLICIES(EXPERIMENT_POLICY) EXPERIMENT_POLICY_COUNT };
#undef EXPERIMENT_POLICY

enum experiment_decider { ADAPT_BY_NODE, ADAPT_BY_MANAGER };

enum experiment_helps { HELPS_LESS, HELPS_MORE };
enum experiment_order { ORDER_POLLING_FIRST, ORDER_KNOB_FIRST };

/** A knob of programs that is steered to hold limits (config/knobs.c). */
struct experiment_knob {
    char *name;
    int process;                 /* index: of that process, all of its instances; -1 (default): of all that have it */
    uint64_t serves;             /* limits to be held, bit i for limit i: those on the metrics that the file names */
    enum experiment_helps helps; /* which way it helps them */
    int32_t min, max;            /* within these, and its own range; default INT32_MIN .. INT32_MAX: its own range */
    uint32_t step;               /* the least change that is worth one; 0 (default): a twentieth of the range */
    enum experiment_order order; /* who gives way first */
    int64_t settle; /* ns from a change until what it does is judged; 0 (default): experiment_knob_settle() */
    struct experiment_place at;
};

struct experiment_adapt {
    enum experiment_policy policy; /* default: ELASTIC where a limit says `hold`, SPP with busy-wait, else none */
    enum experiment_decider by;    /* who decides: the agent of each node, or one manager for all of them */
    int64_t every;                 /* controller sampling period, ns, 1 ms .. 10 s; default 100 ms */
    /*
     * Bounds of the polling period, ns; default 1 us .. 1 s (table 5-6). Where ELASTIC is the default, the lower one is
     * the period at the start, unless a limit to be held is on how records flow.
     */
    int64_t period_min, period_max;
    int64_t hysteresis; /* age, ns, from which on an observation is unknown to the policy; 0 (default): none */
    uint32_t knob_count;
    struct experiment_knob *knobs; /* of two that serve one limit the first one gives way first */
    struct experiment_place at;
};

#define EXPERIMENT_SPOOL_DIR  "/var/tmp"
#define EXPERIMENT_SYNC_NEVER (-1)

/** What one listening collector bears. */
struct experiment_limits {
    uint32_t connections; /* 1 .. 4096; default 256 */
    uint32_t processes;   /* 1 .. 1048576; default 65536 */
    uint64_t packet;      /* bytes of the longest frame, 256 KiB .. 1 MiB (default) */
    uint64_t rate;        /* bytes a second of a peer, up to 1024 GiB; 0 (default): unbounded */
};

struct experiment_store {
    char *listen; /* the collector's endpoint: tcp://ADDRESS:PORT (or :*), ipc:///PATH; NULL: one of the run's own.
                     ADDRESS is 127.0.0.1 where there are no keys */
    char *keys;   /* folder of keys; NULL: none */
    char *key;    /* name of the collector's key there, default "collector"; NULL: without keys */
    struct experiment_place keys_at;
    struct experiment_limits limits;
    int64_t sync; /* acknowledged is what is in stable storage, brought there every so many ns, 1 ms .. 10 s; 0: before
                     each acknowledgement; EXPERIMENT_SYNC_NEVER (default): acknowledged is what is written */
};

struct experiment {
    char *name;
    int64_t duration; /* ns; 0: until the processes end */
    int64_t grace;    /* ns between SIGTERM and SIGKILL of a process that does not end; default 2 s */
    uint32_t node_count, process_count, metric_count, limit_count;
    struct experiment_node *nodes;
    struct experiment_process *processes;
    struct experiment_sensing sensing;
    struct experiment_metric *metrics;
    struct experiment_limit *limits;
    struct experiment_adapt adapt;
    struct experiment_store store;
};

/** What is wrong, or doubtful, in a file: `file:line:col: path: sentence`. */
struct experiment_diagnostic {
    bool warning;
    struct experiment_place at;
    char *path;     /* of the value: "processes[1].command"; "" for the whole file */
    char *sentence; /* what is wrong, what is allowed */
};

struct experiment_diagnostics {
    size_t count, errors;
    struct experiment_diagnostic *list; /* in the order of the file */
};

/**
 * Reads and checks `n` bytes of YAML. All errors, of syntax, keys, units, ranges and cross-references, are collected
 * into *found (which it initialises; free with experiment_diagnostics_free, whatever is returned); warnings where there
 * is no error; each with a place in the file. The list is capped at 1000, `errors` counts on. Returns 0 with *e owned
 * by the caller (experiment_free) where there was no error, BEZEL_EMALFORMED otherwise, BEZEL_ENOMEM. Opens no file.
 */
int experiment_read(const char *text, size_t n, struct experiment **e,
                    struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/** Appends a finding of the caller's own (a command that does not exist, say) to `found`. Returns 0 or BEZEL_ENOMEM. */
int experiment_report(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                      const char *format, ...) BEZEL_PRINTF(5, 6);

/** Prints each finding as a line `file:line:col: path: sentence` ("warning: " before the path of a warning). */
void experiment_print_diagnostics(const struct experiment_diagnostics *found, const char *file, FILE *out);

void experiment_free(struct experiment *e);
void experiment_diagnostics_free(struct experiment_diagnostics *found);

/** Name of instance `i` (from 0) of process `p`: "client", or "client.3" where there are several. */
void experiment_instance_name(const struct experiment_process *p, uint32_t i, char *name, size_t size);

/** Whether `name` is that of process `p` of the file, or of one of its instances. Pure. */
bool experiment_is_instance(const struct experiment_process *p, const char *name);

/** Whether some process is started; whether some is attached to. Pure. */
bool experiment_starts(const struct experiment *e);
bool experiment_attaches(const struct experiment *e);

/**
 * Whether `pattern` may match the name of an aspect: 1 to EXPERIMENT_NAME_MAX of the characters of such names, `*`,
 * `?`, and sets such as `[a-z]` or `[!0-9]`, whose ranges are not empty. Pure.
 */
bool experiment_pattern_ok(const char *pattern);

/** The word of `policy` in files and reports; "?" where there is no such policy. Pure. */
const char *experiment_policy_word(int policy);

/** ns from a change of knob `k` until all that the limits look back at shows it; or what the file says. Pure. */
int64_t experiment_knob_settle(const struct experiment *e, const struct experiment_knob *k);

/** Whether process `name` of a node is one that `k` is about: instances are `NAME.1` and so on. Pure. */
bool experiment_knob_is_of(const struct experiment *e, const struct experiment_knob *k, const char *name);

/** Whether one manager decides for all nodes: with policy none, and no knob to steer, nobody decides anything. Pure. */
bool experiment_is_managed(const struct experiment *e);

/** Whether some limit is on the whole. Pure. */
bool experiment_has_whole(const struct experiment *e);

/** Whether the run has a manager: it decides for all nodes, or judges limits on the whole, or both. Pure. */
bool experiment_has_manager(const struct experiment *e);

/** How the values that nodes have of a metric become that of the whole. */
enum experiment_join {
    JOIN_NOT,   /* not at all: what nodes keep of it is not enough */
    JOIN_SUM,   /* they are added */
    JOIN_RATIO, /* each is a quotient: numerators and denominators are added */
    JOIN_LEAST,
    JOIN_MOST
};

/** How values of what limits on `metric` (an index, or LIMIT_ON_SENSOR_CPU) judge are joined. Pure. */
enum experiment_join experiment_join_of(const struct experiment *e, int metric);

/** Whether `policy` moves the polling period. Pure. */
bool experiment_policy_moves(enum experiment_policy policy);

/** Whether `kind` is built in: of the node's monitoring, where shorter polling periods help. Pure. */
bool experiment_metric_is_built_in(enum experiment_metric_kind kind);

/** The name of a built-in metric; the key of the others. Static storage. Pure. */
const char *experiment_metric_word(enum experiment_metric_kind kind);

/** ns that the value of limit `l` looks back. Pure. */
int64_t experiment_limit_window(const struct experiment *e, const struct experiment_limit *l);

/**
 * The first limit that cannot hold together with limit `i`, for no values meet both bounds: of one metric, or of two
 * that are made of the same. -1: none. Pure.
 */
int experiment_limit_contradicts(const struct experiment *e, uint32_t i);

/** The importance of aspect `name`: of the last rule that matches it, else 1. Pure. `rules` may be NULL. */
uint32_t experiment_importance(const struct experiment_rule *rules, const char *name);

/** How many CPUs the set has, and whether `cpu` is one of them. Pure. */
uint32_t experiment_cpu_count(const struct experiment_cpus *cpus);
bool experiment_has_cpu(const struct experiment_cpus *cpus, uint32_t cpu);

/** The experiment as YAML with every default written out (`bezel check --print`). Returns 0 or BEZEL_ESYS. */
int experiment_print(const struct experiment *e, FILE *out) BEZEL_MUST_CHECK;

#endif
