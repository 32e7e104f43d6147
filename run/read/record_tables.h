// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a report reads from the records of a run: messages, counters and labels, in one pass over the records that any
 * of them needs. One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_READ_RECORD_TABLES_H
#define BEZEL_RUN_READ_RECORD_TABLES_H

#include "run/read/counter_statistics.h"
#include "run/read/label_statistics.h"
#include "run/read/message_statistics.h"

struct record_tables {
    struct message_table messages;
    struct counter_table counters;
    struct label_table labels;
};

struct record_tables_wanted {
    bool messages, labels;
    bool (*counts)(const char *aspect, const char *field); /* which fields are counters; NULL: no counters are wanted */
};

/**
 * Reads run directory `run`, finished or growing, for at most `budget_ns` (INT64_MAX: to its end): `records` of the
 * tables are fewer than those stored where that was too short, and the counters are cut. Returns 0, or an error as
 * run_reader_open(); in both cases *t is for record_tables_free().
 */
int record_tables_read(const char *run, const struct record_tables_wanted *w, int64_t budget_ns,
                       struct record_tables *t) BEZEL_MUST_CHECK;
void record_tables_free(struct record_tables *t);

#endif
