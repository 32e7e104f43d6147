// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Steers one knob of a program to hold a limit. How the limit's metric depends on the knob is unknown beforehand; the
 * file says which direction helps. *Effort* is how far the knob is turned in that direction from its baseline, and it
 * is searched:
 *
 * - While the limit is violated and it is the knob's turn, the effort grows: by the secant of the last moves (at most
 *   half of what is left, at least an eighth if that was not enough), or else by half of what is left. The effect is
 *   judged when the limit's window shows it completely.
 * - While the limit holds, the knob returns in steps that grow from the least one, as far as the last moves show that
 *   there is room, and stops next to the effort that failed. That effort is tried again after some patience, which
 *   doubles with each failure, up to KNOB_SEARCH_PATIENCE_MAX times the settling time, and halves with each success. A
 *   return that violates the limit is undone at once.
 * - A knob at the end of its range with the limit still violated is *saturated*. If the whole range did not improve the
 *   value, the knob returns to its baseline, because it does not matter for this limit. That, too, is tried again after
 *   patience.
 *
 * An unknown value moves nothing, and its time does not count. A new range or baseline starts the search anew. Whatever
 * is observed, the value lies within the bounds of the file and of the program. Pure.
 */
#ifndef BEZEL_RESMGR_CONTROL_KNOB_SEARCH_H
#define BEZEL_RESMGR_CONTROL_KNOB_SEARCH_H

#include "resmgr/control/policy_state.h"

enum {
    KNOB_SEARCH_PATIENCE = 10,      /* settling times until a failed effort is tried again */
    KNOB_SEARCH_PATIENCE_MAX = 160, /* a failed return violates the limit for about one: below 1 % of the time */
    KNOB_SEARCH_STEPS = 20,         /* steps in the range, if the file sets no step */
};

#define KNOB_SEARCH_AIM  0.02 /* of the bound: how far beyond it the secant aims */
#define KNOB_SEARCH_GAIN 0.2  /* of the shortfall: a smaller improvement is chance */

enum knob_search_move {
    KNOB_SEARCH_KEEP = 0,
    KNOB_SEARCH_BOUND,  /* the value was out of bounds */
    KNOB_SEARCH_HELP,   /* the limit is violated */
    KNOB_SEARCH_RETURN, /* the limit holds */
    KNOB_SEARCH_REVERT, /* the return violated the limit */
    KNOB_SEARCH_GIVE_UP /* the knob does not help */
};

/** The state of a knob; for several programs with a knob of this name, merged (knob_controller_merge()). */
struct knob_search_seen {
    bool present; /* a program that has it is running */
    int32_t value, min, max;
    int32_t baseline;   /* the initial value, or the one that an operator set */
    uint32_t overrides; /* by an operator */
};

/** The limit to answer, at a sampling instant. */
struct knob_search_limit {
    enum limit_state state;
    double margin;   /* policy_margin() */
    bool helps;      /* it is this knob's turn to move */
    bool returns;    /* it is this knob's turn to return */
    int64_t elapsed; /* ns since the instant before; 0: unknown */
};

/** All zeros: nothing is known, nothing was done. Effort is in units of the knob. */
struct knob_search {
    bool started;
    int32_t value, baseline, min, max; /* in force; within these */
    uint32_t overrides;
    struct retry_timer retry; /* of what failed; it has waited since the last move */
    int64_t calm;             /* ns since then in which the limit held; time while it is unknown does not count */
    int64_t failed;           /* the largest effort known not to be enough; -1: none */
    int64_t good;             /* the effort before the last return */
    int64_t stride;           /* of the next return */
    int64_t from;             /* effort and margin before the last move to help ... */
    double before;
    double first;             /* ... and the margin before the first one of a series */
    double gain;              /* margin that a unit of effort brings; 0: unknown */
    bool free;                /* the gain was lower on the way back: there may be more room than it shows */
    bool helping;             /* a series is under way */
    bool returned;            /* the last move was a return: a violation within the patience is its failure */
    bool returning, reverted; /* the last move did so, and its effect is not judged yet */
    bool saturated, futile;   /* as above */
};

/**
 * A sampling instant. `k`: the knob in the file; `settle`: ns until a change shows, above 0. Updates `s`: s->value is
 * to be in force from now on, if the knob is present. Returns the move; KNOB_SEARCH_KEEP: none.
 */
enum knob_search_move knob_search_step(struct knob_search *s, const struct experiment_knob *k, int64_t settle,
                                       const struct knob_search_seen *seen, const struct knob_search_limit *limit);

/** Whether the ranges of the program and of the file overlap. */
bool knob_search_is_possible(const struct experiment_knob *k, const struct knob_search_seen *seen);

/** Whether the knob could still help. */
bool knob_search_has_room(const struct knob_search *s, const struct experiment_knob *k);

/** Whether the knob is at its baseline, or was never seen. */
bool knob_search_is_baseline(const struct knob_search *s);

/** Whether a violation now follows from the knob's own move: the knob answers it, nothing else may. */
bool knob_search_answers(const struct knob_search *s);

#endif
