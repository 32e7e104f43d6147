// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Keeps a node within its CPU budget over the window of the limit, at any time. A policy answers a sudden load only at
 * the next sampling instant, when the budget may be exceeded already. So a poll begins only if the use in the window
 * that ends now leaves room for one like those before; else it waits until enough of that use is older than the window.
 * The less room is left, the further apart polls come, but no further than rings allow; and polls that rings need may
 * use what is kept from others. A wait frees more CPU time than the look after it uses.
 * What was not used lately is there for a burst; and where polls are deferred all the time, they come as evenly as
 * those of a window before. Before the start all of the budget counts as used, so that it is not spent at once. What
 * exceeds the budget by far at once, as when a node attaches to processes, defers nothing (cpu_budget.c). Pure; one
 * owner.
 */
#ifndef BEZEL_RESMGR_PACE_CPU_BUDGET_H
#define BEZEL_RESMGR_PACE_CPU_BUDGET_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

enum { CPU_BUDGET_GRAINS = 32, CPU_BUDGET_MARKS = CPU_BUDGET_GRAINS + 2 };

/** All zeros: no budget, no poll is deferred. Times are monotonic, in ns, as is CPU time. */
struct cpu_budget {
    double share;   /* of one CPU that may be used; 0: no budget */
    int64_t window; /* ns, in which that may be used in any order */
    struct cpu_budget_mark {
        int64_t time, cpu;
    } marks[CPU_BUDGET_MARKS]; /* readings of the CPU time, a grain of the window apart; mark i is at i modulo their
                                  number */
    uint64_t count;            /* of marks, ever */
    int64_t begun;             /* CPU time when the sampling interval began */
    double poll;               /* ns of CPU that a poll took lately; 0: unknown */
    int64_t forgiven;          /* ns of CPU that do not count */
    int64_t forgave;           /* when that grew last */
    int64_t look;              /* when to read the CPU time next */
    int64_t last;              /* when a poll came last */
    int64_t apart;             /* ns between two polls that what is left of the budget asked for at the last look */
    int64_t look_cpu;          /* CPU time at the look that deferred the next poll; 0: none did */
    int64_t lossless;          /* ns between two polls at which no ring fills up; the owner sets it; 0: unknown */
    bool deferred;             /* a poll was deferred in this sampling interval */
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

/** When a poll that is due at `now` may begin: `now`, or later. `cpu`: the CPU time at `now`. Asking again, before the
 * poll, gives the same answer as long as little CPU time passes. */
int64_t cpu_budget_look(struct cpu_budget *b, int64_t now, int64_t cpu);

/** A poll came at `now`. Returns the time before which none is to be due, so that the next look is not too early. */
int64_t cpu_budget_polled(struct cpu_budget *b, int64_t now);

/** Whether a use of `percent` of one CPU in an interval shows that polls were deferred. For a manager. */
bool cpu_budget_is_used_up(const struct cpu_budget *b, double percent);

#endif
