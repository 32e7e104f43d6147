// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * kill -9 of a recording process at random moments, from its first instruction on: every record whose call returned is
 * found, in order, at most one more of each thread, and the books balance.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, AHEAD = 1000 /* records that a thread may be ahead of its reader: its ring never fills */ };

BEZEL_ASPECT(step, (int64, thread, "1"), (int64, number, "1"));
BEZEL_ASPECT(long_step, (int64, thread, "1"), (int64, number, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"),
             (int64, l, "1"));

/* Shared with the victims: how many records of a thread were completed, and how many the reader has seen. */
static struct page {
    _Atomic uint64_t done[THREADS], seen[THREADS];
} * page;

static void *thread_body(void *context)
{
    uint64_t t = (uint64_t)(uintptr_t)context;
    for (int64_t n = 0;; n++) {
        while (page->done[t] - page->seen[t] > AHEAD)
            sched_yield();
        if (n % 5)
            bezel_record(step, (int64_t)t, n);
        else
            bezel_record(long_step, (int64_t)t, n, n + 1, n + 2, 4, 5, 6, 7, 8, 9, 10, -n);
        page->done[t]++;
    }
    return NULL;
}

static void victim(void *unused)
{
    (void)unused;
    pthread_t t;
    for (uintptr_t i = 1; i < THREADS; i++)
        if (pthread_create(&t, NULL, thread_body, (void *)i) != 0) /* NOLINT: a number is all it needs */
            _exit(1);
    thread_body(NULL);
}

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    (void)f, (void)h;
    uint64_t t = packet_value(r, 0), n = packet_value(r, 1);
    assert_true(t < THREADS);
    assert_int_equal(n, page->seen[t]);
    assert_string_equal(aspect, n % 5 ? "step" : "long_step");
    if (n % 5 == 0) {
        assert_int_equal(packet_value(r, 3), n + 2);
        assert_int_equal(packet_value(r, 11), -n);
    }
    page->seen[t] = n + 1;
}

static void check_books(struct fixture *f)
{
    static struct message_books b;
    uint64_t begun = 0;
    for (uint32_t i = 0; i < external_process_count(f->external); i++) {
        const struct external_process *p = external_process(f->external, i);
        if (!p)
            continue;
        external_books(p, clock_now(), &b);
        assert_true(b.unfinished <= p->at->ring_count);
        for (uint32_t n = 0; n < b.row_count; n++) {
            assert_int_equal(b.rows[n].full + b.rows[n].off + b.rows[n].no_ring, 0);
            begun += b.rows[n].attempts;
        }
        begun -= b.unfinished;
    }
    assert_int_equal(begun, f->records);
}

static bool records(struct fixture *f)
{
    (void)f;
    return page->done[0] > 10;
}

/* Half of the lives are counted from birth, half from when it records. */
static void one_life(uint64_t random)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .record = take};
    memset(page, 0, sizeof *page);
    fixture_open(&f);
    pid_t pid = fixture_spawn(victim, NULL);
    if ((random >> 32) % 2)
        fixture_until(&f, records);
    int64_t born = clock_now(), life = (int64_t)(random % (random % 4 ? 3 * CLOCK_MS : 30 * CLOCK_MS));
    do
        fixture_turn(&f);
    while (clock_now() - born < life);
    kill(pid, SIGKILL);
    assert_true(WIFSIGNALED(fixture_wait(pid)));
    external_housekeep(f.external, clock_now() + 2 * CLOCK_S); /* looks through the folder, if it rang or not */
    fixture_until(&f, fixture_nobody_lives);
    for (int t = 0; t < THREADS; t++)
        assert_true(page->seen[t] == page->done[t] || page->seen[t] == page->done[t] + 1);
    check_books(&f);
    fixture_end(&f);
}

TEST(a_killed_process_loses_at_most_what_each_thread_was_writing)
{
    uint64_t seed = seed_start(), total = 0;
    for (int round = getenv("BEZEL_TEST_LIGHT") ? 20 : 100; round > 0; round--) {
        one_life(seed_next(&seed));
        for (int t = 0; t < THREADS; t++)
            total += page->seen[t];
    }
    printf("%llu records\n", (unsigned long long)total);
    assert_true(total > 10);
}

int main(void)
{
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
