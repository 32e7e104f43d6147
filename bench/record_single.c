// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Records timed one at a time, by a pair of fenced counter readings: the tail of a million in a row, and what one
 * record a millisecond costs when other code has had the caches in between. The same for LTTng and for the timer
 * itself.
 */
#include "base/clock.h"
#include "bench/batch.h"
#include "bench/lttng.h"
#include "bench/reader.h"
#include "bench/record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTHING, COUNTER, RECORD, LTTNG, KINDS };

static uint64_t sink;

static BENCH_SINGLES(singles_nothing, (void)0);
static BENCH_SINGLES(singles_counter, sink += bench_counter());
static BENCH_SINGLES(singles_record, bezel_record(bench_two, i, i + 1));

enum { A_ROUND = 1000, ROUNDS = 1000, TIMES = A_ROUND * ROUNDS };

struct single {
    void (*time)(uint32_t *ticks, int n);
    uint32_t *ticks; /* room for TIMES */
};

/* What is measured, with memory for its times that was touched. */
static struct single *prepare(void)
{
    static uint32_t ticks[KINDS][TIMES];
    static struct single kinds[KINDS] = {{singles_nothing, ticks[NOTHING]},
                                         {singles_counter, ticks[COUNTER]},
                                         {singles_record, ticks[RECORD]},
                                         {lttng_singles, ticks[LTTNG]}};
    memset(ticks, 1, sizeof ticks);
    return kinds;
}

static double quantile_ns(const struct single *kind, int n, double q)
{
    return n > 0 ? bench_quantile_ticks(kind->ticks, n, q) * bench_tick_ns() : NAN;
}

/* ---- The tail ---------------------------------------------------------------------------------------------------- */

enum { ROUNDS_FIRST = 20 }; /* not counted: they meet pages for the first time */

/* Lets the kinds take turns; returns how many times of each count. */
static int time_rounds(struct single *kinds, int count)
{
    int n = 0;
    for (int r = -ROUNDS_FIRST; r < ROUNDS; r++) {
        uint64_t dropped = reader_dropped();
        for (int k = 0; k < count; k++) {
            kinds[k].time(kinds[k].ticks + n, BENCH_WARM);
            kinds[k].time(kinds[k].ticks + n, A_ROUND);
            if (k >= RECORD)
                reader_let_drain();
        }
        n += r >= 0 && reader_dropped() == dropped ? A_ROUND : 0;
    }
    return n;
}

/* Empty measurements above a microsecond, a second of measured time: what the machine puts between any two instants. */
static double stalls_per_s(const struct single *empty, int n)
{
    double tick_ns = bench_tick_ns(), all_ns = 0;
    int stalls = 0;
    for (int i = 0; i < n; i++) {
        all_ns += empty->ticks[i] * tick_ns;
        stalls += empty->ticks[i] * tick_ns > 1000;
    }
    return stalls / all_ns * 1e9;
}

int part_singles(void)
{
    struct single *kinds = prepare();
    bench_tick_ns();
    bool peer = lttng_start();
    bench_realtime(true);
    int n = time_rounds(kinds, peer ? KINDS : LTTNG);
    bench_realtime(false);
    peer = peer && lttng_stop();
    if (n < TIMES / 2)
        return bench_say("more than half of the rounds of single records met a full ring"), 1;
    bench_figure("machine_stalls_per_s", stalls_per_s(&kinds[NOTHING], n), "1/s");
    bench_figure("timer_ns", quantile_ns(&kinds[NOTHING], n, 0.5), "ns");
    bench_figure("timer_p9999_ns", quantile_ns(&kinds[NOTHING], n, 0.9999), "ns");
    bench_figure("clock_p9999_ns", quantile_ns(&kinds[COUNTER], n, 0.9999), "ns");
    bench_figure("record_p50_ns", quantile_ns(&kinds[RECORD], n, 0.5), "ns");
    bench_figure("record_p99_ns", quantile_ns(&kinds[RECORD], n, 0.99), "ns");
    bench_figure("record_p9999_ns", quantile_ns(&kinds[RECORD], n, 0.9999), "ns");
    bench_figure("lttng_p9999_ns", peer ? quantile_ns(&kinds[LTTNG], n, 0.9999) : NAN, "ns");
    return 0;
}

/* ---- Cold -------------------------------------------------------------------------------------------------------- */

enum { LINE = 64, CODE_BYTES = 512 << 10, COLD_MIN = 300, COLD_MAX = 2000, COLD_ROUNDS = 30 };
#define COLD_BUDGET_NS (8 * CLOCK_S)

/* What evicts: a buffer larger than a cache, and code to run that is larger than the instruction cache. */
struct evict {
    volatile char *data;
    size_t bytes;
    char *code; /* returns, a line apart; NULL: none here */
};

/* Calls through the whole of it turn over instruction cache and branch targets, as other work of the program would. */
static char *make_code(void)
{
#if defined(__x86_64__)
    static const unsigned char ret[] = {0xc3};
#elif defined(__aarch64__)
    static const unsigned char ret[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
    static const unsigned char ret[] = {0};
    return NULL;
#endif
    char *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    for (size_t i = 0; i < CODE_BYTES; i += LINE)
        memcpy(code + i, ret, sizeof ret);
    __builtin___clear_cache(code, code + CODE_BYTES);
    return mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC) == 0 ? code : NULL;
}

static bool make_evict(struct evict *e)
{
    long last = sysconf(_SC_LEVEL3_CACHE_SIZE) > 0 ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 32 << 20;
    e->bytes = (size_t)last / 4 * 5;
    e->data = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (e->data == MAP_FAILED)
        return bench_say("no memory to evict caches with"), false;
    madvise((void *)e->data, e->bytes, MADV_NOHUGEPAGE); /* small pages: the TLB is turned over as well */
    for (size_t i = 0; i < e->bytes; i += LINE)
        e->data[i] = 1;
    if (!(e->code = make_code()))
        bench_say("the instruction cache is not evicted here");
    return true;
}

static void evict(const struct evict *e, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < e->bytes; i += LINE)
        (void)e->data[i];
    for (size_t i = 0; e->code && i < CODE_BYTES; i += LINE) {
        void (*call)(void);
        char *at = e->code + i;
        memcpy(&call, &at, sizeof call); /* ISO C has no cast from an object to a function */
        call();
    }
}

/* How long evicting takes, or a millisecond where that is longer: the pause between two measurements. */
static int64_t cold_interval(const struct evict *e, size_t bytes)
{
    int64_t before = clock_now();
    for (int i = 0; i < 4; i++)
        evict(e, bytes);
    int64_t took = (clock_now() - before) / 4;
    return took > CLOCK_MS ? took : CLOCK_MS;
}

/* Times `n` of each kind in turns, each after an eviction of `bytes` and, where that is quicker, at the next ms. */
static void time_cold(struct single *kinds, bool peer, const struct evict *e, size_t bytes, int n)
{
    int64_t due = clock_now();
    for (int i = 0; i < n; i++)
        for (int k = 0; k < KINDS; k++) {
            if (k == COUNTER || (k == LTTNG && !peer))
                continue;
            evict(e, bytes);
            due += CLOCK_MS;
            int64_t left = due - clock_now();
            if (left > 0)
                bench_spin(left);
            else
                due -= left;
            kinds[k].time(kinds[k].ticks + i, 1);
        }
}

/* Nanoseconds at quantile `q`, less what the timer itself costs when it is cold. */
static double cold_ns(const struct single *kinds, int kind, int n, double q)
{
    return quantile_ns(&kinds[kind], n, q) - quantile_ns(&kinds[NOTHING], n, 0.5);
}

/* From memory: everything evicted. Returns how many, or -1. */
static int measure_cold(struct single *kinds, const struct evict *e, size_t bytes, bool *peer)
{
    int64_t interval = cold_interval(e, bytes);
    int64_t n = COLD_BUDGET_NS / interval;
    n = n < COLD_MIN ? COLD_MIN : n > COLD_MAX ? COLD_MAX : n;
    uint64_t dropped = reader_dropped();
    *peer = lttng_start();
    bench_realtime(true);
    time_cold(kinds, *peer, e, bytes, (int)n);
    bench_realtime(false);
    *peer = *peer && lttng_stop();
    bench_say("cold: %lld of each, %.1f ms apart, %zu MiB walked before each", (long long)n, (double)interval / 1e6,
              bytes >> 20);
    return reader_dropped() == dropped ? (int)n : (bench_say("cold: records were dropped"), -1);
}

/* Median of a round's share of the times of `kind`, less what the timer costs there. */
static double round_ns(const struct single *kinds, int kind, int r, int share)
{
    static uint32_t ticks[COLD_MAX], timer[COLD_MAX];
    memcpy(ticks, kinds[kind].ticks + (ptrdiff_t)r * share, (size_t)share * sizeof *ticks);
    memcpy(timer, kinds[NOTHING].ticks + (ptrdiff_t)r * share, (size_t)share * sizeof *timer);
    return ((double)bench_quantile_ticks(ticks, share, 0.5) - bench_quantile_ticks(timer, share, 0.5)) *
           bench_tick_ns();
}

static void print_cold_rounds(const struct single *kinds, int n, bool peer)
{
    for (int r = 0; r < COLD_ROUNDS; r++) {
        puts("round");
        bench_value("record_cold_p50_ns", round_ns(kinds, RECORD, r, n / COLD_ROUNDS), "ns");
        if (peer)
            bench_value("lttng_cold_p50_ns", round_ns(kinds, LTTNG, r, n / COLD_ROUNDS), "ns");
        puts("ratio lttng_cold_over_record_cold lttng_cold_p50_ns record_cold_p50_ns");
    }
    puts("end");
}

int part_cold(void)
{
    struct single *kinds = prepare();
    struct evict e;
    bool peer;
    if (!make_evict(&e))
        return 1;
    int n = measure_cold(kinds, &e, e.bytes, &peer);
    if (n < 0)
        return 1;
    print_cold_rounds(kinds, n, peer); /* what follows sorts them */
    double p99 = cold_ns(kinds, RECORD, n, 0.99), lttng_p99 = peer ? cold_ns(kinds, LTTNG, n, 0.99) : NAN;
    bench_figure("timer_cold_ns", quantile_ns(&kinds[NOTHING], n, 0.5), "ns");
    bench_figure("record_cold_p99_ns", p99, "ns");
    bench_figure("lttng_cold_p99_ns", lttng_p99, "ns");
    bench_figure("lttng_cold_over_record_cold_p99", lttng_p99 / p99, "ratio");
    /* The program's own work between two records rarely goes through more than the caches of its core. */
    long middle = sysconf(_SC_LEVEL2_CACHE_SIZE) > 0 ? sysconf(_SC_LEVEL2_CACHE_SIZE) : 2 << 20;
    if ((n = measure_cold(kinds, &e, 2 * (size_t)middle, &peer)) < 0)
        return 1;
    bench_figure("record_cool_p50_ns", cold_ns(kinds, RECORD, n, 0.5), "ns");
    bench_figure("lttng_cool_p50_ns", peer ? cold_ns(kinds, LTTNG, n, 0.5) : NAN, "ns");
    return 0;
}
