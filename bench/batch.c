// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

#include "bench/batch.h"

#include "base/clock.h"
#include "bench/reader.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

double bench_tick_ns(void)
{
    static double tick_ns;
    if (tick_ns == 0) {
        int64_t before_ns = clock_now();
        uint64_t before = bench_counter_fenced();
        bench_spin(50 * CLOCK_MS);
        int64_t after_ns = clock_now();
        tick_ns = (double)(after_ns - before_ns) / (double)(bench_counter_fenced() - before);
    }
    return tick_ns;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

double bench_time(void (*loop)(int n), int n)
{
    int64_t before = clock_now();
    loop(n);
    return (double)(clock_now() - before) / n;
}

static uint64_t sink;
static BENCH_LOOP(loop_counter, sink += bench_counter());

double bench_counter_cost(void)
{
    loop_counter(BENCH_WARM);
    return bench_time(loop_counter, BENCH_BATCH);
}

static double turn(const struct bench_kind *kind)
{
    int share = kind->slots > 2 ? kind->slots / 2 : 1;
    kind->loop(BENCH_WARM / share);
    return bench_time(kind->loop, BENCH_BATCH / share);
}

static struct round {
    double clock_ns, ns[BENCH_KINDS_MAX];
    bool dropped;
} turns[BENCH_ROUNDS_MAX];
static int turn_count;

int bench_turns(const struct bench_kind *kinds, int count, int rounds)
{
    int good = 0;
    for (int r = 0; r < rounds; r++) {
        uint64_t dropped = reader_dropped();
        turns[r].clock_ns = bench_counter_cost();
        for (int k = 0; k < count; k++) {
            turns[r].ns[k] = turn(&kinds[k]);
            if (kinds[k].slots > 0)
                reader_let_drain();
        }
        turns[r].dropped = reader_dropped() != dropped;
        good += !turns[r].dropped;
    }
    turn_count = rounds;
    if (good < rounds)
        bench_say("%d of %d rounds without a drop count", good, rounds);
    return good * 2 < rounds ? -1 : 0;
}

void bench_rounds(const struct bench_kind *kinds, int count, const char *ratios)
{
    for (const struct round *r = turns; r < turns + turn_count; r++) {
        printf("round\nmachine %.3f 0\n", r->clock_ns);
        if (r->dropped)
            puts("void records were dropped");
        for (int k = 0; k < count; k++)
            if (kinds[k].name)
                bench_value(kinds[k].name, r->ns[k], "ns");
        fputs(ratios, stdout);
    }
    puts("end");
    fflush(stdout);
}

/* ---- Placement and output ---------------------------------------------------------------------------------------- */

static const cpu_set_t *allowed(void)
{
    static cpu_set_t set;
    static bool known;
    if (!known && sched_getaffinity(0, sizeof set, &set) != 0)
        CPU_SET(0, &set);
    if (!known)
        known = true; /* by the first thread, before it makes others */
    return &set;
}

int bench_cpus(void)
{
    return CPU_COUNT(allowed());
}

void bench_place(int i)
{
    cpu_set_t one;
    int skip = i % bench_cpus(), cpu = 0;
    while (!CPU_ISSET(cpu, allowed()) || skip-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* where it is refused: as it was */
}

void bench_realtime(bool on)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct sched_param priority = {.sched_priority = on ? 1 : 0};
    if (bench_cpus() >= 2 && sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &priority) == 0)
        return;
    if (on && !atomic_flag_test_and_set(&said))
        bench_say("without SCHED_FIFO (one CPU, or not permitted): other programs' turns are in the tails");
}

void bench_spin(int64_t ns)
{
    for (int64_t until = clock_now() + ns; clock_now() < until;)
        ;
}

void bench_value(const char *name, double value, const char *unit)
{
    if (!isnan(value))
        printf("%s %.4f %s\n", name, value, unit);
}

void bench_figure(const char *name, double value, const char *unit)
{
    if (isnan(value))
        printf("%s n/a %s\n", name, unit);
    else
        printf("%s %.*f %s\n", name, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 3 ? 2 : 3, value, unit);
    fflush(stdout);
}
