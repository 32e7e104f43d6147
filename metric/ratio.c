// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/ratio.h"

enum { MARKS = RATIO_MARKS + 2 }; /* the marks of a window, one older mark, and the newest, which still moves */

void ratio_start(struct ratio *r, int64_t window)
{
    r->window = window;
    r->count = 0;
}

static struct ratio_mark *mark_at(struct ratio *r, uint64_t number)
{
    return &r->marks[number % MARKS];
}

void ratio_read(struct ratio *r, int64_t now, uint64_t whole, uint64_t part)
{
    struct ratio_mark mark = {now, whole, part};
    if (r->count > 0 && (now < r->newest.time || whole < r->newest.whole || part < r->newest.part))
        r->count = 0;
    r->newest = mark;
    if (r->count == 0 || now - mark_at(r, r->count - 1)->time >= r->window / RATIO_MARKS)
        *mark_at(r, r->count++) = mark;
}

static void growth_since(const struct ratio *r, const struct ratio_mark *start, uint64_t *whole, uint64_t *part)
{
    *whole = r->newest.whole - start->whole;
    *part = r->newest.part - start->part;
}

/* The window begins at the latest mark that is as old as it is long. */
bool ratio_growth(const struct ratio *r, uint64_t *whole, uint64_t *part)
{
    uint64_t oldest = r->count > MARKS ? r->count - MARKS : 0;
    for (uint64_t i = r->count; i-- > oldest;) {
        const struct ratio_mark *start = &r->marks[i % MARKS];
        if (r->newest.time - start->time < r->window)
            continue;
        growth_since(r, start, whole, part);
        return true;
    }
    return false;
}

bool ratio_growth_so_far(const struct ratio *r, uint64_t *whole, uint64_t *part)
{
    if (ratio_growth(r, whole, part))
        return true;
    if (r->count == 0)
        return false;
    growth_since(r, &r->marks[0], whole, part); /* no full window has passed, so no mark was overwritten */
    return *whole > 0;
}

bool ratio_value(const struct ratio *r, double *percent)
{
    uint64_t whole, part;
    if (!ratio_growth(r, &whole, &part) || whole == 0)
        return false;
    double share = (double)part / (double)whole;
    *percent = share < 1 ? 100 * share : 100;
    return true;
}

bool ratio_level(const struct ratio *r, uint64_t level, double *percent)
{
    uint64_t whole, part;
    if (!ratio_growth(r, &whole, &part))
        return false;
    *percent = level == 0 ? 0 : level < whole ? 100 * (double)level / (double)whole : 100;
    return true;
}
