// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Signals that end a process: several that are one order, and a further order. */
#include "base/lifetime.h"

#include "base/clock.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(signals_that_come_soon_after_an_order_belong_to_it)
{
    static const struct {
        int64_t at; /* ms after the first signal: looks, with the time of the last two */
        bool came, order;
    } looks[] = {{-900, false, false}, {0, true, true},      {20, true, false},  {480, true, false},
                 {520, true, false}, /* it may have come at 490 */
                 {530, false, false},  {900, true, true},    {910, true, false}, {1390, false, false},
                 {1430, false, false}, {1900, false, false}, {1910, true, true}};
    struct lifetime_orders o = {0};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        assert_int_equal(lifetime_is_order(&o, looks[i].came, 1000 * CLOCK_S + looks[i].at * CLOCK_MS), looks[i].order);
}

/* The process was busy with the first order, and looks for the first time a minute later. */
TEST(a_signal_found_late_may_have_come_soon)
{
    struct lifetime_orders o = {0};
    assert_true(lifetime_is_order(&o, true, CLOCK_S));
    assert_false(lifetime_is_order(&o, true, 61 * CLOCK_S));
    assert_true(lifetime_is_order(&o, true, 61 * CLOCK_S + 1));
}

/* Sends both before the process looks: ordinary signals of one number would be one. */
static void busy_until_killed(int ready)
{
    int signals = lifetime_signals(LIFETIME_NO_OTHER);
    kill(getpid(), SIGTERM);
    while (lifetime_terms(signals) == 0)
        ;
    lifetime_end_on_next();
    kill(getpid(), SIGTERM);
    (void)!write(ready, "", 1);
    for (;;)
        pause();
}

TEST(a_busy_process_ends_by_the_next_order_and_not_by_the_same)
{
    int ready[2], status;
    char byte;
    assert_int_equal(pipe(ready), 0);
    int64_t begun = clock_now();
    pid_t pid = fork();
    if (pid == 0)
        busy_until_killed(ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it has survived the second signal */
    close(ready[0]);
    do {
        assert_true(clock_now() < begun + PATIENCE);
        assert_int_equal(kill(pid, SIGTERM), 0);
        clock_sleep_until(clock_now() + 10 * CLOCK_MS);
    } while (waitpid(pid, &status, WNOHANG) == 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_true(clock_now() - begun >= LIFETIME_ORDER);
}
