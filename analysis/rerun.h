// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Threads as programs that are run again, in a simulation: each has steps that follow each other, and messages join
 * them (the program activity graph: a step is an edge, weighted with CPU time). Threads of a group share its CPUs in
 * equal parts, infinitely finely; with CPUs for all, the end of the last step is the length of the critical path. What
 * is changed before another run (a step of no length, threads in another group, messages that take less) predicts what
 * the change would do. Pure.
 */
#ifndef BEZEL_ANALYSIS_RERUN_H
#define BEZEL_ANALYSIS_RERUN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rerun_kind {
    RERUN_RUN,     /* takes `ns` of CPU time */
    RERUN_DELAY,   /* takes `ns`, without a CPU */
    RERUN_SEND,    /* message `message` is under way from now on */
    RERUN_RECEIVE, /* waits until message `message` is there */
};

struct rerun_step {
    enum rerun_kind kind;
    uint32_t message;
    double ns;
    double ends; /* made by rerun_simulate(): when it was done; NaN: never */
};

struct rerun_message {
    double flight;  /* ns from its sending until it is there */
    double arrives; /* when it is there; NaN: when it was sent in the simulation. Changed by it */
};

/** Its steps are steps[first] to steps[first + count - 1]. */
struct rerun_thread {
    uint32_t group;
    size_t first, count;

    /* Private. */
    size_t done;
    double left;
    bool begun;
};

struct rerun {
    size_t thread_count, step_count, message_count, group_count;
    struct rerun_thread *threads;
    struct rerun_step *steps;
    struct rerun_message *messages;
    uint32_t *cpus; /* of each group; 0: as many as it has threads */

    /* Private: for who builds one. */
    size_t thread_capacity, step_capacity, message_capacity;
};

/**
 * Runs the threads from time 0 to their ends. False: some wait for ever, and their steps have no end. Takes a time of
 * the order of steps times threads.
 */
bool rerun_simulate(struct rerun *r);

void rerun_fini(struct rerun *r);

#endif
