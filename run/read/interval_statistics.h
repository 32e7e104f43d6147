// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The intervals of an experiment over a run: how long each stage took, what is unmatched, and at any moment of the
 * reading the statistic of the window that ends there. One thread.
 */
#ifndef BEZEL_RUN_READ_INTERVAL_STATISTICS_H
#define BEZEL_RUN_READ_INTERVAL_STATISTICS_H

#include "run/model/interval_times.h"
#include "run/read/record_item.h"

struct interval_table {
    size_t count; /* by metric and end; the whole before its stages */
    struct interval_statistics *rows;
    struct interval_counts *counts; /* by metric */
    uint64_t records;               /* that were read */
    bool cut;                       /* there are more */
};

/** How many records of `aspect` process `row` has lost: at times that the losses in its streams show, or at any. */
struct interval_losses {
    uint64_t (*lost)(const void *of, int64_t row, const char *aspect, bool timed);
    const void *of;
};

struct interval_reading;

/** Borrows `e` and `losses`, for the intervals of `e`. NULL: no memory. interval_reading_end() frees it. */
struct interval_reading *interval_reading_new(const struct experiment *e, const struct interval_losses *losses);

/** Whether an interval has a part in aspect `a`. */
bool interval_reading_wants(const struct interval_reading *r, const struct dict_aspect *a);

/** Takes in, behind the first look, what the processes of `m` have lost at unknown times. */
void interval_reading_begin(struct interval_reading *r, const struct model *m);

/** Takes in a record or a loss; they come in order. False: no memory. */
bool interval_reading_take(struct interval_reading *r, const struct record_item *item);

/** The matcher of metric number `metric`; NULL: that is no interval. */
struct interval *interval_reading_of(const struct interval_reading *r, uint32_t metric);

/**
 * The time of the first record at position 0 behind which none came at the last position, whatever their keys, though
 * all were taken in: since then the interval may hang. INT64_MAX: there is none.
 */
int64_t interval_reading_since(const struct interval_reading *r, uint32_t metric);

/** A process or node that has values of its own (`per:`), and interval_reading_since() of its last records alone. */
struct interval_waits {
    uint32_t end; /* interval_end_of() */
    int64_t since;
    uint64_t times, shared; /* that it has, and of those the ones whose first record another of them ended as well */
};

/** *list: those of the metric. Returns their number. */
size_t interval_reading_waits(const struct interval_reading *r, uint32_t metric, const struct interval_waits **list);

/**
 * Gives the table, for interval_table_free(), and frees the reading. `ended`: when the run ended of which all records
 * were read, so what had no counterpart for a window is late, and not under way; INT64_MIN: they were not. Returns 0 or
 * BEZEL_ENOMEM.
 */
int interval_reading_end(struct interval_reading *r, int64_t ended, struct interval_table *t) BEZEL_MUST_CHECK;

/**
 * Of metrics of `e` whose records ended at the collector: puts into `t` what that has stored of them, in place of what
 * was read. `property` gives a property of the run; NULL: there is none. Returns 0, BEZEL_EMALFORMED or BEZEL_ENOMEM.
 */
int interval_table_take_stored(struct interval_table *t, const struct experiment *e,
                               const char *(*property)(const void *of, const char *key),
                               const void *of) BEZEL_MUST_CHECK;
void interval_table_free(struct interval_table *t);

#endif
