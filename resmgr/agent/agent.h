// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The agent of a node: at each sampling instant it evaluates the metrics, judges the limits, and lets the policy
 * decide. It reads no clock and no counter: bezeld passes it all data, and carries out its decisions. One owner. No
 * function blocks. Only agent_new(), agent_process_add() and agent_watch() allocate, and agent_records() for a quantile
 * (metric/statistic.h).
 *
 * A limit on a metric `per: process` has one value for each process. It is broken if one of them breaks it, and unknown
 * if none is known. A limit with a persistence is in violation when one process has broken it for that long. The policy
 * sees `hold` limits, and whether they are in violation. If a value is uncertain (collection is off, or records are
 * late), the limit is broken only if it is broken by more than the uncertainty.
 *
 * Judgement: adaptation has time to settle before a `hold` limit is judged, namely its window and AGENT_SETTLING
 * sampling periods from the first known value; this time is reported apart. After that the times held, in violation and
 * unknown are summed; an interval between two steps counts as the later step found it. So settling + held + violated +
 * unknown is exactly the time since the first step. `expect` limits are judged from their first known value.
 *
 * Gap: if two steps are further apart than agent_reach(), the values of the later one say too little about the time
 * between, for example because bezeld was stopped. That time is unknown, and counted as not judged. So is that in which
 * a window ended without a step, of windows that follow one another and are as long as the sampling period or longer.
 *
 * A process that ended is not a silent one. When it is removed, its time in violation becomes unknown, from the step
 * before its last records on, whatever their aspects, unless it was silent for longer than a limit's settling time.
 * Nothing is judged between the last step and the end.
 */
#ifndef BEZEL_RESMGR_AGENT_AGENT_H
#define BEZEL_RESMGR_AGENT_AGENT_H

#include "mdr/builtin.h"
#include "mdr/dict.h"
#include "mdr/packet.h"
#include "mdr/parts.h"
#include "resmgr/control/knob_controller.h"
#include "resmgr/policies/policy.h"

struct agent;
struct message_judgement;
struct message_observation;
struct message_partial;
struct message_setpoint;

enum { AGENT_SETTLING = EXPERIMENT_SETTLING, AGENT_PROCESSES_MAX = 1024, AGENT_WATCH_BITS = 6 };

/** State and history of a limit. Times are cumulative, in ns. */
struct agent_limit {
    enum limit_state state;
    bool known;   /* `value` means something now */
    double value; /* of the process that is furthest from holding */
    int slot;     /* of that process; -1: a value of the node, or none */
    double worst; /* the value furthest from holding since judgement began, as `value` is; NaN: none yet */
    int64_t settling, held, violated, unknown;
    int64_t unjudged;      /* part of `unknown`: gaps */
    int64_t gap;           /* ns before this instant that were not judged; 0: none; -1: it is the first one, in time;
                              less: the first of an agent that resumes, and so long ago the one before it began */
    int64_t last_violated; /* time of the last instant in violation, settling included; 0: never */
};

/** What is recorded of limit `i`, but for `node`, `at` and `epoch`. Pure. */
struct builtin_limit agent_limit_row(uint32_t i, const struct agent_limit *seen);

/** Conclusions and decision of a step. Arrays belong to the agent and last until its next step. */
struct agent_outcome {
    enum experiment_policy policy;
    enum policy_action action;
    struct policy_setting before, after;
    struct policy_actions actions; /* of one member, the node: `own` */
    struct policy_member_actions own;
    uint32_t floor;   /* aspects less important than this are only counted; 0: none */
    int64_t lossless; /* ns: freshness_lossless() */
    int cause;        /* index of the first `hold` limit in violation; -1: none */
    uint32_t limit_count;
    const struct agent_limit *limits; /* in the order of the experiment's limits */
    bool limit_changed;               /* a limit changed its state at this step */
    uint32_t kept;                    /* samplers, a bit each, that do not follow a longer polling period */
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

/** An operator set another polling period, ns, within the bounds of the policy: it is in force from now on. */
void agent_set_period(struct agent *agent, int64_t period);

/** A process appeared. Returns its slot, BEZEL_EFULL or BEZEL_ENOMEM. `name` is copied. */
int agent_process_add(struct agent *agent, const char *name) BEZEL_MUST_CHECK;

/** Before its first agent_watch(): the process in `slot` is new, and its counters were 0 at `at`. */
void agent_process_began(struct agent *agent, int slot, int64_t at);

/**
 * Since `at` there is something to judge: for limits on records, as a program of the node began to record when the
 * agent was there already; or (`resumes`) for all, as an agent before this one began, which may have judged none of it.
 * Of several calls before the first step the earliest counts; behind one with `resumes` no other does.
 */
void agent_judges_since(struct agent *agent, int64_t at, bool resumes);

/** The process in `slot` ended: its values are dropped, judged time stays. Its watches are no longer valid. */
void agent_process_remove(struct agent *agent, int slot);

/** The name of the process in `slot`; NULL: there is none. Lasts until the process is removed. */
const char *agent_process_name(const struct agent *agent, int slot);

/**
 * Watches `aspect`, as the process in `slot` declares it. Returns the number under which its records are passed to
 * agent_records(): `slot`, shifted by AGENT_WATCH_BITS, and below it a number that is the same for the same name;
 * BEZEL_ENOENT where no metric reads the aspect or `slot` is empty, or BEZEL_ENOMEM. `aspect` is not kept.
 */
int agent_watch(struct agent *agent, int slot, const struct dict_aspect *aspect) BEZEL_MUST_CHECK;

/**
 * The name of a metric that reads a field which `aspect` lacks, or which is no number, or has no unit of time where the
 * metric needs one, or that its condition cannot be compared with; NULL: there is none.
 */
const char *agent_lacking(const struct agent *agent, const struct dict_aspect *aspect);

/**
 * A process has aspect `name`: load shedding may turn it to counting if it is less important than others. Aspects with
 * a field that a limit's metric reads are never turned.
 */
void agent_received_from(struct agent *agent, const char *name);

/** Whether load shedding has aspect `name` only counted at present. */
bool agent_sheds(const struct agent *agent, const char *name);

/** Records of watched aspect `watch` arrived at `now`; runs may come in any order. Only a quantile allocates. */
void agent_records(struct agent *agent, int watch, const struct packet_run *run, int64_t now);

/** Brings the values of all metrics up to date, for agent_metric(); agent_step() does so, too. */
void agent_evaluate(struct agent *agent, int64_t now);

/** A poll at `now` took `records` records of the SUT out of a ring, with timestamps from `first` to `last`. */
void agent_taken(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now);

/** The collector acknowledged `records` records of the SUT; likewise. */
void agent_stored(struct agent *agent, uint32_t records, int64_t first, int64_t last, int64_t now);

/**
 * Whether a metric reads the storing latency. Then call agent_waits() before every step if records wait for an
 * acknowledgement; `first` is the timestamp of the oldest.
 */
bool agent_wants_stored(const struct agent *agent);
void agent_waits(struct agent *agent, int64_t first, int64_t now);

/**
 * Whether a metric reads the totals. Then call agent_totals() before every step: records that the SUT's processes
 * produced, and records lost for other causes than *off* (both cumulative); and records that are en route now.
 */
bool agent_wants_totals(const struct agent *agent);
void agent_totals(struct agent *agent, uint64_t produced, uint64_t lost, uint64_t en_route, int64_t now);

/**
 * The attempt counter of watched aspect `watch` stood at `attempts`. Call it for every watch before every step, whether
 * collection is on or off, with the step's `now`, read just before the counters. The counter distinguishes a silent
 * process from one whose records are late. Without this call a watch becomes unknown within a window.
 */
void agent_count(struct agent *agent, int watch, uint64_t attempts, int64_t now);

/**
 * All attempt counters of the process in `slot` together stood at `attempts`, those of aspects that nobody watches too.
 * Call it before every step: a process that is silent in one aspect and makes records of another one has not ended.
 */
void agent_count_all(struct agent *agent, int slot, uint64_t attempts);

/**
 * All counters of the step to come were read by time `at`, which is behind that of agent_count() where the caller lost
 * its CPU in between: the records that they have more may be as late, and a silence begins no earlier.
 */
void agent_counted(struct agent *agent, int64_t at);

/**
 * The operator turned watched aspect `watch` off: it is neither recorded nor counted. Call this before every step
 * instead of agent_count(). Its values are unknown, and start anew with the next agent_count(); that time counts as not
 * judged.
 */
void agent_blind(struct agent *agent, int watch);

/**
 * agent_find_knob(), before each step: the state of knob `i` of the file (adapt.knobs) on this node.
 * agent_knob_setpoint(): the last step's decision for it; none if a manager decides. Lasts until the next step.
 */
void agent_find_knob(struct agent *agent, uint32_t i, const struct knob_search_seen *seen);
const struct knob_controller_setpoint *agent_knob_setpoint(const struct agent *agent, uint32_t i);

/** A sampling instant. `measured`: measurements of the node since the step before. */
const struct agent_outcome *agent_step(struct agent *agent, int64_t now, const struct policy_measure *measured);

/**
 * The processes were sent SIGTERM, or have ended. From now on a silent process does not count as hung, however long it
 * takes to end; its silence becomes unknown when it has ended. Call agent_count_all() before: what a process records
 * from now on is its end, and does not show that it went on.
 */
void agent_processes_end(struct agent *agent);

/**
 * Before the first process: all records of each come before it is removed. So numbers, means and percentages of the
 * node go on with what processes that have ended left in the window, where another one follows.
 */
void agent_keep_ended(struct agent *agent);

/**
 * The end, after the last step, with the processes that ended removed. Returns the last step's outcome, in which limits
 * are unknown if their state was that of processes that ended. The part of a sampling period since then is not judged.
 */
const struct agent_outcome *agent_end(struct agent *agent);

/**
 * Before the first step: a decision is in force only `dead_time` ns later, as behind a loop over other machines. Else
 * at once: bezeld carries it out before the next measurement begins.
 */
void agent_loop(struct agent *agent, int64_t dead_time);

/** Before the first step: the values of limit `i` have been known since `since`, so adaptation need not settle anew. */
void agent_settled(struct agent *agent, uint32_t i, int64_t since);

/** ns for adaptation to settle before `limit`, of kind `hold`, is judged. Pure. */
int64_t agent_settling(const struct experiment *e, const struct experiment_limit *limit);

/**
 * The longest time between two judged instants, ns, for which the judgement of the later one counts: at least two
 * sampling periods. More where the later value shows what broke the limit between them, which is still in its window:
 * of a maximum with <= or a minimum with >=, a quarter of the window, or all of it over all nodes; of a built-in
 * metric, all of it. Any other value may have left its bound and come back: for it no more than 200 ms count where the
 * gap is judged again from the records (run/verdict/rejudge.h), and 500 ms where it stays unknown. Pure.
 */
int64_t agent_reach(const struct experiment *e, const struct experiment_limit *limit);

/** Limit `i` of `e`, of kind `hold`, with `state` and `value`, as a policy sees it for member 0. Pure. */
struct policy_limit agent_policy_limit(const struct experiment *e, uint32_t i, enum limit_state state, double value);

/**
 * The policy's observation of this node, its one member, as of the last step: for a manager. Belongs to the agent. If a
 * manager decides (adapt.by), a step judges limits and decides nothing.
 */
const struct policy_observation *agent_seen(const struct agent *agent);

/**
 * The partial of this node for global limit `i`, as of the last step: for the manager, which judges global limits. The
 * agent does not judge them, and its policy does not see them.
 */
struct message_partial agent_partial(const struct agent *agent, uint32_t i);

/**
 * Of a partial that is known and of a quantile: writes its histogram, at most `room` bytes, and returns the number of
 * its buckets. 0: there is no room, or no memory, for it; then the partial is unknown.
 */
uint32_t agent_histogram(struct agent *agent, uint32_t i, int64_t now, uint8_t *to, uint32_t room);

/** State of load shedding on this node: how many importances of aspects may be shed, and how many are. */
struct policy_load_shedding agent_shed(const struct agent *agent);

/**
 * Puts a manager's decision in force: how the node polls, how many importances of aspects are shed (at most as many as
 * there are), the policy's verdict, and the index of the limit that caused it (-1: none). Returns the last step's
 * outcome with the decision; it lasts as long.
 */
const struct agent_outcome *agent_apply(struct agent *agent, struct policy_setting setting, uint32_t shed,
                                        const struct policy_actions *verdict, int cause);

/**
 * The counts of a histogram, as many as it has edges and one, since the caller set them to 0: of the process in `slot`,
 * or with -1 of the node. NULL: it has none.
 */
uint64_t *agent_buckets(struct agent *agent, uint32_t metric, int slot);

/**
 * The value of metric `metric` at the last step, for the process in `slot`, or for the node (-1) if the metric is not
 * per process. False: unknown, and *value is unchanged.
 */
bool agent_metric(const struct agent *agent, uint32_t metric, int slot, double *value);

/**
 * What a value that agent_metric() does not know is for a limit from above (`at_most`), or below: that of a window in
 * which a source starts, where it counts there; of a rate or count what it is at least, since a window has not passed,
 * or 0; NaN: nothing is known.
 */
double agent_metric_for(const struct agent *agent, uint32_t metric, int slot, bool at_most);

/** Whether agent_metric() does not know it since nobody knows whether records in the window are of the metric. */
bool agent_is_open(const struct agent *agent, uint32_t metric, int slot);

#endif
