// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run database in memory: the input of the report. Times are nanoseconds: of a node (`at`, `*_ns`) of its
 * CLOCK_MONOTONIC; when the run started and ended, of CLOCK_REALTIME. Nodes may send any time, so their times are
 * clamped (saturate_ns()). Texts belong to the summary. Records of the own trace are in the structs of mdr/builtin.h.
 */
#ifndef BEZEL_RUN_HISTORY_SUMMARY_H
#define BEZEL_RUN_HISTORY_SUMMARY_H

#include "base/err.h"
#include "mdr/builtin.h"
#include "mdr/dict.h"
#include "mdr/parts.h"
#include "run/history/history.h"
#include "run/model/latency.h"
#include "run/model/run_clock.h"
#include "run/store/mirror_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary_latency {
    uint64_t count;
    int64_t median, p99, max;          /* ns; of records, from their timestamp to receipt by the collector */
    int64_t bound;                     /* of their error, ns, where the two have different clocks */
    uint64_t steps[LATENCY_STEPS + 1]; /* of latency_steps() */
};

/** A number of a field: of int64 exactly, where `is_int`; of float64 only `d`, NaN where it is unknown. */
struct summary_number {
    bool is_int;
    int64_t i;
    double d; /* in both cases */
};

/** Statistics of a numeric field over the stored records. */
struct summary_field {
    uint32_t field; /* its place in the aspect */
    const char *name, *unit;
    uint64_t count;   /* of values that are numbers */
    uint64_t unknown; /* NaN, and durations below 0. What lacks to the stored records was not evaluated */
    int64_t total;    /* of int64, at the end of the range where it is beyond; else 0 */
    double mean;
    struct summary_number last, min, max, p50, p99;
};

/**
 * The books of one aspect of one process instance: attempts = stored + reduced + full + off + no_ring + window + spool
 * + reducer + rest, exactly. The rest is unfinished, overwritten, or in flight.
 */
struct summary_book {
    uint32_t aspect;
    const char *name;
    uint64_t attempts; /* produced */
    uint64_t stored;
    uint64_t reduced;                                    /* ended at the reducer, which has handed on their values */
    bool thinned;                                        /* the collector is one */
    uint64_t full, off, no_ring, window, spool, reducer; /* lost, by cause */
    int64_t first_ns, last_ns; /* times of the first and last stored record; 0, 0 where none */
    enum dict_kind kind;
    size_t field_count;
    struct summary_field *fields; /* the numeric ones, in their order */
};

/**
 * The least and largest value of the field that the metric of `limit` reads, of all stored records of a process that
 * meet the metric's condition; NaN: there are none. In the unit of the field. Of a metric of times between records, its
 * own least and largest value, at any record; of a number of records, `max` is that of its last window. Of
 * verdict_has_end(), both are the value of the metric at the last record, if it breaks the limit there. Of an interval
 * they are its least and largest time, ns, as far as clocks are known: `process` is 0.
 */
struct summary_chosen {
    uint32_t limit;
    size_t process;
    double min, max;
    int64_t last; /* of times between records: that of the last one that meets the condition; INT64_MIN: there is
                     none; 0: not looked for */
    bool unread;  /* ... not all of them could be read: it may have been later, or none */
    int64_t open; /* of an interval: since interval_reading_since() to the end of the run, ns; 0: all ended; ... */
    const char *open_of; /* ... of the process that waits for longest, though others go on; NULL: of all */
    double unclear; /* of an interval: the share (0 .. 1) of its records of which it is not known what they belong to */
};

/** When the thread that is in open span number `open` made its last record that the metric of `limit` reads, on its
 * node's clock; INT64_MIN: it made none. */
struct summary_waiter {
    uint32_t limit;
    size_t open;
    int64_t last;
};

/** What was stored, and then expired from the store (`store.keep`): it counts as stored. */
struct summary_expired {
    uint64_t packets, records, bytes;
};

/** The stored part of a stream of a process. */
struct summary_stream {
    uint32_t ring;
    uint64_t next_ordinal; /* every attempt before it is stored, reduced, or counted as lost */
    bool open;             /* its closing packet is not stored: the ordinals from next_ordinal on are unknown */
    struct summary_expired expired;
};

struct summary_process {
    uint32_t node; /* index in nodes */
    int64_t row;   /* in the database */
    uint64_t instance;
    uint32_t pid;
    enum message_role role;
    bool overwrites; /* its full rings overwrite */
    bool refused;    /* the collector refused it for good: from then on nothing of it was stored */
    const char *name, *executable;
    int64_t started;
    enum message_process_state state; /* as the external sensor last saw it */
    struct builtin_ending ending; /* the last that its bezeld told; .at 0: nothing, it observes it still or was killed,
                                     or is of an older version */
    uint64_t unfinished; /* lost: records begun but not completed when it was killed; known when it is not RUNNING */
    uint64_t unobserved; /* processes that it forked and that were not observed: their records are unknown */
    uint64_t discarded;  /* not stored, by ordinals: the sum of its streams' events_discarded */
    uint64_t reduced;    /* of these: ended at the reducer; the others are lost */
    int64_t last_loss;   /* when the last lost one was known; 0: none */
    struct summary_expired expired; /* of all its streams */
    struct summary_latency latency;
    struct dict *dict; /* its aspects, fields and units, also those that were never recorded; NULL: not known */
    size_t book_count, stream_count;
    struct summary_book *books;
    struct summary_stream *streams; /* in the order of rings */
};

/** An incarnation of a program that the run started. */
struct summary_program {
    const char *node, *name;
    uint32_t incarnation, pid;
    enum message_launched_state state; /* RUNS: it was left running, or its end is unknown */
    int status, error;                 /* as in struct message_launched */
    const char *stage;
    int64_t ran, cpu;         /* ns; cpu: of user and system together */
    uint64_t memory, missing; /* bytes: resident at most; of output that could not be had */
    int64_t started;          /* on its node's clock; 0: a run of an older version */
};

struct summary_node {
    const char *name;
    int64_t row;                            /* in the database */
    bool open;                              /* it has not left: it is connected, or has vanished */
    uint64_t unobserved;                    /* processes that recorded unobserved and that no process below counts */
    int64_t ahead;                          /* run's time - the node's time, ns, over the whole run: run_clock_line() */
    int64_t first_at, last_at;              /* of its bezel_usage records; 0: none */
    double sensor_cpu_mean, sensor_cpu_max; /* percent of one CPU, of the same samples; NaN: there are none. The mean is
                                               CPU time over time, the maximum that of an interval of it */
    int64_t cost_ns, sampled_ns;            /* of which that is the mean */
    int64_t cpu_ns, wakeups, records, bytes;
    int64_t ways;                       /* RUNDB_WAYS; 0: not known */
    int64_t period_mean, period_worst;  /* ns: time between two polls that really happened; 0: unknown */
    double en_route_mean, en_route_max; /* of records produced, the share not yet acknowledged or lost; NaN: unknown */
    int64_t backpressure;               /* polls that found the window full */
    struct builtin_clocks clock;        /* over all daemons of the node */
    struct run_clock run_clock;         /* what its clock says of the run's time */
};

struct summary_event { /* a message of `bezel run`, such as that a daemon was restarted */
    int64_t at;        /* CLOCK_REALTIME */
    bool error;
    const char *text;
};

struct summary_note { /* about a process; where `name` is empty about the node */
    uint32_t node;    /* index in nodes; node_count: unknown */
    uint64_t instance;
    uint32_t pid;
    int64_t at;
    const char *name, *code, *text;
};

struct summary_property {
    const char *key, *value;
};

struct summary {
    bool judged_anew; /* by metrics and limits of another file: the metrics in here are of the run's own */
    size_t node_count, process_count, limit_count, decision_count, metric_count, event_count, note_count,
        property_count;
    size_t polling_count, expired_count, knob_count, series_count, violation_count, snapshot_count, conclusion_count;
    size_t setpoints_count, program_count, declared_count, gap_count, firing_count, watched_count, open_count;
    struct summary_node *nodes;
    struct summary_process *processes;
    struct builtin_limit *limits; /* in the order of nodes; of a global limit `node` is the one that recorded it. A node
                                     has a row for each life of its bezeld, in their order: rejudge_join() */
    struct builtin_decision *decisions; /* in the order of `at`, as the next three */
    struct builtin_polling *polling;
    struct builtin_knob *knobs;    /* that were set */
    struct builtin_knob *declared; /* that processes have, each once for each name of a process; of SET_BY_NONE */
    struct builtin_conclusion *conclusions;
    struct builtin_expired *expired;     /* sums over all daemons of the node, as the next two; in the order of nodes */
    struct builtin_setpoints *setpoints; /* in the order of nodes */
    struct builtin_snapshot *snapshots;  /* in the order of `number`; behind them those of operators */
    struct builtin_trigger *firings;     /* of triggers, and what was undone, in the order of `at` */
    struct builtin_open *open_spans;     /* waits and long spans that are open, or were when all ended; by `since` */
    struct builtin_trigger *watched;     /* of each node and trigger what its daemons counted until their ends */
    struct history_series *series;       /* of limits, in the order of nodes; the history owns them, as the metrics */
    struct history_violation *violations; /* in the order of `begin`, as the gaps; clocks of several nodes may differ */
    struct history_gap *gaps;
    struct summary_chosen *chosen;  /* as far as the report had to read them: rejudge_chosen() */
    struct summary_waiter *waiters; /* likewise: of limits on times between records, and waits of other aspects */
    size_t chosen_count, waiter_count;
    struct history_series *metrics; /* in the order of nodes and names */
    struct summary_event *events;
    struct summary_program *programs; /* in the order of nodes, names and incarnations */
    struct summary_note *notes;       /* in the order of `at` */
    struct summary_property *properties;
    struct summary_latency latency; /* over all SUT processes */
    uint64_t refused;               /* packets and messages that the collector refused */
    bool behind; /* the trace has more bytes than the database counts; if the run is over, its collector was killed, and
                    none has recovered it */
    uint64_t
        missing;  /* stream files that have lost or changed bytes since they were stored, as far as the report looked */
    bool changed; /* run.db was, since its last writer closed it, as far as the report looked */
    bool experiment_changed;   /* experiment.yaml was changed since the run began, and its limits are to be judged */
    int64_t now;               /* CLOCK_REALTIME at which a run that goes on was judged; 0: not known, as of a mirror */
    struct mirror_look mirror; /* as the run directory was before anything was read */
    bool copied;               /* the run directory is not the one that `bezel run` made, and no mirror */
    bool left_out;             /* the collector refused processes, which have only a note */
    uint64_t untaken;          /* of these, processes whose last books arrived ... */
    uint64_t untaken_records;  /* ... and the records that these books count */
};

/**
 * Reads `<run>/run.db`, also while it is being written. Returns 0 with *s for summary_free, BEZEL_ENOENT,
 * BEZEL_EVERSION, …
 */
int summary_load(const char *run, struct summary **s) BEZEL_MUST_CHECK;

/** The same without costs, limits and decisions: only properties, events, nodes, processes, books and notes. */
int summary_load_books(const char *run, struct summary **s) BEZEL_MUST_CHECK;
void summary_free(struct summary *s);

/** Time `at` of the clock of node `node`, in the run's time; as it is where there is no such node, or INT64_MIN. */
int64_t summary_run_time(const struct summary *s, uint32_t node, int64_t at);

/** Whether row `l` is of limit `limit` on `node`, or on all nodes together. Pure. */
static inline bool summary_limit_is_of(const struct builtin_limit *l, int64_t limit, uint32_t node)
{
    return l->limit == limit && (l->epoch > 0 || l->node == node);
}

/** The process of `instance` on `node`; NULL: it is not known. */
struct summary_process *summary_process_of(const struct summary *s, uint32_t node, uint64_t instance);

/** The books of aspect `aspect` of `p`; NULL: there are none, or either is NULL. */
struct summary_book *summary_book_of(const struct summary_process *p, const char *aspect);

/** The numeric field `name` in books `b`; likewise. */
const struct summary_field *summary_field_of(const struct summary_book *b, const char *name);

/** Records of `b` that were produced, and of which nothing else is known: unfinished, overwritten, or in flight. */
uint64_t summary_rest(const struct summary_book *b);

/** Whether program `g` was started as process `p`, by pid and node. */
bool summary_is_of(const struct summary *s, const struct summary_process *p, const struct summary_program *g);

/** The next such program behind `last`, as pids come again; `last` NULL: the first one. NULL: there is none. */
const struct summary_program *summary_program_of(const struct summary *s, const struct summary_process *p,
                                                 const struct summary_program *last);

/** The value of property `key`, or NULL. */
const char *summary_property(const struct summary *s, const char *key);

/** The same as a number; 0: it is none, or not there. */
int64_t summary_property_number(const struct summary *s, const char *key);

/** When the run started or, where no program was told to start, when it began: CLOCK_REALTIME; 0: neither is there. */
int64_t summary_start(const struct summary *s);

/** When the run ended: CLOCK_REALTIME; 0: it goes on, or was aborted. */
int64_t summary_ended(const struct summary *s);

/** Whether the run began, and no program was told to start (yet). */
bool summary_is_unstarted(const struct summary *s);

#endif
