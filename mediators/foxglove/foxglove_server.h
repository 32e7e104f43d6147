// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What bezel-foxglove does: it reads a run as any reader does, and gives its records to clients of Foxglove's
 * WebSocket protocol. A run that goes on is followed: a client gets the newest record of each channel that it
 * subscribes to, and those that follow. A run that is over is played from its beginning when the first client
 * subscribes, and again when all have gone. A client that takes records of a run that goes on more slowly than they
 * come misses some: for each channel it gets the newest one as soon as there is room, and what it missed is counted and
 * said to it. Playing waits for a slow client, but for no more than 5 s while it takes nothing at all.
 */
#ifndef BEZEL_MEDIATORS_FOXGLOVE_SERVER_H
#define BEZEL_MEDIATORS_FOXGLOVE_SERVER_H

#include "base/address.h"

#include <signal.h>

enum { FOXGLOVE_PORT = 8765 };

struct foxglove_options {
    const char *run;        /* run directory */
    struct address address; /* where it listens */
    bool open;              /* no token is needed */
    const char *allowed;    /* then: an origin whose pages may connect; NULL: none */
    uint64_t speed;         /* of playing, as often as it was recorded; 0: as fast as clients take it */
};

/** Serves until *stop. Returns an exit code. */
int foxglove_server_run(const struct foxglove_options *o, const volatile sig_atomic_t *stop);

#endif
