// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Adaptation policies: pure functions from a state and an observation to the next state and what changed. The same code
 * runs in each agent, in a resource manager, in the simulator and in the tests; docs/ADAPTATION.md tells users which
 * policy does what.
 *
 * A policy steers members: nodes, each with a polling period and a switch. An agent has one member, its node; a manager
 * has as many as it decides for at once. What concerns one member alone names it; what concerns all says POLICY_ALL.
 *
 * A policy is one file in resmgr/policies/ with one function (resmgr/rule.h), and one line in EXPERIMENT_POLICIES
 * (config/policies.h). State and observation are bounded plain memory without pointers or clocks: a state may be
 * copied, stored, sent and compared.
 *
 * What may be relied on whatever is observed, and whatever a policy does wrong:
 * - A member's period stays within the bounds of the file (of a policy that moves it; the others leave it alone).
 * - What cannot be true is unknown: a CPU share that is negative, beyond POLICY_CPU_MAX or not finite, a value that is
 *   not finite, time that stands still, runs backwards or jumps.
 * - Unknown is neither held nor broken. Where nothing at all is known, nothing changes.
 */
#ifndef BEZEL_RESMGR_POLICY_H
#define BEZEL_RESMGR_POLICY_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    POLICY_ALL = -1, /* in the place of a member: all of them together */
    POLICY_MEMBERS_MAX = EXPERIMENT_NODES_MAX,
    POLICY_LIMITS_MAX = EXPERIMENT_MANAGED_MAX, /* that say `hold`, over all members */
    POLICY_CPU_MAX = 250, /* percent: a poller and an I/O thread, and what imprecise clocks add. More is a lie. */
};

#define POLICY_ELAPSED_MAX INT64_C(60000000000) /* ns: a longer step is a jump of the clock, not a step */

/* ---- What is observed -------------------------------------------------------------------------------------------- */

enum limit_state { LIMIT_UNKNOWN = 0, LIMIT_HELD = 1, LIMIT_VIOLATED = 2 };

/** A `hold` limit at a sampling instant, as it was judged: with its persistence, beyond the value's uncertainty. */
struct policy_limit {
    enum limit_state state;
    enum experiment_compare compare;
    bool on_cpu;  /* on the CPU share of the monitor itself: the budget. Else on a metric: a quality to keep ... */
    bool on_flow; /* ... or on how the monitor's own records flow: polling more often is what helps it */
    int member;   /* whose value it is */
    double bound, value;
    int64_t window;    /* ns that the value looks back: what a change does to it is seen whole only after that */
    uint32_t priority; /* 0 first: of several broken limits the first one is answered */
};

/** What a member was measured to do since the step before. NaN, or where said so 0: unknown. */
struct policy_measure {
    double cpu;        /* percent of one CPU */
    double polls;      /* how many there were; unknown: as many as the period says */
    double records;    /* taken by them */
    int64_t elapsed;   /* ns that this covers; 0: unknown */
    int64_t effective; /* ns from poll to poll as it really was; 0: unknown */
    bool kept;         /* the node keeps its budget within the sampling interval too (resmgr/quota.h) */
    bool put_off;      /* polls were put off on purpose: that they came late says nothing */
    bool unconfirmed;  /* the last change is not known to have been in force all that time */
};

struct policy_observation {
    int64_t dead_time; /* ns from a decision to the begin of a measurement that shows it; 0: the next step shows it */
    uint32_t limit_count, member_count;
    struct policy_limit limits[POLICY_LIMITS_MAX];
    struct policy_measure members[POLICY_MEMBERS_MAX]; /* as many as the state has; more are ignored, fewer unknown */
};

/**
 * How far a limit is on the right side, relative to its bound (absolutely where that is 0): 0.1 is a tenth to spare,
 * negative is broken, NaN unknown. Pure.
 */
double policy_margin(const struct policy_limit *limit);

/* ---- What is remembered ------------------------------------------------------------------------------------------ */

/** What polling was measured to cost (resmgr/sense.h). All zeros: nothing known. */
struct policy_sense {
    bool known;         /* cost means something */
    double cost;        /* ns of CPU a poll */
    double late;        /* ns that a poll comes later than the period says */
    double base;        /* percent of one CPU that does not depend on how often is polled */
    double spread;      /* mean deviation of a measurement from the estimate, in ln */
    double use;         /* percent of one CPU, smoothed since the last change; meaningful where windows > 0 */
    bool stepped;       /* the cost changed at once since the last change of the period */
    double surprise;    /* a cost so far off that it waits for others to agree: their mean, where there are any */
    double surprised;   /* ns that they cover */
    uint32_t surprises; /* how many did */
    bool put_off;       /* polls were, in the window that is open */
    uint32_t windows;   /* measured since the last change */
    bool kept;          /* the node keeps its budget within the sampling interval */
    bool explained;     /* the latest window had far more records than those before */
    uint32_t starved;   /* windows in a row in which most polls did not come */
    double flow;        /* records a ns, smoothed */
    double records;     /* of the window that is open */
    double polls, cpu, elapsed;     /* of the window that is open: CPU and time in ns */
    double rate;                    /* polls a ns, smoothed as the use is */
    double sum_rate, sum_use;       /* of the first windows since the last change */
    double before_rate, before_use; /* of the windows before it; rate 0: none */
    double loose;                   /* variance, in ln, of what is expected at a new period beside what is measured */
    double rate_then;               /* polls a ns of the last window before it; 0: none */
    double last_rate;               /* polls a ns of the latest window */
};

/** What limits on qualities leave for the monitor, and whether it is to blame (resmgr/allowance.h). */
struct policy_allowance {
    enum policy_blame { BLAME_NONE = 0, BLAME_TRIED, BLAME_GIVEN_UP } blame;
    bool off;         /* even the longest period seemed too much */
    int64_t shortest; /* ns: the shortest period that qualities allow; 0: any */
    int64_t failed;   /* ns: the longest period at which one was broken lately */
    int64_t good;     /* ns: the period before the last probe */
    double step;      /* by which the next probe shortens what failed */
    double margin;    /* of the limit in question before the last cut ... */
    double first;     /* ... and before the first one of a series */
    bool probed;      /* the last move was a probe: a break now is its failure */
    int64_t waited;   /* ns since the last move */
    int64_t patience; /* ns until what failed is tried again; doubles with each failure; 0: none failed yet */
};

/** What limits on the flow of records ask for (resmgr/demand.h). */
struct policy_demand {
    int64_t longest;          /* ns: the longest period that they allow; 0: any */
    int64_t waited, patience; /* as above */
    bool probed;              /* the last move lengthened it */
    bool starved;             /* they cannot be met */
    bool settled;             /* they were met for long enough since the last cut: a break now may be a hiccup */
    int64_t held;             /* ns since when they are */
};

/** Whether the budget can be met at all (resmgr/resort.h). */
struct policy_resort {
    bool over;                /* off: at the longest period the use was beyond the budget ... */
    bool whole;               /* ... of all members together */
    double needed;            /* that use, percent of one CPU */
    int64_t waited, patience; /* as above */
};

/** How many importances of aspects give way (resmgr/shed.h). */
struct policy_shed {
    uint32_t levels;          /* that may; 0: all aspects are alike */
    uint32_t count;           /* that do, the least first */
    int64_t waited, patience; /* as above */
    bool probed;              /* the last move brought one back */
};

struct policy_member {
    bool on;
    int64_t period;  /* ns; where off, the period that was in force before */
    int64_t desired; /* ns: what the file or the operator set */
    double weight;   /* its importance, above 0: the less important gives way first and more */
    int64_t since;   /* ns since its last change was in force */
    struct policy_sense sense;
    struct policy_allowance allowance;
    struct policy_demand demand;
    struct policy_resort resort;
    struct policy_shed shed;
    double own[4]; /* for the policy alone */
};

struct policy_state {
    enum experiment_policy policy;
    int64_t every; /* ns: the sampling period as the file has it */
    int64_t period_min, period_max;
    uint32_t count;
    struct policy_member members[POLICY_MEMBERS_MAX];
};

/** How a member polls. */
struct policy_setting {
    bool on;
    int64_t period; /* ns; where off, the period that was in force before */
};

/* ---- What is decided --------------------------------------------------------------------------------------------- */

enum policy_action { POLICY_KEEP = 0, POLICY_SHORTEN = 1, POLICY_LENGTHEN = 2, POLICY_OFF = 3, POLICY_RESUME = 4 };

struct policy_actions {
    enum policy_action action[POLICY_MEMBERS_MAX];
    /** The budget cannot be met by polling less: at the longest period the monitor was measured to need more. */
    bool infeasible;
    int infeasible_member; /* of which member; POLICY_ALL: of the budget for all */
    double needed, budget; /* percent of one CPU */
    /** Members of which a quality is broken whether the monitor polls or not: bit i for member i. */
    uint64_t blameless;
    /** Members whose records come late, or are lost, though they are polled as often as bounds and budget let them. */
    uint64_t starved;
};

/** The state in which an experiment starts: `count` members on, at the file's period, of equal weight. Pure. */
void policy_start(struct policy_state *state, const struct experiment_adapt *adapt, int64_t period, uint32_t count);

/** An operator wants another period for `member`, or for POLICY_ALL: it is in force. Pure. */
void policy_set_period(struct policy_state *state, int member, int64_t period);

/** How many importances of aspects of `member` may give way, from now on. Pure. */
void policy_set_levels(struct policy_state *state, uint32_t member, uint32_t levels);

/** One sampling instant: moves *state on and says what changed. Pure. */
void policy_step(struct policy_state *state, const struct policy_observation *seen, struct policy_actions *actions);

/** Whether `percent` of a CPU can be true of a monitor. Pure. */
bool policy_cpu_is_sane(double percent);

/** What brings a member from one setting to another. Pure. */
enum policy_action policy_action_between(struct policy_setting before, struct policy_setting after);

/** "keep", "shorten", "lengthen", "off", "resume". */
const char *policy_action_name(enum policy_action action);

#endif
