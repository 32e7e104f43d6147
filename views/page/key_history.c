// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/key_history.h"

#include <math.h>
#include <stdlib.h>

/* Adds column `c` to the last of `count` columns, if that is the same time in columns of `width`, else behind it. */
static size_t append(struct levels_column *columns, size_t count, const struct levels_column *c, unsigned width)
{
    int64_t begin = c->begin >> width << width;
    struct levels_column *last = count ? &columns[count - 1] : NULL;
    if (!last || last->begin != begin) {
        columns[count] = *c;
        columns[count].begin = begin;
        return count + 1;
    }
    last->count += c->count;
    last->min = fmin(last->min, c->min);
    last->max = fmax(last->max, c->max);
    last->last = c->last;
    return count;
}

/* Makes columns twice as wide, until at most half of the room is used. */
static void widen(struct key_history *h)
{
    while (h->count > KEY_HISTORY_COLUMNS / 2) {
        size_t n = h->count;
        h->width++;
        h->count = 0;
        for (size_t i = 0; i < n; i++) {
            struct levels_column c = h->columns[i];
            h->count = append(h->columns, h->count, &c, h->width);
        }
    }
}

int key_history_add(struct key_history *h, int64_t time, double value)
{
    struct levels_column c = {.begin = time, .count = 1, .min = value, .max = value, .last = value};
    if (!h->columns) {
        h->columns = malloc(KEY_HISTORY_COLUMNS * sizeof *h->columns);
        h->width = KEY_HISTORY_WIDTH;
    }
    if (!h->columns)
        return BEZEL_ENOMEM;
    if (h->count == KEY_HISTORY_COLUMNS)
        widen(h);
    h->count = append(h->columns, h->count, &c, h->width);
    return 0;
}

size_t key_history_columns(const struct key_history *h, int64_t from, int64_t until, unsigned width,
                           struct levels_column *out, size_t room)
{
    size_t low = 0, high = h->count, n = 0;
    from = from >> width << width;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (h->columns[middle].begin < from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < h->count && h->columns[low].begin >> width <= until >> width; low++) {
        if (n == room && out[n - 1].begin != h->columns[low].begin >> width << width)
            break;
        n = append(out, n, &h->columns[low], width);
    }
    return n;
}

void key_history_fini(struct key_history *h)
{
    free(h->columns);
    *h = (struct key_history){0};
}
