// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The observer is told how processes ended, as far as that can be known, and until when they were there. */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(worked, (int64, number, "1"));

static struct {
    uint32_t count;
    enum builtin_ending_way way;
    int64_t seen;
} told;

static int out[2]; /* a byte comes of each process that has recorded */

static void take(void *context, const struct external_process *p, enum builtin_ending_way way)
{
    (void)context;
    told.count++;
    told.way = way;
    told.seen = p->seen;
}

static void work(void)
{
    bezel_record(worked, 1);
    if (write(out[1], "", 1) != 1)
        abort();
}

static void hang(void)
{
    for (;;)
        pause();
}

static void work_and_hang(void *unused)
{
    (void)unused;
    work();
    hang();
}

static void return_from_main(void *unused)
{
    (void)unused;
    work();
    exit(3);
}

static void exit_quickly(void *unused)
{
    (void)unused;
    work();
    quick_exit(0);
}

static void exit_at_once(void *unused)
{
    (void)unused;
    work();
    _exit(0);
}

static void execute(void *unused)
{
    (void)unused;
    work();
    execlp("sleep", "sleep", "60", (char *)NULL);
    abort();
}

static void exit_when_told(void *unused)
{
    (void)unused;
    sigset_t told_by;
    int ignored;
    sigemptyset(&told_by);
    sigaddset(&told_by, SIGUSR1);
    sigprocmask(SIG_BLOCK, &told_by, NULL);
    work();
    sigwait(&told_by, &ignored);
    exit(0);
}

/* Handlers run in the opposite order: the sensor's has told of the exit by then. */
static void hang_in_exit(void *unused)
{
    atexit(hang);
    return_from_main(unused);
}

/* The child of a process that recorded does so itself, and exits; its parent, which waits for it, is killed. */
static void fork_and_hang(void *unused)
{
    (void)unused;
    work();
    pid_t child = fork();
    if (child == 0)
        return_from_main(NULL);
    waitpid(child, NULL, 0);
    hang();
}

static struct fixture *opened(void)
{
    static struct fixture f;
    f = (struct fixture){
        .options = {.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN, .observer = {.ending = take}}};
    told.count = 0;
    fixture_open(&f);
    return &f;
}

static bool is_there(struct fixture *f)
{
    return external_process_count(f->external) > 0;
}

static bool is_told(struct fixture *f)
{
    (void)f;
    return told.count > 0;
}

static pid_t started(void (*body)(void *unused))
{
    char byte;
    pid_t pid = fixture_spawn(body, NULL);
    assert_int_equal(read(out[0], &byte, 1), 1);
    return pid;
}

static void ended(struct fixture *f, pid_t pid, int signal)
{
    if (signal)
        kill(pid, signal);
    (void)fixture_wait(pid);
    fixture_until(f, fixture_all_gone);
    fixture_end(f);
}

TEST(a_process_tells_of_its_exit)
{
    static const struct {
        void (*body)(void *unused);
        int signal;
        enum builtin_ending_way way;
    } cases[] = {{return_from_main, 0, ENDING_EXIT},
                 {exit_quickly, 0, ENDING_EXIT},
                 {exit_at_once, 0, ENDING_UNKNOWN},
                 {work_and_hang, SIGKILL, ENDING_UNKNOWN},
                 {work_and_hang, SIGTERM, ENDING_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f = opened();
        fixture_turn(f);
        ended(f, started(cases[i].body), cases[i].signal);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.way, cases[i].way);
    }
}

TEST(another_image_is_no_end)
{
    struct fixture *f = opened();
    pid_t pid = started(execute);
    fixture_until(f, is_told);
    assert_int_equal(told.way, ENDING_EXEC);
    ended(f, pid, SIGKILL);
    assert_int_equal(told.count, 1);
}

TEST(a_process_is_there_until_it_was_seen_last)
{
    struct fixture *f = opened();
    pid_t pid = started(work_and_hang);
    fixture_until(f, is_there);
    int64_t seen = clock_now();
    external_housekeep(f->external, seen);
    ended(f, pid, SIGKILL);
    assert_in_range(told.seen, seen, clock_now());
}

/* Polls as a bezeld does that is killed before it sees the end of `pid`, and has seen it alive at the time returned. */
static int64_t seen_and_crashed(struct fixture *f, pid_t pid, int signal)
{
    fixture_until(f, is_there);
    int64_t seen = clock_now();
    external_housekeep(f->external, seen);
    external_close(f->external, false);
    kill(pid, signal);
    return seen;
}

TEST(a_process_that_ended_while_no_bezeld_was_there_was_seen_by_the_one_before)
{
    static const struct {
        void (*body)(void *unused);
        enum builtin_ending_way way;
    } cases[] = {{work_and_hang, ENDING_UNKNOWN}, {exit_when_told, ENDING_EXIT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f = opened();
        pid_t pid = started(cases[i].body);
        int64_t seen = seen_and_crashed(f, pid, cases[i].way == ENDING_EXIT ? SIGUSR1 : SIGKILL);
        (void)fixture_wait(pid);
        int64_t ended = clock_now();
        fixture_reopen(f);
        fixture_until(f, fixture_all_gone);
        fixture_end(f);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.way, cases[i].way);
        assert_in_range(told.seen, seen, ended);
    }
}

TEST(a_process_cannot_have_been_seen_later_than_now)
{
    struct fixture *f = opened();
    pid_t pid = started(work_and_hang);
    fixture_until(f, is_there);
    atomic_store(&external_process(f->external, 0)->at->segment->seen, UINT64_MAX);
    external_close(f->external, false);
    kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    fixture_reopen(f);
    fixture_until(f, fixture_all_gone);
    fixture_end(f);
    assert_in_range(told.seen, 1, clock_now());
}

TEST(an_exit_that_hangs_is_none)
{
    struct fixture *f = opened();
    pid_t pid = started(hang_in_exit);
    fixture_until(f, is_there);
    external_housekeep(f->external, clock_now() + 2 * CLOCK_S);
    ended(f, pid, SIGKILL);
    assert_int_equal(told.way, ENDING_UNKNOWN);
}

TEST(a_process_that_goes_on_at_the_end_of_the_run_has_none)
{
    struct fixture *f = opened();
    pid_t pid = started(work_and_hang);
    fixture_until(f, is_there);
    fixture_finish(f);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.way, ENDING_NONE);
    kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    fixture_close(f);
}

TEST(the_exit_of_a_child_is_not_its_parents)
{
    struct fixture *f = opened();
    pid_t pid = started(fork_and_hang);
    fixture_until(f, is_told);
    assert_int_equal(told.way, ENDING_EXIT);
    told.way = ENDING_NONE;
    ended(f, pid, SIGKILL);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.way, ENDING_UNKNOWN);
}

int main(void)
{
    setenv("BEZEL_CLOCK", "monotonic", 1); /* the child's clock does not need to be measured first */
    if (pipe(out) != 0)
        return 1;
    int failed = test_run(NULL, NULL);
    close(out[0]);
    close(out[1]);
    return failed;
}
