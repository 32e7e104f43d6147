// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Idle processes: a process that records nothing is not polled, sets its wake bit at its next record, and is read by
 * the next poll. Housekeeping finds records whose wake was lost. Time is the tests' own: it jumps.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"
#include "tests/lib/ways.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(other, (int64, number, "1"));
BEZEL_ASPECT(wide, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"));

/* A letter for each action of the recording process, which clears it when done; and the folder. */
static struct actions {
    _Atomic char now;
    char dir[64];
} * actions;

static void carry_out(char what)
{
    if (what == 'p')
        bezel_record(other, 1);
    else if (what == 'w')
        bezel_record(wide, 1, 2, 3);
    else
        ways_record(what);
}

static void recorder(void *unused)
{
    (void)unused;
    while (actions->now == 0)
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    setenv("BEZEL_DIR", actions->dir, 1);
    ways_record('o');
    bezel_record(other, 0);
    for (;;) {
        char what = actions->now;
        if (what == 'e')
            return;
        carry_out(what);
        actions->now = 0;
        while (actions->now == 0)
            clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
}

static void act(char what)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (actions->now != 0) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
    actions->now = what;
    while (what != 'e' && actions->now != 0) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
}

static struct fixture f;
static struct aspect_rules rules;
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

static bool is_idle(void)
{
    return external_next(f.external, 0) < 0;
}

static void let_idle(void)
{
    for (int i = 0; i < 30 && !is_idle(); i++) {
        poll_now();
        housekeep(100 * CLOCK_MS);
    }
    assert_true(is_idle());
    assert_true(process()->wake_asked);
}

static struct doorbell *doorbell(void)
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

/* Nobody records yet. */
static int begin_alone(void **unused)
{
    (void)unused;
    memset(&f, 0, sizeof f);
    rules = (struct aspect_rules){0};
    f.options.batch = f.options.take_all = f.options.doorbell = true;
    f.options.rules = &rules;
    actions->now = 0;
    pid = fixture_spawn(recorder, NULL); /* ahead of the external sensor, whose locks it would inherit */
    fixture_open(&f);
    memcpy(actions->dir, f.dir, sizeof actions->dir);
    now = clock_now();
    return 0;
}

static int begin(void **unused)
{
    begin_alone(unused);
    act('.');
    while (records() < 2)
        poll_now();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    act('e');
    fixture_wait(pid);
    fixture_end(&f);
    return 0;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, an_idle_process_wakes_us_whatever_it_records)
{
    for (const char *what = "owstop"; *what; what++) {
        let_idle();
        uint64_t before = records();
        act(*what);
        assert_int_equal(poll_now(), 1);
        assert_int_equal(records(), before + 1);
        assert_false(is_idle());
        assert_false(process()->wake_asked);
        act('o'); /* the usual way again */
        assert_int_equal(poll_now(), 1);
    }
}

/* Long enough for a record that was begun before the request to be published, and found by a poll. */
TEST_WITH(begin, end, a_process_with_a_wake_request_is_polled_for_a_while)
{
    for (int i = 0; i < 50 && !process()->wake_asked; i++) {
        poll_now();
        housekeep(50 * CLOCK_MS);
    }
    assert_true(process()->wake_asked);
    housekeep(90 * CLOCK_MS);
    assert_false(is_idle());
    act('o');
    memset((void *)doorbell()->wake_bits, 0, sizeof doorbell()->wake_bits);
    assert_int_equal(poll_now(), 1);
    let_idle();
}

TEST_WITH(begin, end, an_idle_process_that_forks_is_two)
{
    let_idle();
    uint64_t before = records();
    act('f');
    poll_now();
    housekeep(CLOCK_MS);
    poll_now();
    assert_int_equal(records(), before + 1);
    act('o');
    poll_now();
    assert_int_equal(records(), before + 2);
}

TEST_WITH(begin, end, a_record_with_a_cleared_wake_bit_is_late_but_not_lost)
{
    let_idle();
    act('o');
    memset((void *)doorbell()->wake_bits, 0, sizeof doorbell()->wake_bits);
    assert_int_equal(poll_now(), 0);
    for (int i = 0; i < 11 && is_idle(); i++) /* a second */
        housekeep(100 * CLOCK_MS);
    assert_int_equal(poll_now(), 1);
    let_idle();
    act('o');
    memset((void *)doorbell()->wake_bits, 0, sizeof doorbell()->wake_bits);
    process()->at->segment->wake_bit = 1; /* as if it had set no wake bit */
    assert_int_equal(poll_now(), 0);
    for (int i = 0; i < 11 && is_idle(); i++)
        housekeep(100 * CLOCK_MS);
    assert_int_equal(poll_now(), 1);
}

TEST_WITH(begin, end, wake_bits_without_need_cause_a_poll)
{
    let_idle();
    memset((void *)doorbell()->wake_bits, 0xff, sizeof doorbell()->wake_bits);
    assert_int_equal(poll_now(), 0);
    assert_false(is_idle());
    process()->at->segment->wake_bit = UINT32_MAX; /* a place that is none */
    act('w');
    assert_int_equal(poll_now(), 1);
    let_idle();
}

TEST_WITH(begin_alone, end, without_a_program_it_sleeps_and_the_first_one_ends_that)
{
    assert_true(external_sleep(f.external) && external_sleeps(f.external));
    act('.');
    assert_false(external_sleeps(f.external)); /* it was ended before the first record */
    external_wake(f.external);
    assert_int_equal(poll_now(), 2);
    let_idle();
    fixture_turn(&f);
    assert_false(external_sleep(f.external)); /* the program's next record makes no call of the system */
    f.options.sleeps_beside_idle = f.external->options.sleeps_beside_idle = true;
    assert_true(external_sleep(f.external));
    act('o');
    assert_false(external_sleeps(f.external));
    assert_int_equal(poll_now(), 1);
}

TEST_WITH(begin, end, rules_apply_to_idle_processes)
{
    assert_int_equal(aspect_rules_add(&rules, "one", SEGMENT_DISABLED), 0);
    assert_int_equal(aspect_rules_add(&rules, "other", SEGMENT_COUNT), 0);
    external_set_rules(f.external);
    let_idle();
    act('o');
    assert_int_equal(poll_now(), 0);
    assert_true(is_idle()); /* aspects that are off count no attempt */
    act('p');
    assert_int_equal(poll_now(), 0);
    assert_false(is_idle()); /* aspects that are only counted have books */
    assert_int_equal(tally("other").off, 1);
    let_idle();
    rules.count = 0; /* rules changed while it is idle */
    external_set_rules(f.external);
    uint64_t before = records();
    act('o');
    assert_int_equal(poll_now(), 1);
    act('p');
    poll_now();
    assert_int_equal(records(), before + 2);
    assert_int_equal(tally("one").attempts, 2);
}

TEST_WITH(begin, end, the_next_bezeld_finds_the_wake_bit)
{
    uint64_t id = doorbell()->id;
    let_idle();
    external_close(f.external, false);
    act('o');
    fixture_reopen(&f);
    assert_int_equal(doorbell()->id, id);
    now = clock_now();
    uint32_t taken = poll_now();
    assert_int_equal(taken, 1);
    let_idle();
    external_close(f.external, false);
    fixture_reopen(&f);
    now = clock_now();
    assert_int_equal(poll_now(), 0);
    let_idle();
    act('o');
    assert_int_equal(poll_now(), 1);
}

TEST_WITH(begin, end, a_process_with_another_doorbell_is_never_idle)
{
    process()->at->doorbell_id++;
    for (int i = 0; i < 30; i++) {
        poll_now();
        housekeep(100 * CLOCK_MS);
    }
    assert_false(is_idle());
    assert_false(process()->wake_asked);
    process()->at->doorbell_id--;
}

static int end_killed(void **unused)
{
    (void)unused;
    fixture_wait(pid);
    fixture_end(&f);
    return 0;
}

TEST_WITH(begin, end_killed, a_process_that_ends_while_idle_is_drained)
{
    let_idle();
    act('o');
    memset((void *)doorbell()->wake_bits, 0, sizeof doorbell()->wake_bits);
    uint64_t before = records();
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    actions->now = 0;
    for (int i = 0; i < 20 && process()->phase == EXTERNAL_LIVE; i++)
        housekeep(100 * CLOCK_MS);
    assert_int_equal(process()->phase, EXTERNAL_CLOSED);
    assert_int_equal(records(), before + 1);
}

int main(void)
{
    actions = mmap(NULL, sizeof *actions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (actions == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
