// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The ports at which this machine, or its network namespace, listens: /proc/net (proc(5)). */
#ifndef BEZEL_BEZELD_LAUNCH_PORTS_H
#define BEZEL_BEZELD_LAUNCH_PORTS_H

#include <stdbool.h>
#include <stdint.h>

struct ports {
    uint8_t bits[65536 / 8];
};

/** Reads the ports of listening TCP sockets and of bound UDP sockets. Those that cannot be read are missing. */
void ports_read(struct ports *p);

/** Whether `port` is one of them. Pure. */
bool ports_has(const struct ports *p, uint32_t port);

#endif
