// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/timebase_own.h"

#include "sensor/counter.h"

/* ---- The function ------------------------------------------------------------------------------------------------ */

/* The piece for `ticks`: the newest that does not start behind them, or the oldest. */
static const struct timebase_piece *piece_at(const struct timebase *tb, uint64_t ticks)
{
    uint32_t back = 0;
    while (back + 1 < tb->held && (int64_t)(ticks - piece_back(tb, back)->ticks) < 0)
        back++;
    return piece_back(tb, back);
}

int64_t timebase_ns_anywhere(const struct timebase *tb, uint64_t ticks)
{
    if (!tb->held)
        return 0;
    const struct timebase_piece *p = piece_at(tb, ticks);
    uint64_t after = ticks - p->ticks;
    if ((int64_t)after >= 0)
        return piece_ns(p, after);
    int64_t before = scale_held(-after, p->rate, p->shift); /* the oldest one */
    return before < p->ns ? p->ns - before : 0;
}

/* How many ticks behind its start a line is followed at most: nothing overflows before. */
static uint64_t line_most(const struct timebase_line *line)
{
    double most = 4e18 / ((double)line->factor / (double)(UINT64_C(1) << line->shift));
    return line->ns > INT64_MAX / 2 ? 0 : most < 4e18 ? (uint64_t)most : (uint64_t)INT64_MAX / 2;
}

struct timebase_line timebase_line(const struct timebase *tb, uint64_t ticks)
{
    static const struct timebase_line identity = {.span = INT64_MAX, .factor = 2, .shift = 1};
    if (!tb)
        return identity;
    const struct timebase_piece *p = piece_at(tb, ticks);
    uint64_t after = ticks - p->ticks, end = UINT64_MAX; /* of the piece, behind its start */
    if (!tb->held || (int64_t)after < 0)
        return (struct timebase_line){0};
    if (p != piece_back(tb, 0))
        end = tb->pieces[(uint32_t)(p - tb->pieces + 1) % TIMEBASE_PIECES].ticks - p->ticks;
    bool bent = after < p->bend;
    struct timebase_line line = {.ticks = bent ? p->ticks : p->ticks + p->bend,
                                 .ns = bent ? p->ns : p->bend_ns,
                                 .factor = bent ? p->slew : p->rate,
                                 .shift = p->shift};
    uint64_t most = line_most(&line), span = bent ? (p->bend < end ? p->bend : end) : end - p->bend;
    line.span = span < most ? span : most;
    return line;
}

uint64_t timebase_tick_ns(const struct timebase *tb)
{
    return tb->held && tb->rate < 2147483648.0 ? (uint64_t)(tb->rate * 4294967296.0) : 0;
}

int64_t timebase_error_at(const struct timebase *tb, uint64_t ticks)
{
    if (!tb->held)
        return INT64_MAX;
    const struct timebase_piece *p = piece_at(tb, ticks);
    double known = (double)p->error_ns, wrong = slew_max + tb->rate_error, far = 0;
    if ((int64_t)(ticks - tb->last.ticks) >= 0) {
        known = (double)piece_back(tb, 0)->error_ns;
        far = (double)(int64_t)(ticks - tb->last.ticks);
    } else if ((int64_t)(ticks - p->ticks) < 0) { /* before the oldest, whose rate may be an early guess */
        far = (double)(int64_t)(p->ticks - ticks);
        wrong += magnitude((double)p->rate / (double)(UINT64_C(1) << p->shift) / tb->rate - 1);
    }
    if (far > 0 && tb->rate_error >= unknown_error)
        return INT64_MAX;
    return whole(known + far * tb->rate * wrong);
}

/* ---- Reading clocks ---------------------------------------------------------------------------------------------- */

struct pair timebase_read_pair(void)
{
    return pair_read(counter_read, PAIR_TRIES);
}

enum timebase_news timebase_take_pair(struct timebase *tb, struct segment_pair *shared, int64_t now)
{
    struct pair pair;
    bool open = tb->asked_ns != 0;
    if (!open && tb->pairs == 0 && pair_take_last(shared, &pair) && pair.ns < now + TIMEBASE_LONGEST_NS)
        return timebase_add(tb, &pair);
    if (open && pair_take(shared, tb->asked, &pair)) {
        int64_t since = tb->asked_ns;
        tb->asked_ns = 0;
        if (pair.ns >= since && pair.ns < now + TIMEBASE_LONGEST_NS)
            return timebase_add(tb, &pair);
        tb->due_ns = now + tb->interval_ns;
        return TIMEBASE_IGNORED;
    }
    if (open ? now - tb->asked_ns > TIMEBASE_ASK_AGAIN_NS : now >= tb->due_ns) {
        tb->asked = pair_ask(shared);
        tb->asked_ns = now;
    }
    return TIMEBASE_IGNORED;
}
