// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * How a clock runs against a peer's clock, from exchanges of messages: `peer = own + offset(own)`, with a bound of the
 * error. The method, its sources and the proof of the bound are in docs/CLOCKS.md.
 *
 * An exchange is a message to the peer and its answer, with four times (NTP, RFC 5905, section 8). Neither message
 * arrives before it is sent, so the offset lies within half a round trip of the middle, however the round trip is
 * divided between the two ways. Exchanges whose round trip is about as short as usual become *knots*; between two knots
 * the relation is a straight line, a *piece*. A piece is closed when CLOCK_WINDOW knots have followed, or at the end.
 *
 * The bound of a closed piece is half the longer round trip of its knots, plus what the clocks may have done in
 * between. It holds where the clocks keep three promises. Their rates never differ by more than CLOCK_RATE_PPM. The
 * difference never changes by more than CLOCK_SLEW_PPM. And within CLOCK_STEADY_NS it changes in one direction, or
 * twice, as when NTP begins to slew both; between knots that are further apart only the first promise is used.
 *
 * Behind the newest knot the bound grows with what the clocks may do by the second promise, and from CLOCK_STEADY_NS
 * on by the first.
 *
 * An exchange that contradicts the first promise is kept as suspect. If the next one agrees with it, a clock has jumped
 * (a suspended machine, a paused virtual machine), and the relation begins anew; else it was false, and is dropped.
 *
 * Where something keeps the wall clocks of both machines (base/clock_wall.h), these give the offset too, with a bound
 * of their own. They are believed as far as the exchanges agree: where they contradict one, or the first promise, they
 * count no more until CLOCK_WINDOW exchanges in a row agree with them.
 *
 * Plain data with one owner. No function blocks, allocates, or reads a clock. Any values are allowed as times.
 */
#ifndef BEZEL_BASE_CLOCK_RELATION_H
#define BEZEL_BASE_CLOCK_RELATION_H

#include "base/clock_wall.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CLOCK_RATE_PPM =
        2000, /* for each clock an oscillator of 100 ppm, and up to 500 ppm of NTP's frequency and slew each */
    CLOCK_SLEW_PPM = 1000, /* both clocks begin to be slewed */
    CLOCK_WINDOW = 16,     /* knots on each side of a piece that show the rate there */
    CLOCK_KNOTS = 2 * CLOCK_WINDOW + 2,
};

#define CLOCK_STEADY_NS     INT64_C(2500000000)
#define CLOCK_ROUND_TRIP_NS INT64_C(1000000000) /* a longer round trip says too little */

/**
 * All in ns: `sent` and `received` of the own clock, `arrived` and `answered` of the peer's. The wall clocks, as they
 * were while the exchange was under way.
 */
struct clock_exchange {
    int64_t sent, arrived, answered, received;
    struct clock_wall own, peer;
};

/**
 * At `at` of the own clock the offset was within `half` of `offset`; by the wall clocks, within `walls_half` of
 * `walls`, unless that is 0. In ns.
 */
struct clock_knot {
    int64_t at, offset, half;
    int64_t walls, walls_half;
};

/** From `from` to `until` of the own clock the offset is `offset + slope * (at - from)`, at most `bound` wrong. In ns.
 */
struct clock_piece {
    int64_t from, until;
    int64_t offset;
    double slope;
    int64_t bound;
};

/**
 * From `from` to before `until` of the own clock the offset is `offset + slope * (own - at)`. At `at` it is at most
 * `bound` wrong; with the distance the bound grows, by `early` for each ns up to CLOCK_STEADY_NS, by `late` behind it.
 */
struct clock_stretch {
    int64_t from, until;
    int64_t at, offset;
    double slope, bound, early, late;
};

/** A time of the peer's clock and the bound of its error, ns. `bound` INT64_MAX: nothing is known. */
struct clock_reading {
    int64_t ns, bound;
};

enum clock_news {
    CLOCK_TOOK,     /* a knot more */
    CLOCK_POOR,     /* its round trip is much longer than usual: kept for the case that none better comes */
    CLOCK_NONSENSE, /* its times contradict each other, or are not later than those before: dropped */
    CLOCK_SUSPECT,  /* it contradicts the exchanges before: the next one decides */
    CLOCK_JUMPED,   /* that one agrees with it: the relation begins anew */
};

struct clock_relation {
    struct clock_knot knots[CLOCK_KNOTS]; /* the newest, oldest first */
    struct clock_knot alone[CLOCK_KNOTS]; /* the same, as the exchanges alone show them */
    uint32_t held;
    uint32_t next;           /* index of the knot where the next piece to close begins */
    uint32_t fixed;          /* knots whose boxes do not shrink any more: ends of closed pieces */
    bool closing;            /* all pieces may be closed, although few knots follow: at the end, or before a jump */
    struct clock_knot fresh; /* behind a jump; `half` 0: there was none */
    struct clock_knot poor, suspect;    /* the best since the newest knot; the one that contradicts; `half` 0: none */
    struct clock_knot poor_alone;       /* as the exchange alone shows it */
    uint32_t poor_count;                /* since the newest knot */
    int64_t usual;                      /* half round trip of good exchanges, ns; 0: there was none */
    int64_t last_sent;                  /* of the newest exchange that made sense; -1: there was none */
    uint32_t distrust;                  /* so many exchanges must agree until the wall clocks are believed again */
    bool is_kept;                       /* the wall clocks were believed at the newest exchange */
    uint64_t nonsense, suspects, jumps; /* exchanges, by what they were; never fall */
    uint64_t kept, contradicted;        /* likewise, where both wall clocks are kept: believed; contradicted by them */
};

/** An empty relation. */
void clock_relation_init(struct clock_relation *r);

/** Takes an exchange; later ones have later times. Take all pieces from clock_relation_next() before the next call. */
enum clock_news clock_relation_add(struct clock_relation *r, const struct clock_exchange *x);

/** No exchange will follow: all pieces may be closed. */
void clock_relation_finish(struct clock_relation *r);

/** Takes the next closed piece, in the order of time. False: there is none. */
bool clock_relation_next(struct clock_relation *r, struct clock_piece *piece);

/** The peer's time when the own clock says, or will say, `own`, as far as it is known now. */
struct clock_reading clock_relation_at(const struct clock_relation *r, int64_t own);

/** The stretch that clock_relation_at() reads at `own`; `until` is not above `from` where nothing is known. */
struct clock_stretch clock_relation_stretch(const struct clock_relation *r, int64_t own);

/** The piece as a stretch, without what is outside of it. */
struct clock_stretch clock_piece_stretch(const struct clock_piece *piece);

/** By how much the bound of a piece grows for each ns that a time is outside of it. */
double clock_piece_growth(const struct clock_piece *piece);

/** The peer's time by a stretch that `own` is in. */
struct clock_reading clock_stretch_at(const struct clock_stretch *stretch, int64_t own);

/** The peer's time by a piece. Outside of the piece the bound grows with the distance, by the first promise. */
struct clock_reading clock_piece_at(const struct clock_piece *piece, int64_t own);

/** When the next exchange is worth its cost, ns after the last one; `news` is what that was. */
int64_t clock_relation_wait(const struct clock_relation *r, enum clock_news news);

#endif
