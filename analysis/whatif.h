// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a change would do to slow instances: the threads of a run, as they were in the time of an instance, become
 * programs that are run again (analysis/rerun.h), once as they were and once with the change. As they were they are
 * simulated without being given how long they took, so the first tells how far off the other may be. Pure.
 */
#ifndef BEZEL_ANALYSIS_WHATIF_H
#define BEZEL_ANALYSIS_WHATIF_H

#include "analysis/path.h"
#include "analysis/rerun.h"
#include "analysis/slow.h"

enum {
    WHATIF_MOST = 100,         /* instances that are simulated, the longest */
    WHATIF_LEAST = 4,          /* so few do not tell how far off a prediction is: fewer than this */
    WHATIF_STEPS_MOST = 20000, /* of an instance, else it is left out */
};

/** The largest error of a prediction, of the length of the instances. */
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
    double actual, simulated,
        predicted; /* means, ns; simulated: as they were, without being given how long they took */
    double least;  /* mean of the predicted ones if waits that nothing explains took no time */
    double error;  /* of the mean of those simulated as they were, of the actual; NaN: there are too few to tell */
    bool applies;  /* something in the instances is changed */
};

/** Predicts for the longest of the slow instances. `a`: settled, of c->windows. Returns 0 or BEZEL_ENOMEM. */
int whatif_predict(const struct activity *a, const struct slow_choice *c, const struct whatif_change *change,
                   struct whatif *w) BEZEL_MUST_CHECK;

/** How far off the prediction may be, of `actual`: that error, and the waits that nothing explains. NaN: not known. */
double whatif_error(const struct whatif *w);

/** Whether the prediction is one: whatif_error() is at most WHATIF_ERROR_MOST. */
bool whatif_is_known(const struct whatif *w);

#endif
