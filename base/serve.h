// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What daemons have in common that another process starts: signals, readiness, and the lease that its life is. */
#ifndef BEZEL_BASE_SERVE_H
#define BEZEL_BASE_SERVE_H

#include <stdbool.h>

/**
 * A descriptor on which SIGTERM is read, not blocking; SIGINT, which is the terminal's and not for us, SIGPIPE and
 * SIGXFSZ (what is too large is an error then) are ignored. Before any thread starts. -1 with errno where there is
 * none.
 */
int serve_signals(void);

/** How many SIGTERMs came to `signals` since it was asked last. */
unsigned serve_terms(int signals);

/** `lease` (-1: none) is only looked at from now on: reading it must not block. */
void serve_lease(int lease);

/** Whether who holds the other end of `lease` is gone. */
bool serve_is_deserted(int lease);

/** Says to who started this daemon, once, that it serves: *fd (-1: nobody listens) is closed then, and -1. */
void serve_ready(int *fd);

#endif
