// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The policy aimd, instant by instant, with a cost model that the test sets: when the rate grows, by how much, and when
 * it drops.
 */
#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/test.h"

#include <math.h>

#define BUDGET 10.0 /* % */

static struct policy_state s = {.members = members};
static struct policy_member *m = &members[0];

static int start(void **state)
{
    (void)state;
    struct experiment_adapt adapt = {
        .policy = POLICY_AIMD, .every = CLOCK_S, .period_min = CLOCK_US, .period_max = 100 * CLOCK_MS};
    policy_start(&s, &adapt, CLOCK_MS, 1);
    see_nothing(1);
    seen.limits[0] = (struct policy_limit){
        .state = LIMIT_HELD, .on_cpu = true, .compare = COMPARE_AT_MOST, .bound = BUDGET, .value = 5};
    seen.members[0] = (struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN, .elapsed = CLOCK_S};
    return 0;
}

/* The period after an instant at which the monitor uses `use` percent, as long after the last change as is needed. */
static int64_t step(double use)
{
    m->since = 2 * CLOCK_S;
    m->cost_model = (struct policy_cost_model){.known = true, .use = use, .windows = 5};
    policy_step(&s, &seen, &actions);
    return m->period;
}

TEST_WITH(start, NULL, before_the_first_drop_the_rate_doubles_or_grows_by_an_eighth)
{
    assert_int_equal(step(3.999), 500 * CLOCK_US);
    assert_int_equal(step(0.01), 250 * CLOCK_US);
    assert_int_equal(step(4), (int64_t)(250e3 / 1.125));
    m->period = 900 * CLOCK_US;
    assert_int_equal(step(7.999), 800 * CLOCK_US);
    assert_int_equal(step(8), 800 * CLOCK_US);
    assert_int_equal(step(9.5), 800 * CLOCK_US);
}

TEST_WITH(start, NULL, a_drop_aims_at_the_target_and_at_most_halves_the_rate)
{
    m->period = 960 * CLOCK_US;
    assert_int_equal(step(9.6), 1024 * CLOCK_US); /* 0.9 of the budget */
    m->period = CLOCK_MS;
    assert_int_equal(step(17.9), (int64_t)(1e6 / (9 / 17.9)));
    assert_int_equal(step(18.1), 2 * (int64_t)(1e6 / (9 / 17.9)));
    m->period = CLOCK_MS;
    assert_int_equal(step(300), 2 * CLOCK_MS);
}

TEST_WITH(start, NULL, after_a_drop_the_rate_grows_by_an_eighth_of_what_was_left)
{
    assert_int_equal(step(300), 2 * CLOCK_MS); /* 500 polls a second are left: 62.5 more at a time, 562.5, 625, 687.5 */
    assert_int_equal(step(1), 1777777);
    assert_int_equal(step(7), 1599999);
    assert_int_equal(step(1), 1454544);
    assert_int_equal(step(8.5), 1454544);
}

/* The shortest period that the qualities allow is a bound, and where it is in force the budget still counts. */
TEST_WITH(start, NULL, at_the_shortest_period_that_a_quality_allows_the_budget_still_counts)
{
    m->qos_backoff.shortest = CLOCK_MS;
    assert_int_equal(step(300), 2 * CLOCK_MS);
    assert_int_equal(step(1), 1777777);
    m->own[0] = 0;
    assert_int_equal(step(1), CLOCK_MS);
    assert_int_equal(step(1), CLOCK_MS);
    m->period = CLOCK_MS - 1;
    assert_int_equal(step(8.5), CLOCK_MS);
}

TEST_WITH(start, NULL, without_a_budget_it_polls_as_often_as_may_be)
{
    m->desired = 300 * CLOCK_US;
    seen.limits[0] = (struct policy_limit){
        .state = LIMIT_HELD, .compare = COMPARE_AT_LEAST, .bound = 20, .value = 30}; /* a quality */
    assert_int_equal(step(1), 300 * CLOCK_US);
    m->qos_backoff.shortest = 400 * CLOCK_US; /* what it waits for before it recovers begins anew */
    m->qos_backoff.retry.waited = 0;
    assert_int_equal(step(50), 400 * CLOCK_US);
}

/* At each second after a change: whether it moves again, at `shows` and not before. */
static void moves_from(int64_t shows)
{
    for (int64_t since = 0; since <= shows; since += CLOCK_S) {
        m->period = CLOCK_MS;
        m->since = since;
        m->cost_model = (struct policy_cost_model){.known = true, .use = 300, .windows = 5};
        policy_step(&s, &seen, &actions);
        assert_int_equal(m->period, since < shows ? CLOCK_MS : 2 * CLOCK_MS);
    }
}

/* Two intervals after dead time and window; but not that of a budget, as the use that counts is that since the change.
 */
TEST_WITH(start, NULL, nothing_moves_until_the_last_change_shows)
{
    seen.dead_time = 3 * CLOCK_S;
    seen.limits[0].window = 50 * CLOCK_S;
    moves_from(5 * CLOCK_S);
    seen.limit_count = 2;
    seen.limits[1] = (struct policy_limit){
        .state = LIMIT_HELD, .compare = COMPARE_AT_LEAST, .bound = 20, .value = 30, .window = 5 * CLOCK_S};
    moves_from(10 * CLOCK_S);
    m->since = 10 * CLOCK_S;
    m->cost_model.windows = 0;
    policy_step(&s, &seen, &actions);
    assert_int_equal(m->period, 2 * CLOCK_MS);
}

TEST_WITH(start, NULL, the_bounds_of_the_file_hold)
{
    m->period = 60 * CLOCK_MS;
    assert_int_equal(step(300), 100 * CLOCK_MS);
    m->own[0] = 0;
    m->period = 1500;
    assert_int_equal(step(0.1), CLOCK_US);
}
