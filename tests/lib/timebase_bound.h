// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How wrong a time that a timebase tells may be, whether it lies between the pairs or outside of them. */
#ifndef BEZEL_TESTS_LIB_TIMEBASE_BOUND_H
#define BEZEL_TESTS_LIB_TIMEBASE_BOUND_H

#include "base/timebase.h"

#include <math.h>

/** Bound of the error of timebase_ns(tb, ticks), in ns; INT64_MAX where it is not ready. */
static inline int64_t timebase_bound(const struct timebase *tb, uint64_t ticks)
{
    if (!tb->held)
        return INT64_MAX;
    const struct timebase_piece *newest = &tb->pieces[tb->newest], *p = newest;
    for (uint32_t back = 1; back < tb->held && (int64_t)(ticks - p->ticks) < 0; back++)
        p = &tb->pieces[(tb->newest + TIMEBASE_PIECES - back) % TIMEBASE_PIECES];
    double known = (double)p->error_ns, wrong = TIMEBASE_SLEW_PPM * 1e-6 + tb->rate_error, far = 0;
    if ((int64_t)(ticks - tb->last.ticks) >= 0) {
        known = (double)newest->error_ns;
        far = (double)(int64_t)(ticks - tb->last.ticks);
    } else if ((int64_t)(ticks - p->ticks) < 0) { /* before the oldest, whose rate may be an early guess */
        far = (double)(int64_t)(p->ticks - ticks);
        wrong += fabs((double)p->rate / (double)(UINT64_C(1) << p->shift) / tb->rate - 1);
    }
    if (far > 0 && tb->rate_error >= 1) /* a jump has put the rate in doubt */
        return INT64_MAX;
    double bound = known + far * tb->rate * wrong;
    return bound < 9e18 ? (int64_t)bound + 1 : INT64_MAX;
}

#endif
