// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Turns: what is compared takes turns on one machine, second by second, by a page in a file that all sides map. A side
 * works while the turn is its own and sleeps else; bench-round gives the turns.
 */
#ifndef BEZEL_BENCH_TURNS_H
#define BEZEL_BENCH_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TURNS_SIDES = 64, TURNS_NOBODY = 0 /* sides begin at 1 */, TURNS_END = 1000 };

struct turns {
    _Atomic uint32_t whose;             /* turn it is: a side, or TURNS_NOBODY, or TURNS_END */
    _Atomic uint64_t done[TURNS_SIDES]; /* records, by side */
};

/** Maps file `path`, which is made if it is missing. NULL, with the reason on stderr. Never unmapped. */
struct turns *turns_open(const char *path);

/** Gives side `whose` the turn and wakes all. Thread-safe. */
void turns_give(struct turns *t, uint32_t whose);

/** Sleeps until it is the turn of `side`: true. At TURNS_END, or after a minute without a turn: false. Thread-safe. */
bool turns_wait(struct turns *t, uint32_t side);

/** Whether it is the turn of `side`. */
static inline bool turns_mine(struct turns *t, uint32_t side)
{
    return atomic_load_explicit(&t->whose, memory_order_relaxed) == side;
}

/** Adds to what `side` has done. */
static inline void turns_add(struct turns *t, uint32_t side, uint64_t n)
{
    atomic_fetch_add_explicit(&t->done[side], n, memory_order_relaxed);
}

/** Reads `FILE:SIDE`, and opens FILE. NULL, with the reason on stderr. */
struct turns *turns_read(const char *text, uint32_t *side);

#endif
