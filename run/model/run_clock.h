// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The time of a run, and what a node's clock says of it. The run's time is the CLOCK_MONOTONIC of its first collector,
 * plus what that collector's CLOCK_REALTIME was ahead when the run began: ns since 1970, without later steps of the
 * wall clock. One owner; a few hundred bytes for each node, and 48 for each exchange of times, up to a bound: then two
 * pieces become one, whose bound covers both.
 */
#ifndef BEZEL_RUN_MODEL_RUN_CLOCK_H
#define BEZEL_RUN_MODEL_RUN_CLOCK_H

#include "base/clock_relation.h"
#include "base/err.h"

#include <stddef.h>

enum run_clock_kind {
    RUN_CLOCK_SAME,      /* the node has the run's clock: no error */
    RUN_CLOCK_EXCHANGES, /* known by exchanges of times (docs/CLOCKS.md), with a bound of the error */
    RUN_CLOCK_WALL,      /* by the node's wall clock when it joined: the error is unknown */
};

enum { RUN_CLOCK_PIECES = 1 << 13 };

#define RUN_CLOCK_BESIDE INT64_C(1000000000) /* ns around the exchanges for which run_clock_line() holds too */

struct run_clock {
    enum run_clock_kind kind;
    int64_t ahead;              /* run's time - own time, ns: of the run's clock, if EXCHANGES; else of this one */
    struct clock_piece *pieces; /* closed ones, in the order of time */
    size_t count, capacity;
    struct clock_relation relation; /* since the last jump */
    uint64_t exchanges;             /* that made sense */
    int64_t round_trip;             /* the shortest, ns; 0: there was none */
    bool incomplete;                /* memory was short: pieces are missing */
    bool jumped;                    /* then what follows is in another trace, but for its first moments; ... */
    int64_t offset_before;          /* ... run's time - own time before the first jump, ns */
};

/** A clock of kind SAME or WALL, whose time the run's is `ahead` of, ns. */
void run_clock_init(struct run_clock *c, enum run_clock_kind kind, int64_t ahead);
void run_clock_free(struct run_clock *c);

/** Takes an exchange with the run's clock, which is `ahead` of the run's time, ns. A clock of kind SAME takes none. */
void run_clock_add(struct run_clock *c, const struct clock_exchange *x, int64_t ahead);

/** The run's time at `own`, ns of the node's clock, as far as it is known now: `bound` INT64_MAX where it is WALL. */
struct clock_reading run_clock_at(const struct run_clock *c, int64_t own);

/**
 * As run_clock_at(), for times that lie near each other: *near, zeros at first, keeps how the last one was read. Zero
 * it when the clock is another one, or has taken an exchange.
 */
struct clock_reading run_clock_at_near(const struct run_clock *c, struct clock_stretch *near, int64_t own);

/** One offset for the whole of the run, as a CTF clock has it. */
struct run_clock_line {
    int64_t offset; /* run's time - own time, ns; if a clock jumped, that before the jump */
    int64_t bound;  /* of its error from a second before the first exchange to a second behind the last; -1: unknown */
};
struct run_clock_line run_clock_line(const struct run_clock *c);

/** By how much the node's clock runs faster than the run's over all exchanges; relative.
 * NAN: they show it no better than to 20 ppm. */
double run_clock_drift(const struct run_clock *c);

/** The widest bound from the first exchange to the last, ns; -1: unknown. */
int64_t run_clock_worst(const struct run_clock *c);

#endif
