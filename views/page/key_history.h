// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The values of one key, as of a limit among all observations: columns over the whole run, in memory. When there is no
 * more room, columns become twice as wide; they lie on absolute powers of two, so columns that are made wider are those
 * that the records themselves make. One owner.
 */
#ifndef BEZEL_VIEWS_PAGE_KEY_HISTORY_H
#define BEZEL_VIEWS_PAGE_KEY_HISTORY_H

#include "base/err.h"
#include "run/levels/levels.h"

enum { KEY_HISTORY_COLUMNS = 4096, KEY_HISTORY_WIDTH = 20 /* log2 of ns, to begin with: a millisecond */ };

struct key_history {
    unsigned width; /* log2 of a column's ns */
    size_t count;
    struct levels_column *columns; /* KEY_HISTORY_COLUMNS of them, in the order of time; NULL: empty */
};

/** Adds a value at `time`, which is not before the one added last. Returns 0 or BEZEL_ENOMEM. */
int key_history_add(struct key_history *h, int64_t time, double value) BEZEL_MUST_CHECK;

/**
 * Columns of 1 << width ns from the one that holds `from` to the one that holds `until`. `width` is at least h->width.
 * Returns their number, at most `room`.
 */
size_t key_history_columns(const struct key_history *h, int64_t from, int64_t until, unsigned width,
                           struct levels_column *out, size_t room);

void key_history_fini(struct key_history *h);

#endif
