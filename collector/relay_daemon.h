// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** An inner collector as a process: a relay with its links, its clock server, and the commands it takes. */
#ifndef BEZEL_COLLECTOR_RELAY_DAEMON_H
#define BEZEL_COLLECTOR_RELAY_DAEMON_H

#include "collector/collector_daemon.h"
#include "collector/relay/relay.h"

/**
 * Passes on what nodes say, until SHUTDOWN, SIGTERM, or the end of the parent pipe. Of `options` those of store and run
 * are not looked at, but for `id`; of `inner` parents and buffer, the rest is filled in. `parent_key`: file of the
 * parents' public key; NULL without keys. Blocks. Call it before any thread starts. Returns the exit code; errors are
 * on stderr.
 */
int relay_daemon_run(const struct collector_daemon_options *options, const struct relay_options *inner,
                     const char *parent_key) BEZEL_MUST_CHECK;

#endif
