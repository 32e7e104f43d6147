// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Through which inner collectors commands reach which machines. Internal to config/, but for experiment_proxies(). */
#ifndef BEZEL_CONFIG_PROXIES_H
#define BEZEL_CONFIG_PROXIES_H

#include "config/experiment.h"

/** To how many endpoints commands have to go through inner collector `i`; 0: it needs no proxy. Pure. */
size_t proxies_count(const struct experiment *e, uint32_t i);

/**
 * These endpoints, separated by blanks, in the order of the proxy's ports; behind '=' the port of the next proxy, where
 * one is between: those of proxies below `i` are to be known. Returns a text for free(); NULL: no memory.
 */
char *proxies_list(const struct experiment *e, uint32_t i);

#endif
