// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Reads the packets of one stream file in order, up to the last complete one: a collector that is writing, or was
 * killed, leaves a torn tail. Read-only; files may grow while they are read. A reader belongs to one thread.
 */
#ifndef BEZEL_RUN_STORE_TRACE_READER_H
#define BEZEL_RUN_STORE_TRACE_READER_H

#include "mdr/packet.h"

#include <stdbool.h>

struct trace_reader;

/** In the path RUN/trace/NODE/FILE of a trace's file, no symbolic link is followed in this number of last names. */
enum { TRACE_READER_PLAIN = 3 };

/**
 * Opens stream file `path`. Returns 0 with *r for trace_reader_close(); BEZEL_EMALFORMED where it is no regular file
 * (opening a pipe would block) or a symbolic link leads to it; BEZEL_ENOENT, BEZEL_ENOMEM, or another error.
 */
int trace_reader_open(const char *path, struct trace_reader **r) BEZEL_MUST_CHECK;
void trace_reader_close(struct trace_reader *r);

/**
 * Reads the next packet. Returns 1 with *h filled and *packet pointing to its h->size_bytes bytes, which belong to the
 * reader and stay until the next call; 0 where no further complete packet is there yet (call it again later);
 * BEZEL_EMALFORMED where the bytes are not a packet, or one of another stream or out of sequence; BEZEL_EVERSION;
 * BEZEL_ESYS. It does not check records: packet_check() does.
 */
int trace_reader_next(struct trace_reader *r, struct packet_header *h, const uint8_t **packet) BEZEL_MUST_CHECK;

/**
 * Has the reader go on behind the first `bytes` of the file, which are `packets` packets, as if it had read them. Does
 * nothing where it is that far already.
 */
void trace_reader_skip(struct trace_reader *r, uint64_t bytes, uint64_t packets);

/** Has the reader return its last packet, with header `h`, once more. Nothing may lie between. */
void trace_reader_again(struct trace_reader *r, const struct packet_header *h);

/**
 * What of the stream expired from the store before it was read, also while it was being read (cover.h): packets, and
 * their records. The packets that are read go on behind it.
 */
struct trace_expired {
    uint64_t packets, records;
    struct packet_header cover; /* the latest, if packets is not 0 */
    uint64_t cover_records;     /* from the stream's first on */
};
const struct trace_expired *trace_reader_expired(const struct trace_reader *r);

/** The reason for BEZEL_EMALFORMED or BEZEL_EVERSION of trace_reader_next(): a few words, static storage. */
const char *trace_reader_reason(const struct trace_reader *r);

/** The offset at which the packets that were read end, in bytes from the start of the file. */
uint64_t trace_reader_offset(const struct trace_reader *r);

/** The number of bytes that the file has now behind that offset. */
uint64_t trace_reader_rest(const struct trace_reader *r);

/**
 * Calls `each` for every stream file in directory `trace` (of one node), in the order of their names: all files but
 * `metadata` and those that begin with a dot. Stops at and returns the first non-zero result of `each`; else 0 or an
 * error, with errno ENOTDIR where it is no folder, ELOOP where a symbolic link leads to it.
 */
int trace_reader_list(const char *trace, int (*each)(const char *path, void *context), void *context) BEZEL_MUST_CHECK;

/**
 * The bytes of all stream files of run directory `run`, torn tails and what expired included. Files that cannot be read
 * count as 0. Follows no symbolic link.
 */
uint64_t trace_reader_trace_bytes(const char *run);

/** Whether a collector serves run directory `run` now: it holds the lock on it. */
bool trace_reader_is_served(const char *run);

#endif
