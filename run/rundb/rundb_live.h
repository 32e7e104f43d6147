// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The rows that the collector writes during a run, and how it loads them when it starts again. Rows join the open
 * transaction; rundb_commit() ends it. Functions return 0 or the errors of rundb_open().
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_LIVE_H
#define BEZEL_RUN_RUNDB_RUNDB_LIVE_H

#include "run/model/run_model.h"
#include "run/rundb/rundb.h"

struct message_note;

/** Prepares for a collector: waits only RUNDB_SERVE_BUSY_MS for other users. `sync`: as rundb_lasting(). */
int rundb_serve(struct rundb *f, bool sync) BEZEL_MUST_CHECK;

int rundb_commit(struct rundb *f) BEZEL_MUST_CHECK;

/** Whether a write has failed, so that derived rows are missing and must be written anew (rundb_clear_derived()). */
bool rundb_lacks(const struct rundb *f);

/** Property: how many packets and messages were refused. */
#define RUNDB_REFUSED "collector.refused"

/**
 * Property: when, ns of CLOCK_REALTIME, a collector ended with everything saved. While it is set, database, metadata
 * and files agree. The next collector on the run sets it to "" before anything else.
 */
#define RUNDB_FINISHED "collector.finished"

/** Whether it is set in the database of run directory `run`. False also where there is none, or none that can be read.
 */
bool rundb_has_finished(const char *run);

/** Property: a checksum over the rows, made by the last writer of a run that is at rest (rundb_seal()). */
#define RUNDB_SEAL "seal"
enum { RUNDB_SEAL_MAX = 48 };

/**
 * Seals the database within the transaction, if RUNDB_FINISHED is set: what is written later breaks the seal. A writer
 * calls it last; rundb_close() does, if it has something to commit.
 */
int rundb_seal(struct rundb *f) BEZEL_MUST_CHECK;

/**
 * Whether the rows are those that were sealed: RUNDB_BROKEN: some were changed; RUNDB_UNSEALED: it has no seal for its
 * RUNDB_FINISHED. Or an error; `bounded`: also where it takes longer than reading may.
 */
enum rundb_sealed { RUNDB_SEALED, RUNDB_BROKEN, RUNDB_UNSEALED };
int rundb_check_seal(struct rundb *f, bool bounded) BEZEL_MUST_CHECK;

/**
 * Property: when, ns of CLOCK_REALTIME, rows were last deleted or updated of tables that otherwise only grow: losses,
 * events, built-in aspects. A copy of these tables (rundb_changes.h) is made anew then. Missing: never.
 */
#define RUNDB_REWRITTEN "rewritten"

/** Properties: how many unknown processes were refused for good, and how many records their last books count. */
#define RUNDB_UNTAKEN         "collector.untaken"
#define RUNDB_UNTAKEN_RECORDS "collector.untaken-records"

/** Property: the damage that collectors found when they started on the run. */
#define RUNDB_DAMAGED "collector.damaged"

/**
 * Properties of a run of which records end at the collector (collector/evaluate/evaluate_thin.c). RUNDB_REDUCED and
 * PROCESS.ASPECT, a row and an id: how many, whose values are in the others. RUNDB_INTERVAL and a number from 0 on: a
 * row of times (run/model/interval_times.h). RUNDB_INTERVAL_COUNTS and a metric's number: its counts.
 */
#define RUNDB_REDUCED         "collector.reduced."
#define RUNDB_INTERVAL        "collector.interval."
#define RUNDB_INTERVAL_COUNTS "collector.interval-counts."

/** Copies the value of property `key` into `value`. Returns BEZEL_ENOENT if there is none. */
int rundb_get(struct rundb *f, const char *key, char *value, size_t size) BEZEL_MUST_CHECK;

/** The same of the database of run directory `run`. Also returns as rundb_open_read(). */
int rundb_read(const char *run, const char *key, char *value, size_t size) BEZEL_MUST_CHECK;

/** When run directory `run` started, by its database, or where no program was told to start, when it began: *ns of
 * CLOCK_REALTIME, 0: neither is there, or no database. Returns 0, or as rundb_open_read(). */
int rundb_read_start(const char *run, int64_t *ns) BEZEL_MUST_CHECK;

/** Adds a node or process, sets its `row`, and commits. `dictionary`: its `n` bytes as in PROCESS. */
int rundb_add_node(struct rundb *f, struct model_node *node) BEZEL_MUST_CHECK;
int rundb_add_process(struct rundb *f, struct model_process *process, const void *dictionary,
                      size_t n) BEZEL_MUST_CHECK;

/** Replaces a process's dictionary by a larger one and commits. */
int rundb_set_dictionary(struct rundb *f, const struct model_process *process, const void *dictionary,
                         size_t n) BEZEL_MUST_CHECK;

/** Writes whether a node has left, its unobserved processes, and the ways by which its packets came. */
int rundb_save_node(struct rundb *f, const struct model_node *node) BEZEL_MUST_CHECK;

/** Which aspects' statistics of fields are written: one of every `every`, in turn. */
struct rundb_share {
    uint64_t every, turn;
};
#define RUNDB_ALL ((struct rundb_share){.every = 1})

/**
 * Writes state, latency and books of a process; and its streams, and the statistics of fields that are not saved, as
 * far as they belong to `share`, unless it waits for a sync: has bytes that a power failure can still lose.
 */
int rundb_save_process(struct rundb *f, const struct model_process *process, struct rundb_share share) BEZEL_MUST_CHECK;
bool rundb_waits_for_sync(const struct model_process *process);

static inline bool rundb_shares(struct rundb_share share, const struct model_process *process, uint32_t aspect)
{
    return ((uint64_t)process->row + aspect + share.turn) % share.every == 0;
}

/** Adds a row for the loss of `count` records that packet `h` counts, or for record `r` of a built-in aspect. */
int rundb_add_loss(struct rundb *f, const struct model_process *process, const struct packet_header *h,
                   uint64_t count) BEZEL_MUST_CHECK;
int rundb_add_builtin(struct rundb *f, const struct model_process *process,
                      const struct packet_record *r) BEZEL_MUST_CHECK;

/** Adds a note of a node about one of its processes; a repeated one once, and at most RUNDB_NOTES_MAX for a node. */
enum { RUNDB_NOTES_MAX = 1024 };
int rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note) BEZEL_MUST_CHECK;

/** Deletes all rows that single packets make, but for packets that expired, and clears rundb_lacks(). */
int rundb_clear_derived(struct rundb *f) BEZEL_MUST_CHECK;

/** Deletes the rows of streams, which are saved with their processes. */
int rundb_clear_streams(struct rundb *f) BEZEL_MUST_CHECK;

/**
 * Fills an empty model with the nodes and processes of the database, their dictionaries, state, latency and the counts
 * of their BOOKS, or (m->uncounted) with names of threads in place of these two; not with anything that is derived from
 * packets.
 */
int rundb_load(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/** Loads the names of threads (m->uncounted) anew, which become more while the run goes on. */
int rundb_load_threads(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Adds the streams of the database to the loaded model `m`, with their saved values, and sets saved_stored of each
 * process from its books.
 */
int rundb_load_streams(struct rundb *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Opens the database of a run as it is now, read-only, for rundb_get(), rundb_load*() and rundb_check(). Returns as
 * rundb_open(), or BEZEL_ENOENT.
 */
int rundb_open_read(const char *run, struct rundb **f) BEZEL_MUST_CHECK;

/** Moves a database of rundb_open_read() to its present state. Returns 1 where that has changed, 0, or an error. */
int rundb_refresh(struct rundb *f) BEZEL_MUST_CHECK;

/** Opens an empty database in a temporary file of its own, for rows to compare with. */
int rundb_open_scratch(struct rundb **f) BEZEL_MUST_CHECK;

/**
 * Compares all tables that are derived from packets, row by row. Returns 0 where they are the same; 1 with the first
 * difference as a sentence in `text`, of `size` bytes; or an error. `right`: made from the trace.
 */
int rundb_compare(struct rundb *run, struct rundb *right, char *text, size_t size) BEZEL_MUST_CHECK;

/** Checks every page. Returns 0, BEZEL_EMALFORMED where the database contradicts itself, or an error. */
int rundb_check(struct rundb *f) BEZEL_MUST_CHECK;

#endif
