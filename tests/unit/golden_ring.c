// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * One play of records (tests/lib/golden_ring.h), recorded through libbezel and read by the external sensor, comes to
 * the same packets on every machine: tests/golden/ring.bin, which this program made on x86-64 with the argument
 * --write. The clock is the test's. What names the process and the run is replaced before packets are compared.
 */
#include "tests/lib/golden_ring.h"
#include "base/file.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/every_aspect.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GOLDEN_FILE BEZEL_SOURCE_DIR "/tests/golden/ring.bin"

static bool write_it;
static uint8_t seen[GOLDEN_MAX_BYTES];
static size_t seen_bytes;

static bool playing; /* else the clock is the machine's: the external sensor measures the counter when it opens */

/* libbezel's clock, and the external sensor's. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
#ifdef SYS_clock_gettime64 /* a 32-bit machine */
    if (!playing)
        return (int)syscall(SYS_clock_gettime64, clock, t);
#else
    if (!playing)
        return (int)syscall(SYS_clock_gettime, clock, t);
#endif
    t->tv_sec = (time_t)(golden_now / 1000000000);
    t->tv_nsec = (long)(golden_now % 1000000000);
    return 0;
}

/* ---- The process that records ------------------------------------------------------------------------------------ */

static struct bezel_aspect *const aspects[GOLDEN_ASPECTS] = {
    &bezel_aspect_of0,  &bezel_aspect_of1,  &bezel_aspect_of2,  &bezel_aspect_of3, &bezel_aspect_of4,
    &bezel_aspect_of5,  &bezel_aspect_of6,  &bezel_aspect_of7,  &bezel_aspect_of8, &bezel_aspect_of9,
    &bezel_aspect_of10, &bezel_aspect_of11, &bezel_aspect_of12,
};

static void record(uint32_t aspect, const uint64_t *values, uint32_t count)
{
    (void)count;
    bezel_emit(aspects[aspect - 1], values);
}

/* Plays an act for each byte that comes, and answers each with one. */
static void play(int orders, int answers)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t act = 0; read(orders, &byte, 1) == 1; act++) {
        golden_play(act, record);
        if (write(answers, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

/* ---- The reader -------------------------------------------------------------------------------------------------- */

static void nothing(uint32_t aspect, const uint64_t *values, uint32_t count)
{
    (void)aspect, (void)values, (void)count;
}

static void take_packets(struct external *x)
{
    struct window *w = external_window(x);
    uint64_t at = window_oldest(w);
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p->data, p->bytes, &h), 0);
        assert_true(seen_bytes + p->bytes <= sizeof seen);
        memcpy(h.uuid, golden_uuid, sizeof h.uuid);
        h.stream_id = GOLDEN_STREAM;
        h.instance = GOLDEN_INSTANCE;
        h.thread = GOLDEN_THREAD;
        h.dictionary = GOLDEN_DICTIONARY;
        memcpy(seen + seen_bytes, p->data, p->bytes);
        packet_put_header(seen + seen_bytes, &h);
        seen_bytes += p->bytes;
        window_acknowledge(w, p->stream, h.seq + 1);
    }
    window_free_each(w, NULL, NULL);
}

static void turn(struct external *x)
{
    external_poll(x, (int64_t)golden_now);
    external_housekeep(x, (int64_t)golden_now);
    take_packets(x);
}

static void compare(void)
{
    char *golden = NULL;
    size_t n = 0;
    if (write_it)
        assert_int_equal(file_replace(GOLDEN_FILE, seen, seen_bytes), 0);
    assert_int_equal(file_read(GOLDEN_FILE, sizeof seen, &golden, &n), 0);
    assert_int_equal(seen_bytes, n);
    assert_memory_equal(seen, golden, n);
    free(golden);
}

TEST(a_play_of_records_comes_to_the_golden_packets)
{
    char dir[SCRATCH_PATH], byte = 0;
    int orders[2], answers[2], status;
    struct external_options options = {
        .dir = dir, .run = "a run", .uuid = "a trace", .window_bytes = 4 << 20, .batch = true, .take_all = true};
    struct external *x;
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    setenv("BEZEL_CLOCK", "monotonic", 1);
    setenv("BEZEL_RING_RECORDS", "64", 1);
    assert_int_equal(external_open(&options, &x), 0);
    x->looked_at = 0; /* by the clock of the play, all that is recorded is later */
    playing = true;
    assert_true(pipe(orders) == 0 && pipe(answers) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(orders[1]);
        play(orders[0], answers[1]);
    }
    close(orders[0]);
    for (uint32_t act = 0; act < GOLDEN_ACTS; act++) {
        assert_true(write(orders[1], &byte, 1) == 1 && read(answers[0], &byte, 1) == 1);
        golden_play(act, nothing);
        turn(x);
    }
    close(orders[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    external_finish(x, (int64_t)golden_now);
    for (int i = 0; i < 10 && !external_finished(x); i++)
        turn(x);
    turn(x);
    assert_true(external_finished(x));
    external_close(x, true);
    playing = false;
    close(answers[0]), close(answers[1]);
    scratch_remove(dir);
    compare();
}

int main(int argc, char **argv)
{
    write_it = argc == 2 && strcmp(argv[1], "--write") == 0;
    return test_run(NULL, NULL);
}
