// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Pairs of readings of the program's own clock and CLOCK_MONOTONIC (base/clock_pair.h). Only the program can read its
 * clock, so the external sensor requests pairs from it through the segment (struct segment_pair).
 *
 *   external sensor: segment_pair_ask(), then segment_pair_take() at each poll until it has the answer
 *   program, in a record that reads its clock, before it publishes it: if (segment_pair_wanted()) segment_pair_give()
 *
 * Each request gets one answer: of several threads that see it, one claims it, and a signal handler that interrupts the
 * claim finds it taken. Each side treats the other's words as hostile; neither waits or loops without bound. If a
 * thread is abandoned between claim and answer, the request stays open, and the external sensor makes another one after
 * a while.
 *
 *   P0 given   program -> sensor   publishes the answer
 *   P2 words   program -> sensor   publishes `begun`: a reader of a word of a later answer sees that it was begun
 */
#ifndef BEZEL_SENSOR_SHM_SEGMENT_PAIR_H
#define BEZEL_SENSOR_SHM_SEGMENT_PAIR_H

#include "base/clock_pair.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>
#include <stdint.h>

enum { SEGMENT_PAIR_TRIES = 3 };

/* ---- The program's side ------------------------------------------------------------------------------------------ */

/** Whether the external sensor waits for a pair: two loads. */
static inline bool segment_pair_wanted(struct segment_pair *p)
{
    /* relaxed: only a hint, the claim decides */
    return atomic_load_explicit(&p->wanted, memory_order_relaxed) !=
           atomic_load_explicit(&p->begun, memory_order_relaxed);
}

/**
 * Reads the program's clock and answers the request, unless another thread does. Wait-free; async-signal-safe if
 * `clock` is.
 */
static inline void segment_pair_give(struct segment_pair *p, uint64_t (*clock)(void))
{
    uint32_t wanted =
        atomic_load_explicit(&p->wanted, memory_order_relaxed);             /* relaxed: a number, nothing hangs on it */
    uint32_t begun = atomic_load_explicit(&p->begun, memory_order_relaxed); /* relaxed: the claim checks it */
    struct clock_pair pair = clock_pair_read(
        clock, SEGMENT_PAIR_TRIES); /* before the claim, so that the claim is held for a few stores only */
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

/** Requests a pair; returns the request's number. */
static inline uint32_t segment_pair_ask(struct segment_pair *p)
{
    uint32_t number = atomic_load_explicit(&p->wanted, memory_order_relaxed) + 1; /* relaxed: ours alone */
    atomic_store_explicit(&p->wanted, number, memory_order_relaxed); /* relaxed: nothing is published with it */
    return number;
}

/** Copies answer `number` into *pair; false if it is not there, or incomplete. */
static inline bool segment_pair_take(struct segment_pair *p, uint32_t number, struct clock_pair *pair)
{
    if (atomic_load_explicit(&p->given, memory_order_acquire) != number) /* P1 acquire: pairs P0 */
        return false;
    pair->ticks = atomic_load_explicit(&p->ticks, memory_order_acquire);             /* P3 acquire: pairs P2 */
    pair->ns = (int64_t)atomic_load_explicit(&p->ns, memory_order_acquire);          /* P3 acquire: pairs P2 */
    pair->uncertainty = atomic_load_explicit(&p->uncertainty, memory_order_acquire); /* P3 acquire: pairs P2 */
    return atomic_load_explicit(&p->begun, memory_order_relaxed) == number;          /* relaxed: P3 ordered it */
}

/** Copies the last answer to any request into *pair; a program gives its first one unasked. False if there is none. */
static inline bool segment_pair_take_last(struct segment_pair *p, struct clock_pair *pair)
{
    uint32_t number = atomic_load_explicit(&p->given, memory_order_relaxed); /* relaxed: P1 looks again */
    return number != 0 && segment_pair_take(p, number, pair);
}

#endif
