// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Big-endian loads and stores at any alignment: what XDR (RFC 4506) puts on the wire. Pure, async-signal-safe. */
#ifndef BEZEL_BASE_BYTES_H
#define BEZEL_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t bytes_swap32_if_little(uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}

static inline uint64_t bytes_swap64_if_little(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

static inline void bytes_put_u32(uint8_t *p, uint32_t v)
{
    v = bytes_swap32_if_little(v);
    memcpy(p, &v, sizeof v);
}

static inline void bytes_put_u64(uint8_t *p, uint64_t v)
{
    v = bytes_swap64_if_little(v);
    memcpy(p, &v, sizeof v);
}

static inline uint32_t bytes_get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return bytes_swap32_if_little(v);
}

static inline uint64_t bytes_get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return bytes_swap64_if_little(v);
}

#endif
