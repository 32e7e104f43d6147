// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The experiment model: the contents of an experiment file, checked, with all defaults. docs/EXPERIMENT.md is the
 * reference for users. The model is read-only after experiment_read(); it owns all its texts.
 */
#ifndef BEZEL_CONFIG_EXPERIMENT_H
#define BEZEL_CONFIG_EXPERIMENT_H

#include "base/address.h"
#include "base/clock_wall.h"
#include "base/err.h"
#include "config/experiment_metric.h"
#include "config/order_settings.h"
#include "config/policies.h"
#include "config/store_keep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    EXPERIMENT_NAME_MAX = 63, /* letters, digits, '_', '-', '.'; not beginning with '.' or '-' */
    EXPERIMENT_NODES_MAX = 1024,
    EXPERIMENT_PROCESSES_MAX = 256,
    EXPERIMENT_INSTANCES_MAX = 256,
    EXPERIMENT_METRICS_MAX = 64,
    EXPERIMENT_BUCKET_NAME_SIZE = EXPERIMENT_NAME_MAX + 80,
    EXPERIMENT_LIMITS_MAX = 64,
    EXPERIMENT_PRIORITY_MAX = 1000,
    EXPERIMENT_IMPORTANCE_MAX = 1000,
    EXPERIMENT_PATTERNS_MAX = 64,
    EXPERIMENT_SETTLING = 10,        /* decisions before a 'hold' limit is judged */
    EXPERIMENT_SYNC_BYTES = 4 << 20, /* a store that syncs periodically syncs early after so many */
    EXPERIMENT_BATCH_MAX = 1000000,
    EXPERIMENT_RING_THREADS_MAX = 1024,
    EXPERIMENT_FILE_MAX = 1 << 20,
    EXPERIMENT_CPUS_MAX = 1024,
    EXPERIMENT_KNOBS_MAX = 16,
    EXPERIMENT_TRIGGERS_MAX = 64,       /* with those that on-violation of limits stands for */
    EXPERIMENT_TRIGGER_ACTIONS_MAX = 8, /* of a trigger */
    EXPERIMENT_TRIGGER_TEXT_MAX = 120,  /* bytes of a note or mark */
    EXPERIMENT_INNER_MAX = 64,          /* inner collectors */
    EXPERIMENT_INNER_NAME_MAX = 62,     /* bytes of their names: messages have a sign before them */
    EXPERIMENT_PARENTS_MAX = 4,
    EXPERIMENT_LEVELS_MAX = 9, /* inner collectors between a node and the root; as LINK_HOPS_MAX */
    EXPERIMENT_ROOT = -1,      /* the collector that stores, among parents */
};

/** What follows if a persistent bezeld is lost while the run goes on: see docs/EXPERIMENT.md. */
enum experiment_on_loss { ON_LOSS_WAIT, ON_LOSS_STOP, ON_LOSS_CONTINUE };

struct experiment_loss {
    enum experiment_on_loss action;
    int64_t wait; /* of ON_LOSS_WAIT, ns */
};

#define EXPERIMENT_QUIET_MAX INT64_C(5000000) /* ns: a longer period saves little, and a wait for it wakes for more */

#define EXPERIMENT_LOSS_WAIT INT64_C(30000000000) /* ns, by default */

/**
 * The collectors that a node or an inner collector sends to, one at a time, the first one first: indices of inner
 * collectors, or EXPERIMENT_ROOT. None: the root alone.
 */
struct experiment_parents {
    uint32_t count;
    int of[EXPERIMENT_PARENTS_MAX];
};

/** A node of the experiment: on this machine, or where the bezeld at its tcp address is. */
struct experiment_node {
    char *name;
    char *dir;     /* folder of its segments, window and sockets (BEZEL_DIR), there; NULL: one is made for the run */
    char *key;     /* name of its key in store.keys (default: the node's name); NULL: without store.keys */
    char *address; /* control endpoint of the persistent bezeld that serves it, ipc:///PATH or tcp://HOST:PORT; NULL:
                      one is started for the run */
    struct experiment_loss on_loss; /* meaningful with `address` */
    struct clock_keeping clock;     /* what keeps the wall clock there */
    struct experiment_parents parents;
    struct experiment_place at;
};

/** When a process counts as ready; at most one of the first four is given. None: once it is started. */
struct experiment_ready {
    char *record;   /* the name of an aspect: with its first record */
    char *output;   /* with the first line of output that contains this */
    uint32_t port;  /* TCP or UDP: once this machine listens there; 0: not given */
    int64_t time;   /* ns after its start; 0: not given */
    int64_t within; /* ns after its start; if it is not ready by then, the run fails */
};

#define EXPERIMENT_NO_SIZE  UINT64_MAX
#define EXPERIMENT_NO_COUNT UINT32_MAX

/** Limits of resources, setrlimit(2), soft and hard. EXPERIMENT_NO_SIZE, EXPERIMENT_NO_COUNT: as its launcher's. */
struct experiment_rlimits {
    int64_t cpu;                                     /* ns; 0: as its launcher's */
    uint64_t memory, file_size, core, stack, locked; /* bytes; memory: of address space */
    uint32_t files, processes, real_time;            /* real_time: the highest priority */
};

enum experiment_restart { RESTART_NEVER, RESTART_ON_FAILURE };
enum experiment_on_exit { ON_EXIT_CONTINUE, ON_EXIT_STOP };

enum experiment_output { OUTPUT_FILE, OUTPUT_TERMINAL, OUTPUT_NONE };

/** One entry of `processes`: either launched (argv) or attached to (attach). */
struct experiment_process {
    char *name;
    uint32_t node;      /* index */
    char **argv;        /* NULL-terminated; NULL: attached to */
    char *attach;       /* glob on the path of the executable, or on its file name if it has no '/' */
    char *directory;    /* working directory; NULL: that of `bezel run` */
    char **environment; /* "NAME=value", NULL-terminated; may be NULL */
    uint32_t instances; /* 1 .. EXPERIMENT_INSTANCES_MAX; named name.1, name.2 ... if above 1 */
    enum experiment_output output;
    char **after; /* names of processes that must be ready before it is started, NULL-terminated; may be NULL */
    struct experiment_ready ready;
    enum experiment_restart restart; /* on failure: a signal, or an exit code that is not 0 */
    uint32_t restarts;               /* at most so often; default 5 */
    int64_t restart_pause;           /* ns before each; default 1 s */
    enum experiment_on_exit on_exit; /* whether the run ends with it */
    bool plain;                      /* it has no sensors: that it records nothing is no news */
    struct experiment_rlimits limits;
    struct experiment_place at;
};

enum experiment_poll_mode { POLL_POLLING, POLL_BUSY_WAIT };
enum experiment_forward { FORWARD_BATCH, FORWARD_COLLECT }; /* BF, CF */

enum experiment_when_full { WHEN_FULL_DISCARD, WHEN_FULL_OVERWRITE };

/** A set of CPUs by their numbers; empty: not given. */
struct experiment_cpus {
    uint64_t bits[EXPERIMENT_CPUS_MAX / 64];
};

enum experiment_real_time_policy { REAL_TIME_UNCHANGED, REAL_TIME_OTHER, REAL_TIME_FIFO, REAL_TIME_DEADLINE };

/** Scheduling of bezeld's polling thread. */
struct experiment_real_time {
    enum experiment_real_time_policy policy;
    uint32_t priority;                 /* of FIFO: 1 .. 99; default 10 */
    int64_t runtime, deadline, period; /* of DEADLINE, ns: runtime <= deadline <= period; else as in the file, or 0 */
    struct experiment_cpus cpu;        /* of that thread */
    struct experiment_cpus io_cpu;     /* of ZeroMQ's threads */
    bool lock_memory;
    int64_t timer_slack; /* ns, 1 ns .. 10 ms; default 1 us */
    struct experiment_place at;
};

/** The samplers of the node and of the SUT's processes: docs/SAMPLERS.md. */
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
    EXPERIMENT_SAMPLER_INTERRUPTS, /* before threads, whose samples refer to them */
    EXPERIMENT_SAMPLER_SCHEDULING,
    EXPERIMENT_SAMPLER_SWITCHES,
    EXPERIMENT_SAMPLERS
};

/** The sampler that records aspect `name`; EXPERIMENT_SAMPLERS: none does. */
enum experiment_sampler experiment_sampler_of(const char *name);

/** Whether `field` of what `sampler` records counts since boot, or since a process began. */
bool experiment_sampler_counts(enum experiment_sampler sampler, const char *field);

/** A value for the aspects that a pattern matches; of several that match, the last one applies. */
struct experiment_rule {
    char *pattern;
    int64_t value;
};

/** What of an aspect's records is stored: all; or in place of those that are evaluated on their way their values
 * (config/aspect_keep.c). */
enum experiment_keep { KEEP_ALL, KEEP_REDUCED };

/** What becomes of the intervals that sampler `switches` records: snapshots save them, or all are stored. */
enum experiment_switches_store { SWITCHES_STORE_SNAPSHOTS, SWITCHES_STORE_ALL };

struct experiment_switches {
    enum experiment_switches_store store;
    double budget;  /* of a CPU, 0 .. 1; default 0.01 */
    int64_t period; /* ns, 1 ms .. 1 s; default 10 ms: that of the sampler, if it is on */
};

struct experiment_sensing {
    uint32_t ring_records;               /* power of two, 64 .. 1048576; default 4096 */
    uint32_t ring_threads;               /* rings of a process, 1 .. EXPERIMENT_RING_THREADS_MAX; default 128 */
    enum experiment_when_full when_full; /* overwrite: flight recorder, read by snapshots */
    enum experiment_poll_mode mode;
    int64_t period; /* ns, 1 us .. 10 s; default 1 ms */
    /*
     * ns, from `period` on: how long the period may become while little is recorded. Longer than `period` only where
     * the file gives none, and nothing in it depends on how soon records are taken.
     */
    int64_t period_quiet;
    enum experiment_forward forward;
    uint32_t batch;        /* records that a poll takes at most, 0 .. EXPERIMENT_BATCH_MAX; default 0: all that wait */
    uint32_t accumulate;   /* records that a poll waits for, 1 .. EXPERIMENT_BATCH_MAX; default 1: it takes any */
    int64_t accumulate_or; /* ns that a record may wait for others, 1 us .. 10 s; default 50 ms */
    int doorbell;          /* a node sleeps beside idle processes until one wakes it; default 0 */
    uint64_t window_bytes; /* 1 MiB .. 1 GiB; default 16 MiB */
    uint64_t spool_bytes;  /* 1 MiB .. 1024 GiB; default 0: none */
    char *spool_dir;       /* absolute; NULL: EXPERIMENT_SPOOL_DIR */
    struct experiment_rule *expire;     /* latency bounds, ns, 0 .. 1 h, 0: none; ends with pattern NULL; NULL: none */
    struct experiment_rule *keep;       /* likewise: enum experiment_keep */
    struct experiment_rule *importance; /* likewise: 1 .. EXPERIMENT_IMPORTANCE_MAX */
    char **count, **off; /* patterns of aspects, NULL-terminated, at most EXPERIMENT_PATTERNS_MAX; NULL: none */
    struct experiment_real_time real_time;
    int64_t sampler[EXPERIMENT_SAMPLERS]; /* period of each, ns, 1 ms .. 1 h; 0: not sampled */
    struct experiment_switches switches;
    /*
     * The file has no `samplers`, and a limit on what programs record: `scheduling` is on, for what little it may cost
     * then (docs/SAMPLERS.md), so that a violation has its scheduling beside it.
     */
    bool sampled_unasked;
};

/** The condition of a trigger (config/triggers.c). */
enum experiment_when {
    WHEN_VIOLATED, /* the limit is violated */
    WHEN_RECORD,   /* a record of an aspect, which meets `where` */
    WHEN_SEQUENCE, /* a record of one aspect, and within a time one of another, or of the same one */
    WHEN_SILENT    /* no record of an aspect for a time */
};

/** Records that a trigger waits for. */
struct experiment_records {
    char *aspect; /* NULL: none */
    char *where;  /* only those that meet this condition (base/condition.h); NULL: all */
};

enum experiment_mode { MODE_ON, MODE_COUNT, MODE_OFF };

enum experiment_act {
    ACT_NONE,
    ACT_SNAPSHOT, /* save the flight recorders of all nodes */
    ACT_ASPECTS,  /* which aspects are recorded on the node */
    ACT_POLL,     /* how often the node polls */
    ACT_KNOB,     /* of the node's programs */
    ACT_NOTE,     /* for the operator */
    ACT_MARK,     /* in the trace */
    ACT_COMMAND,  /* a program on the node */
    ACT_STOP      /* the run ends */
};

struct experiment_action {
    enum experiment_act act;
    int64_t snapshot;              /* ns, as of `on-violation` */
    struct experiment_rule *modes; /* of ACT_ASPECTS: patterns with enum experiment_mode */
    int64_t lasts;                 /* of ACT_ASPECTS: ns, after which it is undone; 0: it stays */
    int64_t poll;                  /* period, ns */
    char *knob;                    /* its name */
    int process;                   /* index: the knob of that process alone; -1: of all that have it */
    bool initial;                  /* the knob's initial value, else ... */
    int32_t value;
    char *note, *mark; /* texts; mark "": none */
    char **argv;       /* NULL-terminated */
    int64_t timeout;   /* of the command, ns; default 10 s */
    bool stop;
    struct experiment_place at;
};

/** What is done on a node when a condition comes true there. */
struct experiment_trigger {
    char *when; /* as in the file */
    enum experiment_when condition;
    int limit;                             /* of WHEN_VIOLATED: index */
    struct experiment_records first, then; /* then: of WHEN_SEQUENCE */
    int64_t within;      /* of WHEN_SEQUENCE, ns from the first to the second record; of WHEN_SILENT: the silence */
    int64_t persistence; /* `for`: ns that it must be violated or silent, beyond that; default 0 */
    int64_t once_in;     /* ns between two firings; default 1 s */
    bool is_short;       /* it is on-violation of `limit`, and has no entry in the file */
    uint32_t action_count;
    struct experiment_action *actions; /* in their order */
    struct experiment_place at;
};

#define EXPERIMENT_POLICY(NAME, name, word, abilities) POLICY_##NAME,
enum experiment_policy { EXPERIMENT_POLICIES(EXPERIMENT_POLICY) EXPERIMENT_POLICY_COUNT };
#undef EXPERIMENT_POLICY

enum experiment_decider { ADAPT_BY_NODE, ADAPT_BY_MANAGER };

enum experiment_helps { HELPS_LESS, HELPS_MORE };
enum experiment_order { ORDER_POLLING_FIRST, ORDER_KNOB_FIRST };

/** A knob of programs that is steered to hold limits (config/knobs.c). */
struct experiment_knob {
    char *name;
    int process;                 /* index: of that process, all of its instances; -1 (default): of all that have it */
    uint64_t serves;             /* 'hold' limits, bit i for limit i: those on the metrics that the file names */
    enum experiment_helps helps; /* the direction that helps them */
    int32_t min, max;            /* bounds within the knob's own range; default INT32_MIN .. INT32_MAX: its own range */
    uint32_t step;               /* the smallest change; 0 (default): a twentieth of the range */
    enum experiment_order order; /* whether polling or the knob changes first */
    int64_t settle; /* ns from a change until its effect is judged; 0 (default): experiment_knob_settle() */
    struct experiment_place at;
};

struct experiment_adapt {
    enum experiment_policy policy; /* default: NONE without a `hold` limit, SPP with busy-wait, else ELASTIC */
    enum experiment_decider by;    /* the agent of each node, or one manager for all nodes */
    int64_t every;                 /* controller sampling period, ns, 1 ms .. 10 s; default 100 ms */
    /*
     * Bounds of the polling period, ns; default 1 us .. 1 s (table 5-6). If ELASTIC is the default, the lower one is
     * the period at the start, unless there is a `hold` limit on the flow of records.
     */
    int64_t period_min, period_max;
    int64_t max_age; /* ns after which the policy discards an observation; 0 (default): never */
    uint32_t knob_count;
    struct experiment_knob *knobs; /* of two that serve one limit, the first one changes first */
    struct experiment_place at;
};

#define EXPERIMENT_SPOOL_DIR  "/var/tmp"
#define EXPERIMENT_SYNC_NEVER (-1)

/** Limits of the collector. */
struct experiment_limits {
    uint32_t connections; /* 1 .. 4096; default 256 */
    uint32_t processes;   /* 1 .. 1048576; default 65536 */
    uint64_t packet;      /* largest frame in bytes, 256 KiB .. 1 MiB (default) */
    uint64_t rate;        /* bytes per second from one peer, up to 1024 GiB; 0 (default): unbounded */
};

struct experiment_store {
    char *listen;  /* the collector's endpoint: tcp://HOST:PORT (or :*), ipc:///PATH; NULL: a socket of the run. HOST is
                      a number, an interface or `*`; on loopback if there are no keys. With remote nodes never NULL */
    char *serve;   /* where consumers read the run, an endpoint as `listen`; NULL: nowhere */
    char *metrics; /* where its metrics are asked for, as address_read_listen(); NULL: nowhere; ... */
    char *push;    /* ... and where they are sent, an URL */
    char *engine;  /* the engine to which the run is handed on, an URL of NATS or Kafka; NULL: none */
    char *keys;    /* folder of keys; NULL: none */
    char *key;     /* name of the collector's key there, default "collector"; NULL: without keys */
    struct experiment_place keys_at;
    struct experiment_limits limits;
    int64_t sync; /* ns between syncs to stable storage, 1 ms .. 10 s: records are acknowledged after a sync; 0: sync
                     before each acknowledgement; EXPERIMENT_SYNC_NEVER (default): acknowledged when written */
    struct store_keep keep; /* beyond it the oldest packets expire; all zeros (default): none do */
};

#define EXPERIMENT_COLLECTOR_CONTROL "tcp://*:7768"

/** Where the collector runs, and the run directory lies until the run is over. */
struct experiment_collector {
    char *node;      /* a remote node, whose bezel-launcher starts it there; NULL: on the machine of `bezel run` */
    char *directory; /* there, absolute: the run directory is made in it; NULL: EXPERIMENT_SPOOL_DIR */
    char *control;   /* where it takes commands there, tcp with a port; NULL only without `node` */
    struct clock_keeping clock; /* what keeps the wall clock of its machine */
};

#define EXPERIMENT_ALIVE INT64_C(250000000) /* ns after which a node is heard that has nothing to send */

#define EXPERIMENT_INNER_BUFFER  (UINT64_C(64) << 20)
#define EXPERIMENT_INNER_CONTROL 7769 /* port, of the first one on a node; of each further one the next */
#define EXPERIMENT_INNER_PROXY   7869 /* likewise */

/** An inner collector, which passes on what its children send, to one of its parents. */
struct experiment_inner {
    char *name;
    char *node;    /* a remote node, whose bezel-launcher starts it there; NULL: on the machine of `bezel run` */
    char *listen;  /* as of the store; NULL: a socket of the run, only where nobody is elsewhere */
    char *control; /* where it takes commands there, tcp with a port; NULL only without `node` */
    char *proxy; /* where commands for machines below it connect, and how it leads on: proxy_server_open(). NULL: ... */
    char *forward;   /* ... they need no proxy */
    uint64_t buffer; /* bytes, 4 MiB .. 4 GiB; default 64 MiB */
    struct experiment_parents parents;
    struct experiment_place at;
};

struct experiment {
    char *name;
    int64_t duration; /* ns; 0: until the processes end */
    int64_t grace;    /* ns between SIGTERM and SIGKILL of a process that does not end; default 2 s */
    int64_t silence;  /* ns that a persistent bezeld goes on without a command; 0 (default): as it was started */
    uint32_t node_count, process_count, metric_count, limit_count, inner_count;
    struct experiment_node *nodes;
    struct experiment_inner *inner;
    struct experiment_process *processes;
    struct experiment_sensing sensing;
    struct experiment_metric *metrics;
    int64_t sensor_cpu_window; /* ns that limits on sensor_cpu look back, as a metric's; default 1 s */
    struct experiment_limit *limits;
    uint32_t trigger_count;
    struct experiment_trigger *triggers;
    struct experiment_adapt adapt;
    struct experiment_store store;
    struct experiment_collector collector;
    struct order_settings order;
    char *control_key; /* name of the operator's key in store.keys; NULL: without remote nodes */
};

/** An error or a warning about a file: `file:line:col: path: sentence`. */
struct experiment_diagnostic {
    bool warning;
    struct experiment_place at;
    char *path;     /* of the value: "processes[1].command"; "" for the whole file */
    char *sentence; /* the mistake, and what is allowed */
};

struct experiment_diagnostics {
    size_t count, errors;
    struct experiment_diagnostic *list; /* in the order of the file */
};

/**
 * Reads and checks `n` bytes of YAML; opens no file. Collects in *found, which it initialises, all errors of syntax,
 * keys, units, ranges and cross-references, or, if there are none, warnings; each with its place in the file. The list
 * has at most 1000 entries; `errors` counts all. Returns 0 with *e owned by the caller (experiment_free()) if there is
 * no error; BEZEL_EMALFORMED if there are errors; BEZEL_ENOMEM. *found is to be freed with
 * experiment_diagnostics_free() in all cases.
 */
int experiment_read(const char *text, size_t n, struct experiment **e,
                    struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/**
 * Puts the metrics and limits of `n` bytes of YAML, which may have any other sections of an experiment file, in the
 * place of those of `e`. Nothing adapts to them. Otherwise as experiment_read(); after an error `e` is for
 * experiment_free() alone.
 */
int experiment_read_judged(const char *text, size_t n, struct experiment *e,
                           struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/** Appends a diagnostic of the caller's own, say about a command that does not exist. Returns 0 or BEZEL_ENOMEM. */
int experiment_report(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                      const char *format, ...) BEZEL_PRINTF(5, 6);

/**
 * Adds warnings to `found` where `sensing.real-time` names CPUs that a machine with `cpus` CPUs, numbered from 0, does
 * not have, or can starve such a machine; for the nodes there, which are not remote. Returns 0 or BEZEL_ENOMEM. Pure.
 */
int experiment_check_cpus(const struct experiment *e, uint32_t cpus,
                          struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

/** Prints each diagnostic as a line `file:line:col: path: sentence` ("warning: " before the path of a warning). */
void experiment_print_diagnostics(const struct experiment_diagnostics *found, const char *file, FILE *out);

void experiment_free(struct experiment *e);

/** The node on which the collector runs, as an index; -1: it runs on the machine of `bezel run`. Pure. */
int experiment_collector_node(const struct experiment *e);

/**
 * The node on which inner collector `i` runs, as an index; -1: it runs on the machine of `bezel run`. The number of
 * inner collectors on its way to the root, itself included, at most: 1 .. EXPERIMENT_LEVELS_MAX. How many nodes may be
 * connected through it. Pure.
 */
int experiment_inner_node(const struct experiment *e, uint32_t i);
uint32_t experiment_inner_level(const struct experiment *e, uint32_t i);
uint32_t experiment_inner_nodes(const struct experiment *e, uint32_t i);

/** The inner collectors through which node `node` may send, bit i for collector i. Pure. */
uint64_t experiment_node_above(const struct experiment *e, uint32_t node);

/**
 * Where a collector on a node takes commands, EXPERIMENT_ROOT or an inner one: writes its endpoint, "" where it is on
 * no node. Returns `endpoint`. Pure.
 */
char *experiment_control(const struct experiment *e, int collector, char endpoint[ADDRESS_TEXT_MAX]);

/** Likewise where a root on a node serves the run: store.serve on that node. */
char *experiment_server(const struct experiment *e, char endpoint[ADDRESS_TEXT_MAX]);

enum { EXPERIMENT_PROXIES_MAX = 1024 };

/**
 * The ports of proxies that lead to `endpoint`, where something takes commands on the machine of a node: separated by
 * blanks, of inner collectors that `bezel run` reaches at once. "": there are none. Pure.
 */
void experiment_proxies(const struct experiment *e, const char *endpoint, char text[EXPERIMENT_PROXIES_MAX]);

/** The inner collector called `name`, as an index; -1: there is none. Pure. */
int experiment_inner_find(const struct experiment *e, const char *name);

/** Whether every node has a way to the root without the inner collectors of `gone`, bit i for collector i. Pure. */
bool experiment_reaches_root(const struct experiment *e, uint64_t gone);

/**
 * Whether `child`, an inner collector, or with `is_node` a node, is on the same machine as `parent`, as far as their
 * addresses tell. Pure.
 */
bool experiment_is_beside(const struct experiment *e, int child, bool is_node, int parent);

/** Whether a node is reached over tcp, so that it may be on another machine. */
bool experiment_is_remote(const struct experiment_node *node);
void experiment_diagnostics_free(struct experiment_diagnostics *found);

/**
 * Whether `name` may name an experiment, a node or a process: 1 to EXPERIMENT_NAME_MAX letters, digits, '_', '-' or
 * '.', beginning with neither '.' nor '-'. Pure.
 */
bool experiment_name_ok(const char *name);

/**
 * Makes a name of the file name of the program that command `argv` is about, with '_' for characters that a name cannot
 * have: in [taskset, -c, "2", ./app] that is app. Pure.
 */
void experiment_name_of_command(char *const argv[], char name[EXPERIMENT_NAME_MAX + 1]);

/** Name of instance `i` (from 0) of process `p`: "client", or "client.3" if there are several. */
void experiment_instance_name(const struct experiment_process *p, uint32_t i, char *name, size_t size);

/** Whether `name` is the name of process `p` or of one of its instances. Pure. */
bool experiment_is_instance(const struct experiment_process *p, const char *name);

/** Whether any process is started; whether any is attached to. Pure. */
bool experiment_starts(const struct experiment *e);
bool experiment_attaches(const struct experiment *e);

/** Whether it attaches to processes of node `node`, which then has the default folder of programs. */
bool experiment_attaches_on(const struct experiment *e, uint32_t node);

/**
 * Whether `pattern` may match the name of an aspect: 1 to EXPERIMENT_NAME_MAX of the characters of such names, `*`,
 * `?`, and sets such as `[a-z]` or `[!0-9]`, whose ranges are not empty. Pure.
 */
bool experiment_pattern_ok(const char *pattern);

/** The first of `patterns`, of which NULL is the last, that matches aspect `name`; NULL: none, or `patterns` is. Pure.
 */
const char *experiment_pattern_of(char *const *patterns, const char *name);

/** The word of `policy` in files and reports; "?" if there is no such policy. Pure. */
const char *experiment_policy_word(int policy);

/** ns from a change of knob `k` until its effect is judged; by default, until its limits show it. Pure. */
int64_t experiment_knob_settle(const struct experiment *e, const struct experiment_knob *k);

/** Whether knob `k` is one of process `name`, which may be an instance, such as `NAME.1`. Pure. */
bool experiment_knob_is_of(const struct experiment *e, const struct experiment_knob *k, const char *name);

/** Whether a trigger waits for records of aspect `name`; for those of a sampler. Pure. */
bool experiment_trigger_reads(const struct experiment *e, const char *name);
bool experiment_trigger_reads_samplers(const struct experiment *e);

/** The first action of this kind that a trigger has; NULL: none. Pure. */
const struct experiment_action *experiment_trigger_action(const struct experiment_trigger *t, enum experiment_act act);

/** Whether one manager decides for all nodes. False with policy none and no knobs: then nothing is decided. Pure. */
bool experiment_is_managed(const struct experiment *e);

/** Whether there is a global limit. Pure. */
bool experiment_has_global(const struct experiment *e);

/** Whether the run has a manager, to decide for all nodes, to judge global limits, or both. Pure. */
bool experiment_has_manager(const struct experiment *e);

/** Whether `policy` has `ability`. Pure. */
bool experiment_policy_can(enum experiment_policy policy, enum policy_ability ability);

/**
 * The longest polling period, ns, with which a ring of `slots` slots loses nothing when a thread that was silent begins
 * to write 1,000,000 records of up to two values a second: three quarters of the time in which they fill it, as polls
 * are late at times; at most EXPERIMENT_QUIET_MAX. Pure.
 */
int64_t experiment_quiet_period(uint32_t slots);

/** The shortest latency of records that the file asks for, by limit or latency bound, ns; 0: it asks for none. Pure. */
int64_t experiment_asked_latency(const struct experiment *e);

/** The importance of aspect `name`: that of the last rule that matches, else 1. `rules` may be NULL. Pure. */
uint32_t experiment_importance(const struct experiment_rule *rules, const char *name);

/**
 * Whether the records of aspect `aspect` of programs end at their node, which evaluates them. ..._at_root(): or at the
 * collector that stores the run, because an interval has them. ..._hand_on_period(): how often a node is to record the
 * values of all such, so that each record is in one, ns; 0: there are none. Pure.
 */
bool experiment_reduces(const struct experiment *e, const char *aspect);
bool experiment_reduces_at_root(const struct experiment *e, const char *aspect);
bool experiment_interval_is_reduced(const struct experiment *e, uint32_t metric); /* of some of its aspects */
int64_t experiment_hand_on_period(const struct experiment *e);

/** The number of CPUs in the set; whether `cpu` is one of them. Pure. */
uint32_t experiment_cpu_count(const struct experiment_cpus *cpus);
bool experiment_has_cpu(const struct experiment_cpus *cpus, uint32_t cpu);

/**
 * Writes the form of an experiment file as a JSON schema (draft 7), for editors. Returns 0, or BEZEL_ESYS where `out`
 * has failed.
 */
int experiment_schema(FILE *out) BEZEL_MUST_CHECK;

/** The experiment as YAML with every default written out (`bezel check --print`). Returns 0 or BEZEL_ESYS. */
int experiment_print(const struct experiment *e, FILE *out) BEZEL_MUST_CHECK;

/** For each metric where it is computed, and what crosses the network for it, as sentences. Returns as above. */
int experiment_print_places(const struct experiment *e, FILE *out) BEZEL_MUST_CHECK;

/**
 * Writes what the bezeld of node `node` has to know: the experiment with the names alone of the other nodes and of
 * their processes, which therefore have the same indices. Returns as above; the caller frees *text in any case.
 */
int experiment_part_text(const struct experiment *e, uint32_t node, char **text, size_t *n) BEZEL_MUST_CHECK;

#endif
