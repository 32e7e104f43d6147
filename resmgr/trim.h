// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * One knob of a program, steered to hold a limit. How a quality depends on the knob nobody knows beforehand; which way
 * it helps, the file says. So *effort* is how far the knob is turned that way from where the program had it, and it is
 * searched:
 *
 * - While the limit is violated, and it is the knob's turn, the effort grows by what the last moves suggest (a secant,
 *   at most half of what is left, and an eighth or more where that was not enough), or else by half of what is left.
 *   What comes of it is judged when all that the limit looks back at shows it.
 * - While the limit holds, the knob returns, in steps that grow from the least one, and as far as the last moves say
 *   that there is room; it halts next to what failed. That is tried again after some patience, which doubles with each
 *   failure, up to TRIM_PATIENCE_MAX times the settling time, and halves with each success. A return that breaks the
 *   limit is taken back at once.
 * - At the end of its range with the limit still violated it is *spent*. Where all of it did not make the value better,
 *   it goes back to where it was: the knob is not what matters. That, too, is tried again after patience.
 *
 * What is unknown moves nothing, and the time does not count. A range or a place to return to that changes begins the
 * search anew. Whatever is observed, the value told lies within the file's bounds and the program's own. Pure.
 */
#ifndef BEZEL_RESMGR_TRIM_H
#define BEZEL_RESMGR_TRIM_H

#include "resmgr/policy.h"

enum {
    TRIM_PATIENCE = 10,      /* settling times until what failed is tried again */
    TRIM_PATIENCE_MAX = 160, /* a failed return breaks the limit for about one: below 1 % of the time */
    TRIM_STEPS = 20,         /* least steps in the range, where the file does not say how large one is */
};

#define TRIM_AIM  0.02 /* of the bound: how far beyond it the secant aims */
#define TRIM_GAIN 0.2  /* of the shortfall: less is chance, not a help */

enum trim_move {
    TRIM_KEEP = 0,
    TRIM_BOUND,  /* it was out of the bounds */
    TRIM_HELP,   /* the limit is violated */
    TRIM_RETURN, /* the limit holds */
    TRIM_REVERT, /* the return was too much */
    TRIM_GIVE_UP /* it does not help */
};

/** A knob as it is found: of several programs with one name, what they have in common. */
struct trim_seen {
    bool present; /* a program that has it lives */
    int32_t value, min, max;
    int32_t home;    /* what it returns to: the initial value, or what an operator set */
    uint32_t orders; /* how often an operator did */
};

/** The limit that is to be answered, at a sampling instant. */
struct trim_limit {
    enum limit_state state;
    double margin;   /* policy_margin() */
    bool helps;      /* what is to give way first has done so */
    bool returns;    /* what is to come back first has done so */
    int64_t elapsed; /* ns since the instant before; 0: unknown */
};

/** All zeros: nothing is known, nothing was done. Effort is in units of the knob. */
struct trim {
    bool started;
    int32_t value, home, min, max; /* in force; within these */
    uint32_t orders;
    int64_t waited;   /* ns since the last move; as all times here, without those when the limit was unknown */
    int64_t calm;     /* ns since then in which the limit held */
    int64_t patience; /* ns; 0: nothing failed yet */
    int64_t failed;   /* the largest effort that is known not to be enough; -1: none */
    int64_t good;     /* the effort before the last return */
    int64_t stride;   /* of the next return */
    int64_t from;     /* effort and margin before the last move to help ... */
    double before;
    double first;             /* ... and the margin before the first one of a series */
    double gain;              /* margin that a unit of effort brings; 0: unknown */
    bool free;                /* it was less on the way back: there may be more room than it tells */
    bool helping;             /* a series is under way */
    bool returned;            /* the last move did: a break within the patience is its failure */
    bool returning, reverted; /* the last move did so, and what comes of it is not judged yet */
    bool spent, futile;       /* as above */
};

/**
 * A sampling instant: `k` is the file's, `settle` how long a change takes to show (ns, above 0). Brings `s` up to date;
 * s->value is what is to be in force from now on, where the knob is present. What it did, if anything.
 */
enum trim_move trim_step(struct trim *s, const struct experiment_knob *k, int64_t settle, const struct trim_seen *seen,
                         const struct trim_limit *limit);

/** Whether there is a value that suits both the program and the file. */
bool trim_is_possible(const struct experiment_knob *k, const struct trim_seen *seen);

/** Whether the knob could still help. */
bool trim_has_room(const struct trim *s, const struct experiment_knob *k);

/** Whether the knob is where the program had it, or not there at all. */
bool trim_is_home(const struct trim *s);

/** Whether a violation now is what the knob itself did, and it will see to it: nobody else is to answer it. */
bool trim_answers(const struct trim *s);

#endif
