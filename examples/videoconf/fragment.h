// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A compressed frame in datagrams. Each datagram repeats what a client needs that joins late, big-endian:
 *
 *      0  u32  magic "BZVC"            24  u64  instant of capture, ns of CLOCK_MONOTONIC
 *      4  u32  session of the server   32  u16  width, px
 *      8  u32  frame number            34  u16  height, px
 *     12  u32  bytes of the frame      36  u8   codec's name, NUL-padded, 12 bytes
 *     16  u32  fragment, from 0        48  payload: bytes [fragment * FRAGMENT_PAYLOAD, ...) of the frame
 *     20  u32  type: 0 I, 1 P
 *
 * Every fragment but the last is full, so that the bytes of the frame determine their number.
 */
#ifndef VIDEOCONF_FRAGMENT_H
#define VIDEOCONF_FRAGMENT_H

#include <stddef.h>
#include <stdint.h>

enum {
    FRAGMENT_HEADER_BYTES = 48,
    FRAGMENT_BYTES = 1400, /* of a datagram at most: less than any usual MTU */
    FRAGMENT_PAYLOAD = FRAGMENT_BYTES - FRAGMENT_HEADER_BYTES,
    FRAME_BYTES_MAX = 1 << 20,
    FRAME_PADDING = 64, /* zeros that a decoder may read behind a frame */
    CODEC_NAME_BYTES = 12,
};

enum frame_type { FRAME_I = 0, FRAME_P = 1 };

/** A compressed frame; `data` is borrowed. */
struct frame {
    uint32_t session, number;
    enum frame_type type;
    int64_t captured; /* ns of CLOCK_MONOTONIC */
    uint16_t width, height;
    char codec[CODEC_NAME_BYTES]; /* NUL-terminated */
    uint32_t bytes;               /* 1 .. FRAME_BYTES_MAX */
    const uint8_t *data;
};

/** How many datagrams a frame of `bytes` takes. Pure. */
uint32_t fragment_count(uint32_t bytes);

/** Writes fragment `index` of `f` at `datagram`, which has room for FRAGMENT_BYTES; returns its length. Pure. */
size_t fragment_put(const struct frame *f, uint32_t index, uint8_t *datagram);

/**
 * Puts frames together again out of datagrams that may be lost, late, doubled or hostile. Frames come out in the order
 * of their numbers; a frame that is overtaken by a later one is lost. Not thread-safe.
 */
struct assembler;

struct assembler_counts {
    uint64_t lost;    /* frames missing between those that came out */
    uint64_t refused; /* datagrams malformed, contradictory or of another server */
};

enum { ASSEMBLER_REFUSED = -1, ASSEMBLER_FIRST = 1, ASSEMBLER_WHOLE = 2 };

/** NULL without memory. */
struct assembler *assembler_new(void);
void assembler_free(struct assembler *a);

/**
 * Takes one datagram of `n` bytes, arrived at `now`. Returns ASSEMBLER_REFUSED, or bits: ASSEMBLER_FIRST where it is
 * the first of its frame, ASSEMBLER_WHOLE where it completes it; 0 for one of the rest, or a late or doubled one.
 * *frame is filled unless refused; its data (with FRAME_PADDING zeros behind) is there only with ASSEMBLER_WHOLE, until
 * the next call.
 *
 * A session is followed until it has been silent for a second: a server that was started again is then followed, a
 * second one at the same time is refused.
 */
int assembler_take(struct assembler *a, const uint8_t *datagram, size_t n, int64_t now, struct frame *frame);

struct assembler_counts assembler_counts(const struct assembler *a);

#endif
