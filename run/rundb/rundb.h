// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run database, `<run>/run.db`, in SQLite, which only run/rundb/ uses. The schema is in rundb.c. During a run
 * the collector writes it; before and after, `bezel` adds properties, events and notes. Keys of properties: run (UUID),
 * name, started, ended (CLOCK_REALTIME, ns), ended_by (duration, processes, interrupt, failure), versions.*, host.*.
 *
 * One thread for each struct. Functions block on the disk and on other users of the database, and return 0 or an error;
 * errno is set where it is BEZEL_ESYS.
 */
#ifndef BEZEL_RUN_RUNDB_RUNDB_H
#define BEZEL_RUN_RUNDB_RUNDB_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct message_launched;

struct rundb;

/**
 * Opens or creates the database of run directory `run`. Returns 0 with *f for rundb_close(), BEZEL_ENOSPC, BEZEL_EPERM,
 * or another error, which rundb_why() explains.
 */
int rundb_open(const char *run, struct rundb **f) BEZEL_MUST_CHECK;

/** Commits and closes. NULL is allowed. Returns 0, with errno unchanged, or the commit's error, with its errno. */
int rundb_close(struct rundb *f);

/**
 * A sentence, without its dot, about `err`, which the last opening or reading of a run database in this thread
 * returned. Valid until the next such call.
 */
const char *rundb_why(int err);

/** Makes commits and rundb_close() return only when the data is in stable storage, from now on. */
int rundb_lasting(struct rundb *f) BEZEL_MUST_CHECK;

/** Sets property `key`. */
int rundb_put(struct rundb *f, const char *key, const char *value) BEZEL_MUST_CHECK;
int rundb_put_int(struct rundb *f, const char *key, int64_t value) BEZEL_MUST_CHECK;

/**
 * Properties, ns of CLOCK_REALTIME: when `bezel run` began; and the run's start, which is written once, when the first
 * program is told to start.
 */
#define RUNDB_BEGUN   "begun"
#define RUNDB_STARTED "started"

/** Property: the inode of the run directory that `bezel run` made: a copy has another one. */
#define RUNDB_INODE "inode"

/** Property: when the run ended, ns of CLOCK_REALTIME. A run that neither goes on nor has it was aborted. */
#define RUNDB_ENDED "ended"

/** Adds an event: a message of `bezel run` to the operator at `at`, ns of CLOCK_REALTIME. */
int rundb_event(struct rundb *f, int64_t at, bool error, const char *text) BEZEL_MUST_CHECK;

/**
 * Properties: the clock of the run, by clock_identity() as a UUID, and what the run's time is ahead of it, ns. Set by
 * the run's first collector (run/model/run_clock.h).
 */
#define RUNDB_CLOCK       "clock"
#define RUNDB_CLOCK_AHEAD "clock.ahead"

/**
 * Properties: how readers bring records into one order (config/order_settings.h): a word, bytes, ns. Each is missing
 * where it is the default. Set by the run's first collector.
 */
#define RUNDB_ORDER_BUFFERS "order.buffers"
#define RUNDB_ORDER_MEMORY  "order.memory"
#define RUNDB_ORDER_WAIT    "order.wait"

/** Property: the checksum of the file experiment.yaml with which the run was made: reports read that file again. */
#define RUNDB_EXPERIMENT "experiment"
enum { RUNDB_EXPERIMENT_MAX = 24 };

/** Makes it of the file in run directory `run` as it is now. Returns 0, or an error with errno. */
int rundb_sum_experiment(const char *run, char sum[RUNDB_EXPERIMENT_MAX]) BEZEL_MUST_CHECK;

/**
 * Property of each node, with its row behind the dot: by which ways packets came that were stored, as a sum of these:
 * by the link, and directly out of its window (mdr/uplink/direct.h). Missing: none was stored, or before there were
 * two.
 */
#define RUNDB_WAYS "ways."
enum { RUNDB_WAY_LINK = 1, RUNDB_WAY_DIRECT = 2, RUNDB_WAYS_KEY = 32 };
const char *rundb_ways_key(int64_t row, char key[RUNDB_WAYS_KEY]);

/** Property: draining was given up, so records that nodes still held are lost. */
#define RUNDB_UNDRAINED "undrained"

/**
 * Property: where it is not known that all programs of the run have ended, because no launcher has said so: phrases
 * such as "on node desk1", separated by commas.
 */
#define RUNDB_UNENDED "unended"

/** Property: the resource manager was given up, so global limits are not judged from then on. */
#define RUNDB_UNMANAGED "unmanaged"

/**
 * Property: a collector did not end in order, and none has read the stored trace since: the books may have less than
 * that, unless RUNDB_FINISHED is set.
 */
#define RUNDB_BEHIND "behind"

/**
 * Property: the run was made out of a trace of another tool (`bezel import`); by whom and as what that was written. Its
 * books have what the source counted.
 */
#define RUNDB_IMPORTED "imported"

/** Property: how many violations started no snapshot, because one was being taken. */
#define RUNDB_SNAPSHOTS_REFUSED "snapshots.refused"

/** Code of the note about a process that the collector refuses; about a node: the run has had too many processes. */
#define RUNDB_PROCESS_REFUSED "BEZEL-REFUSED"

/** Name, in the books, of all aspects that the process's dictionary does not have. */
#define RUNDB_UNEXPLAINED "(not in its dictionary)"

/** Code of the note about a process that has no segment. */
#define RUNDB_NO_SEGMENT "BEZEL-NO-SEGMENT"

/**
 * Adds what became of an incarnation of a program that the run has started on node `node`. `missing`: bytes of its
 * output that could not be had.
 */
int rundb_program(struct rundb *f, const char *node, const struct message_launched *row,
                  uint64_t missing) BEZEL_MUST_CHECK;

/**
 * Adds note RUNDB_NO_SEGMENT, with sentence `text`, about process `name`, which was launched on node `node` as `pid`
 * (0: it was to be attached to). Does nothing if the process has recorded, or has such a note already.
 */
int rundb_silent(struct rundb *f, const char *node, const char *name, int64_t pid, const char *text) BEZEL_MUST_CHECK;

/**
 * Notes of rundb_silent() that were written before the rows of the collector came (rundb_apply.h): gives them their
 * nodes, and deletes those that would not be written now. `node_of` gives the node of a process by its name, NULL where
 * there is none.
 */
int rundb_place_silent(struct rundb *f, const char *(*node_of)(const void *context, const char *process),
                       const void *context) BEZEL_MUST_CHECK;

#endif
