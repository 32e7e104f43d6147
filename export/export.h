// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** `bezel export`: the trace or the records of a run, also while it goes on. Only complete, committed packets. */
#ifndef BEZEL_EXPORT_EXPORT_H
#define BEZEL_EXPORT_EXPORT_H

#include "base/err.h"
#include "run/read/record_filter.h"

#include <stdbool.h>
#include <stdio.h>

/** File that marks a directory as an export: only such a directory, or an empty one, is replaced. */
#define EXPORT_MARK ".bezel-export"

/**
 * Copies the present trace of run directory `run` to directory `target`: a CTF trace for each node, all of which
 * babeltrace2 reads together; an empty trace if nothing is stored yet. `merged`: one stream for each node, with its
 * records in order of time, instead of one for each ring. An earlier export at `target` is replaced in one step; its
 * readers should have finished. Returns 0. On error it logs the reason and leaves `target` as it was: BEZEL_EBUSY if
 * `target` exists and is not an export, BEZEL_ENOENT if `run` is not a run directory, or the error of a system call.
 */
int export_trace(const char *run, const char *target, bool merged) BEZEL_MUST_CHECK;

enum export_format { EXPORT_CSV, EXPORT_JSONL };

/**
 * Writes the committed records of `run` that `filter` lets through to `out`, one a line: stream by stream, each in
 * order of time, the programs' before the monitor's; if `merged`, all in the order of the run's time, with a word for
 * each on whether that order is proved. Returns 0, or an error, which it logs: BEZEL_EINVAL where the filter's
 * condition makes no sense for the run.
 */
int export_records(const char *run, enum export_format format, bool merged, const struct record_filter *filter,
                   FILE *out) BEZEL_MUST_CHECK;

/**
 * Writes the committed records of `run` that `filter` lets through, in one order, and the losses among them, to `out`
 * as a trace for Perfetto (export/perfetto.h). `all`: with all that the monitor recorded about itself. Returns as
 * export_records().
 */
int export_perfetto(const char *run, const struct record_filter *filter, bool all, FILE *out) BEZEL_MUST_CHECK;

/**
 * Writes the same as lines of a PICL trace (export/picl.h), in order of time, by sort(1), which keeps what it has no
 * memory for in $TMPDIR. Returns as export_records().
 */
int export_picl(const char *run, const struct record_filter *filter, FILE *out) BEZEL_MUST_CHECK;

/** A file that goes into an MCAP file beside the records; borrowed. */
struct export_attachment {
    const char *name, *media; /* media: as MIME has it, "text/plain" */
    const void *data;
    size_t n;
};

/**
 * Writes the committed records of `run` that `filter` lets through, in one order, and the losses among them, to `out`
 * as an MCAP file (export/mcap.h) with these attachments. Returns as export_records().
 */
int export_mcap(const char *run, const struct record_filter *filter, const struct export_attachment *attachments,
                size_t count, FILE *out) BEZEL_MUST_CHECK;

/**
 * Writes the same as CSV into directory `target`: a file ASPECT.csv for each aspect that has a record, whose first line
 * has the units. export_database(): stream by stream into the database records.db there, for SQLite, with a table for
 * each aspect. `target` is made, or replaced, as by export_trace(). Both return 0 or an error, which they log,
 * likewise.
 */
int export_files(const char *run, bool merged, const struct record_filter *filter, const char *target) BEZEL_MUST_CHECK;
int export_database(const char *run, const struct record_filter *filter, const char *target) BEZEL_MUST_CHECK;

#endif
