// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the store's files. */
#ifndef BEZEL_RUN_STORE_STORE_INTERNAL_H
#define BEZEL_RUN_STORE_STORE_INTERNAL_H

#include "run/store/store.h"

#include <limits.h>

struct store {
    char run[PATH_MAX / 2];
    int64_t sync; /* ns between syncs; 0: before each acknowledgement; STORE_SYNC_NEVER */
    int64_t synced_at;
    size_t unsynced_streams, unsynced_bytes;
    bool names_unsynced; /* trace/ has entries that were not synced */
    int64_t metadata_credit, metadata_at;
    unsigned open, open_max;
    struct model_stream *newest, *oldest; /* open files, in the order of their last use */
    bool reserve;                         /* the reserve file exists */
    bool paused;                          /* by an operator */
    int failure;                          /* errno; 0: none */
    bool lasting;                         /* ... for good: no retry can help */
    int64_t retry_at;
    char failed_path[PATH_MAX];
};

/**
 * Opens the file of `stream` at `path`. If open_max files are open, or no descriptor is free, it first closes the least
 * recently used; a later sync opens that again. Returns 0 or an errno value.
 */
int store_open_stream(struct store *s, struct model_stream *stream, const char *path) BEZEL_MUST_CHECK;

/**
 * Has the kernel begin to write the bytes appended to `stream`, STORE_PUSH_BYTES at a time, without waiting. Otherwise
 * gigabytes of unwritten pages could gather, and the next append or sync would wait for them.
 */
void store_push(struct model_stream *stream);

/** Notes that `n` more bytes of `stream` wait to be synced. Does nothing if the policy is never. */
void store_unsynced(struct store *s, struct model_stream *stream, size_t n);

#endif
