// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a node may still use of its budget before the next sampling instant, after the constant bandwidth server of
 * Abeni and Buttazzo (1998): a policy that goes by what was measured answers a load that rises at once only at the
 * instant that finds the budget broken. So polls are put off within the sampling interval, as soon as more was used
 * than its share of the budget: a part of it at once, the rest as the interval goes by, and a little is left for what
 * comes after a poll. One that has to wait waits until there is room for more than its wake-up, and one as dear as
 * those of the interval before for the next interval where this one has no room for it. Pure; one owner.
 */
#ifndef BEZEL_RESMGR_QUOTA_H
#define BEZEL_RESMGR_QUOTA_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

/** All zeros: no budget, nothing is put off. Times are monotonic nanoseconds, as is CPU time. */
struct quota {
    double share;       /* of one CPU that may be used; 0: there is no budget */
    int64_t every;      /* the sampling interval */
    int64_t begun, cpu; /* when this interval began, and the CPU time used until then */
    double poll;        /* ns of CPU that a poll of the interval before took; 0: unknown */
    int64_t look;       /* when the CPU time is to be looked at next */
    bool put_off;       /* in this interval, a poll was */
};

/** The budget of each node that `e` has, where its policy keeps it within the interval too: `elastic`. */
void quota_start(struct quota *q, const struct experiment *e);

/** A sampling interval begins, with CPU time `cpu`; in the one before were `polls`, 0 where none was or that is
 * unknown. */
void quota_begin(struct quota *q, int64_t now, int64_t cpu, uint64_t polls);

/** Whether a poll has to ask quota_look() first: reading a CPU clock costs about a tenth of a poll. */
static inline bool quota_asks(const struct quota *q, int64_t now)
{
    return q->share > 0 && now >= q->look;
}

/** When a poll may begin that is due at `now`, of which the CPU time is `cpu`: `now`, or later. */
int64_t quota_look(struct quota *q, int64_t now, int64_t cpu);

/** Whether use of `percent` of a CPU in an interval means that polls were put off, for who was not there. */
bool quota_is_used_up(const struct quota *q, double percent);

#endif
