// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Writes messages of protocol buffers (the wire format: https://protobuf.dev/programming-guides/encoding/) into one
 * buffer, from which they go to a stream. A message inside another one is opened and closed: its length is known then.
 * The caller flushes between messages of the outermost kind, before what it writes until then is PROTO_MESSAGE_MAX
 * bytes. One owner.
 */
#ifndef BEZEL_EXPORT_PROTO_H
#define BEZEL_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PROTO_MESSAGE_MAX = 32768, PROTO_BUFFER = 4 * PROTO_MESSAGE_MAX };

struct proto {
    FILE *out;
    size_t used;
    uint8_t bytes[PROTO_BUFFER];
};

/** Writes what is complete to the stream; errors show in ferror(). */
static inline void proto_flush(struct proto *p)
{
    fwrite_unlocked(p->bytes, 1, p->used, p->out);
    p->used = 0;
}

static inline void proto_varint(struct proto *p, uint64_t v)
{
    while (v >= 0x80) {
        p->bytes[p->used++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p->bytes[p->used++] = (uint8_t)v;
}

/** Field `field` as an integer of types uint32, uint64, int32, int64, bool or enum. */
static inline void proto_int(struct proto *p, uint32_t field, uint64_t v)
{
    proto_varint(p, field << 3);
    proto_varint(p, v);
}

/** Field `field` as fixed64 or double. */
static inline void proto_fixed64(struct proto *p, uint32_t field, uint64_t bits)
{
    proto_varint(p, field << 3 | 1);
    for (unsigned i = 0; i < 8; i++)
        p->bytes[p->used++] = (uint8_t)(bits >> 8 * i);
}

static inline void proto_double(struct proto *p, uint32_t field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    proto_fixed64(p, field, bits);
}

static inline void proto_text(struct proto *p, uint32_t field, const char *text, size_t n)
{
    proto_varint(p, field << 3 | 2);
    proto_varint(p, n);
    memcpy(p->bytes + p->used, text, n);
    p->used += n;
}

/** Begins a message as field `field`; what is written until proto_close() with the same number is in it. */
static inline size_t proto_open(struct proto *p, uint32_t field)
{
    proto_varint(p, field << 3 | 2);
    return p->used++; /* where its length goes */
}

static inline void proto_close(struct proto *p, size_t opened)
{
    size_t n = p->used - opened - 1, more = n < 0x80 ? 0 : n < 0x4000 ? 1 : 2;
    if (more)
        memmove(p->bytes + opened + 1 + more, p->bytes + opened + 1, n);
    p->used = opened;
    proto_varint(p, n);
    p->used += n;
}

#endif
