// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the timebase's files share: the function, which is a list of pieces. timebase.h is the others' view of it.
 * Doubles serve for rates and differences, which are small; what is added up over a clock's life are integers.
 */
#ifndef BEZEL_SENSOR_TIMEBASE_OWN_H
#define BEZEL_SENSOR_TIMEBASE_OWN_H

#include "sensor/timebase.h"

static const double slew_max = TIMEBASE_SLEW_PPM * 1e-6;
static const double rate_min = 1e-3, rate_max = 1e12;
static const double unknown_error = 1;          /* of a rate that a jump has put in doubt */
static const int64_t ns_max = INT64_C(1) << 62; /* so that differences fit */

static inline double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/** Rounded up. */
static inline int64_t whole(double ns)
{
    return ns < 9e18 ? (int64_t)ns + 1 : INT64_MAX;
}

/** The piece `back` pieces before the newest. */
static inline const struct timebase_piece *piece_back(const struct timebase *tb, uint32_t back)
{
    return &tb->pieces[(tb->newest + TIMEBASE_PIECES - back) % TIMEBASE_PIECES];
}

/** timebase_scale(), INT64_MAX where that is not enough. */
static inline int64_t scale_held(uint64_t ticks, uint64_t factor, uint32_t shift)
{
    double about = (double)ticks * (double)factor / (double)(UINT64_C(1) << shift);
    return about < 9e18 ? (int64_t)timebase_scale(ticks, factor, shift) : INT64_MAX;
}

/** ns + more, held; both are not negative. */
static inline int64_t add_held(int64_t ns, int64_t more)
{
    return more > INT64_MAX - ns ? INT64_MAX : ns + more;
}

/** What piece `p` says of ticks that are `after` its start. */
static inline int64_t piece_ns(const struct timebase_piece *p, uint64_t after)
{
    if (after < p->bend)
        return p->ns + (int64_t)timebase_scale(after, p->slew, p->shift);
    return add_held(p->bend_ns, scale_held(after - p->bend, p->rate, p->shift));
}

/** Whether it can be calculated with. */
static inline bool is_sane(const struct pair *pair)
{
    return pair->ns >= 0 && pair->ns < ns_max && pair->uncertainty >= 0 && pair->uncertainty < ns_max;
}

#endif
