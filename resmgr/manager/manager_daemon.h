// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** bezel-resmgr: the links to the nodes, signals and parent pipe around manager.h. One thread. */
#ifndef BEZEL_RESMGR_MANAGER_MANAGER_DAEMON_H
#define BEZEL_RESMGR_MANAGER_MANAGER_DAEMON_H

#include "config/experiment.h"

#include <stdint.h>

struct manager_daemon_options {
    const char *experiment; /* file */
    uint8_t run[16];
    const char
        *sockets; /* folder of the nodes' control sockets .b0/control, ...; NULL: `nodes` and the file have all */
    const char *nodes[EXPERIMENT_NODES_MAX]; /* NODE=ENDPOINT, for nodes that are reached elsewhere */
    uint32_t node_count;
    const char *collector; /* where the collector takes commands, if that is elsewhere; NULL: .collector in `sockets` */
    const char *key, *keys; /* for tcp: file of its secret key; folder of public keys; NULL: none */
    const char *control;    /* where it takes commands; NULL: nowhere */
    uint64_t epoch;         /* above those of all managers of this run before it */
    int ready, parent_pipe; /* descriptors; -1: none */
};

/**
 * Runs the manager until SIGTERM, until the parent pipe is closed, or until nodes follow another manager. Returns the
 * exit code (base/exit_code.h): EXIT_USAGE where the experiment file or the options are wrong.
 */
int manager_daemon_run(const struct manager_daemon_options *options);

#endif
