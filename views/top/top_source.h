// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Where `bezel top` has its data from: the records of a run through run/levels, and its database. What it gives
 * for a moment follows from what is stored of the run alone: it reads the records of the shown interval, and those of
 * the monitor from the three seconds before. So a live run, an ended one, and one that is scrolled back are shown by
 * the same code. One owner; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_SOURCE_H
#define BEZEL_VIEWS_TOP_TOP_SOURCE_H

#include "base/err.h"
#include "views/top/top_state.h"

enum {
    TOP_ITEMS_MAX = 1 << 16,
    TOP_QUANTILES_MAX = 1024, /* rows that have p50 and p99 at once */
    TOP_RECORDS_MAX = 1 << 12,
    TOP_EVENTS_SHOWN = 1 << 12,
};

struct top_source;

/** Opens run directory `run`. Returns 0 with *s, or an error of the database, which rundb_why() explains. */
int top_source_open(const char *run, struct top_source **s) BEZEL_MUST_CHECK;
void top_source_close(struct top_source *s);

/** The run's UUID as text; valid until the next update. */
const char *top_source_run(const struct top_source *s);

/** Takes in what is new, for some `budget` ns. Returns 1: there is more; 0; or an error, which rundb_why() explains. */
int top_source_update(struct top_source *s, int64_t budget) BEZEL_MUST_CHECK;

/**
 * Times of the first and the last packet that are stored, ns of the run's time, of streams that do not end in a time
 * that is still to come, if there are any; first > last: there is none.
 */
void top_source_range(const struct top_source *s, int64_t *first, int64_t *last);

/** All violations that are known, in the order of their begin. Valid until the next update. */
const struct top_violation *top_source_violations(const struct top_source *s, size_t *count);

/**
 * Fills `d` with what `state` asks for, but for the plot. Rows and texts are valid until the next call or update.
 * Returns 0, or an error.
 */
int top_source_take(struct top_source *s, const struct top_state *state, struct top_data *d) BEZEL_MUST_CHECK;

/**
 * Of the view of aspects: gives those of the `count` rows of numbers `rows` their p50 and p99, where there are more
 * than TOP_QUANTILES_MAX rows. Returns 0, or an error.
 */
int top_source_refine(struct top_source *s, const uint32_t *rows, size_t count) BEZEL_MUST_CHECK;

/** Fills the plot of row `item` (NULL: there is none) with `dots` parts. Returns 0, or an error. */
int top_source_plot(struct top_source *s, const struct top_state *state, const struct top_item *item, size_t dots,
                    struct top_data *d) BEZEL_MUST_CHECK;

#endif
