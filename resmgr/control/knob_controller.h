// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * All knobs that the file steers (`adapt.knobs`), for a node's agent or a manager: chooses the limit that each answers,
 * and which knob moves. One owner. Pure.
 *
 * A knob answers the worst of the limits that it serves. Of several knobs for one limit, the first in the file moves
 * first and returns last. Polling changes before a knob (`order: polling-first`) or after it. While a knob that comes
 * first has room, or while a violation follows from a knob's own return, the policy does not see that violation.
 *
 * At each sampling instant: knob_controller_begin(); `seen` of each knob is set; knob_controller_take() for each
 * `hold` limit; the policy's step; knob_controller_step().
 */
#ifndef BEZEL_RESMGR_CONTROL_KNOB_CONTROLLER_H
#define BEZEL_RESMGR_CONTROL_KNOB_CONTROLLER_H

#include "resmgr/control/knob_search.h"

/** The decision for a knob. */
struct knob_controller_setpoint {
    bool given;                  /* else the value means nothing */
    int32_t value;               /* to be in force */
    enum knob_search_move moved; /* at this instant */
    bool saturated;              /* at the end of its range, and the limit is violated */
    int limit;                   /* index of the limit that it answered last; -1: none */
    double metric;               /* the value of that limit's metric then; NaN: unknown */
};

struct knob_controller {
    const struct experiment *experiment;
    int64_t elapsed;
    struct knob_controller_knob {
        struct knob_search knob_search;
        struct knob_search_seen seen;
        struct policy_limit worst; /* limit that the knob serves, at this instant; LIMIT_UNKNOWN: none */
        int limit;                 /* its index; -1: none */
        int64_t yielded;           /* ns for which polling has had nothing left to give */
        struct knob_controller_setpoint setpoint;
    } knobs[EXPERIMENT_KNOBS_MAX];
};

/** `e` is borrowed. */
void knob_controller_start(struct knob_controller *c, const struct experiment *e);

/** An instant begins, `elapsed` ns after the one before (0: unknown). */
void knob_controller_begin(struct knob_controller *c, int64_t elapsed);

/** The state of limit `i` of the file, for a member of the policy or for all. Makes it unknown if the policy is not to
 * see its violation. */
void knob_controller_take(struct knob_controller *c, uint32_t i, struct policy_limit *limit);

/**
 * Decides for all knobs, after the policy's step. `actions` may be of a policy that does nothing. `dead_time`: of the
 * loop over the collector, as policies get it: a change for an interval is judged so much later, unless the file says
 * when.
 */
void knob_controller_step(struct knob_controller *c, const struct policy_state *policy,
                          const struct policy_actions *actions, int64_t dead_time);

/**
 * Merges the knob of one more program into what several programs or nodes have in common. *into is all zeros at first.
 * Value, baseline and overrides are those of the first one.
 */
void knob_controller_merge(struct knob_search_seen *into, const struct knob_search_seen *one);

#endif
