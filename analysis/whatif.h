// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a change would do to slow instances: the threads of a run, as they were in the time of an instance, become
 * programs that are run again (analysis/rerun.h), once as they were and once with the change. The first tells how far
 * the simulation is to be believed. Pure.
 */
#ifndef BEZEL_ANALYSIS_WHATIF_H
#define BEZEL_ANALYSIS_WHATIF_H

#include "analysis/path.h"
#include "analysis/rerun.h"
#include "analysis/slow.h"

enum {
    WHATIF_MOST = 100,         /* instances that are simulated, the longest */
    WHATIF_STEPS_MOST = 20000, /* of an instance, else it is left out */
};

/** The farthest that the run as it was may be from its simulation, of its length. */
#define WHATIF_ERROR_MOST 0.1

/** Times of a span or process, or of a class of waits, times `factor`. */
struct whatif_change {
    char name[2 * MESSAGE_NAME_MAX + 2]; /* of a span, of a process or NODE/PROCESS; "": waits */
    enum path_class waits;               /* PATH_MESSAGE: how long messages are under way; PATH_LOCK, _IO, _SLEEP */
    double factor;
};

/** Reads "encode = 0", "client.1 = 50 %", "io = 0.5", "network: 10x". Returns 0, or BEZEL_EINVAL with *why. */
int whatif_read(const char *text, struct whatif_change *change, const char **why) BEZEL_MUST_CHECK;

struct whatif {
    size_t instances,
        left_out; /* left_out: nobody knows when their threads were on CPUs, or there is too much in them */
    double actual, simulated, predicted; /* means, ns */
    double error; /* mean distance of simulated and actual ones, of the actual; NaN: none is known */
    bool applies; /* something in the instances is changed */
};

/** Predicts for the longest of the slow instances. `a`: settled, of c->windows. Returns 0 or BEZEL_ENOMEM. */
int whatif_predict(const struct activity *a, const struct slow_choice *c, const struct whatif_change *change,
                   struct whatif *w) BEZEL_MUST_CHECK;

/** Whether the prediction is one: the simulation reproduces the instances as they were. */
bool whatif_is_known(const struct whatif *w);

#endif
