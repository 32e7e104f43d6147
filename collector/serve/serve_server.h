// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Serves the records of a run to consumers over a bound link (mdr/read.x). It admits, keeps the credit, and passes on
 * what a process for each consumer reads (serve_reader.h), a message of each in turn. It reads no run itself. Whoever
 * takes nothing has no credit, and costs its process, which stands still. One thread.
 *
 * What a consumer costs: a process with its model of the run; SERVE_READER_BUFFERS; READ_CREDIT_MAX in ZeroMQ's queue.
 */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_SERVER_H
#define BEZEL_COLLECTOR_SERVE_SERVE_SERVER_H

#include "mdr/link/link.h"

enum { SERVE_CONSUMERS = 64, SERVE_CONSUMERS_MAX = 1024 };

#define SERVE_HEARTBEAT INT64_C(2000000000) /* ns */

/** When this ends, consumers get what is stored: as long as they take something in each SERVE_GRACE, ns, at most
 * SERVE_GRACE_MOST. */
#define SERVE_GRACE      INT64_C(5000000000)
#define SERVE_GRACE_MOST INT64_C(10000000000)

/** Texts are borrowed until serve_server_run() returns. */
struct serve_server_options {
    const char *run, *listen;
    const char *keys, *key; /* folder of public keys, file of the own secret key; NULL: without keys */
    const char *program;    /* that is started with --reader, a process for each consumer */
    unsigned consumers;     /* at a time, at most SERVE_CONSUMERS_MAX */
    int ready;              /* descriptor to which a line with the bound endpoint is written; then closed; -1: none */
    int parent_pipe;        /* read end; it ends at its end of file; -1: none, and SIGINT ends it, too */
};

/**
 * Serves until SIGTERM or the end of the parent pipe. Blocks. Call it before any thread starts. Returns the exit code
 * of the program (base/exit_code.h); errors are on stderr.
 */
int serve_server_run(const struct serve_server_options *options) BEZEL_MUST_CHECK;

#endif
