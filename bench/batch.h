// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the benchmarks of group *record* share: the processor's counter, batches that take turns, medians and quantiles,
 * and how a figure is printed. One thread, unless a function says otherwise.
 */
#ifndef BEZEL_BENCH_BATCH_H
#define BEZEL_BENCH_BATCH_H

#include <stdbool.h>
#include <stdint.h>

/* ---- The counter ------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define BENCH_COUNTER 1
/** The counter as a recorder reads it: nothing orders the reading among its neighbours. */
static inline uint64_t bench_counter(void)
{
    return __builtin_ia32_rdtsc();
}

/** A reading that is later than all loads before it and earlier than all instructions behind it. */
static inline uint64_t bench_counter_fenced(void)
{
    __asm__ volatile("lfence" : : : "memory");
    uint64_t ticks = __builtin_ia32_rdtsc();
    __asm__ volatile("lfence" : : : "memory");
    return ticks;
}
#elif defined(__aarch64__)
#define BENCH_COUNTER 1
static inline uint64_t bench_counter(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline uint64_t bench_counter_fenced(void)
{
    uint64_t ticks;
    __asm__ volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}
#else
#include "base/clock.h"
#define BENCH_COUNTER                                                                                                  \
    0 /* no counter that a program may read everywhere: CLOCK_MONOTONIC stands in, and n/a is printed */
static inline uint64_t bench_counter(void)
{
    return (uint64_t)clock_now();
}

static inline uint64_t bench_counter_fenced(void)
{
    return (uint64_t)clock_now();
}
#endif

/** Nanoseconds a tick of the counter, by CLOCK_MONOTONIC over 50 ms; measured at the first call. */
double bench_tick_ns(void);

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

enum {
    BENCH_BATCH = 1500, /* of what takes a slot or two; less of what takes more: all of it fits the default ring */
    BENCH_WARM = 300,   /* done before, not timed: after a pause caches and predictors are another's */
};

/* What the three below define may be declared static before them, and ends in a semicolon. */

/** Defines `void name(int n)`: does CALL, which may use `i`, n times. */
#define BENCH_LOOP(name, CALL)                                                                                         \
    void name(int n)                                                                                                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            CALL;                                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    struct bench_semicolon

/** Defines `void name(int n)`: n turns of eight times CALL, and so that even an empty turn is one. */
#define BENCH_EIGHTS(name, CALL)                                                                                       \
    void name(int n)                                                                                                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            CALL;                                                                                                      \
            __asm__ volatile("" : : "r"(i) : "memory");                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    struct bench_semicolon

/** Defines `void name(uint32_t *ticks, int n)`: times CALL n times by a pair of fenced readings, the pair's cost in it.
 */
#define BENCH_SINGLES(name, CALL)                                                                                      \
    void name(uint32_t *ticks, int n)                                                                                  \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            uint64_t before = bench_counter_fenced();                                                                  \
            CALL;                                                                                                      \
            ticks[i] = bench_ticks_between(before, bench_counter_fenced());                                            \
        }                                                                                                              \
    }                                                                                                                  \
    struct bench_semicolon

static inline uint32_t bench_ticks_between(uint64_t before, uint64_t after)
{
    return after - before > UINT32_MAX ? UINT32_MAX : (uint32_t)(after - before);
}

/** One thing to measure. */
struct bench_kind {
    const char *name; /* of its figure; NULL: it is not printed */
    void (*loop)(int n);
    int slots; /* of the ring that one takes; 0: no record, no pause behind it */
};

/**
 * Lets the kinds take turns, `rounds` times (at most BENCH_ROUNDS_MAX), each round behind a look at what the counter
 * costs; after records it lets the reader drain. A round in which a ring dropped a record does not count. Returns 0, or
 * -1, saying so on stderr, where less than half of the rounds count.
 */
enum { BENCH_ROUNDS_MAX = 2000, BENCH_KINDS_MAX = 9 };
int bench_turns(const struct bench_kind *kinds, int count, int rounds);

/**
 * Prints the rounds of the last bench_turns(), for bench/rounds.awk, of the first `count` kinds. `ratios`: the lines of
 * a round that name ratios, or "".
 */
void bench_rounds(const struct bench_kind *kinds, int count, const char *ratios);

/** Prints a line `NAME VALUE UNIT` of a round; nothing where the value is NaN. */
void bench_value(const char *name, double value, const char *unit);

/** What a reading of the counter costs now, ns. */
double bench_counter_cost(void);

/** Mean time of one of n, in nanoseconds. */
double bench_time(void (*loop)(int n), int n);

/** The value below which share `q` of the `n` values lie (nearest rank); sorts them. */
double bench_quantile(double *values, int n, double q);
uint32_t bench_quantile_ticks(uint32_t *values, int n, double q);

/* ---- Placement and output ---------------------------------------------------------------------------------------- */

/**
 * Keeps the calling thread, and what it starts, on CPU number `i` of those that this process was allowed at its start,
 * counted round and round. Readers take number BENCH_READER, the writer the next: another one where there are two.
 */
enum { BENCH_READER = 0, BENCH_WRITER = 1 };
void bench_place(int i);

/**
 * Makes the calling thread a real-time one (SCHED_FIFO), so that no other program's turn is timed as an event's tail;
 * or ends that. Where there is one CPU, or it is not permitted, nothing changes; says so on stderr, once.
 */
void bench_realtime(bool on);

/** CPUs that this process was allowed at its start. */
int bench_cpus(void);

/** Passes `ns` nanoseconds without giving up the CPU: no wake-up from an idle state falls into the next batch. */
void bench_spin(int64_t ns);

/** Prints a figure; without a value where it is NaN, "n/a". Say why on stderr with bench_say(). */
void bench_figure(const char *name, double value, const char *unit);
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
