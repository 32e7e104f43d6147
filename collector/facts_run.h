// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the living collector writes into the run's database, and how it reads it back when it starts again. Rows join
 * the transaction that is open; facts_commit() makes them lasting. All return 0 or the errors of facts_open().
 */
#ifndef BEZEL_COLLECTOR_FACTS_RUN_H
#define BEZEL_COLLECTOR_FACTS_RUN_H

#include "collector/facts.h"
#include "collector/model.h"

/** For the collector, which must not wait long for other users; `sync`: commits reach stable storage. */
int facts_serve(struct facts *f, bool sync) BEZEL_MUST_CHECK;

int facts_commit(struct facts *f) BEZEL_MUST_CHECK;

/** Whether rows were lost to a failed write, so that derived ones must be written anew (facts_clear_derived()). */
bool facts_lacks(const struct facts *f);

/** The fact that holds how many packets and messages were refused. */
#define FACTS_REFUSED "collector.refused"

/**
 * The fact that says when, ns of CLOCK_REALTIME, a collector ended with all that it stored saved: database, metadata
 * and files agree as long as it stands. Whoever starts on the run again takes it away before anything else; "" then.
 */
#define FACTS_FINISHED "collector.finished"
/** The facts that hold how many processes were refused as they were, and how many records these counted. */
#define FACTS_UNTAKEN         "collector.untaken"
#define FACTS_UNTAKEN_RECORDS "collector.untaken-records"

/** The fact that says what starts of the collector found damaged. */
#define FACTS_DAMAGED "collector.damaged"

/** Copies the value of `key` into `value`; BEZEL_ENOENT where there is none. */
int facts_get(struct facts *f, const char *key, char *value, size_t size) BEZEL_MUST_CHECK;

/** Adds a node or process, filling its `row`, and commits. */
int facts_add_node(struct facts *f, struct model_node *node) BEZEL_MUST_CHECK;
int facts_add_process(struct facts *f, struct model_process *process, const void *dictionary,
                      size_t n) BEZEL_MUST_CHECK;

/** Replaces a process's dictionary by a larger one and commits. */
int facts_set_dictionary(struct facts *f, const struct model_process *process, const void *dictionary,
                         size_t n) BEZEL_MUST_CHECK;

/** Writes whether a node has left, within the open transaction. */
int facts_save_node(struct facts *f, const struct model_node *node) BEZEL_MUST_CHECK;

/** Writes state, books, kinds, latency and streams of a process as the model has them. */
int facts_save_process(struct facts *f, const struct model_process *process) BEZEL_MUST_CHECK;

/** Adds what a packet or a record of a built-in aspect says. */
int facts_add_loss(struct facts *f, const struct model_process *process, const struct packet_header *h,
                   uint64_t count) BEZEL_MUST_CHECK;
int facts_add_builtin(struct facts *f, const struct model_process *process,
                      const struct packet_record *r) BEZEL_MUST_CHECK;

/**
 * Adds what a node has to tell of its processes, once however often it comes; beyond FACTS_NOTES_MAX of a node nothing
 * more.
 */
enum { FACTS_NOTES_MAX = 1024 };
int facts_add_note(struct facts *f, const struct model_node *node, const struct message_note *note) BEZEL_MUST_CHECK;

/** Deletes all rows that are made of packets one by one, and forgets that such rows are lacking. */
int facts_clear_derived(struct facts *f) BEZEL_MUST_CHECK;

/** Deletes where streams stand, which is saved with their processes. */
int facts_clear_streams(struct facts *f) BEZEL_MUST_CHECK;

/**
 * Fills an empty model with the nodes and processes of the database, with dictionaries, state, latency and what BOOKS
 * said, but without what is derived from packets.
 */
int facts_load(struct facts *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Makes the streams that the database has of the loaded model `m`, each with what was saved of it, and fills in how
 * many records of each process the books say are stored.
 */
int facts_load_streams(struct facts *f, struct model *m) BEZEL_MUST_CHECK;

/**
 * Opens the database of a run for reading it, as it is now: for facts_get(), facts_load*() and facts_check(). Nothing
 * is written. Returns as facts_open(), or BEZEL_ENOENT.
 */
int facts_open_read(const char *run, struct facts **f) BEZEL_MUST_CHECK;

/** Lets what facts_open_read() opened see the database as it is now: 1 where somebody has written since, 0, or an
 * error. */
int facts_refresh(struct facts *f) BEZEL_MUST_CHECK;

/** Opens an empty database in a temporary file of its own, for rows that are to be compared. */
int facts_open_scratch(struct facts **f) BEZEL_MUST_CHECK;

/**
 * Compares all tables that are made of packets, row by row. Returns 0 where they are the same; 1 with *text, of `size`
 * bytes, where `run` has other rows than `right`; or an error.
 */
int facts_compare(struct facts *run, struct facts *right, char *text, size_t size) BEZEL_MUST_CHECK;

/** Looks at every page. Returns 0, or BEZEL_EMALFORMED where the database contradicts itself. */
int facts_check(struct facts *f) BEZEL_MUST_CHECK;

/**
 * Histograms as blobs: non-empty buckets as (number: u32, count: u64), big-endian, after the maximum (u64).
 * facts_pack() returns the bytes written into `blob` of at least FACTS_HISTOGRAM_MAX; facts_unpack() returns 0 or
 * BEZEL_EMALFORMED.
 */
enum { FACTS_HISTOGRAM_MAX = 8 + 12 * HISTOGRAM_BUCKETS };
size_t facts_pack(const struct histogram *h, uint8_t *blob);
int facts_unpack(const void *blob, size_t n, struct histogram *h) BEZEL_MUST_CHECK;

#endif
