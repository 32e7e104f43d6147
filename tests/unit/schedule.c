// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* When a node does what: missed polls are not made up for, and no change of how it polls puts a poll off. */
#include "resmgr/pace/schedule.h"
#include "tests/lib/test.h"

#define T0 (1000 * CLOCK_S)

static struct schedule started(void)
{
    struct schedule s = {.turned = 0};
    schedule_start(&s, T0, 50 * CLOCK_MS);
    return s;
}

TEST(it_begins_with_a_poll_and_samples_after_an_interval)
{
    struct schedule s = started();
    assert_int_equal(schedule_due(&s, true), T0);
    assert_int_equal(s.step_due, T0 + 50 * CLOCK_MS);
    schedule_housekept(&s, T0);
    assert_int_equal(schedule_due(&s, true), T0);
    assert_int_equal(schedule_due(&s, false), T0 + 50 * CLOCK_MS);
    schedule_stepped(&s, T0 + 50 * CLOCK_MS, 500 * CLOCK_MS);
    assert_int_equal(schedule_due(&s, false), T0 + SCHEDULE_HOUSEKEEP);
}

TEST(missed_polls_are_not_made_up_for)
{
    struct schedule s = started();
    schedule_polled(&s, T0, CLOCK_MS);
    assert_int_equal(s.poll_due, T0 + CLOCK_MS);
    schedule_polled(&s, T0 + 10 * CLOCK_MS + 1, CLOCK_MS);
    assert_int_equal(s.poll_due, T0 + 11 * CLOCK_MS);
    schedule_polled(&s, T0 + 12 * CLOCK_MS, CLOCK_MS); /* the next one is after it, not at it */
    assert_int_equal(s.poll_due, T0 + 13 * CLOCK_MS);
}

TEST(a_period_moves_a_poll_nearer_and_never_off)
{
    struct schedule s = started();
    schedule_poll_at(&s, T0 + 100);
    schedule_poll_within(&s, T0, 200);
    assert_int_equal(s.poll_due, T0 + 100);
    schedule_poll_within(&s, T0, 50);
    assert_int_equal(s.poll_due, T0 + 50);
    schedule_busy_wait(&s, true);
    schedule_poll_within(&s, T0, 10);
    assert_int_equal(s.poll_due, T0 + 50);
}

/* A CPU budget that is used up moves polls apart, but a node that waits busily has none. */
TEST(a_poll_comes_no_earlier_than_told_unless_it_waits_busily)
{
    struct schedule s = started();
    schedule_poll_at(&s, T0 + 100);
    schedule_poll_after(&s, T0 + 50);
    assert_int_equal(s.poll_due, T0 + 100);
    schedule_poll_after(&s, T0 + 200);
    assert_int_equal(s.poll_due, T0 + 200);
    schedule_busy_wait(&s, true);
    schedule_poll_after(&s, T0 + 300);
    assert_int_equal(s.poll_due, T0 + 200);
}

TEST(a_poll_that_waits_busily_counts_from_the_last_one)
{
    struct schedule s = started();
    schedule_busy_wait(&s, true);
    schedule_housekept(&s, T0);
    schedule_polled(&s, T0 + 7, 10);
    assert_int_equal(schedule_due(&s, true), T0 + 17);
    schedule_polled(&s, T0 + 107, 0);
    assert_int_equal(schedule_due(&s, true), T0 + 107);
}

TEST(late_steps_begin_anew)
{
    struct schedule s = started();
    schedule_stepped(&s, T0 + 60 * CLOCK_MS, 50 * CLOCK_MS);
    assert_int_equal(s.step_due, T0 + 100 * CLOCK_MS);
    schedule_stepped(&s, T0 + 300 * CLOCK_MS, 50 * CLOCK_MS);
    assert_int_equal(s.step_due, T0 + 350 * CLOCK_MS);
}

TEST(what_comes_once_in_a_while_comes_once)
{
    int64_t due = 0;
    assert_true(schedule_takes(&due, T0, 10));
    assert_false(schedule_takes(&due, T0 + 9, 10));
    assert_true(schedule_takes(&due, T0 + 10, 10));
}

TEST(asleep_it_housekeeps_twice_a_second_and_awake_at_once)
{
    struct schedule s = started();
    schedule_sleep(&s, T0);
    schedule_sleep(&s, T0 + 100); /* still */
    assert_true(s.asleep && s.housekeep_due == T0 + CLOCK_S / 2);
    schedule_housekept(&s, T0 + CLOCK_S);
    assert_int_equal(s.housekeep_due, T0 + 3 * CLOCK_S / 2);
    schedule_wake(&s, T0 + 5, 50);
    assert_true(!s.asleep && s.poll_due == T0 + 5 && s.housekeep_due == T0 + 5 && s.step_due == T0 + 55);
}
