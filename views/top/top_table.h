// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The tables of `bezel top`: the columns of each view, in which order and which rows are shown, and cells as text. Only
 * cells that are visible are made. Pure, but for the memory of the caller.
 */
#ifndef BEZEL_VIEWS_TOP_TOP_TABLE_H
#define BEZEL_VIEWS_TOP_TOP_TABLE_H

#include "views/top/top_state.h"

enum top_kind {
    TOP_IS_TEXT,  /* texts[from] */
    TOP_IS_MADE,  /* top_data.make() */
    TOP_IS_COUNT, /* values[from], as the rest */
    TOP_IS_WHOLE, /* with all its digits */
    TOP_IS_BYTES, /* a second */
    TOP_IS_PERCENT,
    TOP_IS_DURATION, /* ns */
    TOP_IS_VALUE,    /* in the item's unit */
    TOP_IS_CLOCK,    /* ns since 1970, as the time of the day */
};

struct top_column {
    const char *title;
    unsigned width; /* of the narrowest terminal; the one that `grows` takes what is left over */
    enum top_kind kind;
    unsigned from;
    bool grows;
};

/** The columns of a view. */
const struct top_column *top_table_columns(enum top_view view, size_t *count);

/** "nodes" and so on. */
const char *top_table_name(enum top_view view);

/** How a view is sorted at first; whether the largest of a column are wanted first. */
struct top_sort top_table_sort_first(enum top_view view);
bool top_table_sorts_down(enum top_view view, size_t column);

/**
 * Fills `order`, which has room for d->count numbers, with those of the rows that `filter` lets through, sorted. A
 * filter is a part of a row's texts, without regard to case; or, with one of * ? [, a glob on one of them. Returns how
 * many.
 */
size_t top_table_order(const struct top_data *d, struct top_sort sort, const char *filter, uint32_t *order);

/** The text of a cell, plain UTF-8 without control characters. */
void top_table_cell(const struct top_data *d, const struct top_item *item, const struct top_column *c, char *text,
                    size_t size);

/** A number in a few characters: "12345", "1.23M", "-". */
struct units_text top_number(double value);

/** A number with its unit, durations as durations. `unit` may be NULL. */
struct units_text top_value(double value, const char *unit);

/** The time of the day, local, with `digits` of a second, at most 9: "22:13:20.500". */
struct units_text top_clock(int64_t ns, unsigned digits);

#endif
