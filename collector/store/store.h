// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run's trace on disk: packets, appended to one file for each stream, `trace/<node>/<process>-<pid>-<ring>`, and
 * the metadata of each node, in place before the first packet that needs it, or soon after where new processes come by
 * the hundred. A packet is whole in its file or not
 * there: what a failed write left is cut off.
 *
 * Stable storage is reached by policy: never; before each acknowledgement; or every so often, at the latest when
 * STORE_SYNC_BYTES wait, in which case acknowledgements wait for it (store_sync_due()). Bytes come first, then the
 * directories that name them. What has not come so far may be lost with the power, and nothing else.
 *
 * When space runs out the store is *failing*: nothing is stored until store_retry() finds room again, at most every
 * STORE_RETRY; a reserve of STORE_RESERVE bytes is given up at the first failure, so that database and metadata can be
 * finished. Packets get none of it: they are stored again where there is STORE_ROOM. One thread.
 * SIGXFSZ must be ignored.
 */
#ifndef BEZEL_COLLECTOR_STORE_H
#define BEZEL_COLLECTOR_STORE_H

#include "base/clock.h"
#include "collector/model.h"
#include "config/experiment.h"

enum {
    STORE_OPEN_MAX = 256,                     /* descriptors */
    STORE_RESERVE = 1 << 20,                  /* bytes */
    STORE_ROOM = STORE_RESERVE + (256 << 10), /* more than a packet's */
    STORE_RETRY = 500000000,                  /* ns */
    STORE_SYNC_BYTES = EXPERIMENT_SYNC_BYTES,
    STORE_PUSH_BYTES = 16 << 20,    /* of a stream, after which writing to disk begins, by any policy */
    STORE_METADATA_BURST = 8 << 20, /* bytes of metadata that may be written at once, */
    STORE_METADATA_RATE = 8 << 20,  /* and in a second */
};

#define STORE_SYNC_NEVER (-1)

struct store;

/**
 * Opens the store in run directory `run`, making `trace/` where it is missing. `sync`: ns between syncs; 0: before each
 * acknowledgement; or STORE_SYNC_NEVER. Returns 0 with *s for store_close, or BEZEL_ENOSPC, BEZEL_EPERM, BEZEL_ESYS
 * with errno set.
 */
int store_open(const char *run, int64_t sync, struct store **s) BEZEL_MUST_CHECK;

/** Closes all files and gives the reserve back. NULL is allowed. Streams keep no descriptor. */
void store_close(struct store *s);

/** Writes into `path` the directory of a node's trace or, with `stream`, the file of a stream. */
int store_path(const struct store *s, const struct model_node *node, const struct model_stream *stream, char *path,
               size_t size) BEZEL_MUST_CHECK;

/**
 * Appends `n` bytes, one packet, to the file of `stream`, whose bytes, unsynced and fd it moves on; writes the node's
 * metadata first where it does not explain the stream's process, unless it was written too often lately: then
 * store_tidy() does. Returns 0, or an error with nothing appended: BEZEL_ENOSPC and the rest of base/err.h; the store
 * is failing then.
 */
int store_append(struct store *s, struct model_stream *stream, const void *packet, size_t n) BEZEL_MUST_CHECK;

/**
 * Brings what was appended to `stream` to stable storage, by any policy but never; after it, the stream's position may
 * be acknowledged. On failure the kernel may have dropped the bytes: the store fails for good, and nothing more may be
 * acknowledged.
 */
int store_sync(struct store *s, struct model_stream *stream) BEZEL_MUST_CHECK;

/** Whether acknowledgements are to be brought about now; if not, at store_sync_at() at the latest. */
bool store_sync_due(const struct store *s, int64_t now);
int64_t store_sync_at(const struct store *s);

/** Acknowledgements wait no longer, now and later: an end is near. */
void store_hurry(struct store *s);

/** Takes a stream that was found in its file for one that has not reached stable storage. */
void store_found(struct store *s, struct model_stream *stream);

/**
 * Writes the metadata that explains less than is stored, as far as its bytes allow it now; or `all`: that explains less
 * than was declared, too. What fails makes the store fail, and is tried again.
 */
void store_tidy(struct store *s, const struct model *m, bool all);

/** Writes a node's metadata anew, now. Returns 0 or an errno value. */
int store_metadata(struct store *s, struct model_node *node) BEZEL_MUST_CHECK;

/**
 * Keeps the bytes of `path`, a file of the trace, from `at` on in `<run>/damaged/`, in a file called after both; `kept`
 * gets its name. Returns 0 or an errno value.
 */
int store_keep_damaged(const struct store *s, const char *path, uint64_t at, char *kept, size_t size) BEZEL_MUST_CHECK;

/** The errno that the store fails with, 0 where it does not; *path, if not NULL, gets the file that it failed on. */
int store_failure(const struct store *s, const char **path);

/** Whether a failing store became worth trying again now: senders should be told to resend. */
bool store_retry(struct store *s, int64_t now);

/** Tells the store of a write failure elsewhere in the run directory (the database's). `now` as for store_retry(). */
void store_fail(struct store *s, int sys, const char *path);

#endif
