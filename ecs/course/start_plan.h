// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Which programs are to run, as pure functions of what has happened: each after those that it waits for are ready, and
 * once more after a failure if the file says so. `bezel run` has them started.
 *
 *     WAITS -> TOLD -> RUNS -> READY -> OVER;  a restart leads from OVER's place to PAUSES -> TOLD
 */
#ifndef BEZEL_ECS_COURSE_START_PLAN_H
#define BEZEL_ECS_COURSE_START_PLAN_H

#include "config/experiment.h"

enum start_plan_phase {
    START_WAITS, /* for others */
    START_TOLD,  /* incarnation `wanted` is to be started */
    START_RUNS,  /* and is not ready */
    START_READY,
    START_PAUSES, /* before a restart */
    START_OVER,   /* it has ended, and is not started again; or it will never be started */
};

struct start_plan_program {
    const struct experiment_process *of;
    enum start_plan_phase phase;
    bool done;       /* it has been ready, or ended well: others need not wait for it */
    bool late;       /* it was reported as not ready in time */
    uint32_t wanted; /* incarnation that runs, or is to run; 0: none yet */
    int64_t at;      /* RUNS: when it was started; PAUSES: when to start it again, ns */
};

struct start_plan {
    const struct experiment *e; /* borrowed */
    size_t count;
    struct start_plan_program *programs; /* each instance of each process that is started, in the order of the file */
};

/** Makes the plan for `e`: all wait. Returns 0 with *plan for start_plan_free(), or BEZEL_ENOMEM. */
int start_plan_make(const struct experiment *e, struct start_plan *plan) BEZEL_MUST_CHECK;
void start_plan_free(struct start_plan *plan);

/** Program `i` runs since `at`; it is ready. */
void start_plan_runs(struct start_plan *plan, size_t i, int64_t at);
void start_plan_ready(struct start_plan *plan, size_t i);

/** Program `i` has ended, or could not be started. Returns whether it is to be started again. */
bool start_plan_ends(struct start_plan *plan, size_t i, bool failed, int64_t now);

/** Program `i` is not started any more, whatever its file says. Those that still wait for it become stuck. */
void start_plan_give_up(struct start_plan *plan, size_t i);

/** Takes the next steps that are due: programs become TOLD, or READY by their time. */
void start_plan_step(struct start_plan *plan, int64_t now);

/** A program that is not ready in time, once for each; -1: none. */
int start_plan_late(struct start_plan *plan, int64_t now);

/**
 * A program that waits for one that is over without having been ready: it is over, too. Returns its number, with
 * *failed the other's; once for each; -1: none.
 */
int start_plan_stuck(struct start_plan *plan, size_t *failed);

/** When the next step is due, ns; INT64_MAX: with the next event. */
int64_t start_plan_deadline(const struct start_plan *plan);

#endif
