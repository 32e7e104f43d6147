// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The collector as a server: its links, its control, its life from lock to last commit. */
#ifndef BEZEL_COLLECTOR_SERVER_H
#define BEZEL_COLLECTOR_SERVER_H

#include "base/err.h"
#include "collector/intake.h"

#include <stdint.h>

/** Texts are borrowed while server_run() runs. */
struct server_options {
    const char *run;     /* run directory */
    const char *listen;  /* endpoint of the data link */
    const char *control; /* ipc endpoint in a private folder, or tcp with keys */
    const char *keys;    /* folder of public keys, and file of the own secret one: both, or NULL */
    const char *key;
    struct intake_limits limits;
    size_t packet_max; /* bytes of the longest frame that a sender may send, at least MESSAGE_MAX_BYTES */
    int ready;         /* descriptor that gets the endpoint as bound, one line; -1: none. Closed. */
    int lease;         /* descriptor at whose end of file the server finishes; -1: none */
    int64_t sync;      /* the store's policy: store_open() */
};

/**
 * Serves until it is told to stop (STOP, SIGTERM, end of the lease). Call it before any thread starts: it blocks
 * SIGTERM and ignores SIGINT, SIGPIPE and SIGXFSZ. Returns the exit code of the program; what went wrong is on stderr.
 */
int server_run(const struct server_options *options) BEZEL_MUST_CHECK;

#endif
