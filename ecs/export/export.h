// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What `bezel export` hands out of a run, also while the run is being written: committed packets only, never a torn
 * tail.
 */
#ifndef BEZEL_ECS_EXPORT_H
#define BEZEL_ECS_EXPORT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

/** Marks a directory that an export made, so that the next one may replace it and nothing else. */
#define EXPORT_MARK ".bezel-export"

/**
 * Copies the trace of run directory `run`, as it stands, to directory `target`: one CTF trace for each node, which
 * babeltrace2 reads as a whole; an empty trace where nothing is stored yet. `merged`: one stream for each node, its
 * records in the order of time, in place of one for each ring. An export that stands there is replaced in one step; its
 * readers should have finished. Returns 0, or, with `target` as it was and after saying why on stderr: BEZEL_EBUSY
 * where something else stands there, BEZEL_ENOENT where `run` is none, or the error of a system call.
 */
int export_trace(const char *run, const char *target, bool merged) BEZEL_MUST_CHECK;

enum export_format { EXPORT_CSV, EXPORT_JSONL };

/**
 * Writes the committed records of `run` to `out`, one a line: stream by stream, each in the order of time. Returns 0,
 * or an error after saying on stderr what it is.
 */
int export_records(const char *run, enum export_format format, FILE *out) BEZEL_MUST_CHECK;

#endif
