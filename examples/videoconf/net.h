// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** UDP multicast that stays on this machine: loopback interface, time to live 0. */
#ifndef VIDEOCONF_NET_H
#define VIDEOCONF_NET_H

#include "fragment.h"

#include <stddef.h>
#include <stdint.h>

/** A socket that sends to the group; -1 with errno. The caller closes it. */
int net_sender(const char *group, int port);

/** A socket that receives from the group, next to any number of others; recv() gives up after 100 ms. -1 with errno. */
int net_receiver(const char *group, int port);

/**
 * Sends all fragments of `f`; returns how many were sent: fewer than fragment_count() where the system refused some.
 */
uint32_t net_multicast(int fd, const struct frame *f);

#endif
