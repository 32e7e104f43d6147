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
 * Limits on metrics that the collector evaluates are judged by its values, for which it is asked twice in each
 * sampling period. How old these are when nodes apply what was decided by them is the dead time of this loop: each
 * setpoint goes with the part of it that the manager knows.
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
struct message_loop;
struct message_observation;
struct message_partials;
struct message_setpoint;
struct message_values;

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

/** Whether the collector evaluates the metric of a limit; then the manager is to have a link to it. */
bool manager_wants_values(const struct manager *m);

/** True where the collector is to be asked for its values: once each time. */
bool manager_asks_collector(struct manager *m, int64_t now);

/** Values arrived from the collector. */
void manager_receive_values(struct manager *m, const struct message_values *values, int64_t now);

/**
 * True where *loop is to be sent to a node, ahead of setpoint `s` that manager_send() gave for it, or with NULL ahead
 * of a judgement.
 */
bool manager_loop(const struct manager *m, uint32_t node, const struct message_setpoint *s, int64_t now,
                  struct message_loop *loop);

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
