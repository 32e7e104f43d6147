// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the store's files share. store.h is the others' view of it. */
#ifndef BEZEL_COLLECTOR_STORE_OWN_H
#define BEZEL_COLLECTOR_STORE_OWN_H

#include "collector/store.h"

#include <limits.h>

struct store {
    char run[PATH_MAX / 2];
    int64_t sync; /* ns between syncs; 0: before each acknowledgement; STORE_SYNC_NEVER */
    int64_t synced_at;
    size_t unsynced_streams, unsynced_bytes;
    bool names_unsynced; /* trace/ has entries that stable storage may lack */
    int64_t metadata_credit, metadata_at;
    unsigned open, open_max;
    struct model_stream *newest, *oldest; /* open files, by their last use */
    bool reserve;                         /* the reserve file is there */
    int failure;                          /* errno; 0: none */
    bool lasting;                         /* ... and no retry can help */
    int64_t retry_at;
    char failed_path[PATH_MAX];
};

/**
 * Opens the file of `stream` at `path`, closing the one that was not used for longest where there are enough or too
 * many. What a closed one must still bring to stable storage does not need its descriptor. Returns 0 or an errno.
 */
int store_open_stream(struct store *s, struct model_stream *stream, const char *path) BEZEL_MUST_CHECK;

/**
 * Has the kernel begin to write what was appended to `stream`, STORE_PUSH_BYTES at a time. It does not wait: it keeps
 * gigabytes of unwritten pages from gathering, behind which the next append, or a sync, would stand for long.
 */
void store_push(struct model_stream *stream);

/** `n` bytes more of `stream` wait for stable storage, where any may. */
void store_unsynced(struct store *s, struct model_stream *stream, size_t n);

#endif
