// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Hosts and file systems of a test's own: network and mount namespaces of the calling process, which has one thread.
 */
#ifndef BEZEL_TESTS_LIB_NAMESPACES_H
#define BEZEL_TESTS_LIB_NAMESPACES_H

#include <stdbool.h>

/**
 * Gives the process mounts of its own, and root's rights over them: as root, else in a user namespace of its own. False
 * where neither is permitted; nothing has changed then.
 */
bool namespaces_enter(void);

/** An address of every new network beside 127.0.0.1, which is not one of loopback's. */
#define NAMESPACES_ADDRESS "192.0.2.1"

/** Moves the process to a new network, in which it meets only itself. False where that is not permitted. */
bool namespaces_new_network(void);

#endif
