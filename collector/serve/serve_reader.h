// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The reader of one consumer, as a process of its own: what a run of foreign bytes or a condition that nothing meets
 * can cost, it costs that consumer alone. Over a socket of packets (SOCK_SEQPACKET) it takes one READ (mdr/read.x), and
 * sends READING, SCHEMA, RECORDS and END, a message a packet, as fast as they are taken; or a MIRROR (serve_mirror.h).
 * Where the other side sends END, it sends what is stored by then, and ends; where that is closed, it ends.
 */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_READER_H
#define BEZEL_COLLECTOR_SERVE_SERVE_READER_H

#include "base/err.h"

#include <stdint.h>

enum {
    SERVE_READER_BUFFERS = 4 << 20, /* bytes for all streams of a consumer */
    SERVE_READER_MEMORY = 1 << 30,  /* bytes of such a process, in all */
};

#define SERVE_READER_LOOK INT64_C(250000000) /* ns between two looks */

/** Serves the consumer at the other end of `fd`. Blocks. Returns the exit code of the process (base/exit_code.h). */
int serve_reader_run(const char *run, int fd) BEZEL_MUST_CHECK;

#endif
