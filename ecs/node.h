// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A node: puts external sensor, forwarder and agent together, as the experiment says (the inside of bezeld). One thread
 * runs it all, in this order at each wake-up: poll the rings, forward, let the agent take a sample when it is due,
 * housekeep, answer commands. The caller owns the signals.
 */
#ifndef BEZEL_ECS_NODE_H
#define BEZEL_ECS_NODE_H

#include "config/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

struct node_options {
    const struct experiment *experiment; /* borrowed */
    uint32_t node;                       /* index */
    const char *dir;                     /* folder of segments */
    const char *collector;               /* endpoint */
    const char *control;                 /* endpoint to bind */
    uint8_t run[16];
};

/** Starts sensing. Returns 0 with *n for node_close(); on failure says why on stderr. */
int node_open(const struct node_options *options, struct node **n) BEZEL_MUST_CHECK;
void node_close(struct node *n);

/** One turn of the loop, without waiting. */
void node_turn(struct node *n);

/** Waits until there is something to do, or one of the descriptors can be read. */
void node_wait(struct node *n, const int *fds, size_t fd_count);

/** Stops sensing and hands on what there is. Idempotent. */
void node_drain(struct node *n);

/** Whether everything is handed on and acknowledged. */
bool node_drained(const struct node *n);

/** Whether the collector has welcomed this node. */
bool node_connected(const struct node *n);

/** Why the collector refused this node, or NULL. */
const char *node_refused(const struct node *n);

/** Whether a STOP command came. */
bool node_stopped(const struct node *n);

#endif
