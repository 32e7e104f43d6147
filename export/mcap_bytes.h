// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** MCAP's types in bytes that grow: little-endian integers, texts and records. One owner. */
#ifndef BEZEL_EXPORT_MCAP_BYTES_H
#define BEZEL_EXPORT_MCAP_BYTES_H

#include "base/grow.h"

/** An unsigned integer of `bytes` bytes, to `at`, or at the end. */
static inline void mcap_set(uint8_t *at, uint64_t v, size_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(at, &v, bytes);
#else
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> 8 * i);
#endif
}

static inline void mcap_uint(struct grow_bytes *b, uint64_t v, size_t bytes)
{
    if (!grow_bytes_room(b, bytes))
        return;
    mcap_set(b->at + b->n, v, bytes);
    b->n += bytes;
}

/** `n` bytes of a text behind their number; mcap_text(): up to its NUL. */
static inline void mcap_span(struct grow_bytes *b, const char *text, size_t n)
{
    mcap_uint(b, n, 4);
    grow_bytes_add(b, text, n);
}

static inline void mcap_text(struct grow_bytes *b, const char *text)
{
    mcap_span(b, text, strlen(text));
}

/**
 * Begins something whose length, of `bytes` bytes, stands before it; mcap_close() with what it returns sets that. A
 * record is begun with its opcode, and has a length of 8 bytes.
 */
static inline size_t mcap_open(struct grow_bytes *b, size_t bytes)
{
    mcap_uint(b, 0, bytes);
    return b->n;
}

static inline size_t mcap_record(struct grow_bytes *b, uint8_t opcode)
{
    mcap_uint(b, opcode, 1);
    return mcap_open(b, 8);
}

static inline void mcap_close(struct grow_bytes *b, size_t begun, size_t bytes)
{
    if (!b->short_of_memory)
        mcap_set(b->at + begun - bytes, b->n - begun, bytes);
}

#endif
