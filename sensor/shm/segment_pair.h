// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Pairs: a clock's reading beside CLOCK_MONOTONIC's, what conversion is fed with; and how the program's own clock,
 * which only the program can read, is read for the external sensor (struct segment_pair, in the segment).
 *
 *   external sensor: pair_ask(), then pair_take() at each poll until it has the answer
 *   program, in a record that reads its clock, before it publishes it: if (pair_wanted()) pair_give()
 *
 * One answer a question: of several threads that see it, one claims it, and a signal handler that interrupts the claim
 * finds it taken. Each side treats the other's words as hostile; neither waits or loops without bound. A thread that is
 * abandoned between claim and answer leaves the question open; the external sensor then asks anew, after a while.
 *
 *   P0 given   program -> sensor   publishes the answer
 *   P2 words   program -> sensor   publishes `begun`: who saw a word of a later answer sees that it was begun
 */
#ifndef BEZEL_SENSOR_PAIR_H
#define BEZEL_SENSOR_PAIR_H

#include "base/clock.h"
#include "sensor/segment.h"

#include <stdbool.h>
#include <stdint.h>

enum { PAIR_TRIES = 16, PAIR_TRIES_IN_RECORD = 3 };

/** At a moment not further than `uncertainty` ns from `ns` (CLOCK_MONOTONIC) the clock said `ticks`. */
struct pair {
    uint64_t ticks;
    int64_t ns;
    int64_t uncertainty;
};

/**
 * Reads `clock` between two readings of CLOCK_MONOTONIC, `tries` times, and returns the narrowest: its half width is
 * the uncertainty. As thread- and signal-safe as `clock`.
 */
static inline struct pair pair_read(uint64_t (*clock)(void), int tries)
{
    struct pair best = {.uncertainty = INT64_MAX};
    for (int i = 0; i < tries; i++) {
        int64_t before = clock_now();
        uint64_t ticks = clock();
        int64_t after = clock_now(), half = (after - before) / 2;
        if (half < best.uncertainty)
            best = (struct pair){ticks, before + half, half + 1};
    }
    return best;
}

/* ---- The program's side ------------------------------------------------------------------------------------------ */

/** Whether the external sensor waits for a pair: two loads. */
static inline bool pair_wanted(struct segment_pair *p)
{
    /* relaxed: only a hint, the claim decides */
    return atomic_load_explicit(&p->wanted, memory_order_relaxed) !=
           atomic_load_explicit(&p->begun, memory_order_relaxed);
}

/**
 * Reads the program's clock and answers, where nobody else is at it. Wait-free; async-signal-safe where `clock` is.
 */
static inline void pair_give(struct segment_pair *p, uint64_t (*clock)(void))
{
    uint32_t wanted =
        atomic_load_explicit(&p->wanted, memory_order_relaxed);             /* relaxed: a number, nothing hangs on it */
    uint32_t begun = atomic_load_explicit(&p->begun, memory_order_relaxed); /* relaxed: the claim checks it */
    struct pair pair = pair_read(clock, PAIR_TRIES_IN_RECORD); /* before the claim: that stays a few stores long */
    /* relaxed: published by P2 and P0 */
    if (begun == wanted ||
        !atomic_compare_exchange_strong_explicit(&p->begun, &begun, wanted, memory_order_relaxed, memory_order_relaxed))
        return;
    uint32_t uncertainty = pair.uncertainty < UINT32_MAX ? (uint32_t)pair.uncertainty : UINT32_MAX;
    atomic_store_explicit(&p->ticks, pair.ticks, memory_order_release);     /* P2 release: pairs P3, publishes begun */
    atomic_store_explicit(&p->ns, (uint64_t)pair.ns, memory_order_release); /* P2 release: pairs P3, publishes begun */
    atomic_store_explicit(&p->uncertainty, uncertainty,
                          memory_order_release);                    /* P2 release: pairs P3, publishes begun */
    atomic_store_explicit(&p->given, wanted, memory_order_release); /* P0 release: pairs P1, publishes the pair */
}

/* ---- The external sensor's side ---------------------------------------------------------------------------------- */

/** Asks for a pair: its number. */
static inline uint32_t pair_ask(struct segment_pair *p)
{
    uint32_t number = atomic_load_explicit(&p->wanted, memory_order_relaxed) + 1; /* relaxed: ours alone */
    atomic_store_explicit(&p->wanted, number, memory_order_relaxed); /* relaxed: nothing is published with it */
    return number;
}

/** Takes answer `number` into *pair: false where it is not there, or not whole. */
static inline bool pair_take(struct segment_pair *p, uint32_t number, struct pair *pair)
{
    if (atomic_load_explicit(&p->given, memory_order_acquire) != number) /* P1 acquire: pairs P0 */
        return false;
    pair->ticks = atomic_load_explicit(&p->ticks, memory_order_acquire);             /* P3 acquire: pairs P2 */
    pair->ns = (int64_t)atomic_load_explicit(&p->ns, memory_order_acquire);          /* P3 acquire: pairs P2 */
    pair->uncertainty = atomic_load_explicit(&p->uncertainty, memory_order_acquire); /* P3 acquire: pairs P2 */
    return atomic_load_explicit(&p->begun, memory_order_relaxed) == number;          /* relaxed: P3 ordered it */
}

/** Takes the last answer, whoever asked; a program gives its first one unasked. False where there is none. */
static inline bool pair_take_last(struct segment_pair *p, struct pair *pair)
{
    uint32_t number = atomic_load_explicit(&p->given, memory_order_relaxed); /* relaxed: P1 looks again */
    return number != 0 && pair_take(p, number, pair);
}

#endif
