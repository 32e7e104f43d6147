// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Real-time set-up of bezeld's polling thread, as the experiment says: CPU, locked memory, timer slack, scheduling
 * policy. The steps are independent: a step that the system refuses is reported with its remedy, and the others are
 * taken all the same.
 *
 * ZeroMQ's threads keep default scheduling, on CPUs of their own if the file says so. They must exist before the
 * set-up: threads that are made later do not inherit a real-time policy (reset-on-fork), but do inherit the CPUs.
 */
#ifndef BEZEL_BEZELD_NODE_RT_SETUP_H
#define BEZEL_BEZELD_NODE_RT_SETUP_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rt_setup_step {
    RT_SETUP_CPU,
    RT_SETUP_IO_CPU,
    RT_SETUP_MEMORY, /* lock the memory that is mapped now */
    RT_SETUP_LATER,  /* lock the memory that will be mapped later */
    RT_SETUP_SLACK,
    RT_SETUP_POLICY, /* last, so that the other steps do not run with real-time priority */
    RT_SETUP_STEPS,
};

enum { RT_SETUP_TEXT_MAX = 255 };

/** The result of each step. */
struct rt_setup_result {
    int error[RT_SETUP_STEPS]; /* 0, or an errno value */
    uint32_t priority;         /* FIFO: the priority that was set, if a limit allows less than was wanted; else 0 */
    uint32_t missing_cpus;     /* how many of the wanted CPUs the thread may not use */
    uint32_t missing_io_cpus;  /* the same for ZeroMQ's threads */
};

/** The settings in force, as the system reports them, of the calling thread and of the process. */
struct rt_setup_state {
    int policy;                        /* SCHED_* */
    uint32_t priority;                 /* of FIFO and RR */
    int64_t runtime, deadline, period; /* ns, of DEADLINE */
    struct experiment_cpus cpus;
    uint32_t cpu_count; /* of the machine, online */
    uint64_t locked_bytes;
    int64_t timer_slack; /* ns */
};

/**
 * Sets up the calling thread as `want` says. `memory` (`bytes` bytes; NULL: none) is what its loop writes to: if memory
 * is locked, its pages are made present. Not for a thread whose child threads shall be real-time.
 */
struct rt_setup_result rt_setup_apply(const struct experiment_real_time *want, void *memory, size_t bytes);

/** Reads the settings of the calling thread. */
struct rt_setup_state rt_setup_read(void);

/**
 * Writes a message about `step`, if it was refused, into the RT_SETUP_TEXT_MAX + 1 bytes at `text`: what was refused,
 * and what to do. Returns false, with `text` undefined, if the step was taken or not asked for. Pure.
 */
bool rt_setup_complaint(const struct experiment_real_time *want, const struct rt_setup_result *result,
                        enum rt_setup_step step, char *text);

/** Writes one line for people: "policy fifo, priority 10, CPU 1 of 4, memory locked, timer slack 1.00 us". Pure. */
void rt_setup_describe(const struct rt_setup_state *state, char *text, size_t size);

/** Whether the file sets anything beyond the default set-up of every daemon. Pure. */
bool rt_setup_wanted(const struct experiment_real_time *want);

#endif
