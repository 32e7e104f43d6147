// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The resource manager at work: its links to the nodes, signals and lease around manager.h. One thread. */
#ifndef BEZEL_RESMGR_SERVER_H
#define BEZEL_RESMGR_SERVER_H

#include "config/experiment.h"

#include <stdint.h>

struct server_options {
    const char *experiment; /* file */
    const char *sockets;    /* folder of the nodes' control sockets: .node0, .node1 ...; NULL: all are in `nodes` */
    const char *nodes[EXPERIMENT_NODES_MAX]; /* NODE=ENDPOINT, of those that are reached elsewhere */
    uint32_t node_count;
    const char *key, *keys; /* files for tcp: its own secret key; the folder of the nodes' public ones; NULL: none */
    uint64_t epoch;         /* above those of all managers of this run before it */
    int ready, lease;       /* descriptors; -1: none */
};

/** Decides until it is told to end (SIGTERM, or the end of its lease). Returns the exit code. */
int server_run(const struct server_options *options);

#endif
