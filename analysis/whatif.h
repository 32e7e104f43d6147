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
    WHATIF_MOST = 100, /* instances that are simulated, the longest */
    WHATIF_MOST_EACH = 25,
    WHATIF_LEAST = 4,          /* so few do not tell how far off a prediction is: fewer than this */
    WHATIF_STEPS_MOST = 20000, /* of an instance, else it is left out */
};

/** The largest error of a prediction, of the length of the instances. */
#define WHATIF_ERROR_MOST 0.1

enum whatif_kind {
    WHATIF_TIMES, /* times of a span or process, or of a class of waits, times `factor` */
    WHATIF_MOVE,  /* a process runs on another node or CPU; or a process that receives messages does work of a span */
};

struct whatif_change {
    enum whatif_kind kind;
    char name[2 * MESSAGE_NAME_MAX + 2]; /* of a span, of a process or NODE/PROCESS; "": waits */
    enum path_class waits;               /* PATH_MESSAGE: how long messages are under way; PATH_LOCK, _IO, _SLEEP */
    double factor;
    char to[2 * MESSAGE_NAME_MAX +
            2]; /* of a process: a node, "": its own; of a span: a glob of processes, or of NODE/PROCESS */
    int cpu;    /* of a process; -1: any of the node */
};

/**
 * Reads "encode = 0", "client.1 = 50 %", "io = 0.5", "network: 10x", "move client.1 to studio", "move client.1 to CPU
 * 1", "move client.1 to studio CPU 1", "move encode to client.1". Returns 0, or BEZEL_EINVAL with *why.
 */
int whatif_read(const char *text, struct whatif_change *change, const char **why) BEZEL_MUST_CHECK;

enum whatif_lack {
    WHATIF_LACKS_NOTHING,
    WHATIF_LACKS_PLACE, /* nothing of the run worked where the process would be, so nobody knows who has the CPU there
                         */
    WHATIF_LACKS_SWITCHES, /* a thread that the change is in has records, and no intervals */
    WHATIF_LACKS_NETWORK,  /* no message between those two nodes tells how long one would be under way */
};

struct whatif {
    size_t instances,
        left_out; /* left_out: nobody knows when their threads were on CPUs, or there is too much in them */
    double actual, simulated,
        predicted; /* means, ns; simulated: as they were, without being given how long they took */
    double least;  /* mean of the predicted ones if what may change besides took no time */
    double error;  /* of the mean of those simulated as they were, of the actual; NaN: there are too few to tell */
    bool applies;  /* something in the instances is changed */
    double ahead;  /* how much shorter they may be besides, ns: by work from before they began, which is changed too */
    double unlike; /* made by whatif_compare(); ns */
    enum whatif_lack lack; /* why some cannot be simulated with the change */
};

/**
 * Predicts what each of `count` changes would do to the longest of the slow instances, into w[0] to w[count - 1]:
 * WHATIF_MOST of them, or with several changes WHATIF_MOST_EACH. `a`: settled, of c->windows.
 */
void whatif_predict(const struct activity *a, const struct slow_choice *c, const struct whatif_change *changes,
                    size_t count, struct whatif *w);

/**
 * Sets w->unlike: by how much longer the usual instances wait than the slow ones, or the other way round for a time. A
 * thread that waits until a fixed time waits for as long as it is early, and not if it is late; with the change it is
 * not as late. Where there are no usual ones, all that the slow ones wait for a time may be that.
 */
void whatif_compare(struct whatif *w, const struct whatif_change *change, const struct slow_terms *terms);

/** How far off the prediction may be, of `actual`: that error, and what may change besides. NaN: not known. */
double whatif_error(const struct whatif *w);

/** Whether the prediction is one: whatif_error() is at most WHATIF_ERROR_MOST. */
bool whatif_is_known(const struct whatif *w);

#endif
