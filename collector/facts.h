// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run's facts in SQLite, `<run>/run.db`: the one user of SQLite is collector/facts*.c and collector/summary*.c. The
 * schema stands in facts.c. While a run lives the collector owns the database; before and after, `bezel` adds what it
 * knows. Well-known keys of facts: run (UUID), name, started, ended (CLOCK_REALTIME ns), ended_by (duration, processes,
 * interrupt, failure), versions.*, host.*.
 */
#ifndef BEZEL_COLLECTOR_FACTS_H
#define BEZEL_COLLECTOR_FACTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct facts;

/**
 * Opens or creates the database of run directory `run`. Returns 0 with *f for facts_close, BEZEL_ENOSPC, BEZEL_EPERM,
 * ...
 */
int facts_open(const char *run, struct facts **f) BEZEL_MUST_CHECK;

/** Commits and closes. NULL is allowed. Returns 0, with errno as it was, or the error of the last commit, with its
 * errno. */
int facts_close(struct facts *f);

/**
 * The sentence of `err`, which opening or reading a run's database in this thread returned just now, without its dot;
 * until the next one.
 */
const char *facts_why(int err);

/** From now on commits, and the end, reach stable storage before they return. */
int facts_lasting(struct facts *f) BEZEL_MUST_CHECK;

/** Sets fact `key`. */
int facts_put(struct facts *f, const char *key, const char *value) BEZEL_MUST_CHECK;
int facts_put_int(struct facts *f, const char *key, int64_t value) BEZEL_MUST_CHECK;

/** Adds a line to what the operator was told at `at`, ns of CLOCK_REALTIME. */
int facts_event(struct facts *f, int64_t at, bool error, const char *text) BEZEL_MUST_CHECK;

/** The fact that says that draining was given up: what a node still held then is lost. */
#define FACTS_UNDRAINED "undrained"

/** The fact that says that the resource manager was given up: limits on the whole are not judged from then on. */
#define FACTS_UNMANAGED "unmanaged"

/** The fact that says how often limits broke that would have started a snapshot, while one was under way. */
#define FACTS_SNAPSHOTS_REFUSED "snapshots.refused"

/** The code of a process that the collector refuses; about the node where the run has had too many processes. */
#define FACTS_PROCESS_REFUSED "BEZEL-REFUSED"

/** In the books, the name of all aspects of a process that its dictionary does not explain. */
#define FACTS_UNEXPLAINED "(not in its dictionary)"

/** The code of a process that has no segment. */
#define FACTS_NO_SEGMENT "BEZEL-NO-SEGMENT"

/**
 * Notes that process `name`, which was launched on node `node` as `pid` (0: which was to be attached to there),
 * recorded nothing, with sentence `text`; not where it did record, or has said itself why not.
 */
int facts_silent(struct facts *f, const char *node, const char *name, int64_t pid, const char *text) BEZEL_MUST_CHECK;

#endif
