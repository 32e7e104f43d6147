// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Endpoints: the addresses of links, and which may be used. Without keys nothing leaves this machine: only ipc, and tcp
 * on loopback. Functions log an error that the operator can fix. Thread-safe.
 */
#ifndef BEZEL_MDR_LINK_ENDPOINT_H
#define BEZEL_MDR_LINK_ENDPOINT_H

#include "base/err.h"

#include <stdbool.h>

enum { ENDPOINT_MAX = 256 }; /* bytes, with the NUL */

/** The path of an ipc endpoint, NULL for another one. */
const char *endpoint_path(const char *endpoint);

/** Whether a tcp endpoint is on loopback, its address given as a number: 127.x.x.x or [::1]. */
bool endpoint_is_loopback(const char *endpoint);

/** Whether the text is an endpoint: ipc with a path, or tcp as base/address.h says. 0 or BEZEL_EINVAL. */
int endpoint_check(const char *endpoint) BEZEL_MUST_CHECK;

/**
 * Whether a link may be bound there: 0; BEZEL_EPERM on tcp beyond loopback without keys; BEZEL_EINVAL on tcp at a name
 * that is no interface's; BEZEL_EBUSY where the ipc path is in use, by a living server or by a file that is no socket;
 * or an error of the file system.
 */
int endpoint_check_bind(const char *endpoint, bool keys) BEZEL_MUST_CHECK;

/**
 * Checks whether a link may connect there. Returns 0; BEZEL_EPERM if it has no keys, and the address is tcp beyond
 * loopback or a name; BEZEL_EINVAL if the host or the port is `*`.
 */
int endpoint_check_connect(const char *endpoint, bool keys) BEZEL_MUST_CHECK;

/**
 * Whether a process listens at an ipc endpoint: 0, BEZEL_EUNREACH where a dead process left it, BEZEL_ENOENT,
 * BEZEL_EPERM, ... A tcp endpoint is not tried: 0.
 */
int endpoint_try(const char *endpoint) BEZEL_MUST_CHECK;

/**
 * Why peers may not connect at endpoint `listen`; NULL where they may: on ipc, on tcp on loopback, or with `keys` on
 * any tcp. Static storage.
 */
const char *endpoint_check_listen(const char *listen, bool keys);

/** How --help describes such endpoints. */
#define ENDPOINT_LISTEN_HELP                                                                                           \
    "tcp://127.0.0.1:PORT, tcp://127.0.0.1:* or ipc:///PATH; with keys tcp:// on any address: of IPv4, [IPv6], an "    \
    "interface, or * for all"

/**
 * Why commands may not be accepted at endpoint `control`; NULL where they may: on ipc in a folder that only this user
 * can use, or, with `keys`, on tcp. Static storage.
 */
const char *endpoint_check_control(const char *control, bool keys);

#endif
