// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Links from a resource manager to its nodes, and to the collector: over their sockets on this machine, or over tcp
 * with keys. */
#ifndef BEZEL_RESMGR_MANAGER_NODE_LINKS_H
#define BEZEL_RESMGR_MANAGER_NODE_LINKS_H

#include "config/experiment.h"
#include "mdr/command/command_caller.h"
#include "mdr/link/link.h"
#include "resmgr/manager/manager_daemon.h"

/**
 * Makes a link to each node of `e`, as `o` says, also to nodes that do not serve yet. Returns 0 with `nodes`, in the
 * order of nodes, for command_caller_close(). Else an error, with its reason logged: BEZEL_EINVAL if `o` does not
 * fit the experiment, BEZEL_EPERM where keys are missing, or what command_caller_open() returns.
 * Those that were opened before the error are in `nodes` all the same; the others are left as they are.
 */
int node_links_open(const struct experiment *e, const struct manager_daemon_options *o,
                    struct command_caller nodes[EXPERIMENT_NODES_MAX]) BEZEL_MUST_CHECK;

/**
 * Makes a link to the collector likewise: as `o` says, else to where the experiment has it. Returns 0 with *collector
 * for command_caller_close(), or an error as above.
 */
int node_links_open_collector(const struct experiment *e, const struct manager_daemon_options *o,
                              struct command_caller *collector) BEZEL_MUST_CHECK;

#endif
