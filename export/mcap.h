// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes records and losses as an MCAP file (https://mcap.dev/spec), which Foxglove, PlotJuggler and their libraries
 * read: chunks with checksums and an index. Each aspect of a process is a channel NODE/PROCESS/ASPECT, its records are
 * CDR with a schema as of ROS 2 (ros2msg). The fields are those of the aspect, then bezel_thread and bezel_error.
 * Losses are messages of channel bezel/lost, and their sums metadata. One owner.
 */
#ifndef BEZEL_EXPORT_MCAP_H
#define BEZEL_EXPORT_MCAP_H

#include "base/err.h"
#include "run/read/record_item.h"

#include <stdio.h>

struct mcap;

/** Begins the file. Borrows `out`; errors of it show in ferror(). NULL: no memory. */
struct mcap *mcap_new(FILE *out);
void mcap_free(struct mcap *m); /* NULL is allowed */

/**
 * Writes a record or a loss. Returns 0 or BEZEL_ENOMEM. Channels and schemas beyond 65,535 are left out:
 * mcap_left_out() says how many records they had.
 */
int mcap_put(struct mcap *m, const struct record_item *item) BEZEL_MUST_CHECK;
uint64_t mcap_left_out(const struct mcap *m);

/** Adds the `n` bytes at `data` as a file of its own in the file. Returns 0 or BEZEL_ENOMEM. */
int mcap_attach(struct mcap *m, const char *name, const char *media, const void *data, size_t n) BEZEL_MUST_CHECK;

/** Writes what is left, the sums of losses, and the index. Nothing may follow. Returns 0 or BEZEL_ENOMEM. */
int mcap_end(struct mcap *m) BEZEL_MUST_CHECK;

#endif
