// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes records as they come, each as a line: for people, as CSV, or as JSON lines (docs/REPORT.md). Errors of the
 * stream show in ferror(). One owner.
 */
#ifndef BEZEL_EXPORT_RECORD_WRITER_H
#define BEZEL_EXPORT_RECORD_WRITER_H

#include "run/read/record_filter.h"
#include "run/read/record_item.h"

#include <stdio.h>

enum record_writer_format { RECORD_WRITER_TEXT, RECORD_WRITER_CSV, RECORD_WRITER_JSONL };

struct record_writer;

/**
 * Begins with the heading, which CSV has: a column for each name of a field in `m` that `filter` lets through.
 * `ordered`: the records come in one order, and it is said of each whether that is proven. Borrows `out`. Returns 0
 * with *w for record_writer_close(), or BEZEL_ENOMEM.
 */
int record_writer_open(FILE *out, enum record_writer_format format, const struct model *m,
                       const struct record_filter *filter, bool ordered, struct record_writer **w) BEZEL_MUST_CHECK;
void record_writer_close(struct record_writer *w);

/** Writes a record; as text for people also a loss, which the other formats leave out. */
void record_writer_put(struct record_writer *w, const struct record_item *item);

/** Items belong to another model from now on. */
void record_writer_forget(struct record_writer *w);

/** How many values CSV left out, because the run had no field of their names when the heading was written. */
uint64_t record_writer_left_out(const struct record_writer *w);

/** "proven" and so on; "" of a record that is not in order. */
const char *record_writer_proof(enum record_proof proof);

#endif
