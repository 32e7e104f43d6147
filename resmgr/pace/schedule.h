// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * When each task of a node is due. Pure: the caller passes the time, reads what is due, and reports what was done. Only
 * these functions change the times. All times are monotonic ns. One owner.
 */
#ifndef BEZEL_RESMGR_PACE_SCHEDULE_H
#define BEZEL_RESMGR_PACE_SCHEDULE_H

#include "base/clock_units.h"

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_HOUSEKEEP (100 * CLOCK_MS)

struct schedule {
    int64_t turned, turns; /* when the last turn was; how many there were */
    int64_t poll_due, step_due, housekeep_due;
    int64_t sample_due, metric_due; /* records of the node's use, and of its metrics */
    int64_t hand_on_due;            /* values that are stored in place of records */
    int64_t totals_due;             /* totals for the agent's flow limits */
    bool busy_wait;                 /* polls have no phase to keep: the period counts from the last one */
    bool asleep;                    /* no polls and no sampling, until a process wakes the node */
};

/** Starts at `now`. The first sampling instant is `every` ns later. */
void schedule_start(struct schedule *s, int64_t now, int64_t every);

/** Whether a task is due that comes once in `every` ns, next at *due; if so, sets *due to its next time. */
static inline bool schedule_takes(int64_t *due, int64_t now, int64_t every)
{
    if (now < *due)
        return false;
    *due = now + every;
    return true;
}

/** A turn begins. */
void schedule_turn(struct schedule *s, int64_t now);

/** The poll after one that was due at `due` and came at `now`: those that were missed are skipped, the phase stays. */
static inline int64_t schedule_next(int64_t due, int64_t now, int64_t period)
{
    due += period;
    return due > now ? due : due + ((now - due) / period + 1) * period;
}

/** A poll is done: the next one is a period later, at once if that is 0. Missed polls are not made up for. */
void schedule_polled(struct schedule *s, int64_t now, int64_t period);

/** Sets the next poll to `at`; moves it to within `period`, if it is later; to `at`, if it is earlier. The last two do
 * nothing while busy-waiting. */
void schedule_poll_at(struct schedule *s, int64_t at);
void schedule_poll_within(struct schedule *s, int64_t now, int64_t period);
void schedule_poll_after(struct schedule *s, int64_t at);

/** Turns busy-waiting on or off. */
void schedule_busy_wait(struct schedule *s, bool busy_wait);

/** A sampling instant was taken. */
void schedule_stepped(struct schedule *s, int64_t now, int64_t every);

/** Housekeeping that is due within `time` is due now; it was done. */
void schedule_housekeep_within(struct schedule *s, int64_t now, int64_t time);
void schedule_housekept(struct schedule *s, int64_t now);

/** The node falls asleep, or sleeps on; the node wakes. */
void schedule_sleep(struct schedule *s, int64_t now);
void schedule_wake(struct schedule *s, int64_t now, int64_t every);

/** When the next turn of a node that is awake is due at the latest. `polls`: whether it polls at all. */
int64_t schedule_due(const struct schedule *s, bool polls);

#endif
