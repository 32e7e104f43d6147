// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A checksum of 64 bits that finds accidental damage: any change within 8 bytes, and any other with all probability. It
 * is no protection against forgery. Eight independent lanes of multiplications run at the speed of memory. The result
 * is the same on every machine. Pure.
 */
#ifndef BEZEL_BASE_SUM_H
#define BEZEL_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SUM_START  UINT64_C(0)
#define SUM_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd: multiplication by it loses nothing */

enum { SUM_LANES = 8 };

static inline uint64_t sum_step(uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 31 | lane >> 33) * SUM_FACTOR;
}

static inline uint64_t sum_word(const uint8_t *p, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/** Continues checksum `sum` (start with SUM_START) over `n` bytes at `data`, which count as one piece. */
static inline uint64_t sum_add(uint64_t sum, const void *data, size_t n)
{
    const uint8_t *p = data, *end = p + n;
    uint64_t lanes[SUM_LANES];
    for (int i = 0; i < SUM_LANES; i++)
        lanes[i] = (uint64_t)i;
    for (; (size_t)(end - p) >= sizeof lanes; p += sizeof lanes)
        for (int i = 0; i < SUM_LANES; i++)
            lanes[i] = sum_step(lanes[i], sum_word(p + sizeof *lanes * (size_t)i, sizeof *lanes));
    for (int i = 0; p < end; i++) {
        size_t part = (size_t)(end - p) < sizeof *lanes ? (size_t)(end - p) : sizeof *lanes;
        lanes[i] = sum_step(lanes[i], sum_word(p, part));
        p += part;
    }
    sum = sum_step(sum, n);
    for (int i = 0; i < SUM_LANES; i++)
        sum = sum_step(sum, lanes[i]);
    return sum;
}

#endif
