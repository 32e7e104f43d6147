// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * All knobs that the file steers (`adapt.knobs`), for a node's agent or for a manager: which limit each is to answer,
 * and whose turn it is. One owner. Pure.
 *
 * A knob answers the worst of the limits that it serves. Of several that serve one limit the first in the file gives
 * way first and comes back last. Polling gives way before a knob (`order: polling-first`) or after it: while a knob
 * that comes first has room, and while a violation is what a knob's own return did, the policy is not told of it
 * (helm_hides()).
 *
 * At each sampling instant: helm_begin(), helm_find() for each knob, helm_take() for each limit to be held, the
 * policy's step, helm_step().
 */
#ifndef BEZEL_RESMGR_HELM_H
#define BEZEL_RESMGR_HELM_H

#include "resmgr/trim.h"

/** What is decided of a knob. */
struct helm_order {
    bool given;           /* something was: else the value means nothing */
    int32_t value;        /* to be in force */
    enum trim_move moved; /* at this instant */
    bool spent;           /* at the end of its range, and the limit is violated */
    int limit;            /* index of the limit that it answered last; -1: none */
    double metric;        /* the value of that limit's metric then; NaN: unknown */
};

struct helm {
    const struct experiment *experiment;
    int64_t elapsed;
    struct helm_knob {
        struct trim trim;
        struct trim_seen seen;
        struct policy_limit worst; /* of this instant, of the limits that it serves; LIMIT_UNKNOWN: none */
        int limit;                 /* its index; -1: none */
        int64_t yielded;           /* ns since when polling has given way to a violation */
        struct helm_order order;
    } knobs[EXPERIMENT_KNOBS_MAX];
};

/** `e` is borrowed. */
void helm_start(struct helm *h, const struct experiment *e);

/** An instant begins, `elapsed` ns after the one before (0: unknown). */
void helm_begin(struct helm *h, int64_t elapsed);

/** How knob `i` of the file is found at this instant. */
void helm_find(struct helm *h, uint32_t i, const struct trim_seen *seen);

/** Limit `i` of the file stands so, of a member of the policy or of all. */
void helm_hear(struct helm *h, uint32_t i, const struct policy_limit *limit);

/** Whether the policy is not to be told that limit `i` is violated. */
bool helm_hides(const struct helm *h, uint32_t i);

/** Both: hears the limit, and makes it unknown where the policy is not to be told. */
void helm_take(struct helm *h, uint32_t i, struct policy_limit *limit);

/** The policy has made its step: decides for all knobs. `actions` may be of a policy that does nothing. */
void helm_step(struct helm *h, const struct policy_state *policy, const struct policy_actions *actions);

/** What is decided of knob `i`; lasts until the next step. */
const struct helm_order *helm_order(const struct helm *h, uint32_t i);

/**
 * What the programs of several nodes, or several programs, that have one knob have in common: *into, all zeros at
 * first, takes *one in. Value, home and orders are those of the first one.
 */
void helm_merge(struct trim_seen *into, const struct trim_seen *one);

#endif
