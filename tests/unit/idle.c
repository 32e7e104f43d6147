// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Processes at rest: who records nothing is not polled, knocks at its next record, and is found by the next poll. What
 * a knock misses is found by a look. Time is the tests' own: it jumps.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external_impl.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/ways.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

BEZEL_ASPECT(other, (int64, number, "1"));
BEZEL_ASPECT(wide, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"));

/* What the recording process is to do, a letter each; it takes it away when it is done. And where it is to record. */
static struct orders {
    _Atomic char now;
    char dir[64];
} * orders;

static void carry_out(char what)
{
    if (what == 'p')
        bezel_record(other, 1);
    else if (what == 'w')
        bezel_record(wide, 1, 2, 3);
    else
        ways_record(what);
}

static void obey(void *unused)
{
    (void)unused;
    while (orders->now == 0)
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    setenv("BEZEL_DIR", orders->dir, 1);
    ways_record('o');
    bezel_record(other, 0);
    for (;;) {
        char what = orders->now;
        if (what == 'e')
            return;
        carry_out(what);
        orders->now = 0;
        while (orders->now == 0)
            clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
}

static void tell(char what)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (orders->now != 0) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
    orders->now = what;
    while (what != 'e' && orders->now != 0) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
}

static struct fixture f;
static struct steer rules;
static int64_t now;
static pid_t pid;

static struct external_process *process(void)
{
    assert_true(external_process_count(f.external) > 0);
    return external_process(f.external, 0);
}

static uint64_t records(void)
{
    return external_counts(f.external)->records;
}

static struct message_books_row tally(const char *aspect)
{
    return segment_tally(process()->at, fixture_aspect(&f, aspect)->id);
}

static uint32_t poll_now(void)
{
    return external_poll(f.external, now += CLOCK_MS);
}

static void housekeep(int64_t from_now)
{
    external_housekeep(f.external, now += from_now);
}

static bool rests(void)
{
    return external_next(f.external, 0) < 0;
}

static void let_rest(void)
{
    for (int i = 0; i < 30 && !rests(); i++) {
        poll_now();
        housekeep(100 * CLOCK_MS);
    }
    assert_true(rests());
    assert_true(process()->knocks);
}

static struct doorbell *bell(void)
{
    static struct doorbell *at;
    char path[96];
    snprintf(path, sizeof path, "%s/" DOORBELL_NAME, f.dir);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    if (at)
        munmap(at, sizeof *at);
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return at;
}

static int begin(void **unused)
{
    (void)unused;
    memset(&f, 0, sizeof f);
    rules = (struct steer){0};
    f.options.batch = f.options.take_all = true;
    f.options.rules = &rules;
    orders->now = 0;
    pid = fixture_spawn(obey, NULL); /* ahead of the external sensor, whose locks it would inherit */
    fixture_open(&f);
    memcpy(orders->dir, f.dir, sizeof orders->dir);
    now = clock_now();
    tell('.');
    while (records() < 2)
        poll_now();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    tell('e');
    fixture_wait(pid);
    fixture_end(&f);
    return 0;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void a_quiet_process_knocks_whatever_it_records(void **unused)
{
    (void)unused;
    for (const char *what = "owstop"; *what; what++) {
        let_rest();
        uint64_t before = records();
        tell(*what);
        assert_int_equal(poll_now(), 1);
        assert_int_equal(records(), before + 1);
        assert_false(rests());
        assert_false(process()->knocks);
        tell('o'); /* the usual way again */
        assert_int_equal(poll_now(), 1);
    }
}

/* Long enough that a record that was begun before it was asked is published, and found by a poll. */
static void who_was_asked_to_knock_is_polled_for_a_while(void **unused)
{
    (void)unused;
    for (int i = 0; i < 50 && !process()->knocks; i++) {
        poll_now();
        housekeep(50 * CLOCK_MS);
    }
    assert_true(process()->knocks);
    housekeep(90 * CLOCK_MS);
    assert_false(rests());
    tell('o');
    memset((void *)bell()->knocks, 0, sizeof bell()->knocks);
    assert_int_equal(poll_now(), 1);
    let_rest();
}

static void every_place_has_its_look_within_a_second(void **unused)
{
    (void)unused;
    uint32_t looks[EXTERNAL_PROCESSES] = {0};
    for (int64_t from_now = 0; from_now < CLOCK_S; from_now += 7 * CLOCK_MS) {
        struct places share = quiet_share(f.external, now += 7 * CLOCK_MS);
        for
            PLACES_EACH(i, &share)
        looks[i]++;
    }
    for (uint32_t i = 0; i < EXTERNAL_PROCESSES; i++)
        assert_in_range(looks[i], 1, 4); /* a share is rounded up */
}

static void a_quiet_process_that_forks_is_two(void **unused)
{
    (void)unused;
    let_rest();
    uint64_t before = records();
    tell('f');
    poll_now();
    housekeep(CLOCK_MS);
    poll_now();
    assert_int_equal(records(), before + 1);
    tell('o');
    poll_now();
    assert_int_equal(records(), before + 2);
}

static void a_wiped_knock_is_late_but_not_lost(void **unused)
{
    (void)unused;
    let_rest();
    tell('o');
    memset((void *)bell()->knocks, 0, sizeof bell()->knocks);
    assert_int_equal(poll_now(), 0);
    for (int i = 0; i < 11 && rests(); i++) /* a second */
        housekeep(100 * CLOCK_MS);
    assert_int_equal(poll_now(), 1);
    let_rest();
    tell('o');
    memset((void *)bell()->knocks, 0, sizeof bell()->knocks);
    process()->at->segment->quiet = 1; /* as if it had not knocked */
    assert_int_equal(poll_now(), 0);
    for (int i = 0; i < 11 && rests(); i++)
        housekeep(100 * CLOCK_MS);
    assert_int_equal(poll_now(), 1);
}

static void who_knocks_without_need_is_looked_at(void **unused)
{
    (void)unused;
    let_rest();
    memset((void *)bell()->knocks, 0xff, sizeof bell()->knocks);
    assert_int_equal(poll_now(), 0);
    assert_false(rests());
    process()->at->segment->quiet = UINT32_MAX; /* a place that is none */
    tell('w');
    assert_int_equal(poll_now(), 1);
    let_rest();
}

static void rules_and_rest_go_together(void **unused)
{
    (void)unused;
    assert_int_equal(steer_add(&rules, "one", SEGMENT_DISABLED), 0);
    assert_int_equal(steer_add(&rules, "other", SEGMENT_COUNT), 0);
    external_steer(f.external);
    let_rest();
    tell('o');
    assert_int_equal(poll_now(), 0);
    assert_true(rests()); /* what is off is no attempt */
    tell('p');
    assert_int_equal(poll_now(), 0);
    assert_false(rests()); /* what is only counted has books */
    assert_int_equal(tally("other").off, 1);
    let_rest();
    rules.count = 0; /* steered while it rests */
    external_steer(f.external);
    uint64_t before = records();
    tell('o');
    assert_int_equal(poll_now(), 1);
    tell('p');
    poll_now();
    assert_int_equal(records(), before + 2);
    assert_int_equal(tally("one").attempts, 2);
}

static void the_next_life_hears_the_knock(void **unused)
{
    (void)unused;
    uint64_t id = bell()->id;
    let_rest();
    external_close(f.external, false);
    tell('o');
    fixture_reopen(&f);
    assert_int_equal(bell()->id, id);
    now = clock_now();
    uint32_t taken = poll_now();
    assert_int_equal(taken, 1);
    let_rest();
    external_close(f.external, false);
    fixture_reopen(&f);
    now = clock_now();
    assert_int_equal(poll_now(), 0);
    let_rest();
    tell('o');
    assert_int_equal(poll_now(), 1);
}

static void a_process_with_another_doorbell_never_rests(void **unused)
{
    (void)unused;
    process()->at->bell++;
    for (int i = 0; i < 30; i++) {
        poll_now();
        housekeep(100 * CLOCK_MS);
    }
    assert_false(rests());
    assert_false(process()->knocks);
    process()->at->bell--;
}

static void a_process_that_ends_at_rest_is_drained(void **unused)
{
    (void)unused;
    let_rest();
    tell('o');
    memset((void *)bell()->knocks, 0, sizeof bell()->knocks);
    uint64_t before = records();
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    orders->now = 0;
    for (int i = 0; i < 20 && process()->phase == EXTERNAL_LIVE; i++)
        housekeep(100 * CLOCK_MS);
    assert_int_equal(process()->phase, EXTERNAL_CLOSED);
    assert_int_equal(records(), before + 1);
}

static int end_killed(void **unused)
{
    (void)unused;
    fixture_wait(pid);
    fixture_end(&f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quiet_process_knocks_whatever_it_records, begin, end),
        cmocka_unit_test_setup_teardown(who_was_asked_to_knock_is_polled_for_a_while, begin, end),
        cmocka_unit_test_setup_teardown(every_place_has_its_look_within_a_second, begin, end),
        cmocka_unit_test_setup_teardown(a_quiet_process_that_forks_is_two, begin, end),
        cmocka_unit_test_setup_teardown(a_wiped_knock_is_late_but_not_lost, begin, end),
        cmocka_unit_test_setup_teardown(who_knocks_without_need_is_looked_at, begin, end),
        cmocka_unit_test_setup_teardown(rules_and_rest_go_together, begin, end),
        cmocka_unit_test_setup_teardown(the_next_life_hears_the_knock, begin, end),
        cmocka_unit_test_setup_teardown(a_process_with_another_doorbell_never_rests, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_ends_at_rest_is_drained, begin, end_killed),
    };
    orders = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (orders == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}
