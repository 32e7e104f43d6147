// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The resource manager: sees how all nodes stand and decides for them at once, by the policies that agents use, with as
 * many members as there are nodes. Pure: no clock, no link, no allocation but manager_new(); one owner. What nodes make
 * of its settings is lease.h's.
 *
 * It decides once in a sampling period: when all nodes that are heard have had an instant since the last decision, or
 * half a period late without those that have not. A node that has not been heard of for some time is unknown to the
 * policy, neither held nor violated.
 *
 * It judges limits on the whole (whole.h) of which no node alone can. Where that is all that there is for it (adapt.by
 * is node), it asks nodes at each sampling instant how they stand, decides nothing, and tells no setting.
 *
 * A node is told its setting when that changes, as long as it does not say that it polls so, and now and then, which
 * renews the lease. One that came back with another setting is so told the current one; one that a manager hears for
 * the first time is taken as it stands, so that a manager that is started again goes on from what nodes do.
 */
#ifndef BEZEL_RESMGR_MANAGER_H
#define BEZEL_RESMGR_MANAGER_H

#include "base/clock.h"
#include "config/experiment.h"
#include "mdr/message.h"

#define MANAGER_EXPIRY (500 * CLOCK_MS) /* of a setting, from the observation that it answers */
#define MANAGER_LASTS  (2 * CLOCK_S)    /* its lease; likewise */
#define MANAGER_RENEW  (200 * CLOCK_MS) /* a node is told its setting at least this often ... */
#define MANAGER_RETRY  (50 * CLOCK_MS)  /* ... and this often while it polls otherwise */
#define MANAGER_BEAT   (100 * CLOCK_MS) /* a node tells how it stands at least this often */
#define MANAGER_ASK    (200 * CLOCK_MS) /* one that is not heard is asked this often */
#define MANAGER_LOOK   (10 * CLOCK_MS)  /* a manager that only judges asks at most this often */

struct manager;

/** Counts of one life of a manager. */
struct manager_counts {
    uint64_t observations, late; /* heard; of them older than what was known, of a former life of the node, or wrong */
    uint64_t steps, changes;     /* decisions; changes of a node's setting */
    uint64_t turns;              /* of knobs */
    uint64_t settings;           /* told to nodes */
};

/** A manager for all nodes of `e`, borrowed. Returns 0 with *m for manager_free(), BEZEL_ENOMEM. */
int manager_new(const struct experiment *e, struct message_lease lease, int64_t now,
                struct manager **m) BEZEL_MUST_CHECK;
void manager_free(struct manager *m);

/** Node `node` told how it stands. */
void manager_hear(struct manager *m, uint32_t node, const struct message_observation *o, int64_t now);

/** Node `node` told its parts of limits on the whole; just before it tells how it stands. */
void manager_hear_parts(struct manager *m, uint32_t node, const struct message_parts *parts, int64_t now);

/** Whether node *node is to be told *j, how limits on the whole stand: true once for each step. */
bool manager_judges(struct manager *m, int64_t now, uint32_t *node, struct message_judgement *j);

/** Decides, where that is due. Whether it was. */
bool manager_step(struct manager *m, int64_t now);

/** When manager_step(), manager_tells() or manager_asks() may next have something to do, where nothing is heard. */
int64_t manager_due(const struct manager *m, int64_t now);

/** Whether `node` is to be asked how it stands: true once each time. */
bool manager_asks(struct manager *m, uint32_t node, int64_t now);

/** Whether `node` is to be told *s now: true once each time. */
bool manager_tells(struct manager *m, uint32_t node, int64_t now, struct message_setting *s);

/** The lease of another manager that nodes obey, newer than this one's; NULL: none. There is then nothing to do. */
const struct message_lease *manager_superseded(const struct manager *m);

const struct manager_counts *manager_counts(const struct manager *m);

#endif
