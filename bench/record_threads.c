// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a record costs when several threads of a process record. All begin a batch at the same instant, then let the
 * reader drain. Where there are more threads than CPUs they take turns on them, a batch a turn, so that it is still a
 * record's cost that is measured, not the waiting.
 */
#include "base/clock.h"
#include "bench/batch.h"
#include "bench/reader.h"
#include "bench/record.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 16, PASSES = 30, PASS_ROUNDS = 12 };
#define SPIN_NS (200 * CLOCK_US) /* awake before the batch, so that all are */

static BENCH_LOOP(loop_two, bezel_record(bench_two, i, i + 1));

struct writer {
    pthread_t thread;
    int number; /* the first of its pass, 0, says when the next batch begins */
    bool failed;
    int64_t began[PASS_ROUNDS], ended[PASS_ROUNDS];
};

static pthread_barrier_t round_end, round_begin;
static int64_t due;

/* All wait until the rings are empty; then for the same instant, awake. */
static void meet(const struct writer *w)
{
    pthread_barrier_wait(&round_end);
    if (w->number == 0) {
        reader_let_drain();
        due = clock_now() + CLOCK_MS;
    }
    pthread_barrier_wait(&round_begin);
    clock_sleep_until(due - SPIN_NS);
}

static void *write_batches(void *argument)
{
    struct writer *w = argument;
    bench_place(BENCH_WRITER + w->number);
    bench_realtime(true);
    w->failed = bezel_thread_init(0) != 0;
    for (int r = 0; r < PASS_ROUNDS; r++) {
        meet(w);
        loop_two(BENCH_WARM);
        while (clock_now() < due)
            ;
        w->began[r] = clock_now();
        loop_two(BENCH_BATCH);
        w->ended[r] = clock_now();
    }
    return NULL;
}

/* Whether all of the batches of round `r` went on at some instant together. */
static bool together(const struct writer *w, int count, int r)
{
    int64_t last_begin = w[0].began[r], first_end = w[0].ended[r];
    for (int i = 1; i < count; i++) {
        last_begin = w[i].began[r] > last_begin ? w[i].began[r] : last_begin;
        first_end = w[i].ended[r] < first_end ? w[i].ended[r] : first_end;
    }
    return last_begin < first_end;
}

/* Starts them; where the system has no thread to give there is nothing to measure. */
static void run(struct writer *w, int count)
{
    pthread_barrier_init(&round_end, NULL, (unsigned)count);
    pthread_barrier_init(&round_begin, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        w[i].number = i;
        if (pthread_create(&w[i].thread, NULL, write_batches, &w[i]) != 0) {
            bench_say("no thread to be had");
            exit(1);
        }
    }
    for (int i = 0; i < count; i++)
        pthread_join(w[i].thread, NULL);
    pthread_barrier_destroy(&round_end);
    pthread_barrier_destroy(&round_begin);
}

/* One pass of `count` threads: prints the median of its batches, of rounds that went on together. */
static void pass(int count)
{
    static struct writer w[THREADS_MAX];
    static double times[THREADS_MAX * PASS_ROUNDS];
    uint64_t dropped = reader_dropped();
    bool failed = false;
    char name[32];
    int n = 0;
    run(w, count);
    for (int i = 0; i < count; i++)
        failed |= w[i].failed;
    if (failed || reader_dropped() != dropped)
        puts(failed ? "void no ring for a thread" : "void records were dropped");
    for (int r = 0; r < PASS_ROUNDS; r++)
        for (int i = 0; i < count && (count > bench_cpus() || together(w, count, r)); i++)
            times[n++] = (double)(w[i].ended[r] - w[i].began[r]) / BENCH_BATCH;
    snprintf(name, sizeof name, "record_%d_threads_ns", count);
    bench_value(name, n ? bench_quantile(times, n, 0.5) : NAN, "ns");
}

int part_threads(void)
{
    static const int counts[] = {1, 2, 4, 8, 16};
    for (int p = 0; p < PASSES; p++) {
        printf("round\nmachine %.3f 0\n", bench_counter_cost());
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            pass(counts[c]);
        if (bench_cpus() >= 2)
            puts("ratio record_2_threads_over_1 record_2_threads_ns record_1_threads_ns");
    }
    puts("end");
    if (bench_cpus() < 2)
        bench_say("record_2_threads_over_1: there is one CPU");
    return 0;
}
