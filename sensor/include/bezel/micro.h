// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * <bezel/micro.h>: internal sensors for microcontrollers, without an operating system, a heap or a C library. The ring
 * and its write path are libbezel's (<bezel/core.h>); its memory and its clock are the program's.
 *
 *     static uint32_t cycles(void) { return DWT->CYCCNT; }
 *     static struct bezel_micro sensors = {.clock = cycles, .uuid = {...}, .instance = boot_number, .stream_id = 1};
 *     static BEZEL_MICRO_RING(64) main_ring, uart_ring;
 *     static struct bezel_context in_main, in_uart;
 *
 *     bezel_micro_init(&in_main, &sensors, &main_ring.ring, 64, 0, 0);
 *     bezel_micro_init(&in_uart, &sensors, &uart_ring.ring, 64, 1, 0);
 *     ...
 *     bezel_micro_record(&in_uart, BYTE_CAME, byte, errors);
 *     ...
 *     while ((n = bezel_micro_drain(&in_uart, packet, sizeof packet)) > 0)
 *         send(packet, n);
 *
 * A context is code that records and can interrupt, or be interrupted by, other code that records: main, and each
 * interrupt priority (or task) that records. Each has a ring of its own, so there are no locks, no masked interrupts
 * and no exclusive accesses; it works on a Cortex-M0 as well. Recording is wait-free. A record that finds its ring full
 * is lost and counted; it uses up its ordinal, so the packets show where it is missing.
 *
 * The packets are Bezel's (docs/WIRE.md), in ticks of the program's clock. The program chooses how to send them, and
 * how to send the dictionary, which describes the aspects. A debugger can read the rings too: struct bezel_ring,
 * followed by its slots, in the byte order of the machine.
 *
 * Compile sensor/internal/micro.c and mdr/packet.c into the program, all of it with the same BEZEL_ASPECTS
 * (docs/CROSS.md).
 */
#ifndef BEZEL_MICRO_H
#define BEZEL_MICRO_H

#include <bezel/core.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BEZEL_MICRO_VALUES_MAX = 12,
    BEZEL_MICRO_SLOTS_MIN = 4,         /* of a ring: the longest record */
    BEZEL_MICRO_PACKET_MIN = 120 + 108 /* bytes of a packet with one record, the longest */
};

/** What all contexts of a program have in common; static, filled by the program, kept for ever. */
struct bezel_micro {
    /**
     * Ticks since any moment, modulo 2^32, never running backwards; the same for all contexts. The library extends them
     * to 64 bits: for that, the program must record, drain, or call bezel_micro_time() at least every 2^31 ticks. Shift
     * a shorter counter to the upper end: a SysTick of 24 bits, which counts down, is -(SysTick->VAL << 8).
     */
    uint32_t (*clock)(void);
    uint8_t uuid[16];    /* of the trace */
    uint64_t instance;   /* differs for each start of the program: a count of boots, a random number */
    uint64_t dictionary; /* hash of the dictionary's bytes (base/hash.h); 0: none */
    uint32_t stream_id;  /* of the program's aspects in the trace */
    uint32_t halves;     /* library's: half turns of the clock so far */
};

/** A context; the program's memory, the library's content. */
struct bezel_context {
    struct bezel_writer writer;
    struct bezel_micro *micro;
    uint32_t intruded; /* records that interrupted one of this context, and were lost */
    uint32_t counted;  /* ... of these, those that the ring's counters have */
    /* the drain's */
    uint32_t number, thread, tail, closed;
    uint64_t next_seq, next_ordinal, discarded, last;
};

/** Type of the memory of a ring of `slots` slots, a power of two from BEZEL_MICRO_SLOTS_MIN; a record of n values takes
 * (n + 5) / 4. */
#define BEZEL_MICRO_RING(slot_count)                                                                                   \
    struct {                                                                                                           \
        struct bezel_ring ring;                                                                                        \
        struct bezel_slot slots[slot_count];                                                                           \
    }

/**
 * Makes `c`, all zeros, a context of `micro` that writes into `ring`, all zeros, with `slots` slots behind it. `number`
 * (0 to 127) identifies the context in the trace; `thread` is a thread id for the reader of the trace, 0: none.
 */
void bezel_micro_init(struct bezel_context *c, struct bezel_micro *micro, struct bezel_ring *ring, uint32_t slots,
                      uint32_t number, uint32_t thread);

/**
 * Records aspect `aspect` (1 to BEZEL_ASPECTS - 1) with `count` values, at most BEZEL_MICRO_VALUES_MAX, in the running
 * context. Use bezel_micro_record(). The record is lost, and counted under aspect 0, if an argument is out of its
 * range, or if an interrupt calls this for a context that it interrupted in the middle of a record.
 */
void bezel_micro_put(struct bezel_context *c, uint32_t aspect, const uint64_t *values, uint32_t count);

/**
 * bezel_micro_record(context, aspect, value, ...): 0 to 12 integers; a floating-point number as bezel_micro_float64(x).
 * In C only: C++ has no compound literals, and calls bezel_micro_put().
 */
#define bezel_micro_record(context, ...) BEZEL_MICRO_RECORD_(context, __VA_ARGS__, 0)
#define BEZEL_MICRO_RECORD_(context, aspect, ...)                                                                      \
    bezel_micro_put(context, aspect, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8 - 1)

static inline uint64_t bezel_micro_float64(double v)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

/** The time in ticks of the program's clock, extended to 64 bits. From any context. */
uint64_t bezel_micro_time(struct bezel_micro *micro);

/**
 * Writes the next packet of `c` to `packet`, of `bytes` bytes, at least BEZEL_MICRO_PACKET_MIN. Returns its length; 0
 * if the ring is empty, or `bytes` is too small. The records in the packet have left the ring. From one context at a
 * time, of any priority.
 */
uint32_t bezel_micro_drain(struct bezel_context *c, uint8_t *packet, uint32_t bytes);

/**
 * The same for the packets that end the stream of `c`, once it records no more and is drained. They contain the number
 * of records lost after the last one. Returns 0 after the last packet.
 */
uint32_t bezel_micro_close(struct bezel_context *c, uint8_t *packet, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
