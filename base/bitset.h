// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A set of processes by their number: a bit for each, so that a walk costs what is in it. */
#ifndef BEZEL_SENSOR_PLACES_H
#define BEZEL_SENSOR_PLACES_H

#include "sensor/window.h"

struct places {
    uint64_t word[WINDOW_PROCESSES / 64];
};

static inline void places_add(struct places *s, uint32_t i)
{
    s->word[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void places_remove(struct places *s, uint32_t i)
{
    s->word[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool places_has(const struct places *s, uint32_t i)
{
    return s->word[i / 64] >> i % 64 & 1;
}

/** The first number in the set that is not below `from`, or -1. */
static inline int places_next(const struct places *s, uint32_t from)
{
    if (from >= WINDOW_PROCESSES)
        return -1;
    uint64_t left = s->word[from / 64] >> from % 64 << from % 64;
    for (uint32_t w = from / 64;; left = s->word[w]) {
        if (left)
            return (int)(w * 64) + __builtin_ctzll(left);
        if (++w == WINDOW_PROCESSES / 64)
            return -1;
    }
}

static inline bool places_empty(const struct places *s)
{
    return places_next(s, 0) < 0;
}

/** The lowest number that is not in the set, or -1. */
static inline int places_free(const struct places *s)
{
    for (uint32_t w = 0; w < WINDOW_PROCESSES / 64; w++)
        if (~s->word[w])
            return (int)(w * 64) + __builtin_ctzll(~s->word[w]);
    return -1;
}

/** for (each number i of the set): `i` is declared here; the set may lose or gain any number meanwhile. */
#define PLACES_EACH(i, set) (int i = -1; (i = places_next(set, (uint32_t)(i + 1))) >= 0;)

#endif
