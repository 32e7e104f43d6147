// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The agent: on each node it evaluates the limits at its sampling period, judges them, and lets the policy decide. It
 * reads no clock and no counter itself: bezeld feeds it and carries out what it decides. One owner; no function blocks;
 * only agent_new(), agent_process_add() and agent_watch() allocate, and agent_records() for a quantile
 * (metric/figure.h).
 *
 * A limit on a metric `per: process` has one value for each process; it is broken where one of them breaks it, unknown
 * where none is known. A limit with a persistence is in violation from the moment at which one process has been known
 * to break it that long. What counts for the policy is "in violation", of `hold` limits. Where a value carries an
 * uncertainty (collection off, or records too late), the limit counts as broken only where it is broken beyond it.
 *
 * Judgement: `hold` limits leave adaptation time to settle: window + AGENT_SETTLING sampling periods from the first
 * known value, reported apart. Outside of that, time held, in violation and unknown is summed, each interval between
 * two steps as the later one found it: settling + held + violated + unknown is the time since the first step, exactly.
 * A limit is violated where its share in violation of the known time, violated / (held + violated), exceeds its
 * tolerance. `expect` limits are judged from their first known value.
 *
 * A process that ended is not a silent one: agent_process_remove() takes back, as unknown, the time in violation since
 * the step before the last records of processes that ended, unless they had been silent for longer than a limit has to
 * settle. Nothing is judged between the last step and the end.
 */
#ifndef BEZEL_RESMGR_AGENT_H
#define BEZEL_RESMGR_AGENT_H

#include "mdr/dict.h"
#include "mdr/message.h"
#include "mdr/packet.h"
#include "resmgr/helm.h"
#include "resmgr/policy.h"

struct agent;

enum { AGENT_SETTLING = EXPERIMENT_SETTLING, AGENT_PROCESSES_MAX = 1024 };

/** How a limit stands and stood: cumulative, so that the last one tells the whole. Times in ns. */
struct agent_limit {
    enum limit_state state;
    bool known;   /* `value` means something now */
    double value; /* of the process furthest from holding */
    int slot;     /* of that process; -1: a value of the node, or none */
    double worst; /* that is sure (less its uncertainty), since judgement began; NaN while there was none */
    int64_t settling, held, violated, unknown;
    int64_t last_violated; /* time of the last instant in violation, settling included; 0: never */
};

/** What a step found and decided. Arrays belong to the agent and last until its next step. */
struct agent_outcome {
    enum experiment_policy policy;
    enum policy_action action;
    struct policy_setting before, after;
    struct policy_actions actions; /* of the one member, the node: the policy's verdict */
    uint32_t floor;                /* aspects less important than this are shed; 0: none */
    int cause;                     /* index of the first `hold` limit in violation; -1: none */
    uint32_t limit_count;
    const struct agent_limit *limits; /* in the order of the experiment's limits */
    bool limit_changed;               /* a limit changed its state at this step */
};

/**
 * An agent for node `node` of `e` (borrowed until agent_free); limits are the same on each node. Returns 0,
 * BEZEL_ENOMEM.
 */
int agent_new(const struct experiment *e, uint32_t node, struct agent **agent) BEZEL_MUST_CHECK;
void agent_free(struct agent *agent);

/** How the node polls at the start, and after each step. */
struct policy_setting agent_setting(const struct agent *agent);

/** The sampling period, ns. */
int64_t agent_period(const struct agent *agent);

/** The polling period is another one from now on: an operator wants it. Within the bounds that the policy has. */
void agent_set_period(struct agent *agent, int64_t period);

/** A process appeared: returns its slot, BEZEL_EFULL, BEZEL_ENOMEM. `name` is copied. */
int agent_process_add(struct agent *agent, const char *name) BEZEL_MUST_CHECK;

/** The process of `slot` ended: its values are gone, what was judged stays. Its watches are no longer valid. */
void agent_process_remove(struct agent *agent, int slot);

/** The name of the process in `slot`; NULL where there is none. It lasts until the process is removed. */
const char *agent_process_name(const struct agent *agent, int slot);

/**
 * The number by which to feed records of aspect `aspect`, as the process in `slot` declares it, or BEZEL_ENOENT where
 * no metric reads that aspect: the external sensor hands on only those that are watched. BEZEL_ENOMEM. The same name
 * gives the same number. Nothing of `aspect` is kept.
 */
int agent_watch(struct agent *agent, int slot, const struct dict_aspect *aspect) BEZEL_MUST_CHECK;

/** The first metric that reads a field which `aspect` has not, or not as a number of the unit that it takes; else NULL.
 */
const char *agent_lacking(const struct agent *agent, const struct dict_aspect *aspect);

/**
 * The process in some slot has aspect `name`: where it is not as important as others, it may be shed. Those that a
 * metric with a limit reads a field of never are.
 */
void agent_heard_of(struct agent *agent, const char *name);

/** Whether aspect `name` is only to be counted at present. */
bool agent_sheds(const struct agent *agent, const char *name);

/** Records of watched aspect `watch`, which came at `now`; runs come in any order. Only a quantile allocates. */
void agent_records(struct agent *agent, int watch, const struct packet_run *run, int64_t now);

/** A poll at `now` took `records` records of the SUT, the first of time `first`, the last of `last`. */
void agent_taken(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now);

/** The collector has acknowledged `records` records of the SUT; likewise. */
void agent_stored(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now);

/**
 * Whether a metric reads how old records are when they are stored; then call agent_waits() before every step, where a
 * record that is not acknowledged waits: the oldest is of time `first`.
 */
bool agent_wants_stored(const struct agent *agent);
void agent_waits(struct agent *agent, int64_t first, int64_t now);

/**
 * Whether a metric reads what became of records; then call agent_flow() before every step: how many the SUT's processes
 * produced, how many of them are lost, but not for collection's being off, and how many are under way. Cumulative but
 * for the last.
 */
bool agent_wants_flow(const struct agent *agent);
void agent_flow(struct agent *agent, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now);

/**
 * The attempt counter of watched aspect `watch` stood at `attempts`. Call it for every watch before every step,
 * collection on or off, with the step's `now`, read just before the counters: the counter is what tells a silent
 * process from one whose records are late. A watch that is not counted becomes unknown within a window.
 */
void agent_count(struct agent *agent, int watch, uint64_t attempts, int64_t now);

/**
 * Watched aspect `watch` is neither recorded nor counted at present, for the operator wants it so. Call it before every
 * step in the place of agent_count(): its values are unknown, and start anew with the next count.
 */
void agent_blind(struct agent *agent, int watch);

/**
 * Knob `i` of the file (adapt.knobs) as it is found on this node, before each step; and what was decided of it at the
 * last one: nothing where a manager decides.
 */
void agent_find_knob(struct agent *agent, uint32_t i, const struct trim_seen *seen);
const struct helm_order *agent_knob_order(const struct agent *agent, uint32_t i);

/** One sampling instant; `measured` is what the node was measured to do since the step before. */
const struct agent_outcome *agent_step(struct agent *agent, int64_t now, const struct policy_measure *measured);

/**
 * The processes have been told to end: from now on one that is silent does not count as hung, however long it takes to
 * end; its silence is taken back then.
 */
void agent_processes_end(struct agent *agent);

/**
 * The end: no step comes any more, and those processes are removed that have ended. The last step's outcome, with those
 * limits unknown that were last found of processes that have ended. What is not a whole sampling period is not judged.
 */
const struct agent_outcome *agent_end(struct agent *agent);

/** ns that adaptation has to settle before `limit`, to be held, is judged. Pure. */
int64_t agent_settling(const struct experiment *e, const struct experiment_limit *limit);

/** Limit `i` of `e`, to be held, as a policy is to see it where it stands so, of member 0. Pure: a manager's too. */
struct policy_limit agent_policy_limit(const struct experiment *e, uint32_t i, enum limit_state state, double value);

/**
 * What the policy sees of this node, its one member, as of the last step: for a manager. Belongs to the agent. Where
 * the experiment has a manager (adapt.by) a step judges, and decides nothing.
 */
const struct policy_observation *agent_seen(const struct agent *agent);

/**
 * What this node adds to the value of limit `i`, which is on the whole, as of the last step: for a manager, which
 * judges those. Here they are neither judged nor seen by the policy.
 */
struct message_part agent_part(const struct agent *agent, uint32_t i);

/** How many importances of the node's aspects may give way, and do. */
struct policy_shed agent_shed(const struct agent *agent);

/**
 * What a manager decided for this node is in force: how it polls, how many importances of its aspects give way, as far
 * as it has them, the policy's verdict, and the limit that caused it (-1: none). The outcome is that of the last step
 * with it, and lasts as long.
 */
const struct agent_outcome *agent_obey(struct agent *agent, struct policy_setting setting, uint32_t shed,
                                       const struct policy_actions *verdict, int cause);

/**
 * The value of metric `metric` for the process in `slot` (-1: the node's value, of a metric that is not per process) at
 * the last step. False where unknown.
 */
bool agent_metric(const struct agent *agent, uint32_t metric, int slot, double *value);

#endif
