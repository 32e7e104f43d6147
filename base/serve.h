// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Signals, readiness and the parent pipe of all daemons. */
#ifndef BEZEL_BASE_SERVE_H
#define BEZEL_BASE_SERVE_H

#include <stdbool.h>

/**
 * Returns a non-blocking descriptor from which SIGTERM is read, or -1 with errno. Ignores SIGINT, which a terminal
 * sends to the whole group; SIGPIPE; and SIGXFSZ, so that writing too large a file is an error. Call before any thread
 * starts.
 */
int serve_signals(void);

/** How many SIGTERMs arrived at `signals` since the last call. */
unsigned serve_terms(int signals);

/** Makes the parent pipe `pipe` (-1: none) non-blocking, for serve_is_deserted(). */
void serve_parent_pipe(int pipe);

/** Whether the process that holds the other end of parent pipe `pipe` is gone; false for -1. */
bool serve_is_deserted(int pipe);

/** Reports to the parent that this daemon serves: writes "ready" to *fd, closes it and sets it to -1. -1: no report. */
void serve_ready(int *fd);

#endif
