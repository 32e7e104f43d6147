// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-writer [--lttng] [--any] [--turns FILE:SIDE] RATE SECONDS THREADS [BURSTS]: records two integers at RATE
 * records a second in all, in BURSTS bursts a second of each thread (default 5000); rate 0: takes its rings, and
 * sleeps. With
 * --lttng they go to LTTng-UST instead. With --any each burst comes at a random moment of its share of the time, so
 * that no poll can be in step with it. With --turns it records while it is the turn of SIDE (bench/turns.h), until the
 * turns end, however long that is. Prints how many there were, and how long it took: `wrote N in_ns N`.
 */
#include "base/clock.h"
#include "bench/lttng.h"
#include "bench/turns.h"

#include <bezel/sensor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 128 };

BEZEL_ASPECT(paced, (int64, number, "1"), (int64, next, "1"));

static double rate_of_each;
static int64_t seconds, burst_ns, begin_ns;
static bool to_lttng, any_moment;
static struct turns *turns; /* NULL: one turn, of `seconds` */
static uint32_t side;
static _Atomic uint64_t wrote;

static void record(int64_t from, int64_t until)
{
    if (to_lttng)
        lttng_loop((int)(until - from));
    else
        for (int64_t i = from; i < until; i++)
            bezel_record(paced, i, i + 1);
}

/* Of share `b` of the time since `begin`, the moment of its burst. */
static int64_t moment(int64_t begin, int64_t b, unsigned *random)
{
    int64_t late = any_moment ? (int64_t)((double)rand_r(random) / RAND_MAX * (double)burst_ns) : 0;
    return begin + b * burst_ns + late;
}

/* A turn: at most `bursts` of them. */
static void write_turn(int64_t begin, int64_t bursts, unsigned *random)
{
    int64_t done = 0;
    for (int64_t b = 0; b < bursts; b++) {
        int64_t until = (int64_t)(rate_of_each * (double)((b + 1) * burst_ns) / 1e9);
        clock_sleep_until(moment(begin, b, random));
        if (turns && !turns_mine(turns, side))
            break;
        record(done, until);
        if (turns)
            turns_add(turns, side, (uint64_t)(until - done));
        done = until;
    }
    atomic_fetch_add(&wrote, (uint64_t)done);
}

static void *write_paced(void *number)
{
    unsigned random = 1 + (unsigned)(size_t)number;
    if (!to_lttng)
        bezel_thread_init(0);
    while (turns && turns_wait(turns, side))
        write_turn(clock_now(), INT64_MAX, &random);
    if (!turns && rate_of_each > 0)
        write_turn(begin_ns, seconds * CLOCK_S / burst_ns, &random);
    int64_t end = clock_now();
    if (!turns)
        clock_sleep_until(begin_ns + seconds * CLOCK_S);
    return (void *)(size_t)(end - begin_ns);
}

static int read_arguments(int argc, char **argv, int *threads)
{
    for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; argc--, argv++) {
        to_lttng = to_lttng || strcmp(argv[1], "--lttng") == 0;
        any_moment = any_moment || strcmp(argv[1], "--any") == 0;
        if (strcmp(argv[1], "--turns") == 0 && argc > 2) {
            if (!(turns = turns_read(argv[2], &side)))
                return 1;
            argc--, argv++;
        }
    }
    *threads = argc >= 4 ? atoi(argv[3]) : 0;
    int bursts = argc == 5 ? atoi(argv[4]) : 5000;
    if (argc > 5 || *threads < 1 || *threads > THREADS_MAX || bursts < 1) {
        fputs("usage: bench-writer [--lttng] [--any] [--turns FILE:SIDE] RATE SECONDS THREADS [BURSTS]\n", stderr);
        return 2;
    }
    rate_of_each = atof(argv[1]) / *threads;
    seconds = atoll(argv[2]);
    burst_ns = CLOCK_S / bursts;
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    int count, code = read_arguments(argc, argv, &count);
    if (code)
        return code;
    if (to_lttng && !lttng_start())
        return 1;
    begin_ns = clock_now() + 100 * CLOCK_MS; /* rings are claimed first */
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, write_paced, (void *)(size_t)i) != 0)
            return 1;
    size_t took = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], (void **)&took);
        longest = took > longest ? took : longest;
    }
    printf("wrote %.0f in_ns %zu\n", (double)wrote, longest);
    return to_lttng && !lttng_stop() ? 3 : 0;
}
