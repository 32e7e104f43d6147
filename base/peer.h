// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Who is at the other end of a socket with a path, by the kernel (SO_PEERCRED). */
#ifndef BEZEL_BASE_PEER_H
#define BEZEL_BASE_PEER_H

#include <sys/types.h>

/** The user whose process made the other end of socket `fd`; (uid_t)-1: unknown. */
uid_t peer_user(int fd);

/**
 * This process's own user, as peers are told: geteuid() says another one where a library stands in for it, as under
 * fakeroot(1).
 */
uid_t peer_self(void);

#endif
