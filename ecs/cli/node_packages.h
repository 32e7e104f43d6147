// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The Debian packages on this machine that `bezel node` copies to nodes. Messages go to stderr. One thread. */
#ifndef BEZEL_ECS_CLI_NODE_PACKAGES_H
#define BEZEL_ECS_CLI_NODE_PACKAGES_H

#include "base/err.h"
#include "ecs/cli/node_plan.h"

#include <limits.h>

struct node_packages {
    struct node_offer offer; /* `folder` NULL: there are none; points into this struct */
    char folder[PATH_MAX], names[1024], architecture[32], release[64];
};

/**
 * Looks for the packages of this version for `architecture` in `folder`; NULL: where packaging/packages puts them, or
 * in share/bezel/packages of this installation. If there are only those of another architecture, finds these.
 */
void node_packages_find(const char *folder, const char *architecture, struct node_packages *packages);

/**
 * Writes lines of sha256sum(1) for the packages into *sums, to be freed. Where their folder has a SHA256SUMS, they must
 * be as it says. Returns 0, or an error, printed.
 */
int node_packages_sums(const struct node_packages *packages, char **sums) BEZEL_MUST_CHECK;

#endif
