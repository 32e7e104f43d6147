// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Signals, readiness and the parent pipe of all daemons. */
#ifndef BEZEL_BASE_SERVE_H
#define BEZEL_BASE_SERVE_H

#include "base/err.h"

#include <stdbool.h>

/**
 * Returns a non-blocking descriptor from which SIGTERM is read, or -1 with errno; and SIGHUP, which ends a daemon in
 * the same order when its terminal is gone, unless it was started with nohup. Ignores SIGINT, which a terminal sends to
 * the whole group; SIGPIPE; and SIGXFSZ, so that writing too large a file is an error. Call before any thread starts.
 */
int serve_signals(void);

/** How many of these arrived at `signals` since the last call. */
unsigned serve_terms(int signals);

/** The open descriptor whose number `text` is, or -1. */
int serve_read_descriptor(const char *text);

/** Prints to stderr what is wrong with the arguments of daemon `program`, and how to get help; returns EXIT_USAGE. */
int serve_misuse(const char *program, const char *format, ...) BEZEL_PRINTF(2, 3);

/** Prints `text` to standard output, for --help or --version. Returns EXIT_OK; or EXIT_FAILED, after a line on stderr,
 * where stdout takes it not. */
int serve_print(const char *text);

/** Makes the parent pipe `pipe` (-1: none) non-blocking, for serve_is_deserted(). */
void serve_parent_pipe(int pipe);

/** Whether the process that holds the other end of parent pipe `pipe` is gone; false for -1. */
bool serve_is_deserted(int pipe);

/** Reports to the parent that this daemon serves: writes "ready" to *fd, closes it and sets it to -1. -1: no report. */
void serve_ready(int *fd);

#endif
