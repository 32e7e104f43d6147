// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What bezeld records of itself (mdr/builtin.h), into a segment in the folder of the run that it is about: each of the
 * experiments that it serves has its own. One thread.
 */
#ifndef BEZEL_ECS_SELF_H
#define BEZEL_ECS_SELF_H

#include "mdr/message.h"
#include "resmgr/agent.h"
#include "sensor/external.h"
#include "sensor/journal.h"

#include <stdint.h>

/** A sample of what the daemon did and cost; fields as in enum builtin_self. */
struct self_sample {
    int64_t cpu_ns, wakeups, records, bytes, window_bytes, oldest_ns, period_ns, worst_ns;
    double sensor_cpu;
};

/** What expired of an aspect of a process; fields as in enum builtin_expired. */
struct self_expired {
    const char *process, *aspect;
    int64_t instance, bound_ns, taken, expired;
};

/** Who turned a knob; as BKNOB_CAUSE. */
enum self_knob_cause { SELF_KNOB_OPERATOR, SELF_KNOB_MANAGER, SELF_KNOB_AGENT, SELF_KNOB_KEPT, SELF_KNOB_END };

/** A knob that was turned; fields as in enum builtin_knob. */
struct self_knob {
    const char *process, *name, *unit;
    int64_t instance;
    enum self_knob_cause cause;
    int32_t before, after;
    int limit;    /* -1: none */
    double value; /* NaN: none */
    int64_t epoch, sequence;
};

/** Who decided how a node polls. */
struct self_decider {
    enum self_by { SELF_BY_AGENT, SELF_BY_MANAGER } who;
    int64_t epoch, sequence; /* of the manager's lease, and of its setting; 0: the node has none */
};

/** A snapshot of flight recorders; fields as in enum builtin_snapshot. */
struct self_snapshot {
    const char *node;
    int64_t number, limit, moment, duration, records, processes, first, last;
    double value;
    bool over;
};

/** What was found; fields as in enum builtin_finding. */
enum self_finding_what {
    SELF_FINDING_INFEASIBLE,
    SELF_FINDING_BLAMELESS,
    SELF_FINDING_STARVED,
    SELF_FINDING_SHED,
    SELF_FINDING_VIOLATED,
    SELF_FINDING_SPENT
};

struct self_finding {
    enum self_finding_what what;
    bool holds;
    int limit; /* -1: none */
    double needed, budget;
    uint32_t floor;
};

/** What became of a manager's settings; fields as in enum builtin_obeyed. */
struct self_obeyed {
    int64_t epoch, obeyed, expired, outdated, repeated, cut, lost, untold;
};

/** Why a node polls as it does from now on. */
enum self_polling { SELF_POLLING_START, SELF_POLLING_OPERATOR, SELF_POLLING_KEPT };

/** How well the node's times are known; fields as in enum builtin_clock. */
struct self_clock {
    int64_t kernel, counter, program, error_ns, jumps, clamped;
};

/** Opens the journal of folder `dir`, whose reader is there already. Returns 0 with *j for journal_close(), or its
 * errors. */
int self_open(const char *dir, struct journal **j) BEZEL_MUST_CHECK;

void self_record_sample(struct journal *j, const struct self_sample *s);
/** `epoch`: of the manager that judged it, a limit on the whole; 0: the node did. */
void self_record_limit(struct journal *j, int index, const struct agent_limit *limit, int64_t epoch);
void self_record_decision(struct journal *j, const struct agent_outcome *outcome, const struct self_decider *by);
void self_record_polling(struct journal *j, enum self_polling cause, int64_t period_ns, const struct message_poll *now);
void self_record_flow(struct journal *j, const struct external_flow *flow, uint64_t backpressure);
void self_record_expired(struct journal *j, const struct self_expired *expired);
void self_record_finding(struct journal *j, const struct self_finding *finding);
void self_record_knob(struct journal *j, const struct self_knob *knob);
void self_record_snapshot(struct journal *j, const struct self_snapshot *snapshot);
void self_record_observation(struct journal *j, int index, const struct agent_limit *limit);
void self_record_obeyed(struct journal *j, const struct self_obeyed *obeyed);
void self_record_clock(struct journal *j, const struct self_clock *clock);
void self_record_metric(struct journal *j, const char *metric, const char *process, double value);

#endif
