// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "fragment.h"

#include "common.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAGIC = 0x425a5643, /* "BZVC" */
    SLOTS = 4,          /* frames under way at a time */
    JUMP_MAX = 1000,    /* frames that may be missing within one session */
    FRAGMENTS_MAX = (FRAME_BYTES_MAX + FRAGMENT_PAYLOAD - 1) / FRAGMENT_PAYLOAD,
};

#define SILENCE (1 * NS_PER_S)

static void put32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof v);
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return be32toh(v);
}

uint32_t fragment_count(uint32_t bytes)
{
    return (bytes + FRAGMENT_PAYLOAD - 1) / FRAGMENT_PAYLOAD;
}

/* Payload bytes of fragment `index` of a frame of `bytes`. */
static uint32_t payload_bytes(uint32_t bytes, uint32_t index)
{
    uint32_t left = bytes - index * FRAGMENT_PAYLOAD;
    return left < FRAGMENT_PAYLOAD ? left : FRAGMENT_PAYLOAD;
}

size_t fragment_put(const struct frame *f, uint32_t index, uint8_t *datagram)
{
    uint32_t n = payload_bytes(f->bytes, index);
    put32(datagram, MAGIC);
    put32(datagram + 4, f->session);
    put32(datagram + 8, f->number);
    put32(datagram + 12, f->bytes);
    put32(datagram + 16, index);
    put32(datagram + 20, f->type);
    put32(datagram + 24, (uint32_t)((uint64_t)f->captured >> 32));
    put32(datagram + 28, (uint32_t)f->captured);
    put32(datagram + 32, (uint32_t)f->width << 16 | f->height);
    memcpy(datagram + 36, f->codec, CODEC_NAME_BYTES);
    memcpy(datagram + FRAGMENT_HEADER_BYTES, f->data + (size_t)index * FRAGMENT_PAYLOAD, n);
    return FRAGMENT_HEADER_BYTES + n;
}

/* Reads a header that others wrote; false where anything in it is out of range or does not fit the `n` bytes. */
static bool fragment_get(const uint8_t *datagram, size_t n, struct frame *f, uint32_t *index)
{
    if (n < FRAGMENT_HEADER_BYTES || get32(datagram) != MAGIC)
        return false;
    uint32_t type = get32(datagram + 20), size = get32(datagram + 32);
    *f = (struct frame){
        .session = get32(datagram + 4),
        .number = get32(datagram + 8),
        .type = type == FRAME_I ? FRAME_I : FRAME_P,
        .captured = (int64_t)((uint64_t)get32(datagram + 24) << 32 | get32(datagram + 28)),
        .width = (uint16_t)(size >> 16),
        .height = (uint16_t)size,
        .bytes = get32(datagram + 12),
    };
    memcpy(f->codec, datagram + 36, CODEC_NAME_BYTES);
    *index = get32(datagram + 16);
    return type <= FRAME_P && f->bytes > 0 && f->bytes <= FRAME_BYTES_MAX && *index < fragment_count(f->bytes) &&
           n == FRAGMENT_HEADER_BYTES + payload_bytes(f->bytes, *index) && f->width >= SIZE_MIN &&
           f->width <= WIDTH_MAX && f->height >= SIZE_MIN && f->height <= HEIGHT_MAX &&
           memchr(f->codec, '\0', CODEC_NAME_BYTES);
}

struct slot {
    bool used;
    struct frame frame;
    uint32_t missing; /* fragments */
    uint64_t have[(FRAGMENTS_MAX + 63) / 64];
    uint8_t data[FRAME_BYTES_MAX + FRAME_PADDING];
};

struct assembler {
    bool following, delivered; /* a session; a frame of it */
    uint32_t session;
    uint32_t last;   /* number of the frame delivered last; the first one that arrived where none was */
    int64_t arrived; /* when a datagram of the session arrived last */
    struct assembler_counts counts;
    struct slot slots[SLOTS];
};

struct assembler *assembler_new(void)
{
    return calloc(1, sizeof(struct assembler));
}

void assembler_free(struct assembler *a)
{
    free(a);
}

struct assembler_counts assembler_counts(const struct assembler *a)
{
    return a->counts;
}

/* How far frame `x` is ahead of frame `y`; numbers wrap. */
static int32_t ahead(uint32_t x, uint32_t y)
{
    return (int32_t)(x - y);
}

/* Whether `f` belongs to the session that is followed, or begins one that may be followed now. */
static bool follow(struct assembler *a, const struct frame *f, int64_t now)
{
    bool same = a->following && f->session == a->session && ahead(f->number, a->last) <= JUMP_MAX &&
                ahead(f->number, a->last) >= -JUMP_MAX;
    if (!same) {
        if (a->following && now - a->arrived < SILENCE)
            return false;
        for (int i = 0; i < SLOTS; i++)
            a->slots[i].used = false;
        a->following = true;
        a->delivered = false;
        a->session = f->session;
        a->last = f->number;
    }
    a->arrived = now;
    return true;
}

/* The slot of frame `f`, begun where it has none; NULL where a later frame holds its place. */
static struct slot *slot_of(struct assembler *a, const struct frame *f)
{
    struct slot *s = &a->slots[f->number % SLOTS];
    if (s->used && s->frame.number == f->number)
        return s;
    if (s->used && ahead(f->number, s->frame.number) < 0)
        return NULL;
    s->used = true;
    s->frame = *f;
    s->frame.data = s->data;
    s->missing = fragment_count(f->bytes);
    memset(s->have, 0, sizeof s->have);
    return s;
}

/* Whether two fragments belong to the same frame. */
static bool same_frame(const struct frame *x, const struct frame *y)
{
    return x->bytes == y->bytes && x->type == y->type && x->captured == y->captured && x->width == y->width &&
           x->height == y->height && strcmp(x->codec, y->codec) == 0;
}

static void deliver(struct assembler *a, struct slot *s)
{
    if (a->delivered)
        a->counts.lost += (uint32_t)ahead(s->frame.number, a->last) - 1;
    a->delivered = true;
    a->last = s->frame.number;
    s->used = false;
    memset(s->data + s->frame.bytes, 0, FRAME_PADDING);
}

int assembler_take(struct assembler *a, const uint8_t *datagram, size_t n, int64_t now, struct frame *frame)
{
    uint32_t index;
    if (!fragment_get(datagram, n, frame, &index) || !follow(a, frame, now)) {
        a->counts.refused++;
        return ASSEMBLER_REFUSED;
    }
    if (a->delivered && ahead(frame->number, a->last) <= 0)
        return 0;
    struct slot *s = slot_of(a, frame);
    if (!s)
        return 0;
    if (!same_frame(&s->frame, frame)) {
        a->counts.refused++;
        return ASSEMBLER_REFUSED;
    }
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (s->have[index / 64] & bit)
        return 0;
    int took = s->missing == fragment_count(frame->bytes) ? ASSEMBLER_FIRST : 0;
    s->have[index / 64] |= bit;
    memcpy(s->data + (size_t)index * FRAGMENT_PAYLOAD, datagram + FRAGMENT_HEADER_BYTES, n - FRAGMENT_HEADER_BYTES);
    if (--s->missing == 0) {
        deliver(a, s);
        took |= ASSEMBLER_WHOLE;
    }
    *frame = s->frame;
    return took;
}
