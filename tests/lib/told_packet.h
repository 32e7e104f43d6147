// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Packets that can be told: each holds its number, and its bytes and their count follow from that. */
#ifndef BEZEL_TESTS_LIB_TOLD_PACKET_H
#define BEZEL_TESTS_LIB_TOLD_PACKET_H

#include "mdr/uplink/window.h"
#include "tests/lib/seed.h"

#include <string.h>

/** Writes packet `n` to the WINDOW_PACKET_BYTES bytes at `packet`; most have up to `most` bytes. Returns how many. */
static inline uint32_t told_packet(uint64_t n, uint32_t most, uint8_t *packet)
{
    uint64_t draw = n * 7919 + 17;
    uint64_t kind = seed_next(&draw) % 8;
    uint32_t bytes = (uint32_t)(8 + seed_next(&draw) % (kind == 0 ? WINDOW_PACKET_BYTES - 7 : kind < 4 ? most : 200));
    for (uint32_t i = 8; i < bytes; i++)
        packet[i] = (uint8_t)(n * 31 + i);
    memcpy(packet, &n, 8);
    return bytes;
}

#endif
