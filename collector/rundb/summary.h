// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a run's database says, loaded whole: the input of the report. Times are nanoseconds; `at` and `*_ns` times of a
 * node are its monotonic clock, started and ended of the run are CLOCK_REALTIME. What nodes say of times may be
 * anything: it is cut (saturate_ns()). Texts belong to the summary.
 */
#ifndef BEZEL_COLLECTOR_SUMMARY_H
#define BEZEL_COLLECTOR_SUMMARY_H

#include "base/err.h"
#include "mdr/dict.h"
#include "mdr/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary_latency {
    uint64_t count;
    int64_t median, p99, max; /* ns; of records, from their timestamp to receipt by the collector */
};

/** What the stored values of a span, counter or gauge come to. */
struct summary_values {
    const char *unit;
    int64_t total;                    /* span: ns; counter; else 0 */
    double last, min, max;            /* gauge; NaN: none */
    struct summary_latency durations; /* of a span */
};

/**
 * The books of one aspect of one process instance: attempts = stored + full + off + no_ring + window + spool + rest,
 * exactly. The rest is unfinished, overwritten, or in flight.
 */
struct summary_book {
    uint32_t aspect;
    const char *name;
    uint64_t attempts; /* produced */
    uint64_t stored;
    uint64_t full, off, no_ring, window, spool; /* lost, by cause */
    int64_t first_ns, last_ns;                  /* times of the first and last stored record; 0, 0 where none */
    enum dict_kind kind;
    struct summary_values values; /* of an event: nothing */
};

/** Where a stream of a process stands in the store. */
struct summary_stream {
    uint32_t ring;
    uint64_t next_ordinal; /* every attempt before it is stored or counted as lost */
    bool open;             /* its closing packet is not stored: nothing is known of the ordinals from there on */
};

struct summary_process {
    uint32_t node; /* index in nodes */
    uint64_t instance;
    uint32_t pid;
    enum message_role role;
    bool overwrites; /* its full rings overwrite */
    bool refused;    /* by the collector, for good: from some moment on nothing of it was stored */
    const char *name, *executable;
    int64_t started;
    enum message_process_state state; /* as the external sensor last saw it */
    uint64_t
        unfinished; /* lost: begun but not completed when the process was killed (known once state is not RUNNING) */
    uint64_t unobserved; /* processes that it forked, which recorded and were not observed: their records are unknown */
    uint64_t discarded;  /* lost by ordinals: the sum of its streams' events_discarded */
    struct summary_latency latency;
    size_t book_count, stream_count;
    struct summary_book *books;
    struct summary_stream *streams; /* in the order of rings */
};

struct summary_limit { /* of one node; struct agent_limit's values, last seen */
    uint32_t node, index;
    int state;
    double value, worst; /* NaN: none */
    int64_t settling, held, violated, unknown, last_violated;
    int64_t epoch; /* above 0: of a limit on the whole, of the manager that judged it; `node` recorded it */
};

struct summary_decision {
    uint32_t node;
    int64_t at;
    int policy, action, cause;
    int64_t before, after; /* polling period, ns; 0: off */
    int by;                /* 0: the node's agent, 1: the resource manager */
    int64_t epoch, sequence;
};

struct summary_polling { /* how a node polls from `at` on */
    uint32_t node;
    int64_t at;
    int cause;         /* 0: the file, 1: an operator, 2: an operator, before the daemon was restarted */
    int64_t period;    /* ns */
    int mode, forward; /* of enum message_poll_mode, message_poll_forward */
    int64_t batch;     /* records that a poll takes at most; 0: all that wait */
};

struct summary_knob { /* a knob that was turned */
    uint32_t node;
    int64_t at;
    uint64_t instance;
    const char *process, *name, *unit;
    int cause; /* 0: an operator, 1: the manager, 2: an agent, 3: found so by a new life of the daemon, 4: the end */
    int64_t before, after;
    int64_t limit; /* that it was for; -1: none */
    double value;  /* of its metric then; NaN: none */
    int64_t epoch, sequence;
};

/** Observations of a limit on a node that fall into the same part of the time from the first one to the last. */
struct summary_column {
    int64_t at;            /* of the first of them */
    uint32_t count, known; /* how many, and how many with a value */
    double min, max, last; /* of these */
};

enum { SUMMARY_COLUMNS = 800 };

struct summary_series { /* a limit as it was observed on a node */
    uint32_t node, limit;
    int64_t begin, end;             /* times of the first and the last observation */
    struct summary_column *columns; /* SUMMARY_COLUMNS of them */
    size_t open;                    /* the loader's */
};

struct summary_violation { /* in the order of `begin`, as far as a node's own clock goes */
    uint32_t node, limit;
    int64_t begin, end; /* from the first observation that found it to the first that did not, or the last one */
    bool open;          /* there is none that did not */
    double min, max;    /* of the values */
};

struct summary_snapshot { /* what a snapshot saved on a node, over all its daemons */
    uint32_t node;
    uint32_t number; /* of the run's, that limits asked for, from 1; 0: an operator's */
    int64_t limit;   /* index; -1: an operator's */
    const char *cause_node;
    double value;             /* of the limit's metric when it broke; NaN: unknown */
    int64_t moment, duration; /* ns: when that was, on this node's clock; how long it was to go on */
    uint64_t records, processes;
    int64_t first_ns, last_ns; /* of the records; 0: there are none */
    bool over;                 /* it came to its end */
    int64_t told_at;
};

struct summary_obeyed { /* what a node made of its managers' settings, over all its daemons; enum builtin_obeyed */
    uint32_t node;
    int64_t epoch, obeyed, expired, outdated, repeated, cut, lost, untold;
};

struct summary_finding { /* what a policy found, from `at` on; the fields of enum builtin_finding */
    uint32_t node;
    int64_t at;
    int what;
    bool holds;
    int64_t limit;
    double needed, budget; /* NaN: none */
    int64_t floor;
};

struct summary_expired { /* records of an aspect with a latency bound, over all daemons of the node */
    uint32_t node;
    uint64_t instance;
    const char *process, *aspect;
    int64_t bound;          /* ns */
    int64_t taken, expired; /* by the external sensor; of these, older than the bound */
};

struct summary_metric { /* over the whole run, from the values of each second */
    uint32_t node;
    const char *metric, *process;
    uint64_t count;
    double mean, min, max, last;
};

struct summary_clock {                /* over all daemons of a node */
    int64_t kernel, counter, program; /* processes whose records were stamped with CLOCK_MONOTONIC, the processor's
                                         counter, a clock of their own; all 0: not known */
    int64_t error_ns;                 /* bound for the times that were made of counters and clocks of programs */
    int64_t jumps, clamped;
};

struct summary_node {
    const char *name;
    bool open;           /* it did not say that all it had is stored: it is connected, or has vanished */
    uint64_t unobserved; /* processes that recorded and were not observed, beside those of its processes */
    int64_t realtime_offset;
    int64_t first_at, last_at;              /* of its bezel_self records; 0: none */
    double sensor_cpu_mean, sensor_cpu_max; /* percent of one CPU, of the same samples; NaN: there are none. The mean is
                                               CPU time over time, the maximum that of an interval of it */
    int64_t cost_ns, sampled_ns;            /* of which that is the mean */
    int64_t cpu_ns, wakeups, records, bytes;
    int64_t period_mean, period_worst;  /* ns: time between two polls that really happened; 0: unknown */
    double en_route_mean, en_route_max; /* of records produced, the share not yet acknowledged or lost; NaN: unknown */
    int64_t backpressure;               /* polls that found the window full */
    struct summary_clock clock;
};

struct summary_event { /* what `bezel run` told the operator: a process that died, a daemon that was restarted */
    int64_t at;        /* CLOCK_REALTIME */
    bool error;
    const char *text;
};

struct summary_note { /* what a process said, or was found about it; about the node where `name` is empty */
    uint32_t node;    /* index in nodes; node_count: unknown */
    uint64_t instance;
    uint32_t pid;
    int64_t at;
    const char *name, *code, *text;
};

struct summary_fact {
    const char *key, *value;
};

struct summary {
    size_t node_count, process_count, limit_count, decision_count, metric_count, event_count, note_count, fact_count;
    size_t polling_count, expired_count;
    size_t knob_count;
    size_t series_count, violation_count, snapshot_count;
    size_t finding_count;
    size_t obeyed_count;
    struct summary_node *nodes;
    struct summary_process *processes;
    struct summary_limit *limits;
    struct summary_decision *decisions;
    struct summary_polling *polling;
    struct summary_expired *expired;
    struct summary_knob *knobs; /* in the order of `at` */
    struct summary_series *series;
    struct summary_violation *violations;
    struct summary_snapshot *snapshots; /* in the order of `number`, then of the operators' */
    struct summary_obeyed *obeyed;      /* in the order of nodes */
    struct summary_finding *findings;   /* in the order of `at` */
    struct summary_metric *metrics;
    struct summary_event *events;
    struct summary_note *notes; /* in the order of `at` */
    struct summary_fact *facts;
    struct summary_latency latency; /* over all SUT processes */
    uint64_t refused;               /* packets and messages that the collector refused */
    bool behind;   /* the trace's files hold more bytes than the database tells of: of a run that is over, none has been
                      taken up since its collector was killed */
    bool left_out; /* it refused processes, of which it has nothing but a note ... */
    uint64_t untaken;         /* ... of so many the last books came ... */
    uint64_t untaken_records; /* ... which count so many records */
};

/**
 * Reads `<run>/run.db`, also while it is being written. Returns 0 with *s for summary_free, BEZEL_ENOENT,
 * BEZEL_EVERSION, …
 */
int summary_load(const char *run, struct summary **s) BEZEL_MUST_CHECK;

/** The same without what it tells of nodes' costs, limits and decisions: facts, events, nodes, processes, books alone.
 */
int summary_load_books(const char *run, struct summary **s) BEZEL_MUST_CHECK;
void summary_free(struct summary *s);

/** The value of fact `key`, or NULL. */
const char *summary_fact(const struct summary *s, const char *key);

#endif
