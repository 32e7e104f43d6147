// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The proxy of an inner collector: commands for machines that only this one reaches connect through it. It has a port
 * for each endpoint of a list, and connects from there to that endpoint and nowhere else. It passes bytes on. The keys
 * of a control link are those of its two ends, so the proxy can neither read a command nor make one.
 *
 * Bounds: PROXY_SERVER_CONNECTIONS at a time, PROXY_SERVER_BUFFER bytes in each direction, PROXY_SERVER_PATIENCE until
 * a connection is made, which is tried again and again. A peer that sends more than a buffer holds waits. A thread of
 * its own; functions are for one thread.
 */
#ifndef BEZEL_COLLECTOR_PROXY_SERVER_H
#define BEZEL_COLLECTOR_PROXY_SERVER_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PROXY_SERVER_CONNECTIONS = 1024,
    PROXY_SERVER_BUFFER = 16 << 10,
};

#define PROXY_SERVER_PATIENCE INT64_C(10000000000) /* ns */

struct proxy_server;

/**
 * Listens for the first endpoint of `forward` at `listen`, tcp://HOST:PORT with a number or `*` as HOST, for each
 * further one at the next port; port `*`: each at any. `forward` lists endpoints tcp://HOST:PORT, separated by blanks;
 * behind '=' stands where to connect in its place, the port of another proxy. Returns 0 with *s for
 * proxy_server_close(); BEZEL_EINVAL if one of them is not as said; BEZEL_EBUSY where a port is in use; or another
 * error, with errno. Logs which port cannot be used.
 */
int proxy_server_open(const char *listen, const char *forward, struct proxy_server **s) BEZEL_MUST_CHECK;

/** Ends all connections. NULL is allowed. */
void proxy_server_close(struct proxy_server *s);

/** The port of endpoint `i` of its list, from 0. */
uint16_t proxy_server_port(const struct proxy_server *s, size_t i);

#endif
