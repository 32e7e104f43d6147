// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Unix sockets that keep packets apart, named within an open folder: the length of the folder's path does not matter.
 * They close at exec and do not block.
 */
#ifndef BEZEL_BEZELD_LAUNCH_UNIX_SOCKET_H
#define BEZEL_BEZELD_LAUNCH_UNIX_SOCKET_H

#include "base/err.h"

/** Listens at `name`, which replaces a file of that name. Returns 0 with *fd, or an error with errno. */
int unix_socket_listen(int folder, const char *name, int *fd) BEZEL_MUST_CHECK;

/**
 * Connects. Returns 0 with *fd; BEZEL_ENOENT where there is no such socket; BEZEL_EUNREACH where nobody listens;
 * BEZEL_EAGAIN where too many wait already; or another error with errno.
 */
int unix_socket_connect(int folder, const char *name, int *fd) BEZEL_MUST_CHECK;

#endif
