// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A checksum of 64 bits that finds accidental damage: any change within 8 bytes, and any other with all probability. It
 * is no protection against forgery. Eight independent lanes of multiplications run at the speed of memory. The result
 * is the same on every machine. Pure.
 */
#ifndef BEZEL_BASE_CHECKSUM_H
#define BEZEL_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHECKSUM_START  UINT64_C(0)
#define CHECKSUM_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd: multiplication by it loses nothing */

enum { CHECKSUM_LANES = 8 };

static inline uint64_t checksum_step(uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 31 | lane >> 33) * CHECKSUM_FACTOR;
}

static inline uint64_t checksum_word(const uint8_t *p, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/** Continues checksum `sum` (start with CHECKSUM_START) over `n` bytes at `data`, which count as one piece. */
static inline uint64_t checksum_add(uint64_t sum, const void *data, size_t n)
{
    const uint8_t *p = data, *end = p + n;
    uint64_t lanes[CHECKSUM_LANES];
    for (int i = 0; i < CHECKSUM_LANES; i++)
        lanes[i] = (uint64_t)i;
    for (; (size_t)(end - p) >= sizeof lanes; p += sizeof lanes)
        for (int i = 0; i < CHECKSUM_LANES; i++)
            lanes[i] = checksum_step(lanes[i], checksum_word(p + sizeof *lanes * (size_t)i, sizeof *lanes));
    for (int i = 0; p < end; i++) {
        size_t part = (size_t)(end - p) < sizeof *lanes ? (size_t)(end - p) : sizeof *lanes;
        lanes[i] = checksum_step(lanes[i], checksum_word(p, part));
        p += part;
    }
    sum = checksum_step(sum, n);
    for (int i = 0; i < CHECKSUM_LANES; i++)
        sum = checksum_step(sum, lanes[i]);
    return sum;
}

#endif
