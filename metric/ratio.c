// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/ratio.h"

#include <stddef.h>

enum { MARKS = RATIO_MARKS + 2 }; /* a window of them, the one before it, and the one that moves */

void ratio_start(struct ratio *s, int64_t window)
{
    s->window = window;
    s->count = 0;
}

static struct ratio_mark *mark_at(struct ratio *s, uint64_t number)
{
    return &s->marks[number % MARKS];
}

void ratio_read(struct ratio *s, int64_t now, uint64_t whole, uint64_t part)
{
    struct ratio_mark mark = {now, whole, part};
    if (s->count > 0 && (now < s->newest.time || whole < s->newest.whole || part < s->newest.part))
        s->count = 0;
    s->newest = mark;
    if (s->count == 0 || now - mark_at(s, s->count - 1)->time >= s->window / RATIO_MARKS)
        *mark_at(s, s->count++) = mark;
}

/* The latest mark that is a window old; NULL where none is. */
static const struct ratio_mark *find_start(const struct ratio *s)
{
    uint64_t oldest = s->count > MARKS ? s->count - MARKS : 0;
    for (uint64_t i = s->count; i-- > oldest;)
        if (s->newest.time - s->marks[i % MARKS].time >= s->window)
            return &s->marks[i % MARKS];
    return NULL;
}

bool ratio_growth(const struct ratio *s, uint64_t *whole, uint64_t *part)
{
    const struct ratio_mark *start = find_start(s);
    if (!start)
        return false;
    *whole = s->newest.whole - start->whole;
    *part = s->newest.part - start->part;
    return true;
}

bool ratio_value(const struct ratio *s, double *percent)
{
    const struct ratio_mark *start = find_start(s);
    if (!start || s->newest.whole == start->whole)
        return false;
    double share = (double)(s->newest.part - start->part) / (double)(s->newest.whole - start->whole);
    *percent = share < 1 ? 100 * share : 100;
    return true;
}

bool ratio_level(const struct ratio *s, uint64_t level, double *percent)
{
    const struct ratio_mark *start = find_start(s);
    if (!start)
        return false;
    uint64_t grown = s->newest.whole - start->whole;
    *percent = level == 0 ? 0 : level < grown ? 100 * (double)level / (double)grown : 100;
    return true;
}
