// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run's trace on disk: packets, appended to one file for each stream, `trace/<node>/<process>-<pid>-<ring>`, and
 * the metadata of each node. Metadata is written before the first packet that needs it, or soon after where new
 * processes come by the hundred. A packet is complete in its file or not there: the store removes the rest of a failed
 * write.
 *
 * The policy says when packets reach stable storage: never; before each acknowledgement; or at an interval, and at the
 * latest when STORE_SYNC_BYTES wait, and then acknowledgements wait for it (store_sync_due()). The store syncs bytes
 * first, then the directories that name them. A power failure can lose only packets that were not synced.
 *
 * When space runs out the store is *failing*: it stores nothing until store_retry() finds room again, which it tries
 * every STORE_RETRY at most. At the first failure it frees a reserve of STORE_RESERVE bytes, so that database and
 * metadata can be finished. Packets get none of the reserve: they are stored again when STORE_ROOM is free.
 *
 * One thread. SIGXFSZ must be ignored.
 */
#ifndef BEZEL_RUN_STORE_STORE_H
#define BEZEL_RUN_STORE_STORE_H

#include "base/clock.h"
#include "config/experiment.h"
#include "run/model/run_model.h"

enum {
    STORE_OPEN_MAX = 4096,                    /* descriptors of stream files: as many as a node has streams */
    STORE_RESERVE = 1 << 20,                  /* bytes */
    STORE_ROOM = STORE_RESERVE + (256 << 10), /* more than a packet's */
    STORE_RETRY = 500000000,                  /* ns */
    STORE_SYNC_BYTES = EXPERIMENT_SYNC_BYTES,
    STORE_PUSH_BYTES = 16 << 20,    /* bytes of a stream after which the kernel begins to write them, by any policy */
    STORE_METADATA_BURST = 8 << 20, /* bytes of metadata that may be written at once ... */
    STORE_METADATA_RATE = 8 << 20,  /* ... and in a second */
};

#define STORE_SYNC_NEVER (-1)

struct store;

/**
 * Opens the store in run directory `run`, making `trace/` where it is missing. `sync`: ns between syncs; 0: before each
 * acknowledgement; or STORE_SYNC_NEVER. Returns 0 with *s for store_close, or BEZEL_ENOSPC, BEZEL_EPERM, BEZEL_ESYS
 * with errno set.
 */
int store_open(const char *run, int64_t sync, struct store **s) BEZEL_MUST_CHECK;

/**
 * Closes the files of all streams. Returns 0; or, where nothing is synced, an error with errno: the file system has
 * lost a part of what it took of store_failure()'s file, or of others.
 */
int store_settle(struct store *s) BEZEL_MUST_CHECK;

/** Closes all files, also of streams, and frees the reserve. NULL is allowed. */
void store_close(struct store *s);

/**
 * Writes into `path` the directory of a node's trace or, if `stream` is not NULL, the file of that stream. Returns 0,
 * or BEZEL_EINVAL if `size` bytes do not suffice.
 */
int store_path(const struct store *s, const struct model_node *node, const struct model_stream *stream, char *path,
               size_t size) BEZEL_MUST_CHECK;

/**
 * Appends `n` bytes, one packet, to the file of `stream`, and updates the stream's bytes, unsynced and fd. If the
 * node's metadata does not explain the stream's process, it is written first; if it was written too often lately,
 * store_tidy() writes it later. Returns 0, or an error with nothing appended (BEZEL_ENOSPC and others of base/err.h):
 * the store is failing then.
 */
int store_append(struct store *s, struct model_stream *stream, const void *packet, size_t n) BEZEL_MUST_CHECK;

/**
 * Brings the bytes appended to `stream` to stable storage; does nothing if the policy is never. After it, the stream's
 * position may be acknowledged. Returns 0 or an error. On failure the kernel may have dropped the bytes: the store
 * fails for good, and nothing more may be acknowledged.
 */
int store_sync(struct store *s, struct model_stream *stream) BEZEL_MUST_CHECK;

/** Whether to sync and acknowledge at `now`, and the time at which to do so, by clock_now(); 0: at once. */
bool store_sync_due(const struct store *s, int64_t now);
int64_t store_sync_at(const struct store *s);

/** Begins a pause, or ends it: store_append() stores nothing meanwhile, and returns BEZEL_EAGAIN. */
void store_pause(struct store *s, bool paused);

/** Stops delaying acknowledgements, for good: the run ends soon. */
void store_hurry(struct store *s);

/** Marks a stream that was found on disk at the start as not synced. */
void store_found(struct store *s, struct model_stream *stream);

/**
 * Writes the metadata of nodes that explains less than is stored, within STORE_METADATA_RATE; with `all` without that
 * bound, and also the metadata that lacks only unused declarations. If a write fails the store is failing, and the next
 * call retries.
 */
void store_tidy(struct store *s, const struct model *m, bool all);

/** At the end: metadata gets the clocks by all exchanges of times, which are saved. */
void store_tidy_last(struct store *s, struct model *m);

/**
 * Frees what expired of a stream: the packets that stream->expired counts. Its cover is made first (cover.h).
 * Idempotent. Returns 0 or an errno value; the store does not fail.
 */
int store_expire(struct store *s, const struct model_stream *stream) BEZEL_MUST_CHECK;

/** Writes a node's metadata anew, now. Returns 0 or an errno value. */
int store_metadata(struct store *s, struct model_node *node) BEZEL_MUST_CHECK;

/**
 * Copies the bytes of `path`, a file of the trace, from offset `at` on into a file of `<run>/damaged/` that is named
 * after both. Writes its path into `kept`. Returns 0 or an errno value.
 */
int store_keep_damaged(const struct store *s, const char *path, uint64_t at, char *kept, size_t size) BEZEL_MUST_CHECK;

/** The errno with which the store fails, 0 if it does not. *path, if not NULL, gets the file that it failed on. */
int store_failure(const struct store *s, const char **path);

/** Whether a failing store can be tried again at `now`, so that nodes should send again. At most every STORE_RETRY. */
bool store_retry(struct store *s, int64_t now);

/** Makes the store fail with errno `sys`, after a failed write to `path` elsewhere in the run directory. */
void store_fail(struct store *s, int sys, const char *path);

#endif
