// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The daemons of a run that goes on, as another terminal reaches them: over their control links. One thread. */
#ifndef BEZEL_ECS_REACH_H
#define BEZEL_ECS_REACH_H

#include "config/experiment.h"
#include "mdr/message.h"

#include <stdbool.h>

struct link;

struct reach_node {
    const char *name; /* the experiment's */
    struct link *link;
    uint32_t asked; /* the number of the command that it has not answered; 0: none */
};

struct reach {
    struct experiment *experiment;
    uint32_t count;
    struct reach_node *nodes;
    uint32_t commands;
};

/**
 * Connects to the bezelds of run directory `run`, or to that of node `node` alone where it is not NULL. Returns an
 * exit_code: EXIT_HELD with *r for reach_close(); EXIT_USAGE where there is no such node, EXIT_UNREACHABLE where the
 * run does not go on, EXIT_FAILED; said on stderr.
 */
int reach_open(const char *run, const char *node, struct reach *r);
void reach_close(struct reach *r);

/**
 * Gives `command`, whose id is chosen here, to each node, and hands each answer to `take`. Returns EXIT_HELD,
 * EXIT_UNREACHABLE where a node did not answer within five seconds, which is said on stderr, or EXIT_FAILED where
 * `take` returned false for one.
 */
int reach_ask(struct reach *r, const struct message_command *command,
              bool (*take)(void *context, const char *node, const struct message_reply *reply), void *context);

#endif
