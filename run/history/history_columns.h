// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Values over a whole run in a bounded number of columns. Where there are too many, columns become twice as wide; they
 * lie on absolute powers of two of nanoseconds, so wider ones are those that the values themselves would make. Pure,
 * but for their memory.
 */
#ifndef BEZEL_RUN_HISTORY_HISTORY_COLUMNS_H
#define BEZEL_RUN_HISTORY_HISTORY_COLUMNS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTORY_COLUMNS_WIDTH = 20 /* log2 of ns, to begin with: a millisecond */ };

struct history_column {
    int64_t at;            /* of its first value */
    uint32_t count, known; /* values; those of them that are numbers */
    double min, max;       /* of these; NaN: there is none */
    double last;           /* value; NaN: it is unknown */
    bool violated;         /* a value in it violated the limit */
};

/** All zeros: empty. */
struct history_columns {
    unsigned width; /* log2 of a column's ns */
    size_t count, room;
    struct history_column *list; /* in the order of time */
};

/** Adds a value (NaN: it is unknown) at time `at`, so that there are at most `most` (2 or more) columns. Returns 0 or
 * BEZEL_ENOMEM. */
int history_columns_add(struct history_columns *c, size_t most, int64_t at, double value,
                        bool violated) BEZEL_MUST_CHECK;

/**
 * Fills `out` with columns of 1 << width ns that the columns from that which holds `from` to that which holds `until`
 * make; the first `room` of them. `width` is at least c->width. Returns their number.
 */
size_t history_columns_take(const struct history_columns *c, int64_t from, int64_t until, unsigned width,
                            struct history_column *out, size_t room);

void history_columns_fini(struct history_columns *c);

#endif
