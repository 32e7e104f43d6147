// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/history/history_columns.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MAX = 62 };

/* Adds column `c` to the last of `count` columns, if that is the same time in columns of `width`, else behind it. */
static size_t append(struct history_column *columns, size_t count, const struct history_column *c, unsigned width)
{
    struct history_column *last = count ? &columns[count - 1] : NULL;
    if (!last || last->at >> width != c->at >> width) {
        columns[count] = *c;
        return count + 1;
    }
    last->at = c->at < last->at ? c->at : last->at;
    last->count += c->count;
    last->known += c->known;
    last->min = fmin(last->min, c->min); /* of a NaN and a number, the number */
    last->max = fmax(last->max, c->max);
    last->last = c->last;
    last->violated |= c->violated;
    return count;
}

/* Makes columns twice as wide, until at most half of `most` are left. */
static void widen(struct history_columns *c, size_t most)
{
    while (c->count > most / 2 && c->width < WIDTH_MAX) {
        size_t n = c->count;
        c->width++;
        c->count = 0;
        for (size_t i = 0; i < n; i++) {
            struct history_column one = c->list[i];
            c->count = append(c->list, c->count, &one, c->width);
        }
    }
}

/* The number of columns that lie before the one that holds `at`. */
static size_t count_before(const struct history_columns *c, int64_t at)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->list[middle].at >> c->width < at >> c->width)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int make_room(struct history_columns *c, size_t most)
{
    if (!c->list)
        c->width = HISTORY_COLUMNS_WIDTH;
    if (c->count >= most)
        widen(c, most);
    return grow_list(&c->list, &c->room, c->count, sizeof *c->list) ? 0 : BEZEL_ENOMEM;
}

int history_columns_add(struct history_columns *c, size_t most, int64_t at, double value, bool violated)
{
    struct history_column one = {at, 1, !isnan(value), value, value, value, violated};
    int err = make_room(c, most);
    if (err)
        return err;
    if (c->count == 0 || at >> c->width >= c->list[c->count - 1].at >> c->width) {
        c->count = append(c->list, c->count, &one, c->width);
        return 0;
    }
    size_t i = count_before(c, at);
    if (c->list[i].at >> c->width != at >> c->width) { /* it comes late */
        memmove(&c->list[i + 1], &c->list[i], (c->count - i) * sizeof one);
        c->list[i] = one;
        c->count++;
        return 0;
    }
    (void)append(&c->list[i], 1, &one, c->width);
    return 0;
}

size_t history_columns_take(const struct history_columns *c, int64_t from, int64_t until, unsigned width,
                            struct history_column *out, size_t room)
{
    size_t n = 0;
    for (size_t i = count_before(c, from); i < c->count && c->list[i].at >> c->width <= until >> c->width; i++) {
        if (n == room && out[n - 1].at >> width != c->list[i].at >> width)
            break;
        n = append(out, n, &c->list[i], width);
    }
    return n;
}

void history_columns_fini(struct history_columns *c)
{
    free(c->list);
    *c = (struct history_columns){0};
}
