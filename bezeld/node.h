// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A node: puts external sensor, forwarder and agent together, as the experiment says (the inside of a session of
 * bezeld). One thread runs it all, in this order at each turn: poll the rings, forward, let the agent take a sample
 * when it is due, housekeep, answer commands. Several nodes may take turns on one thread: nothing blocks but opening
 * and closing. The caller owns signals and waiting.
 */
#ifndef BEZEL_ECS_NODE_H
#define BEZEL_ECS_NODE_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct link;
struct link_keys;

enum { NODE_LINKS = 2 };

struct node_options {
    const struct experiment *experiment; /* borrowed */
    uint32_t node;                       /* index */
    const char *dir;                     /* folder of segments */
    const char *collector;               /* endpoint */
    const char *control;                 /* endpoint to bind */
    const struct link_keys *data_keys;   /* of the link to the collector; borrowed; NULL: none */
    const struct link_keys *control_keys;
    uint8_t run[16];
};

/** Starts sensing. Returns 0 with *n for node_close(); on failure says why on stderr. */
int node_open(const struct node_options *options, struct node **n) BEZEL_MUST_CHECK;

/**
 * Ends it, in three steps, for other links of the process may keep ZeroMQ's threads at work: node_shut() closes the
 * links; once node_quiet() says that no queue reads packets any longer, node_close() gives the memory back. After the
 * first, no other function may be called but these. `for_good`: nobody will take up what it leaves, as where it was
 * told to STOP; then its spool goes, its window and its segments.
 */
void node_shut(struct node *n, bool for_good);
bool node_quiet(const struct node *n);
void node_close(struct node *n);

/** One turn of the loop, without waiting; node_attend() looks for commands too, however lately it did. */
void node_turn(struct node *n);
void node_attend(struct node *n);

/**
 * Says that others have turns on this thread: one turn takes at most `slice` records out of the rings, and a poll that
 * finds more goes on at the next one. 0: it has the thread for itself.
 */
void node_share(struct node *n, uint32_t slice);

/** When the next turn is due, ns; INT64_MIN: at once, always (busy-wait). */
int64_t node_due(const struct node *n);

/** The links that bring it something, to wait on; some may be NULL. Returns how many. */
size_t node_links(const struct node *n, struct link *links[NODE_LINKS]);

/** A descriptor that is readable when a sleeping node is woken, to wait on; -1: it never sleeps. */
int node_bell(const struct node *n);

/** When a command came last, or when it was opened where none came yet, ns. */
int64_t node_heard(const struct node *n);

/** Stops sensing and hands on what there is. Idempotent. */
void node_drain(struct node *n);
bool node_draining(const struct node *n);

/** Whether everything is handed on and acknowledged. */
bool node_drained(const struct node *n);

/** Whether the collector has welcomed this node. */
bool node_connected(const struct node *n);

/** Why the collector refused this node, or NULL. */
const char *node_refused(const struct node *n);

/** Why it does not come to the collector, in words that go on where the endpoint ends, or NULL. It may come yet. */
const char *node_trouble(const struct node *n);

/**
 * Ends it. What was drained and is not stored yet is given up: the collector is told by the final books of all
 * processes what that is, for which node_stopped() waits, but not long.
 */
void node_stop(struct node *n);

/** Whether it is to be closed: a STOP command came. */
bool node_stopped(const struct node *n);

#endif
