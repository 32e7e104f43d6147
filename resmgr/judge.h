// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The judgement of one limit over time, from the values of all processes that it is about (agent.h says what it means).
 * A sampling instant is judge_begin(), judge_value() for each value, judge_end(). Pure; one owner.
 *
 * A process that ended is not a silent one, but for a moment it looks like one: its last records leave the window
 * before anybody notices that it is gone, and it may have made them early in the interval in which it ended. So what is
 * found at an instant of values that are made of records is doubtful: it counts, but is taken back (the time as
 * unknown) where all processes that break the limit turn out to have ended without a further record. It is confirmed as
 * soon as one of them makes a record after it, or has been silent longer than a limit has to settle.
 */
#ifndef BEZEL_RESMGR_JUDGE_H
#define BEZEL_RESMGR_JUDGE_H

#include "config/experiment.h"
#include "resmgr/agent.h"

/** What a limit remembers of one process, or of the node. All zeros: nothing. */
struct judge_run {
    bool broken;
    int64_t broken_since; /* meaningful where broken */
    int64_t suspected;    /* the latest instant at which it broke the limit, and may have ended; 0: none */
};

/** A value as it stands at a sampling instant. */
struct judge_value {
    bool known;
    double value, resolution; /* neither is NaN where known */
    bool of_records;          /* of those of a process, with which it ends; else the rest of this does not matter */
    int64_t silent;           /* ns since its last record; 0: it made one since the instant before */
};

struct judge {
    const struct experiment_limit *limit;
    int64_t settling; /* ns that a limit has to settle, and that a process may be silent before it counts as hung */
    struct agent_limit *seen;

    bool began, ever_known;
    int64_t before, first_known; /* the instant before; the instant of the first known value */

    /* Of the instant that is being judged. */
    int64_t now;
    double excess; /* how far the value of the process furthest from holding is on the wrong side, beyond resolution */
    double sure;   /* that value, less what is not sure about it */
    bool broken, violated, certain, confirms;
    uint32_t fresh; /* suspects of this instant */

    /* The doubt. */
    int64_t doubt_since; /* who is suspected at this instant or later is a suspect */
    uint32_t suspects;
    int64_t doubtful;     /* time in violation that may be taken back */
    double trusted_worst; /* seen->worst and seen->last_violated without what is doubtful */
    int64_t trusted_violated;
};

/** Starts judging `limit` into *seen (both borrowed). */
void judge_start(struct judge *j, const struct experiment_limit *limit, int64_t settling, struct agent_limit *seen);

void judge_begin(struct judge *j, int64_t now);

/** A value of the process in `slot` (-1: of the node), whose memory is `run`. */
void judge_value(struct judge *j, struct judge_run *run, int slot, struct judge_value v);

/** Brings *seen up to date; true where the limit's state changed. */
bool judge_end(struct judge *j);

/** The process of `run` ended: forgets it. */
void judge_forget(struct judge *j, struct judge_run *run);

#endif
