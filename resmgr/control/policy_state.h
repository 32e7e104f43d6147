// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Observations, state and decisions of a policy, as plain data that the policies share with the control loops below
 * them. Arrays are the caller's, with one element for each member; nothing here allocates, and nothing has a clock.
 */
#ifndef BEZEL_RESMGR_CONTROL_POLICY_STATE_H
#define BEZEL_RESMGR_CONTROL_POLICY_STATE_H

#include "base/retry_timer.h"
#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    POLICY_ALL = -1, /* instead of a member: all of them together */
    POLICY_MEMBERS_MAX = EXPERIMENT_NODES_MAX,
    POLICY_CPU_MAX = 250, /* percent: a poller, an I/O thread, and imprecision of clocks. More is impossible. */
};

#define POLICY_ELAPSED_MAX INT64_C(60000000000) /* ns: a longer step is a jump of the clock, not a step */

/* ---- Observations ------------------------------------------------------------------------------------------------ */

enum limit_state { LIMIT_UNKNOWN = 0, LIMIT_HELD = 1, LIMIT_VIOLATED = 2 };

/** A `hold` limit at a sampling instant, as judged: with its persistence, and beyond the value's uncertainty. */
struct policy_limit {
    enum limit_state state;
    enum experiment_compare compare;
    bool on_cpu;  /* on the monitor's own CPU use: a budget. Else on a metric: a quality ... */
    bool on_flow; /* ... or a limit on the flow of records, which polling more often helps */
    int member;   /* index of the member, or POLICY_ALL */
    double bound, value;
    int64_t window;    /* ns that the value looks back: a change shows completely only after that */
    uint32_t priority; /* 0 first: of several violated limits the first one is answered */
    uint32_t next;     /* policy_link_limits() */
};

/** Measurements of a member since the step before. NaN, or 0 where it says so: unknown. */
struct policy_measure {
    double cpu;       /* percent of one CPU */
    double polls;     /* number of polls; unknown: as many as the period says */
    double records;   /* taken by them */
    int64_t elapsed;  /* ns that this covers; 0: unknown */
    double filling;   /* the share of a ring that filled in a ns, the most that a poll found; 0: unknown */
    bool kept;        /* the node keeps its budget within the sampling interval too (resmgr/pace/cpu_budget.h) */
    bool deferred;    /* polls were deferred on purpose: their lateness means nothing */
    bool unconfirmed; /* the last change may not have been in force all that time */
    uint32_t limits;  /* policy_link_limits() */
};

struct policy_observation {
    int64_t dead_time; /* ns from a decision to the begin of a measurement that shows it; 0: the next step shows it */
    uint32_t limit_count;
    uint32_t limits_of_all; /* policy_link_limits() */
    struct policy_limit *limits;
    struct policy_measure *members; /* as many as the state has */
};

/** Links the limits of each of `count` members, and those of all. A limit of a member that there is not has no link. */
void policy_link_limits(struct policy_observation *seen, uint32_t count);

/** The first limit of `member` alone, or of POLICY_ALL, and the next one of the same; NULL: no more. Pure. */
const struct policy_limit *policy_limits_of(const struct policy_observation *seen, int member);
const struct policy_limit *policy_next_of(const struct policy_observation *seen, const struct policy_limit *limit);

/** The first limit that is about `member`, be it of all or its own, and the next one; NULL: no more. Pure. */
const struct policy_limit *policy_first_about(const struct policy_observation *seen, uint32_t member);
const struct policy_limit *policy_next_about(const struct policy_observation *seen, uint32_t member,
                                             const struct policy_limit *limit);

/**
 * The distance of a limit's value from its bound, relative to the bound (absolute if the bound is 0): 0.1 is a tenth to
 * spare, negative is beyond the bound, NaN is unknown. Pure.
 */
double policy_margin(const struct policy_limit *limit);

/** Whether `limit` is about `member`, or about all. Pure. */
bool policy_concerns(const struct policy_limit *limit, uint32_t member);

/** Whether `a` is to be answered before `b`: violated before held, then by priority, then by margin. Pure. */
bool policy_is_worse(const struct policy_limit *a, const struct policy_limit *b);

/* ---- State ------------------------------------------------------------------------------------------------------- */

/** The estimated cost of polling (resmgr/control/cost_model.h). All zeros: nothing known. */
struct policy_cost_model {
    bool known;         /* cost means something */
    double cost;        /* ns of CPU a poll */
    double late;        /* ns that a poll comes later than the period says */
    double base;        /* percent of one CPU that does not depend on the period */
    double spread;      /* mean deviation of a measurement from the estimate, in ln */
    double use;         /* percent of one CPU, smoothed since the last change; meaningful where windows > 0 */
    double most;        /* percent of one CPU: two windows that use more are a step; 0: there is no such bound */
    bool stepped;       /* the cost made a step since the last change of the period */
    double surprise;    /* mean cost in the latest windows that deviate too far to count at once; if there are any */
    uint32_t surprises; /* number of these windows */
    bool deferred;      /* polls were deferred in the open window */
    uint32_t windows;   /* measured since the last change */
    uint32_t empty;     /* windows in a row in which all polls were deferred */
    bool kept;          /* the node keeps its budget within the sampling interval */
    uint32_t starved;   /* windows in a row in which most polls did not come */
    double polls, cpu, elapsed;     /* of the open window: CPU and time in ns */
    double rate;                    /* polls a ns, smoothed as the use is */
    double sum_rate, sum_use;       /* of the first windows since the last change */
    double before_rate, before_use; /* of the windows before it; rate 0: none */
    double loose;                   /* variance, in ln, of the expectation at a new period */
    double rate_then;               /* polls a ns of the last window before it; 0: none */
    double last_rate;               /* polls a ns of the latest window */
};

/** Bounds from limits on qualities, and the response to a violated one (resmgr/control/qos_backoff.h). */
struct policy_qos_backoff {
    enum policy_response { RESPONSE_NONE = 0, RESPONSE_REDUCED, RESPONSE_GIVEN_UP } response;
    bool off;                 /* even the longest period seemed too much */
    int64_t shortest;         /* ns: the shortest period that qualities allow; 0: any */
    int64_t failed;           /* ns: the longest period at which one was violated lately */
    int64_t good;             /* ns: the period before the last probe */
    double step;              /* by which the next probe shortens what failed */
    double margin;            /* of the limit in question before the last backoff ... */
    double first;             /* ... and before the first one of a series */
    int64_t before;           /* ns: the period before the first backoff of those in force */
    double used;              /* percent of a CPU: the use then; NaN: unknown */
    double rate, use;         /* polls a ns, and percent of a CPU, before the last backoff; rate 0: unknown */
    double polls;             /* percent of a CPU times ns: what a backoff showed polls to cost; 0: not measured */
    int64_t stands;           /* ns for which it still stands that polling less did not help; 0: it does not */
    bool probed;              /* the last move was a probe: a violation now is its failure */
    struct retry_timer retry; /* of what failed; it has waited since the last move */
};

/** Bounds from limits on the flow of records (resmgr/control/freshness.h). */
struct policy_freshness {
    int64_t longest;          /* ns: the longest period that they allow; 0: any */
    struct retry_timer retry; /* as above */
    bool probed;              /* the last move lengthened it */
    double filling;           /* share of a ring that fills in a ns, the most lately; 0: unknown */
    double deferred;          /* percent of a CPU that deferred polls would have used lately */
    double excess;            /* percent of a CPU: by which the use in the limit's window exceeded the mean, likewise */
    int64_t broken; /* ns for which they have been violated, less a part of the time for which they were not */
    int64_t free;   /* ns since polls were last deferred, because the budget was used up */
    bool starved;   /* they cannot be met */
    bool settled;   /* they were met for long enough since the last reduction: a violation now may be a hiccup */
    int64_t held;   /* ns for which they have been met */
};

/** Whether the budget is infeasible (resmgr/control/cutoff.h). */
struct policy_cutoff {
    bool over;                /* off: at the longest period the use was beyond the budget ... */
    bool global;              /* ... of all members together */
    double needed;            /* that use, percent of one CPU */
    struct retry_timer retry; /* as above */
};

/** Load shedding by importance of aspects (resmgr/control/load_shedding.h). */
struct policy_load_shedding {
    uint32_t levels;          /* importances that may be shed; 0: all aspects have the same */
    uint32_t count;           /* importances that are shed, the least first */
    struct retry_timer retry; /* as above */
    bool probed;              /* the last move brought one back */
};

struct policy_member {
    bool on;
    int64_t period;  /* ns; where off, the period that was in force before */
    int64_t desired; /* ns: what the file or the operator set */
    double weight;   /* its importance, above 0: a less important member is reduced first, and more */
    int64_t since;   /* ns since its last change was in force */
    struct policy_cost_model cost_model;
    struct policy_qos_backoff qos_backoff;
    struct policy_freshness freshness;
    struct policy_cutoff cutoff;
    struct policy_load_shedding load_shedding;
    double own[4]; /* for the policy alone */
};

struct policy_state {
    enum experiment_policy policy;
    int64_t every; /* ns: the sampling period as the file has it */
    int64_t period_min, period_max;
    uint32_t count;
    double weights; /* of all members, at the last step */
    struct policy_member *members;
};

/** How a member polls. */
struct policy_setting {
    bool on;
    int64_t period; /* ns; where off, the period that was in force before */
};

/* ---- Decisions --------------------------------------------------------------------------------------------------- */

enum policy_action { POLICY_KEEP = 0, POLICY_SHORTEN = 1, POLICY_LENGTHEN = 2, POLICY_OFF = 3, POLICY_RESUME = 4 };

struct policy_member_actions {
    enum policy_action action;
    bool not_the_monitors; /* a quality is violated whether the monitor polls or not */
    bool starved;          /* records are late or lost although it is polled as often as bounds and budget allow */
};

struct policy_actions {
    struct policy_member_actions *members;
    /** Infeasible: at the longest period the monitor was measured to need more than the budget. */
    bool infeasible;
    int infeasible_member; /* of which member; POLICY_ALL: of the budget for all */
    double needed, budget; /* percent of one CPU */
};

#endif
