// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Built-in aspects: what bezeld records of itself, with the internal sensor's own means, into the same trace (design:
 * the monitor measures itself). bezeld declares them with these names, fields and this order; the collector finds them
 * by name in processes of role DAEMON and copies them into the run's facts.
 */
#ifndef BEZEL_MDR_BUILTIN_H
#define BEZEL_MDR_BUILTIN_H

/** What the daemon did and cost; every agent period, at least every second. Counters are cumulative. */
#define BUILTIN_SELF "bezel_self"
enum builtin_self {
    SELF_CPU_NS,       /* int64: CPU time of all threads */
    SELF_WAKEUPS,      /* int64 */
    SELF_RECORDS,      /* int64: MDRs cut into packets */
    SELF_BYTES,        /* int64: of packets */
    SELF_WINDOW_BYTES, /* int64: unacknowledged now */
    SELF_OLDEST_NS,    /* int64: age of the oldest unacknowledged packet; 0: none */
    SELF_PERIOD_NS, /* int64: effective polling period, the mean of the time since the sample before; 0: off, or unknown
                     */
    SELF_SENSOR_CPU, /* float64: percent of one CPU since the sample before */
    SELF_WORST_NS,   /* int64: the longest time between two polls since the sample before */
    SELF_FIELDS
};

/** A limit, as struct agent_limit has it; at every change of state, every second and at the end. Cumulative. */
#define BUILTIN_LIMIT "bezel_limit"
enum builtin_limit {
    BLIMIT_INDEX,    /* int64: in the experiment's list */
    BLIMIT_STATE,    /* enum unknown|held|violated */
    BLIMIT_VALUE,    /* float64: NaN where unknown */
    BLIMIT_WORST,    /* float64: NaN where there was none */
    BLIMIT_SETTLING, /* int64, ns; so are the next three */
    BLIMIT_HELD,
    BLIMIT_VIOLATED,
    BLIMIT_UNKNOWN,
    BLIMIT_LAST_VIOLATED, /* int64, ns: time; 0: never */
    BLIMIT_EPOCH,         /* int64: of a limit on the whole, of the manager that judged it; else 0 */
    BLIMIT_FIELDS
};

/** A decision of the policy that changed something. */
#define BUILTIN_DECISION "bezel_decision"
enum builtin_decision {
    DECISION_POLICY,   /* enum none|spp|dpp|dpp-band|elastic|integral|aimd */
    DECISION_ACTION,   /* enum keep|shorten|lengthen|off|resume */
    DECISION_BEFORE,   /* int64, ns: polling period before; 0: off */
    DECISION_AFTER,    /* int64, ns: polling period after; 0: off */
    DECISION_CAUSE,    /* int64: index of the limit in violation; -1: none */
    DECISION_BY,       /* enum agent|manager */
    DECISION_EPOCH,    /* int64: of the manager that the node obeyed last; 0: none */
    DECISION_SEQUENCE, /* int64: of its setting */
    DECISION_FIELDS
};

/** How the node polls from now on: at the start, and where an operator changes it. */
#define BUILTIN_POLLING "bezel_polling"
enum builtin_polling {
    BPOLLING_CAUSE,   /* enum start|operator|kept: the file; an operator; an operator, in a former life of the daemon */
    BPOLLING_PERIOD,  /* int64, ns: in force; decisions move it from there */
    BPOLLING_MODE,    /* enum polling|busy-wait */
    BPOLLING_FORWARD, /* enum batch|collect */
    BPOLLING_BATCH,   /* int64: records that a poll takes at most; 0: all that wait */
    BPOLLING_FIELDS
};

/**
 * What the node's processes of the SUT produced and what became of it; every second and at the end. Cumulative over the
 * run, but for what is under way now and `backpressure`, which is of one life of the daemon.
 */
#define BUILTIN_FLOW "bezel_flow"
enum builtin_flow {
    BFLOW_PRODUCED,     /* int64: records that they tried to write */
    BFLOW_FULL,         /* int64: lost, the ring was full */
    BFLOW_OFF,          /* int64: lost, collection was off */
    BFLOW_NO_RING,      /* int64: lost, no ring */
    BFLOW_OVERWRITTEN,  /* int64: lost, newer records took their place; as far as snapshots have told */
    BFLOW_IN_RINGS,     /* int64: neither lost nor cut into a packet yet */
    BFLOW_IN_WINDOW,    /* int64: cut, and still in the window */
    BFLOW_BACKPRESSURE, /* int64: how often a poll left records in a ring because the window was full */
    BFLOW_WINDOW,       /* int64: lost, the ring was full, for the window was */
    BFLOW_SPOOL,        /* int64: lost, likewise, and the spool was full too */
    BFLOW_FIELDS
};

/** Records of an aspect that has a latency bound (sensing.expire); every second and at the end, where there are new
 * ones. Cumulative, over one life of the daemon. */
#define BUILTIN_EXPIRED "bezel_expired"
enum builtin_expired {
    BEXPIRED_PROCESS,  /* string */
    BEXPIRED_ASPECT,   /* string */
    BEXPIRED_INSTANCE, /* int64: of the process */
    BEXPIRED_BOUND,    /* int64, ns */
    BEXPIRED_TAKEN,    /* int64: records that the external sensor took */
    BEXPIRED_EXPIRED,  /* int64: of these, older than the bound when they were taken */
    BEXPIRED_FIELDS
};

/** A knob of a process that was turned, or found turned by a daemon before this one. */
#define BUILTIN_KNOB "bezel_knob"
enum builtin_knob {
    BKNOB_PROCESS,  /* string */
    BKNOB_NAME,     /* string */
    BKNOB_UNIT,     /* string */
    BKNOB_INSTANCE, /* int64: of the process */
    BKNOB_CAUSE,    /* enum operator|manager|agent|kept|end: who; or how a former life of the daemon left it; or the
                       end of observation, which brings it back to its initial value */
    BKNOB_BEFORE,   /* int64 */
    BKNOB_AFTER,    /* int64 */
    BKNOB_LIMIT,    /* int64: of manager and agent, index of the limit that it was for; else, or where none, -1 */
    BKNOB_VALUE,    /* float64: of that limit's metric when it was decided; NaN: none, or unknown */
    BKNOB_EPOCH,    /* int64: of the manager's lease; 0: no manager decided it */
    BKNOB_SEQUENCE, /* int64: of its setting; likewise */
    BKNOB_FIELDS
};

/** A snapshot of flight recorders on this node: at its begin, every second and at its end. The last one tells all. */
#define BUILTIN_SNAPSHOT "bezel_snapshot"
enum builtin_snapshot {
    BSNAPSHOT_NODE,      /* string: where the limit broke; of an operator's: none */
    BSNAPSHOT_NUMBER,    /* int64: of the run's snapshots that limits asked for, from 1; of an operator's 0 */
    BSNAPSHOT_LIMIT,     /* int64: index of the limit; of an operator's -1 */
    BSNAPSHOT_VALUE,     /* float64: of its metric then; NaN: unknown */
    BSNAPSHOT_MOMENT,    /* int64, ns: when that was, on this node's clock */
    BSNAPSHOT_DURATION,  /* int64, ns: as the file has it */
    BSNAPSHOT_RECORDS,   /* int64: that were saved so far, by this life of the daemon */
    BSNAPSHOT_PROCESSES, /* int64: whose rings overwrite */
    BSNAPSHOT_FIRST,     /* int64, ns: time of the oldest record of these; 0: there is none */
    BSNAPSHOT_LAST,      /* int64, ns: of the newest */
    BSNAPSHOT_STATE,     /* enum goes_on|over */
    BSNAPSHOT_FIELDS
};

/**
 * A limit at a sampling instant, as the policy saw it; where it is as it was at the instant before, every second.
 */
#define BUILTIN_OBSERVATION "bezel_observation"
enum builtin_observation {
    BOBSERVATION_LIMIT, /* int64: in the experiment's list */
    BOBSERVATION_STATE, /* enum unknown|held|violated */
    BOBSERVATION_VALUE, /* float64: of the process furthest from holding; NaN where unknown */
    BOBSERVATION_FIELDS
};

/** What the policy finds beyond the period, or does beyond it; each time that it changes. */
#define BUILTIN_FINDING "bezel_finding"
enum builtin_finding {
    FINDING_WHAT,   /* enum infeasible|blameless|starved|shed|violated|spent: the budget is less than what monitoring
                       needs;   a quality is broken whether it is polled or not; records come late or are lost though they
                       are   polled as often as may be; aspects are not recorded, for the budget's sake; a limit is in
                       violation for the first time since it is judged; a knob is at the end of its range, and a limit
                       that it serves is violated */
    FINDING_HOLDS,  /* int64: 1: it is so from now on; 0: no longer */
    FINDING_LIMIT,  /* int64: of `violated` and `spent`: index of the limit; of `infeasible`, where it is the budget of
                       all  nodes together, likewise; else -1 */
    FINDING_NEEDED, /* float64, percent of one CPU: what monitoring was measured to need; of `spent`: the value of the
                       limit's metric; NaN: it is not about that */
    FINDING_BUDGET, /* float64, percent of one CPU: what it may use; of `spent`: where the knob
                       ends */
    FINDING_FLOOR, /* int64: of `shed`: aspects less important than this are only counted; 0: none; of `spent`: index of
                      the knob in adapt.knobs; else 0 */
    FINDING_FIELDS
};

/**
 * What a node made of what a resource manager told it, where it has one; every second that it changed and at the end.
 * Cumulative, over one life of the daemon.
 */
#define BUILTIN_OBEYED "bezel_obeyed"
enum builtin_obeyed {
    BOBEYED_EPOCH,    /* int64: of the manager that it obeys, or obeyed last; 0: none */
    BOBEYED_OBEYED,   /* int64: settings that it obeyed */
    BOBEYED_EXPIRED,  /* int64: not obeyed, too late; or of another life, or overtaken by an operator */
    BOBEYED_OUTDATED, /* int64: not obeyed, of a manager that was followed by another one */
    BOBEYED_REPEATED, /* int64: not obeyed, for they had come before, or what follows them had */
    BOBEYED_CUT,      /* int64: obeyed, cut to the file's bounds */
    BOBEYED_LOST,     /* int64: how often the manager was lost */
    BOBEYED_UNTOLD,   /* int64: observations that could not be sent */
    BOBEYED_FIELDS
};

/** The value of a metric; every second. */
#define BUILTIN_METRIC "bezel_metric"
enum builtin_metric {
    BMETRIC_NAME,    /* string */
    BMETRIC_PROCESS, /* string; the node's name where the metric is not per process */
    BMETRIC_VALUE,   /* float64 */
    BMETRIC_FIELDS
};

/** How well this node's times are known; every second and at the end. Cumulative, over one life of the daemon. */
#define BUILTIN_CLOCK "bezel_clocks"
enum builtin_clock {
    BCLOCK_KERNEL,  /* int64: processes of the SUT whose records were stamped with CLOCK_MONOTONIC */
    BCLOCK_COUNTER, /* int64: with the processor's counter */
    BCLOCK_PROGRAM, /* int64: with a clock of their own */
    BCLOCK_ERROR,   /* int64, ns: bound of the error that made CLOCK_MONOTONIC of the others; 0: none was made */
    BCLOCK_JUMPS,   /* int64: of clocks that were in use */
    BCLOCK_CLAMPED, /* int64: times of records that were made to fit: from the future, or before the record before */
    BCLOCK_FIELDS
};

#endif
