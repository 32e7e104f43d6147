// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The resource manager: decides for all nodes at once, by the same policies as agents, with one member for each node.
 * Pure: no clock, no link, no allocation except in manager_new(); one owner. leadership.h decides whether a node
 * applies a setpoint.
 *
 * The manager decides once in a sampling period: when all present nodes have had a sampling instant since the last
 * decision, or half a period late without the nodes that have not. Limits of a node that has sent nothing for some time
 * are unknown to the policy, neither held nor violated.
 *
 * The manager also judges global limits (aggregate.h). If there is nothing else for it to do (adapt.by is node), it
 * asks the nodes for their partials at each sampling instant, decides nothing, and sends no setpoints.
 *
 * A node is sent its setpoint when that changes, repeatedly while the node reports that it polls otherwise, and now and
 * then, which renews the leadership. From the first observation of a node the manager takes over how it polls, so a
 * restarted manager continues from there.
 */
#ifndef BEZEL_RESMGR_MANAGER_MANAGER_H
#define BEZEL_RESMGR_MANAGER_MANAGER_H

#include "base/clock.h"
#include "config/experiment.h"
#include "mdr/parts.h"

#define MANAGER_EXPIRY    (500 * CLOCK_MS) /* of a setpoint, counted from the observation that it answers */
#define MANAGER_LASTS     (2 * CLOCK_S)    /* the leadership that it renews; likewise */
#define MANAGER_RENEW     (200 * CLOCK_MS) /* a node is sent its setpoint at least this often ... */
#define MANAGER_RETRY     (50 * CLOCK_MS)  /* ... and this often while it polls otherwise */
#define MANAGER_HEARTBEAT (100 * CLOCK_MS) /* a node sends an observation at least this often */
#define MANAGER_ASK       (200 * CLOCK_MS) /* a node that sends nothing is asked this often */
#define MANAGER_LOOK      (10 * CLOCK_MS)  /* a manager that only judges asks at most this often */

struct manager;
struct message_judgement;
struct message_observation;
struct message_partials;
struct message_setpoint;

/** Counts since manager_new(). */
struct manager_counts {
    uint64_t observations, late; /* received; of them discarded: old, of an earlier bezeld, or invalid */
    uint64_t steps, changes;     /* decisions; changes of how a node polls */
    uint64_t moves;              /* moves of knobs */
    uint64_t setpoints;          /* sent to nodes */
};

/** Makes a manager for all nodes of `e`, which is borrowed. Returns 0 with *m for manager_free(), or BEZEL_ENOMEM. */
int manager_new(const struct experiment *e, struct message_leadership leadership, int64_t now,
                struct manager **m) BEZEL_MUST_CHECK;
void manager_free(struct manager *m);

/** An observation arrived from node `node` at `now`. */
void manager_receive(struct manager *m, uint32_t node, const struct message_observation *o, int64_t now);

/** Partials of global limits arrived from node `node`: just before its observation. */
void manager_receive_partials(struct manager *m, uint32_t node, const struct message_partials *partials, int64_t now);

/** True where the judgement *j of global limits is to be sent to node *node: once for each step. */
bool manager_judges(struct manager *m, int64_t now, uint32_t *node, struct message_judgement *j);

/** Decides if a decision is due; returns whether it was. */
bool manager_step(struct manager *m, int64_t now);

/** When manager_step(), manager_send() or manager_asks() may next have something to do if nothing arrives. */
int64_t manager_due(const struct manager *m, int64_t now);

/** True where `node` is to be asked for an observation: once each time. */
bool manager_asks(struct manager *m, uint32_t node, int64_t now);

/** True where *s is to be sent to `node` now: once each time. */
bool manager_send(struct manager *m, uint32_t node, int64_t now, struct message_setpoint *s);

/** The newer leadership, of another manager, that nodes follow; NULL: none. With one, this manager is to end. */
const struct message_leadership *manager_superseded(const struct manager *m);

/** How many nodes it hears at `now`. */
uint32_t manager_reached(const struct manager *m, int64_t now);

const struct manager_counts *manager_counts(const struct manager *m);

#endif
