// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Real-time placement of the thread of bezeld that polls, as the experiment says: CPU, locked memory, timer slack,
 * scheduling policy. Each step is taken for itself: one that the system refuses is told with its remedy, and the others
 * are taken all the same.
 *
 * ZeroMQ's threads stay at default scheduling, on CPUs of their own where the file says so. They exist already when the
 * thread is placed; threads made later inherit no real-time policy (reset-on-fork), but the CPUs.
 */
#ifndef BEZEL_ECS_PLACEMENT_H
#define BEZEL_ECS_PLACEMENT_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum placement_step {
    PLACEMENT_CPU,
    PLACEMENT_IO_CPU,
    PLACEMENT_MEMORY, /* lock what is mapped, and what will be */
    PLACEMENT_LATER,  /* the second half of the same: what will be mapped */
    PLACEMENT_SLACK,
    PLACEMENT_POLICY, /* last: nothing else is to be done in a hurry */
    PLACEMENT_STEPS,
};

enum { PLACEMENT_TEXT_MAX = 255 };

/** What a step came to: 0, or an errno value. */
struct placement_result {
    int error[PLACEMENT_STEPS];
    uint32_t priority;     /* FIFO: what was got, where a limit allows less than was wanted; 0: none */
    uint32_t missing_cpus; /* how many of the wanted CPUs the thread may not use */
    uint32_t missing_io_cpus;
};

/** What is in force, as the system tells it: of the calling thread, and of the process. */
struct placement_state {
    int policy;                        /* SCHED_* */
    uint32_t priority;                 /* of FIFO and RR */
    int64_t runtime, deadline, period; /* ns, of DEADLINE */
    struct experiment_cpus cpus;
    uint32_t cpu_count; /* of the machine, online */
    uint64_t locked_bytes;
    int64_t timer_slack; /* ns */
};

/**
 * Places the calling thread as `want` says, `memory` of `bytes` bytes (NULL: none) being what its loop writes to: where
 * memory is locked, it is made present. Not for a thread whose children are to be real-time.
 */
struct placement_result placement_apply(const struct experiment_real_time *want, void *memory, size_t bytes);

/** How the calling thread is placed. */
struct placement_state placement_read(void);

/**
 * What there is to say of `step`, into `text`, which takes PLACEMENT_TEXT_MAX + 1 bytes: what was refused, and what to
 * do. False: nothing, it was taken or not asked for. Pure.
 */
bool placement_complaint(const struct experiment_real_time *want, const struct placement_result *result,
                         enum placement_step step, char *text);

/** One line for people: "SCHED_FIFO priority 10, CPU 1 of 4, 20.1 MiB locked, timer slack 1 us". Pure. */
void placement_describe(const struct placement_state *state, char *text, size_t size);

/** Whether the file asks for anything but what every daemon does. Pure. */
bool placement_wanted(const struct experiment_real_time *want);

/**
 * Warns, in *found, of a placement that can starve a machine with `cpus` CPUs, the lowest being number 0. Returns 0 or
 * BEZEL_ENOMEM. Pure.
 */
int placement_doubt(const struct experiment *e, uint32_t cpus, struct experiment_diagnostics *found) BEZEL_MUST_CHECK;

#endif
