// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-record PART...: what a record costs its writer, against the clock that is read inside it and against LTTng-UST.
 * The parts are run in the order given, in one process; LTTng takes part where `bench/with_lttng` started this program.
 * What each figure is, and the method, stands in docs/FIGURES.md.
 */
#include "bench/record.h"

#include "base/clock.h"
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
    static double bezel[ROUNDS_DISABLED], lttng[ROUNDS_DISABLED];
    bool peer = lttng_here();
    bezel_record(bench_two, 0, 0); /* declares */
    for (int i = 0; i < ROUNDS_DISABLED; i++) {
        bezel[i] = less_empty(eights_record);
        if (peer)
            lttng[i] = less_empty(lttng_eights);
    }
    bench_figure("record_disabled_ns", bench_quantile(bezel, ROUNDS_DISABLED, 0.5), "ns");
    bench_figure("lttng_disabled_ns", peer ? bench_quantile(lttng, ROUNDS_DISABLED, 0.5) : NAN, "ns");
    return 0;
}

/* ---- Batches in turns -------------------------------------------------------------------------------------------- */

/* NaN, with the reason told, where these records are not stamped with the counter. */
static double over_counter(double record_ns, double counter_ns, const char *figure)
{
    if (reader_clock() == SEGMENT_CLOCK_COUNTER && BENCH_COUNTER)
        return record_ns / counter_ns;
    bench_say("%s: records are not stamped with the processor's counter here; `bezel doctor` tells why", figure);
    return NAN;
}

int part_hot(void)
{
    struct bench_kind kinds[] = {{.loop = loop_counter},
                                 {.loop = loop_two, .slots = 1},
                                 {.loop = loop_gettime},
                                 {.loop = lttng_loop, .slots = 1}};
    bool peer = lttng_start();
    if (bench_turns(kinds, peer ? 4 : 3, ROUNDS_HOT) != 0)
        return 1;
    peer = peer && lttng_stop();
    double record_ns = kinds[1].median, lttng_ns = peer ? kinds[3].median : NAN;
    bench_figure("counter_ns", BENCH_COUNTER ? kinds[0].median : NAN, "ns");
    bench_figure("clock_ns", kinds[2].median, "ns");
    bench_figure("record_ns", record_ns, "ns");
    bench_figure("lttng_ns", lttng_ns, "ns");
    bench_figure("record_over_clock", over_counter(record_ns, kinds[0].median, "record_over_clock"), "ratio");
    bench_figure("lttng_over_record", lttng_ns / record_ns, "ratio");
    return 0;
}

int part_peer(void)
{
    struct bench_kind kinds[] = {{.loop = loop_two, .slots = 1}, {.loop = lttng_loop, .slots = 1}};
    bool peer = lttng_start();
    if (peer && bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    peer = peer && lttng_stop();
    bench_figure("lttng_counter_ns", peer ? kinds[1].median : NAN, "ns");
    bench_figure("lttng_counter_over_record", peer ? kinds[1].median / kinds[0].median : NAN, "ratio");
    return 0;
}

int part_busy(void)
{
    struct bench_kind kinds[] = {{.loop = loop_counter}, {.loop = loop_two, .slots = 1}};
    reader_busy(true);
    int err = bench_turns(kinds, 2, ROUNDS);
    reader_busy(false);
    if (err != 0)
        return 1;
    bench_figure("record_busy_reader_ns", kinds[1].median, "ns");
    bench_figure("record_busy_reader_over_clock",
                 over_counter(kinds[1].median, kinds[0].median, "record_busy_reader_over_clock"), "ratio");
    return 0;
}

int part_kinds(void)
{
    static const char *const names[] = {"record_0_values_ns", "record_1_value_ns",   "record_2_values_ns",
                                        "record_6_values_ns", "record_12_values_ns", "record_again_ns",
                                        "record_span_ns"};
    enum { COUNT = sizeof names / sizeof *names };
    struct bench_kind kinds[COUNT] = {{.loop = loop_zero, .slots = 1},   {.loop = loop_one, .slots = 1},
                                      {.loop = loop_two, .slots = 1},    {.loop = loop_six, .slots = 2},
                                      {.loop = loop_twelve, .slots = 4}, {.loop = loop_again, .slots = 1},
                                      {.loop = loop_span, .slots = 1}};
    if (bench_turns(kinds, COUNT, ROUNDS) != 0)
        return 1;
    for (int k = 0; k < COUNT; k++)
        bench_figure(names[k], kinds[k].median, "ns");
    return 0;
}

int part_fallback(void)
{
    struct bench_kind kinds[] = {{.loop = loop_gettime}, {.loop = loop_two, .slots = 1}};
    bool fell_back = reader_clock() == SEGMENT_CLOCK_MONOTONIC;
    if (!fell_back)
        bench_say("record_over_clock_fallback: records are stamped with the counter: BEZEL_CLOCK=monotonic is not set");
    else if (bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    bench_figure("record_over_clock_fallback", fell_back ? kinds[1].median / kinds[0].median : NAN, "ratio");
    return 0;
}

/* The rings go round and round; nothing is dropped, the oldest is overwritten. */
int part_overwrite(void)
{
    struct bench_kind kinds[] = {{.loop = loop_counter}, {.loop = loop_two, .slots = 1}};
    if (bench_turns(kinds, 2, ROUNDS) != 0)
        return 1;
    bench_figure("record_overwrite_ns", kinds[1].median, "ns");
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
    {"peer", part_peer, false},        {"count", part_count, false},
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
