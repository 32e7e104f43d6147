// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A process's first record in a signal handler that has interrupted malloc(), whose lock the handler's thread then
 * holds.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20, BLOCKS = 64, WORK = 20 /* ms */ };

BEZEL_ASPECT(tick, (int64, number, "1"));

static void record(int signal)
{
    bezel_record(tick, signal);
}

static void *pass(void *nothing)
{
    return nothing;
}

/* malloc() takes no lock before there was a second thread. */
static _Noreturn void allocate(int child)
{
    static void *volatile blocks[BLOCKS];
    pthread_t thread;
    int64_t until = clock_now() + WORK * CLOCK_MS;
    if (pthread_create(&thread, NULL, pass, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(2);
    signal(SIGALRM, record);
    struct itimerval timer = {.it_value = {0, 300 + child * 370 % 7000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (uint32_t i = 0; clock_now() < until; i++) {
        free(blocks[i % BLOCKS]);
        blocks[i % BLOCKS] = malloc(1100 + i * 977 % 4096);
    }
    _exit(0);
}

TEST_WITH(scratch_begin, scratch_end, a_handler_that_interrupts_malloc_may_make_the_first_record)
{
    setenv("BEZEL_DIR", scratch_dir, 1);
    for (const char *words[] = {"", "count:other on:*"}, **set = words; set < words + 2; set++) {
        setenv("BEZEL_ASPECTS", *set, 1);
        for (int i = 0; i < CHILDREN; i++) {
            int status = 0;
            int64_t deadline = clock_now() + PATIENCE;
            pid_t pid = fork(), ended;
            if (pid == 0)
                allocate(i);
            assert_true(pid > 0);
            while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && clock_now() < deadline)
                clock_sleep_until(clock_now() + CLOCK_MS);
            if (ended == 0)
                kill(pid, SIGKILL);
            assert_int_equal(ended, pid);
            assert_int_equal(status, 0);
        }
    }
}

int main(void)
{
    return test_run(NULL, NULL);
}
