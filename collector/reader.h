// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Reads the packets of one stream file in order, as far as they are whole: a torn tail, which a collector that writes
 * or was killed leaves, ends the file. Read-only; files may grow while they are read. A reader belongs to one thread.
 */
#ifndef BEZEL_COLLECTOR_READER_H
#define BEZEL_COLLECTOR_READER_H

#include "mdr/packet.h"

struct reader;

/** Of the path of a file of a run's trace, RUN/trace/NODE/FILE, these last names are followed through no symbolic link.
 */
enum { READER_PLAIN = 3 };

/**
 * Opens stream file `path`. Returns 0 with *r for reader_close, BEZEL_EMALFORMED where it is no regular file (a pipe
 * would be waited for) or a symbolic link leads to it, BEZEL_ENOENT, BEZEL_ENOMEM, ...
 */
int reader_open(const char *path, struct reader **r) BEZEL_MUST_CHECK;
void reader_close(struct reader *r);

/**
 * The next packet: 1 with *h filled and *packet pointing to its h->size_bytes bytes, which belong to the reader until
 * its next call; 0 where no further whole packet is there (yet: it may be asked again); BEZEL_EMALFORMED where bytes
 * are not a packet, or one of another stream or out of sequence; BEZEL_ESYS. Records are not looked at: packet_check()
 * does.
 */
int reader_next(struct reader *r, struct packet_header *h, const uint8_t **packet) BEZEL_MUST_CHECK;

/** Why reader_next() returned BEZEL_EMALFORMED or BEZEL_EVERSION: a few words, static storage. */
const char *reader_reason(const struct reader *r);

/** Where the packets that were read end, in bytes from the start of the file. */
uint64_t reader_offset(const struct reader *r);

/** How many bytes the file has behind them now. */
uint64_t reader_rest(const struct reader *r);

/**
 * Calls `each` for every stream file in directory `trace` (of one node), in the order of their names: all files but
 * `metadata` and those that begin with a dot. Stops at and returns the first non-zero result of `each`; else 0 or an
 * error, with errno ENOTDIR where it is no folder, ELOOP where a symbolic link leads to it.
 */
int reader_list(const char *trace, int (*each)(const char *path, void *context), void *context) BEZEL_MUST_CHECK;

/**
 * The bytes of all stream files of run directory `run`, whole packets or not; what cannot be read counts as nothing.
 * Follows no symbolic link.
 */
uint64_t reader_trace_bytes(const char *run);

#endif
