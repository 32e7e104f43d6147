// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The collector as a process, from lock to last commit: opens the run and the links, serves, and finishes. */
#ifndef BEZEL_COLLECTOR_COLLECTOR_DAEMON_H
#define BEZEL_COLLECTOR_COLLECTOR_DAEMON_H

#include "base/err.h"
#include "collector/receive/receiver.h"
#include "config/order_settings.h"
#include "config/store_keep.h"

#include <stdint.h>

/** Texts are borrowed until collector_daemon_run() returns. */
struct collector_daemon_options {
    const char *run;             /* run directory */
    const char *id;              /* of the run, a UUID: the directory is made where it is missing; NULL: it is there */
    const char *listen;          /* endpoint of the data link; NULL: what is stored is read, and that is all */
    const char *control;         /* ipc endpoint in a private folder, or tcp with keys */
    const char *proxy, *forward; /* of an inner collector, as of proxy_server_open(); NULL: it has no proxy */
    const char *serve;           /* where bezel-serve listens, for consumers; NULL: there is none */
    const char *metrics, *push;  /* where bezel-metrics listens, and sends to; both NULL: there is none */
    const char *engine;          /* where bezel-engine hands the run on to; NULL: there is none */
    const char *keys;            /* folder of public keys; NULL: no keys */
    const char *key;             /* file of the own secret key; NULL where `keys` is */
    struct receiver_limits limits;
    size_t packet_max; /* bytes of the longest frame that a sender may send, at least MESSAGE_MAX_BYTES */
    int ready;         /* descriptor to which one line with the bound endpoint is written; then closed; -1: none */
    int parent_pipe;   /* read end; the collector finishes at its end of file; -1: none */
    struct clock_keeping clock; /* what keeps the wall clock of this machine */
    struct order_settings order;
    int64_t sync;           /* the store's policy: store_open() */
    struct store_keep keep; /* what the store keeps; all zeros: everything */
};

/** Removes the run directory, which no other collector serves. Returns the exit code; errors are on stderr. */
int collector_daemon_discard(const struct collector_daemon_options *options) BEZEL_MUST_CHECK;

/** Logs why `endpoint` cannot be bound, unless `err` is 0. Returns `err`. */
int collector_daemon_endpoint(int err, const char *endpoint);

/** Whether the parent pipe has ended just now; then *end_at is when the collector ends at the latest. */
bool collector_daemon_is_deserted(const struct collector_daemon_options *options, int64_t *end_at);

/** The port at which a bound link listens; 0: it has none. */
uint32_t collector_daemon_port(const struct link *link);

/**
 * Serves, if it is to listen, until STOP, SIGTERM, or the end of the parent pipe. Blocks. Call it before any thread
 * starts: it blocks SIGTERM and ignores SIGINT, SIGPIPE and SIGXFSZ. Returns the exit code of the program
 * (base/exit_code.h); errors are on stderr.
 */
int collector_daemon_run(const struct collector_daemon_options *options) BEZEL_MUST_CHECK;

#endif
