// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-record: what a record costs its writer, against the clock read inside it. One thread writes batches that fit
 * the ring while another process drains; a batch during which anything was dropped does not count (a drop is cheaper
 * than a record). Clock batches and record batches take turns, so that both see the same machine; figures are ratios of
 * medians.
 */
#include "base/clock.h"
#include "base/file.h"
#include "bezel/sensor.h"
#include "sensor/external.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 2000, ROUNDS = 2000 };

BEZEL_ASPECT(bench_two, (int64, number, "1"), (float64, half, "1"));

static const uint8_t run_id[16] = {0x62};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

/* The reader: polls once a millisecond and acknowledges what it cut at once. */
static void drain_for_ever(const char *dir, int ready)
{
    struct external_options options = {.dir = dir, .window_bytes = 16 << 20, .batch = true, .take_all = true};
    struct external *x;
    memcpy(options.run, run_id, sizeof run_id);
    if (external_open(&options, &x) != 0 || write(ready, "r", 1) != 1)
        _exit(1);
    struct window *w = external_window(x);
    for (int64_t due = clock_now();;) {
        struct packet_header h;
        external_poll(x, clock_now());
        external_housekeep(x, clock_now());
        uint64_t at = window_oldest(w);
        for (struct window_packet *p; (p = window_next(w, &at)) != NULL;)
            if (packet_get_header(p->data, p->bytes, &h) == 0)
                window_acknowledge(w, p->stream, h.seq + 1);
        window_free_acknowledged(w);
        clock_sleep_until(due += CLOCK_MS);
    }
}

static double clock_batch(void)
{
    struct timespec t;
    int64_t sum = 0, before = clock_now();
    for (int i = 0; i < BATCH; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        sum += t.tv_nsec;
    }
    int64_t after = clock_now();
    __asm__ volatile("" : : "r"(sum));
    return (double)(after - before) / BATCH;
}

static double record_batch(void)
{
    int64_t before = clock_now();
    for (int i = 0; i < BATCH; i++)
        bezel_record(bench_two, i, 0.5);
    return (double)(clock_now() - before) / BATCH;
}

/* The segment of this process as any reader would see it: its ring 0 tells of drops. */
static const struct ring *map_own_ring(const char *dir)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*" SEGMENT_SUFFIX, dir);
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc != 1)
        return NULL;
    int fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    globfree(&found);
    size_t bytes = segment_ring_offset() + segment_ring_stride(RING_SLOTS_DEFAULT);
    const char *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : (const struct ring *)(at + segment_ring_offset());
}

static uint64_t dropped(const struct ring *ring)
{
    uint64_t n = 0;
    for (int id = 1; id < RING_ASPECTS; id++)
        n += atomic_load_explicit(&ring->tally[id].full, memory_order_relaxed);
    return n;
}

/* Waits until the reader has surely emptied the ring: three of its periods. */
static void let_drain(void)
{
    clock_sleep_until(clock_now() + 3 * CLOCK_MS);
}

static int measure_records(const struct ring *ring)
{
    static double clocks[ROUNDS], records[ROUNDS];
    int n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = dropped(ring);
        clocks[n] = clock_batch();
        records[n] = record_batch();
        let_drain();
        n += dropped(ring) == before;
    }
    if (n < ROUNDS / 2)
        return fputs("bench-record: more than half of the batches met a full ring\n", stderr), 1;
    double clock_ns = median(clocks, n), record_ns = median(records, n);
    printf("clock_ns %.2f ns\n", clock_ns);
    printf("record_ns %.2f ns\n", record_ns);
    printf("record_over_clock_fallback %.3f ratio\n", record_ns / clock_ns);
    fprintf(stderr, "bench-record: %d of %d batches of %d records without a drop\n", n, ROUNDS, BATCH);
    return 0;
}

/* An aspect of a process that nobody listens to: loads and a branch. Eight a turn, and the empty loop is taken off. */
static double disabled_once(void)
{
    enum { MANY = 4000000, A_TURN = 8 };
    int64_t start = clock_now();
    for (int i = 0; i < MANY; i++)
        __asm__ volatile("" : : "r"(i) : "memory");
    int64_t middle = clock_now();
    for (int i = 0; i < MANY; i++) {
#define RECORD bezel_record(bench_two, i, 0.5)
        RECORD, RECORD, RECORD, RECORD, RECORD, RECORD, RECORD, RECORD;
#undef RECORD
        __asm__ volatile("" : : "r"(i) : "memory");
    }
    return (double)(clock_now() - middle - (middle - start)) / MANY / A_TURN;
}

static void measure_disabled(const char *dir)
{
    double times[5];
    fflush(stdout);
    if (fork() == 0) {
        char other[128];
        snprintf(other, sizeof other, "%s-silent", dir);
        setenv("BEZEL_DIR", other, 1);
        bezel_record(bench_two, 0, 0); /* declares; nobody listens there */
        for (int i = 0; i < 5; i++)
            times[i] = disabled_once();
        printf("record_disabled_ns %.2f ns\n", median(times, 5));
        exit(0); /* removes its segment */
    }
    wait(NULL);
}

int main(void)
{
    char dir[] = "/dev/shm/bezel-bench-XXXXXX", silent[64], byte;
    int ready[2];
    if (!mkdtemp(dir) || pipe(ready) != 0)
        return 1;
    snprintf(silent, sizeof silent, "%s-silent", dir);
    measure_disabled(dir);
    pid_t reader = fork();
    if (reader == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        drain_for_ever(dir, ready[1]);
    }
    setenv("BEZEL_DIR", dir, 1);
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    bezel_thread_init();
    let_drain();
    const struct ring *ring = map_own_ring(dir);
    int code = ring ? measure_records(ring) : 1;
    kill(reader, SIGKILL);
    waitpid(reader, NULL, 0);
    return file_remove_tree(dir) != 0 || file_remove_tree(silent) != 0 ? 1 : code;
}
