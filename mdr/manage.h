// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Messages between a node and its resource manager: what a node observed, and what the manager decides and judges. */
#ifndef BEZEL_MDR_MANAGE_H
#define BEZEL_MDR_MANAGE_H

#include "mdr/parts.h"

/** How a resource manager decides for the node. */
struct message_managed {
    bool held;        /* the node applies its SETPOINTs now */
    uint64_t epoch;   /* of the manager that it follows, or followed last; 0: none */
    uint64_t applied; /* SETPOINTs */
};

/** OPEN: in a judgement, unknown, and not judged, for values are lacking. */
enum message_limit_state {
    MESSAGE_LIMIT_UNKNOWN = 0,
    MESSAGE_LIMIT_HELD = 1,
    MESSAGE_LIMIT_VIOLATED = 2,
    MESSAGE_LIMIT_OPEN = 3
};

struct message_observed {
    uint32_t limit; /* index in the experiment's list */
    enum message_limit_state state;
    double value;
};

/** The state of a steered knob in the node's programs. */
struct message_steered {
    uint32_t knob;      /* index in the experiment's list */
    int32_t value;      /* of one of the programs, if several have the knob */
    int32_t min, max;   /* range that is valid in all of them */
    int32_t baseline;   /* the initial value, or what an operator set */
    uint32_t overrides; /* how often an operator did */
};

/** A decision about a knob. */
struct message_steer {
    uint32_t knob;
    bool given; /* set the knob to `value`; else leave it alone */
    int32_t value;
    int32_t cause;  /* index of the limit that the decision is for; -1: none */
    double metric;  /* the value of that limit's metric; NaN: unknown */
    bool saturated; /* at the end of its range, and the limit is violated */
};

/** A node's observation for its resource manager. Times in ns; CPU use in percent of one CPU; NaN: unknown. */
struct message_observation {
    uint64_t life; /* of the daemon: greater than in its earlier lives */
    uint64_t at;   /* when it was sent, on the node's clock; a SETPOINT that answers it repeats this */
    uint64_t step; /* sampling instants so far; all measurements are of the last one */
    struct message_leadership leadership; /* of the manager that it follows */
    uint64_t sequence;                    /* of the SETPOINT of that manager that it applied last; 0: none */
    bool on;                              /* the polling settings in force, with period_ns */
    uint64_t period_ns;
    uint64_t desired_ns; /* the period that the experiment or an operator set */
    uint32_t overrides;  /* how often an operator set it */
    uint32_t levels;     /* how many levels of importance load shedding may give up */
    uint32_t shed;       /* how many are given up now, the least important ones first */
    bool settled;        /* these settings were in force during the whole measured interval */
    double cpu, polls, records;
    int64_t elapsed; /* ns that these cover; 0: nothing was measured */
    uint32_t limit_count;
    struct message_observed limits[MESSAGE_LIMITS_MAX];
    uint32_t knob_count;
    struct message_steered knobs[MESSAGE_KNOBS_MAX];
};

enum message_infeasible { MESSAGE_FEASIBLE = 0, MESSAGE_INFEASIBLE = 1, MESSAGE_INFEASIBLE_GLOBAL = 2 };

/** A resource manager's decision on how a node polls and sets its knobs. */
struct message_setpoint {
    struct message_leadership leadership; /* the sender's */
    uint64_t sequence;                    /* number of the SETPOINT from this manager to this node, from 1 */
    uint64_t life, answers;               /* of the observation that it answers; its `at` */
    uint64_t expiry;                      /* ns after `answers`: the SETPOINT is not applied any later */
    uint64_t lasts; /* ns after `answers`: the manager is lost if no other SETPOINT arrives by then */
    bool on;
    uint64_t period_ns;
    int32_t cause; /* index of a limit in violation; -1: none */
    enum message_infeasible infeasible;
    double needed, budget; /* percent of one CPU; 0 where it is feasible */
    bool not_the_monitors; /* a quality is violated, and polling less does not help */
    bool starved;          /* records are late or lost, and the node may not poll more often */
    uint32_t shed;         /* how many levels of importance to give up, the least important ones first */
    uint32_t knob_count;
    struct message_steer knobs[MESSAGE_KNOBS_MAX];
};

/** The node's partials at its sampling instant `step`. life and at: as in struct message_observation. */
struct message_partials {
    uint64_t life, at, step;
    uint32_t count;
    struct message_partial list[MESSAGE_LIMITS_MAX];
    uint32_t histogram_bytes;
    uint8_t histograms[MESSAGE_HISTOGRAMS_MAX]; /* of each partial its buckets, by histogram_pack() */
};

/** A manager's judgement of a global limit, cumulative over the manager's life (resmgr/agent/agent.h). Times in ns. */
struct message_judged {
    uint32_t limit;
    enum message_limit_state state;
    double value, worst; /* NaN: unknown, or none */
    int64_t settling, held, violated, unknown;
    int64_t ago;          /* since the last instant in violation; -1: there was none */
    int64_t doubtful;     /* part of `violated` that counts as unknown if the run ends now */
    int64_t trusted_ago;  /* `ago` without that part */
    double trusted_worst; /* `worst` without that part */
};

/** Judgements of all global limits, for the reporter to record. */
struct message_judgement {
    struct message_leadership leadership;    /* the sender's */
    uint64_t sequence;                       /* number of the JUDGEMENT from this manager, from 1 */
    uint64_t missing[MESSAGE_MISSING_WORDS]; /* bit i % 64 of word i / 64: node i is missing */
    uint32_t count;
    struct message_judged list[MESSAGE_LIMITS_MAX];
};

/** Why a limit on a metric that the collector evaluates is unknown (mdr_lack). */
enum message_lack {
    LACK_NOTHING = 0,
    LACK_VALUES = 1,
    LACK_RECENT = 2,
    LACK_BEGIN = 3,
    LACK_CLOCKS = 4,
    LACK_PRECISION = 5,
    LACK_RECORDS = 6,
    LACK_LOST = 7
};

/** The value of the metric of a limit, evaluated by the collector (mdr_value). */
struct message_value {
    uint32_t limit;                   /* index in the experiment's list */
    enum message_partial_state state; /* none: no process has had its aspects */
    enum message_lack lack;           /* if known, what its bounds are wide for; else numbers and times are 0 */
    double value, low, high;          /* it is between `low` and `high` for certain; infinite: nobody knows */
    int64_t age;                      /* ns from the newest record in it until this was sent, ... */
    int64_t collected;                /* ... of these, until the collector had that record */
};

/** A collector's answer to WATCH. Empty: it has no experiment. */
struct message_values {
    uint64_t life, at; /* of the collector, as in struct message_observation */
    uint32_t count;
    struct message_value list[MESSAGE_LIMITS_MAX];
};

struct message_lacking {
    uint32_t limit;
    enum message_lack lack;
};

/** How old what a SETPOINT was decided by is; ahead of a JUDGEMENT also what limits lack (mdr_loop). Times in ns. */
struct message_loop {
    struct message_leadership leadership;
    uint64_t sequence;                /* of the SETPOINT; 0: ahead of a JUDGEMENT */
    int32_t limit;                    /* whose value was the oldest in the decision; -1: none */
    int64_t collected, decided, sent; /* since its newest record: until collector, decision, this message */
    int64_t held;                     /* since the OBSERVATION that the SETPOINT answers arrived */
    uint32_t count;
    struct message_lacking lacking[MESSAGE_LIMITS_MAX];
};

#endif
