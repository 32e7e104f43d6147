// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-record PART...: what a record costs its writer, against the clock that is read inside it and against LTTng-UST.
 * The parts are run in the order given, in one process; LTTng takes part where `bench/with_lttng` started this program.
 * What each figure is, and the method, stands in docs/FIGURES.md.
 */
#include "bench/record.h"

#include "bench/batch.h"
#include "bench/lttng.h"
#include "bench/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_HOT = 1200, ROUNDS = 400, ROUNDS_DISABLED = 15, DISABLED_TURNS = 200000, COUNTED = 800 };

BEZEL_ASPECT(bench_zero);
BEZEL_ASPECT(bench_one, (int64, a, "1"));
BEZEL_ASPECT(bench_six, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (float64, d, "1"), (float64, e, "1"),
             (float64, f, "1"));
BEZEL_ASPECT(bench_twelve, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (float64, g, "1"), (float64, h, "1"), (float64, i, "1"), (float64, j, "1"),
             (float64, k, "1"), (float64, l, "1"));

BEZEL_SPAN(bench_span, (int64, number, "1"));
BEZEL_WAIT(bench_wait, lock);
BEZEL_ASPECT(bench_cpu, (cpu, cpu, "ns"));

static uint64_t sink;

static inline uint64_t gettime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_nsec;
}

static BENCH_LOOP(loop_counter, sink += bench_counter());
static BENCH_LOOP(loop_gettime, sink += gettime());
static BENCH_LOOP(loop_two, bezel_record(bench_two, i, i + 1));
static BENCH_LOOP(loop_again, bezel_again(bench_two, i, i + 1));
static BENCH_LOOP(loop_span, bezel_span span = bezel_begin(bench_span); bezel_end(bench_span, span, i));
static BENCH_LOOP(loop_wait, (void)i; bezel_span span = bezel_begin(bench_wait); bezel_end(bench_wait, span));
static BENCH_LOOP(loop_cpu, (void)i; bezel_record(bench_cpu, BEZEL_CPU));
static BENCH_LOOP(loop_zero, bezel_record(bench_zero));
static BENCH_LOOP(loop_one, bezel_record(bench_one, i));
static BENCH_LOOP(loop_six, bezel_record(bench_six, i, i, i, 0.5, 0.5, 0.5));
static BENCH_LOOP(loop_twelve, bezel_record(bench_twelve, i, i, i, i, i, i, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5));

/* ---- Nobody reads ------------------------------------------------------------------------------------------------ */

static BENCH_EIGHTS(eights_empty, (void)0);
static BENCH_EIGHTS(eights_record, bezel_record(bench_two, i, i + 1));

/* Nanoseconds of one of the eight, less the empty loop that ran right before. */
static double less_empty(void (*eights)(int n))
{
    double empty = bench_time(eights_empty, DISABLED_TURNS);
    return (bench_time(eights, DISABLED_TURNS) - empty) / 8;
}

int part_disabled(void)
{
    bool peer = lttng_here();
    bezel_record(bench_two, 0, 0); /* declares */
    for (int i = 0; i < ROUNDS_DISABLED; i++) {
        printf("round\nmachine %.3f 0\n", bench_counter_cost());
        bench_value("record_disabled_ns", less_empty(eights_record), "ns");
        if (peer)
            bench_value("lttng_disabled_ns", less_empty(lttng_eights), "ns");
    }
    puts("end");
    return 0;
}

/* ---- Batches in turns -------------------------------------------------------------------------------------------- */

/* Whether a ratio to the counter means something: not where these records are not stamped with it. */
static bool stamped(const char *figure)
{
    if (reader_clock() == SEGMENT_CLOCK_COUNTER && BENCH_COUNTER)
        return true;
    bench_say("%s: records are not stamped with the processor's counter here; `bezel doctor` tells why", figure);
    return false;
}

int part_hot(void)
{
    static const struct bench_kind kinds[] = {{BENCH_COUNTER ? "counter_ns" : NULL, loop_counter, 0},
                                              {"record_ns", loop_two, 1},
                                              {"clock_ns", loop_gettime, 0},
                                              {"lttng_ns", lttng_loop, 1}};
    bool peer = lttng_start();
    if (bench_turns(kinds, peer ? 4 : 3, ROUNDS_HOT) != 0)
        return 1;
    peer = peer && lttng_stop();
    bench_rounds(kinds, peer ? 4 : 3,
                 stamped("record_over_clock") ? "ratio record_over_clock record_ns counter_ns\n"
                                                "ratio lttng_over_record lttng_ns record_ns\n"
                                              : "ratio lttng_over_record lttng_ns record_ns\n");
    return 0;
}

int part_peer(void)
{
    static const struct bench_kind kinds[] = {{"record_beside_peer_ns", loop_two, 1},
                                              {"lttng_counter_ns", lttng_loop, 1}};
    bool peer = lttng_start();
    if (peer && bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    if (peer && lttng_stop())
        bench_rounds(kinds, 2, "ratio lttng_counter_over_record lttng_counter_ns record_beside_peer_ns\n");
    return 0;
}

int part_busy(void)
{
    static const struct bench_kind kinds[] = {{"counter_beside_busy_reader_ns", loop_counter, 0},
                                              {"record_busy_reader_ns", loop_two, 1}};
    reader_busy(true);
    int err = bench_turns(kinds, 2, ROUNDS);
    reader_busy(false);
    if (err != 0)
        return 1;
    bench_rounds(kinds, 2,
                 stamped("record_busy_reader_over_clock")
                     ? "ratio record_busy_reader_over_clock record_busy_reader_ns counter_beside_busy_reader_ns\n"
                     : "");
    return 0;
}

int part_kinds(void)
{
    static const struct bench_kind kinds[] = {
        {"record_0_values_ns", loop_zero, 1},    {"record_1_value_ns", loop_one, 1},
        {"record_2_values_ns", loop_two, 1},     {"record_6_values_ns", loop_six, 2},
        {"record_12_values_ns", loop_twelve, 4}, {"record_again_ns", loop_again, 1},
        {"record_span_ns", loop_span, 1}};
    enum { COUNT = sizeof kinds / sizeof *kinds };
    if (bench_turns(kinds, COUNT, ROUNDS) != 0)
        return 1;
    bench_rounds(kinds, COUNT, "");
    return 0;
}

int part_waits(void)
{
    static const struct bench_kind kinds[] = {{"wait_recorded_ns", loop_wait, 1}, {"record_cpu_ns", loop_cpu, 1}};
    if (bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    bench_rounds(kinds, 2, "");
    return 0;
}

int part_fallback(void)
{
    static const struct bench_kind kinds[] = {{"clock_beside_fallback_ns", loop_gettime, 0},
                                              {"record_fallback_ns", loop_two, 1}};
    if (reader_clock() != SEGMENT_CLOCK_MONOTONIC)
        return bench_say("record_over_clock_fallback: BEZEL_CLOCK=monotonic is not set"), 1;
    if (bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    bench_rounds(kinds, 2, "ratio record_over_clock_fallback record_fallback_ns clock_beside_fallback_ns\n");
    return 0;
}

/* The rings go round and round; nothing is dropped, the oldest is overwritten. */
int part_overwrite(void)
{
    static const struct bench_kind kinds[] = {{"record_overwrite_ns", loop_two, 1}};
    if (bench_turns(kinds, 1, ROUNDS) != 0)
        return 1;
    bench_rounds(kinds, 1, "");
    return 0;
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

__attribute__((noinline)) BENCH_EIGHTS(bench_counted, bezel_record(bench_two, i, i + 1));

int part_count(void)
{
    static volatile int turns = COUNTED / 8; /* volatile: no copy of the function is made for this number */
    uint64_t dropped = reader_dropped();
    bench_counted(turns);
    printf("counted %d\n", COUNTED);
    return reader_dropped() == dropped ? 0 : 1;
}

/* ---- Program ----------------------------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    int (*run)(void);
    bool alone; /* wants no reader yet */
} parts[] = {
    {"disabled", part_disabled, true}, {"hot", part_hot, false},           {"kinds", part_kinds, false},
    {"busy", part_busy, false},        {"threads", part_threads, false},   {"singles", part_singles, false},
    {"cold", part_cold, false},        {"fallback", part_fallback, false}, {"overwrite", part_overwrite, false},
    {"peer", part_peer, false},        {"count", part_count, false},       {"waits", part_waits, false},
};

static const struct part *find_part(const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    return NULL;
}

int main(int argc, char **argv)
{
    int code = 0;
    bool reading = false;
    for (int i = 1; i < argc; i++)
        if (!find_part(argv[i]))
            return fprintf(stderr, "bench-record: no part %s\n", argv[i]), 2;
    if (argc < 2 || !getenv("BEZEL_DIR"))
        return fputs("usage: BEZEL_DIR=EMPTY-FOLDER bench-record PART...; see bench/run\n", stderr), 2;
    for (int i = 1; i < argc; i++) {
        const struct part *part = find_part(argv[i]);
        if (!reading && !part->alone && reader_start() != 0)
            return 1;
        reading |= !part->alone;
        code |= part->run();
    }
    reader_stop();
    return code;
}
