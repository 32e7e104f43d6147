// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Serves the files of a run directory whose run is over, on the machine where the collector was: it lists them with
 * their checksums, sends any part of them, and removes the directory when it is told that everything is home. It holds
 * the lock of the directory, so no collector writes meanwhile.
 */
#ifndef BEZEL_COLLECTOR_FILES_DAEMON_H
#define BEZEL_COLLECTOR_FILES_DAEMON_H

#include "collector/collector_daemon.h"

/** Serves until DISCARD, SHUTDOWN or SIGTERM. Blocks. Returns the exit code; errors are on stderr. */
int files_daemon_run(const struct collector_daemon_options *options) BEZEL_MUST_CHECK;

#endif
