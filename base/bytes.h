// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Big-endian loads and stores at any alignment, as XDR (RFC 4506) needs them. Pure, async-signal-safe. In freestanding
 * builds on machines with aligned words each byte is moved alone, since there may be no memcpy() to call.
 */
#ifndef BEZEL_BASE_BYTES_H
#define BEZEL_BASE_BYTES_H

#include <stdint.h>

#if __STDC_HOSTED__
#include <string.h>
#endif

#if __STDC_HOSTED__ || defined(__ARM_FEATURE_UNALIGNED)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_BIG_ENDIAN32(v) __builtin_bswap32(v)
#define BYTES_BIG_ENDIAN64(v) __builtin_bswap64(v)
#else
#define BYTES_BIG_ENDIAN32(v) (v)
#define BYTES_BIG_ENDIAN64(v) (v)
#endif

static inline void bytes_put_u32(uint8_t *p, uint32_t v)
{
    v = BYTES_BIG_ENDIAN32(v);
    __builtin_memcpy(p, &v, sizeof v);
}

static inline void bytes_put_u64(uint8_t *p, uint64_t v)
{
    v = BYTES_BIG_ENDIAN64(v);
    __builtin_memcpy(p, &v, sizeof v);
}

static inline uint32_t bytes_get_u32(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return BYTES_BIG_ENDIAN32(v);
}

static inline uint64_t bytes_get_u64(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return BYTES_BIG_ENDIAN64(v);
}

#else

static inline void bytes_put_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24), p[1] = (uint8_t)(v >> 16), p[2] = (uint8_t)(v >> 8), p[3] = (uint8_t)v;
}

static inline void bytes_put_u64(uint8_t *p, uint64_t v)
{
    bytes_put_u32(p, (uint32_t)(v >> 32));
    bytes_put_u32(p + 4, (uint32_t)v);
}

static inline uint32_t bytes_get_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t bytes_get_u64(const uint8_t *p)
{
    return (uint64_t)bytes_get_u32(p) << 32 | bytes_get_u32(p + 4);
}

#endif

#endif
