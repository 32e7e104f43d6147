// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How the elements of a run (the run, its nodes, processes and threads) spent any window of time: elapsed time, time on
 * CPUs, ready and waiting, and messages between processes, of what threads did (analysis/activity.h). A time is a
 * function that grows at rate 1 or 0, kept as sums, so that a thread's window costs O(log n). Pure. One owner.
 */
#ifndef BEZEL_ANALYSIS_SPENT_H
#define BEZEL_ANALYSIS_SPENT_H

#include "analysis/activity.h"
#include "base/err.h"

/** All in ns, over all threads of an element, in a window. */
struct spent_sums {
    int64_t elapsed; /* from the first to the last time that is known of the element */
    int64_t cpu;     /* from each switch to the CPU until that from it */
    /* Ready while others had the CPU. Open is what the kernel's sums do not tell, and the way from a wake to the CPU,
     * which the kernel counts as CPU time. */
    int64_t ready_least, ready_most;
    int64_t off;     /* ready or waiting */
    int64_t present; /* of each thread from its first to its last time that is known */
    uint64_t threads, nodes;
    uint64_t sent, received;
    int64_t sent_bytes, received_bytes; /* -1: some messages do not say */
};

enum spent_level { SPENT_RUN, SPENT_NODE, SPENT_PROCESS, SPENT_THREAD };

struct spent_element {
    enum spent_level level;
    uint32_t thread; /* it, or one of its threads: an index in activity.threads */
    size_t parent;   /* the element that it is a part of; of the run itself */
    struct spent_sums sums;
};

/** Messages that a process received of another one, or of itself. */
struct spent_pair {
    uint32_t from, to; /* a thread of each */
    uint64_t messages;
    int64_t bytes; /* -1: some do not say */
};

struct spent {
    const struct activity *a;
    size_t count, pair_count;
    struct spent_element *elements; /* the run first, and each before its parts */
    struct spent_pair *pairs;       /* in the order in which the first message of each came */
    uint64_t unsent;                /* messages that were received in the window, and whose sending is not known */

    /* Private. */
    struct spent_thread *threads; /* sums of each thread */
    struct hash_index index, pair_index;
    size_t capacity, pair_capacity;
};

/** Begins one for `a`, which is settled, has all of the run or window, and is borrowed. Returns 0 or BEZEL_ENOMEM;
 * spent_fini() in both cases. */
int spent_init(struct spent *l, const struct activity *a) BEZEL_MUST_CHECK;
void spent_fini(struct spent *l);

/** The sums of all elements and pairs in a window. INT64_MIN and INT64_MAX: all. Returns 0 or BEZEL_ENOMEM. */
int spent_window(struct spent *l, int64_t from, int64_t until) BEZEL_MUST_CHECK;

/** ns of `present` in which nobody knows whether the thread was on a CPU. */
int64_t spent_unknown(const struct spent_sums *s);

/** `cpu`, and what is open and may be CPU time as well. */
int64_t spent_cpu_most(const struct spent_sums *s);

/**
 * elapsed/cpu; (cpu + ready)/cpu; cpu/elapsed, the CPUs that it kept busy on average; that by the number of nodes.
 * NaN: spent_cpu_most() is more than a fiftieth above `cpu`, or what is divided by is 0.
 */
double spent_response(const struct spent_sums *s);
double spent_factor(const struct spent_sums *s);
double spent_parallelism(const struct spent_sums *s);
double spent_utilisation(const struct spent_sums *s);

#endif
