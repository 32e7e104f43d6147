// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** FNV-1a, 64 bits (Fowler, Noll, Vo): identifies contents; no protection against forgery. And drawn numbers. Pure. */
#ifndef BEZEL_BASE_HASH_H
#define BEZEL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FNV64_START UINT64_C(0xcbf29ce484222325)

/** Continues hash `h` (start with HASH_FNV64_START) over `n` bytes at `data`. */
static inline uint64_t hash_fnv64(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/** SplitMix64: the next number drawn from *seed. Neighbouring seeds, such as those of nodes, have nothing in common. */
static inline uint64_t hash_draw(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
