// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Keeps a node within its CPU budget inside a sampling interval, after the constant bandwidth server of Abeni and
 * Buttazzo (1998). A policy answers a sudden load only at the next sampling instant, when the budget is exceeded
 * already; so polls are deferred within the interval as soon as more was used than is available. A part of the budget
 * is available at once, the rest grows with the interval, and a little is reserved for work that follows a poll.
 *
 * A deferred poll waits until the budget covers more than its wake-up. If this interval cannot cover an average poll of
 * the one before, the poll moves to the next. Pure; one owner.
 */
#ifndef BEZEL_RESMGR_CONTROL_CPU_BUDGET_H
#define BEZEL_RESMGR_CONTROL_CPU_BUDGET_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

/** All zeros: no budget, no poll is deferred. Times are monotonic, in ns, as is CPU time. */
struct cpu_budget {
    double share;       /* of one CPU that may be used; 0: no budget */
    int64_t every;      /* the sampling interval */
    int64_t begun, cpu; /* when this interval began, and the CPU time used until then */
    double poll;        /* ns of CPU that a poll of the interval before took; 0: unknown */
    int64_t look;       /* when to read the CPU time next */
    bool deferred;      /* a poll was deferred in this interval */
};

/** Starts with the budget that `e` sets for each node; none if the policy does not ration (POLICY_RATIONS). */
void cpu_budget_start(struct cpu_budget *b, const struct experiment *e);

/** A sampling interval begins at `now`, with CPU time `cpu`. `polls`: polls in the one before; 0: none, or unknown. */
void cpu_budget_begin(struct cpu_budget *b, int64_t now, int64_t cpu, uint64_t polls);

/** Whether a poll must call cpu_budget_look() first: reading a CPU clock costs about a tenth of a poll. */
static inline bool cpu_budget_asks(const struct cpu_budget *b, int64_t now)
{
    return b->share > 0 && now >= b->look;
}

/** When a poll that is due at `now` may begin: `now`, or later. `cpu`: the CPU time at `now`. */
int64_t cpu_budget_look(struct cpu_budget *b, int64_t now, int64_t cpu);

/** Whether a use of `percent` of one CPU in an interval shows that polls were deferred. For a manager. */
bool cpu_budget_is_used_up(const struct cpu_budget *b, double percent);

#endif
