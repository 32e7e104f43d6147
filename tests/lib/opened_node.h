// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A node of an experiment in the scratch folder, with a link for commands and a collector that is nobody. */
#ifndef BEZEL_TESTS_LIB_OPENED_NODE_H
#define BEZEL_TESTS_LIB_OPENED_NODE_H

#include "bezeld/node/node_internal.h"
#include "tests/lib/scratch.h"

#include <stdio.h>
#include <string.h>

static struct experiment *experiment;
static struct node *node;
static struct command_server *server;
static char control[128]; /* the endpoint of the link */

/** Opens it in scratch_dir. Returns 0, or what failed. */
static inline int opened_node(const char *text)
{
    static char collector[128];
    struct experiment_diagnostics found = {0};
    snprintf(control, sizeof control, "ipc://%s/control", scratch_dir);
    snprintf(collector, sizeof collector, "ipc://%s/nobody", scratch_dir);
    int err = experiment_read(text, strlen(text), &experiment, &found);
    experiment_print_diagnostics(&found, "of a test", stderr);
    experiment_diagnostics_free(&found);
    if (!err)
        err = command_server_open(control, NULL, &server);
    struct node_options options = {
        .experiment = experiment, .dir = scratch_dir, .collector = collector, .control = server, .run = {1}};
    return err ? err : node_open(&options, &node);
}

/** Ends it and the folder, as a teardown. */
static inline int close_node(void **state)
{
    node_shut(node, true);
    node_close(node);
    command_server_close(server, 0);
    experiment_free(experiment);
    return scratch_end(state);
}

#endif
