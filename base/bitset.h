// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A set of numbers from 0 to BITSET_MAX - 1, one bit each. A walk takes time for the members alone. Pure. */
#ifndef BEZEL_BASE_BITSET_H
#define BEZEL_BASE_BITSET_H

#include <stdbool.h>
#include <stdint.h>

enum { BITSET_MAX = 1024 };

struct bitset {
    uint64_t word[BITSET_MAX / 64];
};

static inline void bitset_add(struct bitset *s, uint32_t i)
{
    s->word[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void bitset_remove(struct bitset *s, uint32_t i)
{
    s->word[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool bitset_has(const struct bitset *s, uint32_t i)
{
    return s->word[i / 64] >> i % 64 & 1;
}

/** The first number in the set that is not below `from`, or -1. */
static inline int bitset_next(const struct bitset *s, uint32_t from)
{
    if (from >= BITSET_MAX)
        return -1;
    uint64_t left = s->word[from / 64] >> from % 64 << from % 64;
    for (uint32_t w = from / 64;; left = s->word[w]) {
        if (left)
            return (int)(w * 64) + __builtin_ctzll(left);
        if (++w == BITSET_MAX / 64)
            return -1;
    }
}

static inline bool bitset_empty(const struct bitset *s)
{
    return bitset_next(s, 0) < 0;
}

/** The lowest number that is not in the set, or -1. */
static inline int bitset_free(const struct bitset *s)
{
    for (uint32_t w = 0; w < BITSET_MAX / 64; w++)
        if (~s->word[w])
            return (int)(w * 64) + __builtin_ctzll(~s->word[w]);
    return -1;
}

/** Walks the set in ascending order; declares `i`. Numbers may be added and removed during the walk. */
#define BITSET_EACH(i, set) (int i = -1; (i = bitset_next(set, (uint32_t)(i + 1))) >= 0;)

#endif
