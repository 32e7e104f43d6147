// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A node of an experiment: external sensor, uplink and agent together. A session owns one. One thread runs it. Each
 * turn does what is due, in this order: poll the rings, take a sample and adapt, take snapshots, run the samplers,
 * housekeep, send, answer commands. Several nodes may take turns on one thread: only opening and closing block. The
 * caller owns signals and waiting.
 */
#ifndef BEZEL_BEZELD_NODE_NODE_H
#define BEZEL_BEZELD_NODE_NODE_H

#include "bezeld/node/poll_stats.h"
#include "config/experiment.h"
#include "mdr/parts.h"
#include "sensor/external/external.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct link;
struct clock_client;
struct link_keys;
struct command_server;
struct command_request;
struct message_session;

struct node_options {
    const struct experiment *experiment; /* borrowed */
    uint32_t node;                       /* index */
    const char *dir;                     /* folder of segments */
    const char *reader;                  /* who reads it, for others who want to; borrowed until node_open() returns */
    const char *collector;               /* endpoints, as of sender.h */
    struct command_server *control;      /* of the bezeld; borrowed until node_shut() */
    const struct link_keys *data_keys;   /* of the link to the collector; borrowed; NULL: none */
    struct clock_client *clock_client;   /* of the node before it, which it takes over; NULL: there was none */
    uint8_t run[16];
};

/** Opens a node and starts sensing. Returns 0 with *n for node_shut(), or an error after a line on stderr. */
int node_open(const struct node_options *options, struct node **n) BEZEL_MUST_CHECK;

/**
 * Closing takes three steps, because ZeroMQ's threads may still read packets from the window: node_shut() closes the
 * links; node_idle() is true once no queue of ZeroMQ reads packets any longer; then node_close() frees the memory.
 * After node_shut() only node_idle() and node_close() may be called. `for_good`: nobody will continue with what the
 * node leaves, as after STOP; then its spool, window and segments are removed.
 */
void node_shut(struct node *n, bool for_good);
bool node_idle(const struct node *n);
void node_close(struct node *n);

/** One turn of the loop, without waiting. node_attend() also looks for messages, even if it did so just before. */
void node_turn(struct node *n);
void node_attend(struct node *n);

/**
 * Does what is due at `now`, if that is a poll and nothing else, and offers what it finds; else returns false: then
 * node_turn() is to follow. A poll finds cold caches, so it costs what it touches: most of a turn is about other
 * things.
 */
bool node_polls(struct node *n, int64_t now);

/**
 * Looks in a row, each when it is due, while all that is due are polls that find nothing. A look that wakes up finds
 * cold caches, so what it touches is here, on the caller's stack, and the node's memory is left alone. At the end,
 * node_looked() tells the node of them.
 */
struct node_look {
    struct external_row row;
    int64_t due, until; /* ns: the next look; nothing else is due before `until` */
    int64_t gap;        /* between two looks */
    struct poll_stats stats;
    uint64_t looks; /* that found nothing */
};

/** False: the node looks in no row now, but waits busily, has a CPU budget, or changes its gap. */
bool node_look_begin(const struct node *n, struct node_look *l);

/** Looks at `now`, when it is due: node_look_now(). False: node_polls() or node_turn() is to follow. */
int64_t node_look_now(const struct node_look *l);
bool node_look(struct node_look *l, int64_t now);
void node_looked(struct node *n, const struct node_look *l);

/**
 * Limits a turn to `slice` records, because other nodes have turns on this thread; a poll that finds more continues in
 * the next turn. 0: no limit, the node has the thread for itself.
 */
void node_share(struct node *n, uint32_t slice);

/** When the next turn is due, ns; INT64_MIN: at once. */
int64_t node_due(const struct node *n);

/** Whether it continues what a killed bezeld of this run left, so that no record before it is unknown. */
bool node_resumed(const struct node *n);

/** The link to its collector, for the caller to wait on; NULL: no message of the collector is urgent. */
struct link *node_link(const struct node *n);

/** Carries out the message in command_server_message() that `from` sent to this node, and answers it. */
void node_receive(struct node *n, const struct command_request *from);

/** A descriptor that becomes readable when a process wakes the sleeping node; -1: the node does not sleep. */
int node_doorbell(const struct node *n);

/**
 * Whose commands count as those of the run's `bezel run`: those that name this owner (epoch 0: anybody's). It counts as
 * heard now.
 */
void node_set_owner(struct node *n, struct message_leadership owner);
struct message_leadership node_owner(const struct node *n);

/** Sends to the collector at `endpoints` (borrowed) from now on; what the last one has stored is not sent to it. */
void node_set_collector(struct node *n, const char *endpoints);

/** The latest firing of a trigger that asks for something, with times for other machines. False: there is none. */
bool node_firing(const struct node *n, uint32_t trigger, struct message_firing *f);

/** How many programs it has observed, ended ones included. */
uint64_t node_seen(const struct node *n);

/** Fills in state and number of processes. */
void node_describe(struct node *n, struct message_session *session);

/** When the owner's last command was received, ns; before the first one: when the node was opened. */
int64_t node_last_received(const struct node *n);

/** Stops sensing and sends what rings, window and spool still hold. Idempotent. */
void node_drain(struct node *n);
bool node_draining(const struct node *n);

/** Whether it observes nothing any more, in this trace or a next one. */
bool node_ends(const struct node *n);

/** Whether it waits busily for its next turn, however long that takes. */
bool node_spins(const struct node *n);

/**
 * After a jump of a clock a node goes on in a new trace (docs/CLOCKS.md), in three steps. node_wants_new_trace() says
 * that one is due; node_part() drains the node, but keeps settings, knobs and doorbell; once it has node_parted(),
 * node_go_on() closes it, and opens the next node in its place. On an error *n is NULL, and a line is on stderr.
 * node_drain() ends a node for good, also in between.
 */
bool node_wants_new_trace(const struct node *n);
void node_part(struct node *n);
bool node_parted(const struct node *n);
int node_go_on(struct node **n) BEZEL_MUST_CHECK;

/** Whether everything is sent and acknowledged. */
bool node_drained(const struct node *n);

/** Whether the collector has welcomed this node. */
bool node_connected(const struct node *n);

/** Why the collector refused this node, or NULL. */
const char *node_refused(const struct node *n);

/** Why there is no connection to the collector yet, as a phrase that follows the endpoint in a sentence; or NULL. */
const char *node_trouble(const struct node *n);

/**
 * Ends the node. Records that were drained and are not stored yet are given up. The final books of all processes report
 * them to the collector as lost; node_stopped() waits for that, for a few seconds at most.
 */
void node_stop(struct node *n);

/** Whether STOP was received and carried out, so that the node is to be closed. */
bool node_stopped(const struct node *n);

#endif
