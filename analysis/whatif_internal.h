// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by whatif*.c; whatif.h is the interface. */
#ifndef BEZEL_ANALYSIS_WHATIF_INTERNAL_H
#define BEZEL_ANALYSIS_WHATIF_INTERNAL_H

#include "analysis/rerun.h"
#include "analysis/whatif.h"

/**
 * What comes from outside of the threads' own work: how long messages are under way between two processes, how long a
 * wait lasts that no message explains, and how long others than the run's processes have the CPU for each ns that a
 * process works. Kept apart for the two halves of the instances, so that one half can be simulated with what the other
 * one says.
 */
enum whatif_of {
    WHATIF_FLIGHT,  /* between two processes */
    WHATIF_BETWEEN, /* the same between two nodes */
    WHATIF_WAIT,
    WHATIF_OTHERS, /* of a process */
    WHATIF_ON_CPU, /* the same of a CPU of a node: of all processes that may have it */
};

struct whatif_key {
    enum whatif_of of;
    int64_t row, sender; /* of the process or node; sender: of messages, else 0 */
    uint32_t span;       /* of WHATIF_WAIT, as the class; of WHATIF_ON_CPU the CPU; else 0 */
    enum path_class is;
};

enum { WHATIF_HALVES = 2 };

struct whatif_times {
    size_t count, capacity;
    struct whatif_time {
        double ns[WHATIF_HALVES], per[WHATIF_HALVES];
    } * times;
    struct hash_index index;
    bool on_cpus; /* WHATIF_ON_CPU is wanted too */
};

/** Adds `ns`, of `per` of them. False: no memory. */
bool whatif_note(struct whatif_times *t, struct whatif_key key, int half, double ns, double per);

/** Adds to *ns and *per what half `half` says, or with WHATIF_HALVES both. */
void whatif_sum(const struct whatif_times *t, struct whatif_key key, int half, double *ns, double *per);

/** ns of one of them, as that says; NaN: it has none. */
double whatif_typical(const struct whatif_times *t, struct whatif_key key, int half);

/** How an instance is simulated. */
enum whatif_mode {
    WHATIF_MEASURED, /* what comes from outside as it was in the instance */
    WHATIF_NOTED,    /* not at all: that is noted in `times` */
    WHATIF_TYPICAL,  /* it is as half `half` of the instances says */
};

/** What takes no time, since the change may be in it besides. */
enum whatif_brief {
    WHATIF_ALL,
    WHATIF_NO_WAITS, /* waits */
    WHATIF_AHEAD,    /* waits, and as much work as may have been done before the window */
};

struct whatif_run {
    const struct activity *a;
    const struct slow_instance *is;
    const struct whatif_change *change; /* NULL: as it was */
    struct whatif_times *times;
    enum whatif_mode mode;
    int half;
    enum whatif_brief brief;

    /* Made by whatif_run(). */
    bool applies, open, begun; /* the change is in it; brief runs may differ: WHATIF_NO_WAITS, WHATIF_AHEAD */
    enum whatif_lack lack;
};

/** How long the instance takes in the simulation, ns; NaN: it cannot be simulated, or `mode` is WHATIF_NOTED. */
double whatif_run(struct whatif_run *r);

#endif
