// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The judgement of one limit over time, from the values of all processes that it is about (agent.h has the rules).
 * A sampling instant is limit_judge_begin(), limit_judge_value() for each value, limit_judge_end(). Pure; one owner.
 *
 * A process that has just ended looks silent for a moment: its last records leave the window before its end is noticed,
 * and it may have made them early in its last interval. So a violation by values that are made of records is doubtful
 * at first. It counts, but its time becomes unknown if all processes that break the limit turn out to have ended
 * without a further record. It is confirmed when one of them makes a further record, of whatever aspect, or is silent
 * for longer than the settling time.
 */
#ifndef BEZEL_RESMGR_AGENT_LIMIT_JUDGE_H
#define BEZEL_RESMGR_AGENT_LIMIT_JUDGE_H

#include "config/experiment.h"
#include "resmgr/agent/agent.h"

/** The state of a limit for one process, or for the node. All zeros: none. */
struct limit_judge_run {
    bool broken;
    bool may_be;   /* it is broken, or that is open */
    bool was_open; /* meaningful if may_be: since whole_before there was an instant at which it was open, or a gap */
    int64_t broken_since; /* meaningful if broken */
    int64_t whole_before; /* meaningful if may_be: the latest instant at which it was not broken, or had no value */
    int64_t suspected;    /* the latest instant at which the process broke the limit and may have ended; 0: none */
};

/** A value as it stands at a sampling instant. */
struct limit_judge_value {
    bool known;
    bool
        open; /* not known, and there is a value: whether it breaks the limit is open. That time counts as not judged */
    double value, resolution; /* neither is NaN where known */
    bool was_broken;          /* it broke the limit at some time since the instant before, or may have */
    double least;             /* not known, but this at least, where it is above 0 */
    bool of_records;          /* computed from records of processes; else `silent` is not used */
    int64_t silent;           /* ns since the last record; 0: there was one since the instant before */
    bool goes_on;             /* since the instant before there was a record of whatever aspect */
    bool part;                /* the value is of what is known alone: it tells that the limit holds, not by how much */
};

struct limit_judge {
    const struct experiment_limit *limit;
    int64_t settling; /* ns: time to settle, and silence after which a process counts as hung */
    int64_t reach;    /* ns: longer intervals are gaps */
    struct agent_limit *seen;

    bool began, ever_known, part; /* part: so is the value of this instant */
    int64_t before, first_known;  /* the instant before; the instant of the first known value */
    int64_t missed_until;         /* of agent_step.c: the end of a window behind one that no instant was in */
    int64_t since;                /* limit_judge_since(), as the next one is; 0: not called */
    bool resumes;

    /* Of the instant that is being judged. */
    int64_t now;
    int64_t hole;  /* limit_judge_hole() */
    double excess; /* of the value furthest from holding: by how much it breaks the limit, less its resolution */
    bool broken, violated, certain, confirms, open;
    bool was_open; /* likewise of a value that may have been broken for too long */
    int64_t
        lasting; /* ns beyond the limit's `for` for which a value may be broken that was not found so for that long */
    uint32_t fresh; /* suspects of this instant */

    /* Violations that are not confirmed. */
    int64_t doubt_since; /* a process suspected at this instant or later is a suspect */
    uint32_t suspects;
    int64_t doubtful;     /* ns in violation that may become unknown */
    int64_t doubtful_gap; /* ns that count as not judged and may be the silence of an end instead */
    double trusted_worst; /* seen->worst and seen->last_violated without the doubtful time */
    int64_t trusted_violated;
};

/** Starts judging `limit` into *seen (both borrowed). */
void limit_judge_start(struct limit_judge *j, const struct experiment_limit *limit, int64_t settling, int64_t reach,
                       struct agent_limit *seen);

/**
 * Before the first instant: there has been something to judge since `since`, and the first instant stands for that time
 * as others do. Where nobody says so it stands for none. `resumes`: a judge before this one may have judged some of it;
 * the gap of the first instant is negative, and counts in no sum (agent.h).
 */
void limit_judge_since(struct limit_judge *j, int64_t since, bool resumes);

void limit_judge_begin(struct limit_judge *j, int64_t now);

/**
 * Part of what this instant is judged by was not heard for `hole` ns since the instant before. Where that is longer
 * than the reach, the time between them is a gap, though instants may be closer together.
 */
void limit_judge_hole(struct limit_judge *j, int64_t hole);

/** A value of the process in `slot` (-1: of the node), with its state `run`. */
void limit_judge_value(struct limit_judge *j, struct limit_judge_run *run, int slot, struct limit_judge_value v);

/** Updates *seen; true if the limit's state changed. */
bool limit_judge_end(struct limit_judge *j);

/**
 * The process of `run` ended: clears `run`, and doubtful time that depends on it becomes unknown. `went_on`: it made a
 * record behind the latest instant, so what that found was not its end, and stays.
 */
void limit_judge_drop(struct limit_judge *j, struct limit_judge_run *run, bool went_on);

#endif
