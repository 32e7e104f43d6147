// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The cover of a stream file: a packet without records at its beginning, which reaches over all packets that expired
 * from the store (`store.keep`). Their bytes are a hole in the file, so that what follows stays where it was. Whoever
 * reads packets takes the bytes first and looks for the cover then: what it reaches over by that time is not to be
 * used, because a part of it may have been zeros already.
 */
#ifndef BEZEL_RUN_STORE_COVER_H
#define BEZEL_RUN_STORE_COVER_H

#include "mdr/packet.h"

struct cover {
    struct packet_header header; /* packet_get_cover(); behind size_bytes follows packet seq + 1 */
    uint64_t records;
};

/**
 * Reads the cover of the open stream file `fd`. Returns 1 with *c; 0: there is none, or the file cannot be read.
 * Another process may be writing it.
 */
int cover_read(int fd, struct cover *c);

/**
 * Writes the cover of stream file `path`, unless it has one that reaches as far, and frees the bytes below it. A file
 * that is missing or shorter is made as long. The caller fills size_bytes, seq, discarded, first_ordinal, timestamp_end
 * and the stream's identity; the rest comes from the first packet that the file has. Returns 0 or an errno value:
 * EOPNOTSUPP if the file system has no holes; then the cover is there, and the bytes stay. Blocks on the disk.
 */
int cover_write(const char *path, struct cover *c) BEZEL_MUST_CHECK;

/**
 * Writes cover `c` of a file into `fd`, an open copy of that file, unchanged. Does nothing if the cover of `fd` reaches
 * as far already. Returns as cover_write().
 */
int cover_copy(int fd, const struct cover *c) BEZEL_MUST_CHECK;

/**
 * Reads the cover of stream file `path`. Returns 1 with *c; 0: there is none; -1: it was changed since it was written,
 * by the checksum that stands behind it. A cover over fewer bytes than both need has none.
 */
int cover_check(const char *path, struct cover *c);

/** Whether the file system of folder `path` can free bytes within a file: 0, or an errno value. */
int cover_try(const char *path) BEZEL_MUST_CHECK;

#endif
