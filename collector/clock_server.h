// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Answers the nodes' questions for the time (docs/CLOCKS.md), over a link of its own and in a thread of its own: a
 * question waits neither for packets nor for the disk. Sender's keys need the role `observe`. That of an inner
 * collector passes questions on to its parent, and the answers back: the longer way widens their bound, and is within
 * it.
 */
#ifndef BEZEL_COLLECTOR_CLOCK_SERVER_H
#define BEZEL_COLLECTOR_CLOCK_SERVER_H

#include "base/clock_wall.h"
#include "mdr/link/link.h"

#include <stdint.h>

struct clock_server;

/**
 * Binds the link beside the data link, which listens at `data`: one port above it; at any free port if that does
 * (":*"). `keys` are borrowed until clock_server_close(); `keeping` is what keeps this machine's wall clock. NULL where
 * `data` is over ipc or loopback: then the nodes are on this machine; or where that cannot be, after a warning: then
 * the clocks of nodes on other machines are compared by their wall clocks.
 *
 * `inner`: for an inner collector. Nothing is answered before clock_server_pass(); where `data` is over ipc or
 * loopback, it listens at a free port of loopback. `keys` are also those to connect with.
 */
struct clock_server *clock_server_open(const char *data, const struct link_keys *keys,
                                       const struct clock_keeping *keeping, bool inner);

/**
 * The nodes ask for clock `identity` from now on: it is answered here where it is that of this machine; else questions
 * are passed on to `endpoint`, unless that is "".
 */
void clock_server_pass(struct clock_server *s, const uint8_t identity[16], const char *endpoint);

/** Ends thread and link. NULL is allowed, here and below. */
void clock_server_close(struct clock_server *s);

/** The port; 0: there is none. */
uint32_t clock_server_port(const struct clock_server *s);

#endif
