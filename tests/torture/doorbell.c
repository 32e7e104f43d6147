// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Falling asleep while somebody knocks: the external sensor goes to sleep, a process records at about that moment, from
 * its code, a signal handler or a new thread. Whatever comes first, the record is taken at once: either there is no
 * sleep, or it ends. Nothing but the knock could end it: whole minutes are given, and time for looks never comes.
 */
#include "base/clock.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/ways.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 700, ROUNDS_LIGHT = 150, RACE_NS = 60000, DEADLINE_MS = 20000 };

static uint64_t seed;

/* Shared with the process that records: when to, and how; it answers with `done`. */
static struct orders {
    _Atomic uint32_t round, done;
    _Atomic int64_t at;
    _Atomic char how;
    char dir[64];
} * orders;

static void obey(void *unused)
{
    (void)unused;
    for (uint32_t round = 1;; round++) {
        while (orders->round < round)
            clock_sleep_until(clock_now() + CLOCK_MS / 50);
        if (round == 1)
            setenv("BEZEL_DIR", orders->dir, 1);
        while (clock_now() < orders->at)
            ;
        if (orders->how == 'e')
            return;
        ways_record(orders->how);
        orders->done = round;
    }
}

static void order(char how, int64_t at)
{
    orders->how = how;
    orders->at = at;
    orders->round++;
}

static struct fixture f;
static pid_t pid;
static int64_t now; /* jumps, so that a process comes to rest in no time */

static uint64_t records(void)
{
    return external_counts(f.external)->records;
}

static void acknowledge_all(void)
{
    struct window *w = external_window(f.external);
    uint64_t at = window_oldest(w);
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;)
        window_acknowledge(w, p->stream, window_stream(w, p->stream)->next_seq);
    window_free_acknowledged(w);
}

static void let_rest(void)
{
    for (int i = 0; i < 30 && external_next(f.external, 0) >= 0; i++) {
        external_poll(f.external, now += CLOCK_MS);
        acknowledge_all();
        external_housekeep(f.external, now += 100 * CLOCK_MS);
    }
    assert_int_equal(external_next(f.external, 0), -1);
}

/* Sleeps until woken. Returns whether there was any sleep. */
static bool sleep_until_woken(void)
{
    bool slept = false;
    while (external_sleep(f.external)) {
        struct pollfd bell = {.fd = external_bell(f.external), .events = POLLIN};
        slept = true;
        assert_int_equal(poll(&bell, 1, DEADLINE_MS), 1);
    }
    external_wake(f.external);
    return slept;
}

static void a_record_ends_sleep_whenever_it_comes(void **unused)
{
    (void)unused;
    uint32_t slept = 0, rounds = getenv("BEZEL_TEST_LIGHT") ? ROUNDS_LIGHT : ROUNDS;
    order('o', 0);
    for (uint32_t round = 0; round < rounds; round++) {
        while (orders->done < orders->round)
            clock_sleep_until(clock_now() + CLOCK_MS / 50);
        external_poll(f.external, now += CLOCK_MS);
        let_rest();
        uint64_t before = records();
        order("ost"[seed_next(&seed) % 3], clock_now() + (int64_t)(seed_next(&seed) % RACE_NS));
        slept += sleep_until_woken();
        external_poll(f.external, now += CLOCK_MS);
        assert_int_equal(records(), before + 1);
    }
    printf("%u rounds, %u of them with a sleep\n", rounds, slept);
    assert_true(slept > 0);
}

/* What is in the window is to be sent, and acknowledged, by somebody who is awake. */
static void nobody_sleeps_while_packets_wait(void **unused)
{
    (void)unused;
    order('o', 0);
    while (orders->done < orders->round)
        clock_sleep_until(clock_now() + CLOCK_MS / 50);
    external_poll(f.external, now += CLOCK_MS); /* finds it */
    for (int i = 0; i < 30 && external_next(f.external, 0) >= 0; i++) {
        external_poll(f.external, now += CLOCK_MS);
        external_housekeep(f.external, now += 100 * CLOCK_MS);
    }
    assert_int_equal(external_next(f.external, 0), -1);
    assert_true(window_waiting(external_window(f.external)) > 0);
    assert_false(external_sleep(f.external));
    acknowledge_all();
    assert_true(external_sleep(f.external));
    external_wake(f.external);
}

static int begin(void **unused)
{
    (void)unused;
    f.options.batch = f.options.take_all = f.options.doorbell = true;
    pid = fixture_spawn(obey, NULL); /* ahead of the external sensor, whose locks it would inherit */
    fixture_open(&f);
    memcpy(orders->dir, f.dir, sizeof orders->dir);
    now = clock_now();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    order('e', 0);
    fixture_wait(pid);
    external_finish(f.external, now);
    int64_t deadline = clock_now() + PATIENCE;
    while (!external_finished(f.external) || window_waiting(external_window(f.external)) != 0) {
        external_housekeep(f.external, now += 100 * CLOCK_MS);
        acknowledge_all();
        assert_true(clock_now() < deadline);
    }
    fixture_close(&f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_sleeps_while_packets_wait),
                                       cmocka_unit_test(a_record_ends_sleep_whenever_it_comes)};
    seed = seed_start();
    orders = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (orders == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("doorbell", tests, begin, end);
}
