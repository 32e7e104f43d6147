// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** UDP multicast through one interface of this machine. */
#ifndef VIDEOCONF_NET_H
#define VIDEOCONF_NET_H

#include "fragment.h"

#include <stddef.h>
#include <stdint.h>

/**
 * A socket that sends to the group through `interface`, at most `ttl` routers further: 0: not off this machine, 1: not
 * off this network. -1 with errno, ENODEV where there is no such interface. The caller closes it.
 */
int net_sender(const char *group, int port, const char *interface, int ttl);

/**
 * A socket that receives from the group at `interface`, next to any number of others; recv() gives up after 100 ms. -1
 * with errno, as above.
 */
int net_receiver(const char *group, int port, const char *interface);

/**
 * Sends all fragments of `f`; returns how many were sent: fewer than fragment_count() where the system refused some.
 */
uint32_t net_multicast(int fd, const struct frame *f);

#endif
