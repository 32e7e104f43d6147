// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Limits on the whole (`per: whole`): each node says what it adds, the manager joins it and judges, as agents judge
 * limits of their nodes (judge.h). Pure; one owner.
 *
 * A node that is not heard, or does not know its part yet, is missing: the value is then unknown, unless what is known
 * decides already. A sum that is beyond an upper bound without it is beyond it with it; one that has come to a lower
 * bound has come to it. So with the largest of all, and the other way round with the least.
 *
 * What is found is told to one node, which records it: the first that is there, and that one until it is gone.
 */
#ifndef BEZEL_RESMGR_WHOLE_H
#define BEZEL_RESMGR_WHOLE_H

#include "config/experiment.h"
#include "mdr/message.h"
#include "resmgr/judge.h"

/** What is known of one limit's parts. */
struct whole_value {
    bool known;
    double value, unsure;
    int64_t silent;   /* of the node that was heard of last */
    uint64_t missing; /* bit i: node i */
    bool ended;       /* nodes have nothing to add, none is missing */
};

struct whole_limit {
    struct agent_limit seen;
    struct judge judge;
    struct judge_run run;
};

struct whole {
    const struct experiment *experiment;
    struct whole_limit limits[EXPERIMENT_LIMITS_MAX]; /* meaningful where they are on the whole */
    struct message_parts parts[EXPERIMENT_NODES_MAX]; /* heard last; life 0: none */
    int64_t heard_at[EXPERIMENT_NODES_MAX], stale;    /* when; for how long that holds */
    uint64_t missing;                                 /* of any limit */
    uint64_t sequence;
    uint32_t scribe; /* whom it is told */
    bool news;
    int64_t stepped;
};

/** Nothing is heard yet; a node that is not heard for `stale` ns is missing. Borrows `e`. */
void whole_start(struct whole *w, const struct experiment *e, int64_t stale);

/** Node `node` told its parts. Whether they are newer than what was known. */
bool whole_hear(struct whole *w, uint32_t node, const struct message_parts *parts, int64_t now);

/** A sampling instant. */
void whole_step(struct whole *w, int64_t now);

/** How limit `i` stands. */
const struct agent_limit *whole_limit(const struct whole *w, uint32_t i);

/** Whether node *node is to be told *j, but for its lease: once for each step. */
bool whole_tells(struct whole *w, int64_t now, uint32_t *node, struct message_judgement *j);

/** Joins the parts that nodes have of limit `i`; bit n of `present`: node n is heard. */
struct whole_value whole_join(const struct whole *w, uint32_t i, uint64_t present);

#endif
