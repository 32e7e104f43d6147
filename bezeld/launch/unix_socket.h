// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Unix sockets that keep packets apart, named within an open folder: the length of the folder's path does not matter.
 * They close at exec and do not block.
 */
#ifndef BEZEL_BEZELD_LAUNCH_UNIX_SOCKET_H
#define BEZEL_BEZELD_LAUNCH_UNIX_SOCKET_H

#include "base/err.h"

/**
 * Listens at `name`, which replaces a file of that name. The socket has mode 0600 before anybody can connect, whatever
 * the umask. Returns 0 with *fd, or an error with errno.
 */
int unix_socket_listen(int folder, const char *name, int *fd) BEZEL_MUST_CHECK;

/**
 * Takes the next connection. The kernel says whose process connected (SO_PEERCRED): one of another user but root is
 * closed, after a warning. Returns the descriptor, or -1.
 */
int unix_socket_accept(int listening);

/**
 * Connects. Returns 0 with *fd; BEZEL_ENOENT if there is no such socket; BEZEL_EUNREACH where nobody listens;
 * BEZEL_EAGAIN where too many wait already; BEZEL_EPERM where a process of another user but root listens; or another
 * error with errno.
 */
int unix_socket_connect(int folder, const char *name, int *fd) BEZEL_MUST_CHECK;

#endif
