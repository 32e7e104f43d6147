// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A timebase converts a clock's ticks into nanoseconds of CLOCK_MONOTONIC. The caller feeds it with pairs
 * (base/clock_pair.h); it reads no clock itself. The conversion is one function of the ticks: continuous, never
 * falling, its slope always above zero. A pair bends the function from its own moment on and changes nothing before it,
 * so that two records keep their order even if a pair comes between their conversions. An error that a pair shows is
 * slewed away, not stepped. The function is a list of pieces, the newest TIMEBASE_PIECES of them; times before them are
 * extrapolated.
 *
 * A clock that jumps (runs backwards, or not as far as its rate allows: a machine that was suspended) begins anew, and
 * the jump is counted. There the function steps.
 *
 * The stated error is a bound, not an estimate. It holds where the clock keeps these promises: pairs are as exact as
 * they say; the rate of the clock against CLOCK_MONOTONIC stays within TIMEBASE_SLEW_PPM / 2 of its mean (what the
 * kernel slews by); and between three pairs in a row it changes once, or in one direction. Between two pairs the bound
 * is the sum of their uncertainty, the function's distance from them, and the possible effect of a change of rate.
 * Behind the newest pair it grows with the time since. A tick has a length: a time is right for the middle of its tick,
 * and half a tick is part of the bound.
 *
 * Plain data with one owner: struct timebase may be copied. No function blocks or allocates. On a 32-bit machine a
 * conversion takes four multiplications instead of one.
 */
#ifndef BEZEL_BASE_TIMEBASE_H
#define BEZEL_BASE_TIMEBASE_H

#include "base/clock_pair.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TIMEBASE_PIECES = 64,
    TIMEBASE_SLEW_PPM = 1000,
    TIMEBASE_FIRST_NS = 500000,      /* from the first pair to the second */
    TIMEBASE_LONGEST_NS = 1000000000 /* between pairs, when all is steady */
};

/** The function from `ticks` to the start of the next piece: `slew` up to `bend`, then `rate`. */
struct timebase_piece {
    uint64_t ticks;   /* where it starts */
    int64_t ns;       /* its value there */
    uint64_t slew;    /* ns a tick, times 2^shift */
    uint64_t bend;    /* ticks after its start */
    int64_t bend_ns;  /* its value there */
    uint64_t rate;    /* ns a tick, times 2^shift */
    int64_t error_ns; /* bound; final once the next pair has come */
    uint32_t shift;   /* 1 .. 63 */
    uint32_t reserved;
};

struct timebase {
    uint32_t newest, held;        /* pieces: index of the newest, and their number; 0: not ready */
    uint32_t pairs;               /* taken since the start or the last jump; stops at UINT32_MAX */
    uint32_t ignored;             /* pairs in a row that were less exact than usual */
    double rate;                  /* ns a tick, as measured; 0: unknown */
    double rate_error;            /* bound, relative to it */
    double chord;                 /* rate between the last two pairs; 0: there are no two */
    double chord_error;           /* bound, relative to it */
    struct clock_pair base, last; /* the start of the rate's measurement; the last pair that was taken */
    int64_t last_error_ns;        /* bound, at the last pair */
    int64_t usual_ns;             /* uncertainty of the best pairs */
    int64_t interval_ns, due_ns;
    double opening_error;  /* bound of the first interval, ns, without the effect of a change of rate */
    double opening_length; /* ns; 0: its bound is final */
    uint64_t sealed;       /* ticks up to which the function has been used */
    int64_t worst_ns;      /* the largest bound between pairs, over its life; -1: none yet */
    uint64_t jumps;        /* over its life */
    struct timebase_piece pieces[TIMEBASE_PIECES];
};

/** The effect of a pair. */
enum timebase_news {
    TIMEBASE_TOOK,
    TIMEBASE_IGNORED, /* it has nothing new, or is much less exact than pairs before it */
    TIMEBASE_JUMPED,  /* the clock jumped: begun anew */
};

/**
 * Makes an empty timebase. `ticks_per_s`: the nominal frequency of the clock, assumed right to an eighth until pairs
 * measure it; 0: unknown. With it the timebase is ready after the first pair, else after the second.
 */
void timebase_init(struct timebase *tb, double ticks_per_s);

/** Takes in a pair; later ones have later times. Any values are allowed. */
enum timebase_news timebase_add(struct timebase *tb, const struct clock_pair *pair);

/** When the next pair is due, CLOCK_MONOTONIC in ns: TIMEBASE_FIRST_NS after the first, then rarer; 0: at once. */
static inline int64_t timebase_due(const struct timebase *tb)
{
    return tb->due_ns;
}

/** Whether it can convert. */
static inline bool timebase_ready(const struct timebase *tb)
{
    return tb->held != 0;
}

#if defined(__SIZEOF_INT128__) && !defined(TIMEBASE_PORTABLE)
__extension__ typedef unsigned __int128 timebase_wide;
#endif

/** (ticks * factor) >> shift, modulo 2^64; shift in 1 .. 63. */
static inline uint64_t timebase_scale(uint64_t ticks, uint64_t factor, uint32_t shift)
{
#if defined(__SIZEOF_INT128__) && !defined(TIMEBASE_PORTABLE)
    return (uint64_t)(((timebase_wide)ticks * factor) >> shift);
#else
    uint64_t ll = (ticks & UINT32_MAX) * (factor & UINT32_MAX), lh = (ticks & UINT32_MAX) * (factor >> 32);
    uint64_t hl = (ticks >> 32) * (factor & UINT32_MAX), hh = (ticks >> 32) * (factor >> 32);
    uint64_t middle = (ll >> 32) + (lh & UINT32_MAX) + (hl & UINT32_MAX);
    uint64_t high = hh + (lh >> 32) + (hl >> 32) + (middle >> 32), low = (middle << 32) | (ll & UINT32_MAX);
    return (high << (64 - shift)) | (low >> shift);
#endif
}

/** timebase_ns() for all ticks. */
int64_t timebase_ns_anywhere(const struct timebase *tb, uint64_t ticks);

/**
 * `ticks` as nanoseconds of CLOCK_MONOTONIC, held within 0 .. INT64_MAX; 0 if the timebase is not ready. Ticks are
 * compared modulo 2^64: more than 2^63 ahead of the newest piece is behind it.
 */
static inline int64_t timebase_ns(const struct timebase *tb, uint64_t ticks)
{
    const struct timebase_piece *p = &tb->pieces[tb->newest];
    uint64_t after = ticks - p->ticks;
    if (after < p->bend) /* the usual case; what is older has wrapped, and is large */
        return p->ns + (int64_t)timebase_scale(after, p->slew, p->shift);
    return timebase_ns_anywhere(tb, ticks);
}

/**
 * Records that ticks up to `ticks` were converted: the next pair bends the function only behind them. Needed where a
 * pair may be older than ticks converted before it arrived: for clocks of programs, once a packet. Ignored where
 * `ticks` are more than a second ahead of the pair.
 */
static inline void timebase_seal(struct timebase *tb, uint64_t ticks)
{
    if ((int64_t)(ticks - tb->sealed) > 0)
        tb->sealed = ticks;
}

/** A part of the function that is a straight line: from `ticks` on, for `span` ticks; 0: there is none. */
struct timebase_line {
    uint64_t ticks, span;
    int64_t ns; /* its value at `ticks` */
    uint64_t factor;
    uint32_t shift;
};

/**
 * The line on which `ticks` lie, for many conversions in a row; span 0 where timebase_ns() follows none there. `tb`
 * NULL: a clock whose ticks are nanoseconds.
 */
struct timebase_line timebase_line(const struct timebase *tb, uint64_t ticks);

/** The value of `line` at `after` ticks behind its start, fewer than its span. */
static inline uint64_t timebase_along(const struct timebase_line *line, uint64_t after)
{
    return (uint64_t)line->ns + timebase_scale(after, line->factor, line->shift);
}

/** Nanoseconds a tick, times 2^32: for durations; 0: unknown. */
uint64_t timebase_tick_ns(const struct timebase *tb);

/**
 * The largest error, in ns, of times between the first and the newest pair, except at a jump; -1 (unknown) before the
 * third pair. Times before the first pair are extrapolated, and may be off by more.
 */
static inline int64_t timebase_error_ns(const struct timebase *tb)
{
    return tb->worst_ns;
}

/**
 * A copy of a timebase in shared memory, so that a restarted external sensor goes on with the same function. All zeros:
 * no copy. One of the two copies is always complete, even if the owner is killed while it writes. Save after each
 * timebase_add(), before the next conversion.
 */
struct timebase_store {
    struct timebase_copy {
        uint64_t check; /* hash of all that follows */
        uint64_t turn;  /* the larger one is newer */
        uint8_t boot[16];
        struct timebase timebase;
    } copies[2];
};

void timebase_save(struct timebase_store *store, const uint8_t boot[16], const struct timebase *tb);

/**
 * Loads the timebase that was saved last, in this boot. False, with *tb untouched, where there is none, or it is torn,
 * of another boot, or inconsistent. Whatever the bytes are, a loaded timebase is safe to use.
 */
bool timebase_load(const struct timebase_store *store, const uint8_t boot[16], struct timebase *tb);

#endif
