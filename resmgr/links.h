// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Where a resource manager reaches its nodes: over their sockets on this machine, or over tcp with keys. */
#ifndef BEZEL_RESMGR_LINKS_H
#define BEZEL_RESMGR_LINKS_H

#include "config/experiment.h"
#include "mdr/link.h"
#include "resmgr/server.h"

/**
 * Connects to all nodes of `e`, as `o` says, those that are not there yet too. Returns 0 with `links` for link_close(),
 * in the order of nodes; else an error after saying why on stderr: BEZEL_EINVAL where `o` does not fit the experiment.
 */
int links_open(const struct experiment *e, const struct server_options *o,
               struct link *links[EXPERIMENT_NODES_MAX]) BEZEL_MUST_CHECK;

#endif
