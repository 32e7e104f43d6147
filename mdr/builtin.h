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
    SELF_PERIOD_NS,    /* int64: effective polling period; 0: off */
    SELF_SENSOR_CPU,   /* float64: percent of one CPU since the sample before */
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
    BLIMIT_FIELDS
};

/** A decision of the policy that changed something. */
#define BUILTIN_DECISION "bezel_decision"
enum builtin_decision {
    DECISION_POLICY, /* enum none|spp|dpp */
    DECISION_ACTION, /* enum keep|shorten|lengthen|off|resume */
    DECISION_BEFORE, /* int64, ns: polling period before; 0: off */
    DECISION_AFTER,  /* int64, ns: polling period after; 0: off */
    DECISION_CAUSE,  /* int64: index of the limit in violation; -1: none */
    DECISION_FIELDS
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
