// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Sends commands from another terminal to the daemons of a running run, over their control links. One thread. */
#ifndef BEZEL_ECS_COURSE_CONTROL_CLIENT_H
#define BEZEL_ECS_COURSE_CONTROL_CLIENT_H

#include "config/experiment.h"
#include "mdr/command/command_caller.h"

#include <stdbool.h>

struct message_command;

/** Whom a command is for. */
enum control_client_whom {
    CONTROL_CLIENT_NODES,
    CONTROL_CLIENT_COLLECTOR,
    CONTROL_CLIENT_MANAGER,
    CONTROL_CLIENT_INNER
};

struct control_client_node {
    const char *name; /* the experiment's; or "collector", "manager"; or that of an inner collector */
    struct command_caller caller;
    bool asked;  /* it has not answered yet */
    uint32_t id; /* of the command; 0: it was not sent yet, because the daemon has to introduce itself first */
};

struct control_client {
    struct experiment *experiment;
    uint32_t count;
    struct control_client_node *nodes;
};

/**
 * Connects to daemons of run directory `run`: to the collector, the inner collectors, the resource manager, or the
 * bezelds of all nodes. If `node` is not NULL: to the bezeld of that node alone. Returns an exit_code: EXIT_OK with *r
 * for control_client_close(); EXIT_USAGE if there is no such node, or no manager; EXIT_UNREACHABLE if the run is not
 * running; EXIT_FAILED otherwise. Logs each error to stderr.
 */
int control_client_open(const char *run, enum control_client_whom whom, const char *node, struct control_client *r);

/**
 * The same from any machine that has the experiment's file and its keys, for nodes with an address and the collectors
 * on them: their bezelds are asked for the run of this experiment that they serve.
 */
int control_client_open_file(const char *file, enum control_client_whom whom, const char *node,
                             struct control_client *r);

/**
 * Connects to the bezeld at `endpoint` itself, called `name` in messages; `access` over tcp. Returns EXIT_OK with *r
 * for control_client_close(), or EXIT_FAILED.
 */
int control_client_open_bezeld(const char *endpoint, struct command_caller_access access, const char *name,
                               struct control_client *r);

void control_client_close(struct control_client *r);

/**
 * Sends `command` to each node, with an id chosen here, and passes each REPLY whose answer is `wanted` to `take`.
 * Returns EXIT_OK; EXIT_UNREACHABLE if a node did not answer within five seconds, and two more for each proxy;
 * EXIT_FAILED where one refused, or where `take` returned false. Logs nodes that did not answer, or refused.
 */
int control_client_ask(struct control_client *r, const struct message_command *command, enum message_answer wanted,
                       bool (*take)(void *context, const char *node, const struct message *answer), void *context);

#endif
