// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Global limits (`per: global`): each node sends its partials, the manager joins them to one value and judges that, as
 * agents judge the limits of their nodes (limit_judge.h). Pure; one owner.
 *
 * A node that has sent nothing for some time, or whose partial is unknown, is missing. The value is then unknown,
 * unless the partials that are known decide already: a sum that exceeds an upper bound without the missing nodes
 * exceeds it with them, and a sum that has reached a lower bound has reached it. The same holds for the largest of all
 * values and, with the bounds exchanged, for the least.
 *
 * A limit on a metric that the collector evaluates (experiment_limit_is_on_interval()) has the collector's value alone,
 * and no node is missing for it. It is held or violated only where the value is so with all of its uncertainty. Where
 * it is unknown, `lack` says why.
 *
 * At a step a limit is judged once each node that is present has had a sampling instant since it was judged before, and
 * the collector has answered. Until then nothing is, and nodes that are late count as missing in the judgement. Where a
 * node had none, by the manager's clock or its own, or the collector did not answer, for longer than agent_reach(), the
 * time since the limit was judged before is a gap. A node that was heard and has no new instant for `stale` ns leaves
 * the limit open: that time counts as not judged, unless the others decide, or the node had nothing to add. So does one
 * whose bezeld was started again, until a window has passed since.
 *
 * The judgement is sent to one node, the reporter, which records it: the first node of the file, where it is present
 * within two seconds, or else the first one that is; and the same one until it is missing.
 */
#ifndef BEZEL_RESMGR_MANAGER_AGGREGATE_H
#define BEZEL_RESMGR_MANAGER_AGGREGATE_H

#include "base/bitset.h"
#include "config/experiment.h"
#include "mdr/manage.h"
#include "resmgr/agent/limit_judge.h"

_Static_assert((int)EXPERIMENT_NODES_MAX <= (int)BITSET_MAX && (int)BITSET_MAX == 64 * (int)MESSAGE_MISSING_WORDS,
               "a set has room for each node, and a message for a set");

/** The value of one limit, joined from its partials. */
struct aggregate_value {
    bool known;
    double value, unsure;
    int64_t silent; /* ns since the latest record on any node */
    struct bitset missing;
    bool any_missing;
    bool ended; /* no node has anything to add, and none is missing */
    bool open;  /* not known, and on some node nobody counts what is made */
    /* Of a value of the collector, ns since its newest record: until the collector had that, and by now. */
    int64_t collected, age;
    enum message_lack lack;
};

struct aggregate_limit {
    struct agent_limit seen;
    struct aggregate_value value; /* at the last step */
    struct limit_judge judge;
    struct limit_judge_run run;
    int64_t input;       /* when the oldest of what it was judged by was heard; 0: it was not judged */
    int64_t hole;        /* ns, the longest since then for which something that it is judged by was not heard */
    bool was_over;       /* no node had something to add */
    struct bitset added; /* had something to add when their bezeld was started again */
    bool went_on; /* since it was judged: the last process of a node ended, having gone on behind the instant before */
};

struct aggregate {
    const struct experiment *experiment;
    struct aggregate_limit limits[EXPERIMENT_LIMITS_MAX];   /* meaningful where they are global */
    struct message_partials partials[EXPERIMENT_NODES_MAX]; /* the latest; life 0: none */
    struct message_values values;                           /* of the collector; likewise */
    int64_t values_at, transit; /* when they arrived; ns that they took from the collector, at most */
    int64_t received_at[EXPERIMENT_NODES_MAX], stale; /* when it arrived; ns after which a node is missing */
    int64_t stepped_at[EXPERIMENT_NODES_MAX];         /* when its latest sampling instant was heard of, ... */
    uint64_t stepped_sent[EXPERIMENT_NODES_MAX];      /* ... and when that was sent, on the node's clock */
    int64_t began_again[EXPERIMENT_NODES_MAX];        /* when a later life of it was heard first; 0: none was */
    int64_t hole,
        values_hole;       /* ns, the longest between two of them, of a node, and between two values, since a step */
    struct bitset missing; /* for any limit */
    uint64_t sequence;
    uint32_t reporter;   /* EXPERIMENT_NODES_MAX: none yet; ... */
    int64_t chosen_from; /* ... for the first one of the file the others have waited since; 0: they do not */
    bool unsent;
    int64_t began;         /* set after aggregate_start(): when nothing was to be judged yet; 0: not known */
    int64_t stepped, woke; /* the last step; the last one before which the manager stood still for long */
};

/** Starts without partials. A node that sends none for `stale` ns is missing. Borrows `e`. */
void aggregate_start(struct aggregate *a, const struct experiment *e, int64_t stale);

/** Takes the partials of node `node`. False: they are older than its last ones, and discarded. */
bool aggregate_receive(struct aggregate *a, uint32_t node, const struct message_partials *partials, int64_t now);

/** Takes the values of the collector, which were sent `transit` ns ago at most. False: as above. */
bool aggregate_receive_values(struct aggregate *a, const struct message_values *values, int64_t transit, int64_t now);

/** A sampling instant: joins and judges all global limits. */
void aggregate_step(struct aggregate *a, int64_t now);

/** The state of limit `i`; lasts as long as `a`, and changes with aggregate_step(). */
const struct agent_limit *aggregate_limit(const struct aggregate *a, uint32_t i);

/** The value of limit `i` at the last step; lasts as long as `a`. */
const struct aggregate_value *aggregate_value(const struct aggregate *a, uint32_t i);

/** True where *j is to be sent to *node: once for each step. The caller fills in j->leadership. */
bool aggregate_send(struct aggregate *a, int64_t now, uint32_t *node, struct message_judgement *j);

/** Joins the partials of limit `i` of the nodes that are present. */
struct aggregate_value aggregate_join(const struct aggregate *a, uint32_t i, struct bitset present);

#endif
