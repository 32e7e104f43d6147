// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sends a run to a mirror (MIRROR of mdr/read.x), while it grows or later: its files (serve_files.h) and the changes of
 * its database.
 *
 * This holds in the mirror at any moment: its database is one that the run's database was, as a snapshot; it explains
 * all packets that the mirror has; and its RUNDB_FINISHED and seal come last, once the run is over and every byte was
 * sent. So an incomplete mirror looks like a run whose collector has not finished. The database may count packets that
 * are still to come.
 *
 * A server that is to end has the mirror take what is stored by then. But where the collector has finished and
 * `bezel run` has not, its last rows are about to come: they are waited for, as long as the server is there.
 *
 * What also holds: when it has a low watermark of a node, it has all packets that the collector had stored when it had
 * that. So a watermark is read before the streams are looked for and measured, and sent when they have been sent up to
 * there; no other is read meanwhile.
 *
 * Rows are written to a temporary file first, and sent from there. A mirror that takes nothing would otherwise hold a
 * snapshot open for as long, and the collector's write-ahead log would grow.
 */
#ifndef BEZEL_COLLECTOR_SERVE_SERVE_MIRROR_H
#define BEZEL_COLLECTOR_SERVE_SERVE_MIRROR_H

#include "collector/serve/serve_socket.h"

/** Sends run directory `run`, and END. Blocks. Returns 0, SERVE_GONE or an error. */
int serve_mirror(const char *run, struct serve_socket *socket, const struct read_mirror *request) BEZEL_MUST_CHECK;

#endif
