// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/share.h"

#include <stddef.h>

enum { MARKS = SHARE_MARKS + 2 }; /* a window of them, the one before it, and the one that moves */

void share_start(struct share *s, int64_t window)
{
    s->window = window;
    s->count = 0;
}

static struct share_mark *mark_at(struct share *s, uint64_t number)
{
    return &s->marks[number % MARKS];
}

void share_read(struct share *s, int64_t now, uint64_t whole, uint64_t part)
{
    struct share_mark mark = {now, whole, part};
    if (s->count > 0 && (now < s->newest.time || whole < s->newest.whole || part < s->newest.part))
        s->count = 0;
    s->newest = mark;
    if (s->count == 0 || now - mark_at(s, s->count - 1)->time >= s->window / SHARE_MARKS)
        *mark_at(s, s->count++) = mark;
}

/* The latest mark that is a window old; NULL where none is. */
static const struct share_mark *find_start(const struct share *s)
{
    uint64_t oldest = s->count > MARKS ? s->count - MARKS : 0;
    for (uint64_t i = s->count; i-- > oldest;)
        if (s->newest.time - s->marks[i % MARKS].time >= s->window)
            return &s->marks[i % MARKS];
    return NULL;
}

bool share_growth(const struct share *s, uint64_t *whole, uint64_t *part)
{
    const struct share_mark *start = find_start(s);
    if (!start)
        return false;
    *whole = s->newest.whole - start->whole;
    *part = s->newest.part - start->part;
    return true;
}

bool share_value(const struct share *s, double *percent)
{
    const struct share_mark *start = find_start(s);
    if (!start || s->newest.whole == start->whole)
        return false;
    double share = (double)(s->newest.part - start->part) / (double)(s->newest.whole - start->whole);
    *percent = share < 1 ? 100 * share : 100;
    return true;
}

bool share_level(const struct share *s, uint64_t level, double *percent)
{
    const struct share_mark *start = find_start(s);
    if (!start)
        return false;
    uint64_t grown = s->newest.whole - start->whole;
    *percent = level == 0 ? 0 : level < grown ? 100 * (double)level / (double)grown : 100;
    return true;
}
