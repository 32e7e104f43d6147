// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The state of an agent. agent.c takes processes and data in, agent_step.c evaluates, judges and decides. */
#ifndef BEZEL_RESMGR_AGENT_AGENT_INTERNAL_H
#define BEZEL_RESMGR_AGENT_AGENT_INTERNAL_H

#include "resmgr/agent/agent.h"

#include "metric/evaluator.h"
#include "resmgr/agent/limit_judge.h"

#include <assert.h>

/*
 * Aspects that metrics name are numbered in the order of the file; a watch is a slot and such a number. The node is
 * kept like a process: its sources are the sums over the processes, its readings the metrics that are not per process.
 */
enum { WATCH_ASPECT_BITS = AGENT_WATCH_BITS, WATCH_ASPECTS = 1 << WATCH_ASPECT_BITS, NODE = -1, NO_METRIC = -1 };
static_assert((int)EXPERIMENT_METRICS_MAX <= WATCH_ASPECTS, "a watch holds the number of any aspect");

/* The attempt counter of an aspect. Of a process: as it was read. Of the node: the growth of those of its processes. */
struct agent_source {
    uint32_t watchers; /* of a process: 0 or 1 */
    bool read, grew;   /* since the last step */
    bool blind;        /* since then nobody knew the counter, of the node: that of some process */
    uint64_t attempts;
    uint64_t before; /* of the node: its attempts when the last process with the aspect ended; 0: none has */
    int64_t grown_at;
    int64_t emptied; /* of the node: when it grew before that; 0: none has */
    bool went_on;  /* of the node, since the last step: it was the last process that ended, and made a record before */
    int64_t began; /* of the node: the first step behind that, when its values began anew; 0: there was none */
};

struct agent_process {
    char *name;
    int64_t began;     /* all its counters were 0 then; 0: it is not known when */
    bool goes_on;      /* it has made records since the last step, of whatever aspect; before agent_processes_end() */
    uint64_t attempts; /* in all, as far as agent_count_all() was told */
    struct agent_source sources[EXPERIMENT_METRICS_MAX]; /* by aspect */
    struct evaluator readings[EXPERIMENT_METRICS_MAX];
    struct statistic_field fields[EXPERIMENT_METRICS_MAX]; /* where metrics find theirs in its records */
    struct where wheres[EXPERIMENT_METRICS_MAX];           /* of metrics with a condition, for its records */
    struct arrivals arrivals[EXPERIMENT_METRICS_MAX];      /* of metrics of the times between its records */
    struct limit_judge_run runs[EXPERIMENT_LIMITS_MAX];
};

struct agent {
    const struct experiment *experiment;
    struct policy_state policy;
    struct policy_member member; /* of the policy: the node */
    int64_t dead_time;
    struct policy_observation seen;                  /* scratch of a step, */
    struct policy_limit hold[EXPERIMENT_LIMITS_MAX]; /* with its limits */
    struct policy_measure measure;
    struct knob_controller knob_controller; /* unused if a manager decides */
    uint32_t aspects;
    const char *aspect_name[EXPERIMENT_METRICS_MAX];
    int aspect_metric[EXPERIMENT_METRICS_MAX]; /* its first metric */
    int next_metric[EXPERIMENT_METRICS_MAX];   /* the next metric of the same aspect, or NO_METRIC */
    int metric_aspect[EXPERIMENT_METRICS_MAX];
    int operands[EXPERIMENT_METRICS_MAX][2]; /* of a metric of two others: these; else NO_METRIC */
    struct limit_judge judges[EXPERIMENT_LIMITS_MAX];
    struct agent_limit limits[EXPERIMENT_LIMITS_MAX];
    struct message_partial partials[EXPERIMENT_LIMITS_MAX]; /* of global limits */
    struct agent_outcome outcome;
    struct agent_process node;
    double left[EXPERIMENT_METRICS_MAX]; /* of counts of the node: what they were at least when it was emptied */
    bool wants_flow, wants_stored;
    double filling;          /* records a ns: the most that came into a ring, by the polls since the last step */
    uint32_t read;           /* samplers, a bit each, whose records a limit's metric reads */
    bool budget_broken;      /* so samplers give way, until the period is what file or operator set */
    struct ratio sensor_cpu; /* CPU time over measured time, in the window of limits on sensor_cpu, */
    struct ratio_mark used;  /* both as far as they were measured, in ns; `time` is measured time as well */
    int64_t counted_at;      /* agent_counted() */
    bool processes_end;      /* agent_processes_end() */
    bool keeps_ended;        /* agent_keep_ended() */
    uint32_t weights[EXPERIMENT_PATTERNS_MAX + 1]; /* importances of aspects, ascending */
    uint32_t weight_count;
    int slots; /* one above the highest in use */
    struct agent_process *processes[AGENT_PROCESSES_MAX];
};

/* `sampler` as a bit, with those without which its records lack something; EXPERIMENT_SAMPLERS: none. */
uint32_t agent_samplers_of(enum experiment_sampler sampler);

/* Whether the node goes on with what its processes made that have ended: it is added to what other nodes have. */
bool agent_outlives(const struct agent *agent, int metric);

/* Whether one record beyond the bound breaks the limit, whatever else is in the window. */
static inline bool agent_record_breaks(const struct experiment_metric *m, const struct experiment_limit *limit)
{
    return m->kind == (limit->compare == COMPARE_AT_MOST ? METRIC_MAX : METRIC_MIN);
}

/* NULL: there is none in `slot`. */
static inline struct agent_process *agent_process(const struct agent *agent, int slot)
{
    return slot >= 0 && slot < agent->slots ? agent->processes[slot] : NULL;
}

/* Aspects less important than this are only counted; 0: none. */
static inline uint32_t agent_floor(const struct agent *agent)
{
    uint32_t count = agent->policy.members[0].load_shedding.count;
    return count > 0 && count < agent->weight_count ? agent->weights[count] : 0;
}

#endif
