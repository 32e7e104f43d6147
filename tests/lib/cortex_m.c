// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A program for a Cortex-M of qemu-system-arm, without a library: main and two interrupts record, each in a context of
 * its own, and what the rings come to is written to the debugger (semihosting) in hexadecimal, a packet a line.
 */
#include "tests/lib/golden_ring.h"

#include <bezel/micro.h>

enum { MARK = 1, NUMBER = 2 }; /* aspects */

static uint32_t now(void);

static struct bezel_micro micro = {
    .clock = now, .instance = GOLDEN_INSTANCE, .dictionary = GOLDEN_DICTIONARY, .stream_id = GOLDEN_STREAM};
static BEZEL_MICRO_RING(GOLDEN_SLOTS) golden_ring;
static BEZEL_MICRO_RING(8) rings[3];
static struct bezel_context golden, in_main, in_low, in_high;
static uint8_t packet[GOLDEN_PACKET_BYTES];

/* GCC asks for it even where there is no library. */
void *memcpy(void *to, const void *from, size_t n);
void *memcpy(void *to, const void *from, size_t n)
{
    volatile uint8_t *t = to;
    const uint8_t *f = from;
    while (n-- > 0)
        *t++ = *f++;
    return to;
}

/* ---- The machine ------------------------------------------------------------------------------------------------- */

#define ICSR  (*(volatile uint32_t *)0xe000ed04)
#define SHPR3 (*(volatile uint32_t *)0xe000ed20)

enum { PEND_LOW = 1 << 28 /* PendSV */, PEND_HIGH = 1 << 26 /* SysTick */ };

static void interrupt_now(uint32_t which)
{
    ICSR = which;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

static uint32_t semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void say(const char *text)
{
    semihost(4, text); /* SYS_WRITE0 */
}

static void say_packet(const char *context, uint32_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    char byte[3] = {0};
    say(context);
    for (uint32_t i = 0; i < bytes; i++) {
        byte[0] = digits[packet[i] >> 4];
        byte[1] = digits[packet[i] & 15];
        say(byte);
    }
    say("\n");
}

static void __attribute__((noreturn)) leave(void)
{
    for (;;)
        semihost(0x18, (const void *)0x20026); /* SYS_EXIT, ADP_Stopped_ApplicationExit */
}

static void __attribute__((noreturn)) fault(void)
{
    say("fault\n");
    leave();
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static uint32_t interrupt_next; /* the next look at the clock, which is in the middle of a record */

static uint32_t now(void)
{
    uint32_t which = interrupt_next;
    interrupt_next = 0;
    if (which)
        interrupt_now(which);
    return (uint32_t)golden_now;
}

/* Interrupts main in a record, and is interrupted in one of its own. */
static void low_interrupt(void)
{
    interrupt_next = PEND_HIGH;
    golden_now += 1;
    bezel_micro_record(&in_low, NUMBER, 10);
}

static void high_interrupt(void)
{
    golden_now += 1;
    bezel_micro_record(&in_high, NUMBER, 20, -20);
    bezel_micro_record(&in_main, NUMBER, 30); /* not ours: lost, and counted */
}

static void drain(const char *name, struct bezel_context *c)
{
    uint32_t n;
    while ((n = bezel_micro_drain(c, packet, sizeof packet)) > 0)
        say_packet(name, n);
}

static void close(const char *name, struct bezel_context *c)
{
    uint32_t n;
    drain(name, c);
    while ((n = bezel_micro_close(c, packet, sizeof packet)) > 0)
        say_packet(name, n);
}

static void record_golden(uint32_t aspect, const uint64_t *values, uint32_t count)
{
    bezel_micro_put(&golden, aspect, values, count);
}

static void play_golden(void)
{
    bezel_micro_init(&golden, &micro, &golden_ring.ring, GOLDEN_SLOTS, 0, GOLDEN_THREAD);
    for (uint32_t act = 0; act < GOLDEN_ACTS; act++) {
        golden_play(act, record_golden);
        drain("golden ", &golden);
    }
    close("golden ", &golden);
}

static void play_interrupts(void)
{
    bezel_micro_init(&in_main, &micro, &rings[0].ring, 8, 1, 0);
    bezel_micro_init(&in_low, &micro, &rings[1].ring, 8, 2, 0);
    bezel_micro_init(&in_high, &micro, &rings[2].ring, 8, 3, 0);
    for (int i = 0; i < 4; i++) {
        golden_now += 1000;
        interrupt_next = i % 2 ? PEND_LOW : 0;
        bezel_micro_record(&in_main, MARK);
    }
    close("main ", &in_main);
    close("low ", &in_low);
    close("high ", &in_high);
}

/* ---- The beginning ----------------------------------------------------------------------------------------------- */

extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

static void __attribute__((noreturn)) reset(void)
{
    const uint32_t *from = data_load;
    for (volatile uint32_t *to = data_begin; to < data_end; to++)
        *to = *from++;
    for (volatile uint32_t *to = bss_begin; to < bss_end; to++)
        *to = 0;
    for (uint32_t i = 0; i < sizeof golden_uuid; i++)
        ((volatile uint8_t *)micro.uuid)[i] = golden_uuid[i];
    SHPR3 = 0x40c00000; /* priorities: PendSV low, SysTick high */
    play_golden();
    play_interrupts();
    say("end\n");
    leave();
}

typedef void (*vector)(void);

extern const vector vectors[16];
__attribute__((section(".vectors"))) const vector vectors[16] = {
    (vector)(uintptr_t)stack_top,
    reset,
    fault,
    fault,
    fault,
    fault,
    fault,
    0,
    0,
    0,
    0,
    fault,
    0,
    0,
    low_interrupt,
    high_interrupt,
};
