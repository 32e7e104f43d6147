// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The monitor's own records as structs of mdr/builtin.h, from rows of run.db or from the trace. Pure. */
#ifndef BEZEL_RUN_HISTORY_HISTORY_DECODE_H
#define BEZEL_RUN_HISTORY_HISTORY_DECODE_H

#include "mdr/builtin.h"
#include "mdr/packet.h"

struct sqlite3_stmt;

/** Gives a text that column `at` has. */
typedef const char *history_decode_text(void *context, struct sqlite3_stmt *s, int at);

/**
 * Fill `record`, a struct builtin_<name> of aspect `b`, but for its node. Times and durations are clamped
 * (saturate_ns()). Of a row, column `first` is `at`, and the fields follow; texts are those of `text`. Texts of a
 * record are NULL.
 */
void history_decode_row(struct sqlite3_stmt *s, int first, enum builtin b, void *record, history_decode_text *text,
                        void *context);
void history_decode_record(const struct packet_record *r, enum builtin b, void *record);

#endif
