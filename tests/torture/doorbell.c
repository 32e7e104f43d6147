// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Wake at the moment of sleep: the external sensor goes to sleep, and a process records at about that moment, from its
 * code, a signal handler or a new thread. Whichever is first, the record is taken at once: either there is no sleep, or
 * it ends. Only the wake can end it: there is no housekeeping meanwhile, and the deadline is far away.
 */
#include "base/clock.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/ways.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 700, ROUNDS_LIGHT = 150, RACE_NS = 60000, DEADLINE_MS = 20000 };

static uint64_t seed;

/* Shared with the recording process: when it records, and how; it answers with `done`. */
static struct actions {
    _Atomic uint32_t round, done;
    _Atomic int64_t at;
    _Atomic char how;
    char dir[64];
} * actions;

static void recorder(void *unused)
{
    (void)unused;
    for (uint32_t round = 1;; round++) {
        while (actions->round < round)
            clock_sleep_until(clock_now() + CLOCK_MS / 50);
        if (round == 1)
            setenv("BEZEL_DIR", actions->dir, 1);
        while (clock_now() < actions->at)
            ;
        if (actions->how == 'e')
            return;
        ways_record(actions->how);
        actions->done = round;
    }
}

static void act(char how, int64_t at)
{
    actions->how = how;
    actions->at = at;
    actions->round++;
}

static struct fixture f;
static pid_t pid;
static int64_t now; /* jumps, so that a process becomes idle at once */

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
    window_free_each(w, NULL, NULL);
}

static void let_idle(void)
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
        struct pollfd bell = {.fd = external_doorbell(f.external), .events = POLLIN};
        slept = true;
        assert_int_equal(poll(&bell, 1, DEADLINE_MS), 1);
    }
    external_wake(f.external);
    return slept;
}

TEST(a_record_ends_sleep_whenever_it_comes)
{
    uint32_t slept = 0, rounds = getenv("BEZEL_TEST_LIGHT") ? ROUNDS_LIGHT : ROUNDS;
    act('o', 0);
    for (uint32_t round = 0; round < rounds; round++) {
        while (actions->done < actions->round)
            clock_sleep_until(clock_now() + CLOCK_MS / 50);
        external_poll(f.external, now += CLOCK_MS);
        let_idle();
        uint64_t before = records();
        act("ost"[seed_next(&seed) % 3], clock_now() + (int64_t)(seed_next(&seed) % RACE_NS));
        slept += sleep_until_woken();
        external_poll(f.external, now += CLOCK_MS);
        assert_int_equal(records(), before + 1);
    }
    printf("%u rounds, %u of them with a sleep\n", rounds, slept);
    assert_true(slept > 0);
}

/* Packets in the window have to be sent and acknowledged, so bezeld must be awake. */
TEST(nobody_sleeps_while_packets_wait)
{
    act('o', 0);
    while (actions->done < actions->round)
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
    f.options.batch = f.options.take_all = f.options.doorbell = f.options.sleeps_beside_idle = true;
    pid = fixture_spawn(recorder, NULL); /* ahead of the external sensor, whose locks it would inherit */
    fixture_open(&f);
    memcpy(actions->dir, f.dir, sizeof actions->dir);
    now = clock_now();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    act('e', 0);
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
    seed = seed_start();
    actions = mmap(NULL, sizeof *actions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (actions == MAP_FAILED)
        return 1;
    return test_run(begin, end);
}
