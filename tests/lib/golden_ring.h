// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A fixed play of records for one ring of 64 slots: 0 to 12 values, every bit pattern that is easily broken, times that
 * leave 32 bits, losses in the middle and at the end. On every machine, through libbezel and through a
 * microcontroller's ring, it comes to the packets in tests/golden/ring.bin. Needs no library.
 */
#ifndef BEZEL_TESTS_LIB_GOLDEN_RING_H
#define BEZEL_TESTS_LIB_GOLDEN_RING_H

#include <stdint.h>

enum {
    GOLDEN_SLOTS = 64,
    GOLDEN_ASPECTS = 13, /* aspect k has k - 1 fields */
    GOLDEN_ACTS = 4,     /* the ring is drained after each */
    GOLDEN_MAX_BYTES = 16384,
    GOLDEN_PACKET_BYTES = 120 + GOLDEN_SLOTS * 32, /* of one packet, at most */
    GOLDEN_THREAD = 7,
    GOLDEN_STREAM = 1,
};

#define GOLDEN_START      UINT64_C(0xfffff000) /* when the ring is made, in ns */
#define GOLDEN_INSTANCE   UINT64_C(0x0123456789abcdef)
#define GOLDEN_DICTIONARY UINT64_C(0xfedcba9876543210)

static const uint8_t golden_uuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                        0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

/** The time of the play, in ns: what the clock of the ring's program shows. */
static uint64_t golden_now = GOLDEN_START;

static inline uint64_t golden_value(uint32_t record, uint32_t field)
{
    static const uint64_t odd[] = {
        0,
        UINT64_C(0x0102030405060708),
        UINT64_MAX,
        UINT64_C(0x8000000000000000), /* the least integer, and -0.0 */
        UINT64_C(0x7fffffffffffffff),
        UINT64_C(0x7ff0000000000000), /* infinity */
        UINT64_C(0x7ff4000000000001), /* a signalling NaN, which a move through a register of floats would change */
        UINT64_C(0x400921fb54442d18), /* pi */
        UINT64_C(0x00000000ffffffff),
        UINT64_C(0xffffffff00000000),
        1,
    };
    return odd[(record + 3 * field) % (sizeof odd / sizeof *odd)];
}

/** Plays act `act` of GOLDEN_ACTS: sets the time, calls `record`, again and again. */
static inline void golden_play(uint32_t act, void (*record)(uint32_t aspect, const uint64_t *values, uint32_t count))
{
    static const uint32_t records[GOLDEN_ACTS] = {20, 60, 3, 45};
    golden_now += act ? UINT64_C(0x60000000) : 0; /* less than half a turn of 32 bits */
    for (uint32_t i = 0; i < records[act]; i++) {
        uint64_t values[GOLDEN_ASPECTS];
        uint32_t count = (i * 7 + act) % GOLDEN_ASPECTS;
        for (uint32_t k = 0; k < count; k++)
            values[k] = golden_value(act + i, k);
        golden_now += i % 4 * 1000; /* some at the same time */
        record(count + 1, values, count);
    }
}

#endif
