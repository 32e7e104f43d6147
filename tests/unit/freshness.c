// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What is learned for limits on the flow of records beside a budget that the node keeps: instant by instant. */
#include "resmgr/control/freshness.h"
#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/test.h"

enum { EVERY = 100 * 1000000, SETTLING = 1300 * 1000000 /* of a window of 1 s */ };

static struct policy_state s = {.members = members};
static struct policy_member *m = &members[0];
static struct policy_freshness *learned = &members[0].freshness;

/* A poll takes 100 us of the CPU: 10 % at 1 ms, of the 20 % that are allowed. */
static int start(void **state)
{
    (void)state;
    struct experiment_adapt adapt = {
        .policy = POLICY_ELASTIC, .every = EVERY, .period_min = CLOCK_US, .period_max = CLOCK_S};
    policy_start(&s, &adapt, CLOCK_MS, 1);
    see_nothing(2);
    seen.limits[0] = (struct policy_limit){
        .state = LIMIT_HELD, .on_cpu = true, .compare = COMPARE_AT_MOST, .bound = 20, .value = 10, .window = CLOCK_S};
    seen.limits[1] = (struct policy_limit){
        .state = LIMIT_HELD, .on_flow = true, .compare = COMPARE_AT_MOST, .bound = 1, .value = 0, .window = CLOCK_S};
    seen.members[0] = (struct policy_measure){.cpu = 10, .polls = 100, .elapsed = EVERY, .kept = true};
    m->cost_model = (struct policy_cost_model){.known = true, .cost = 1e5, .use = 10, .windows = 5};
    m->since = CLOCK_S;
    policy_link_limits(&seen, 1);
    return 0;
}

static void step(int n)
{
    for (int i = 0; i < n; i++) {
        forget_actions();
        freshness_step(&s, &seen, 0, &actions);
    }
}

TEST_WITH(start, NULL, the_longest_lossless_period_follows_from_the_fastest_ring_lately)
{
    step(1);
    assert_int_equal(freshness_lossless(m), 0);
    seen.members[0].filling = 0.9 / (8 * CLOCK_MS);
    step(1);
    assert_in_range(freshness_lossless(m), 8 * CLOCK_MS - 2, 8 * CLOCK_MS);
    seen.members[0].filling = 0.9 / (16 * CLOCK_MS);
    step(1);
    assert_in_range(freshness_lossless(m), 8 * CLOCK_MS, 81 * CLOCK_MS / 10);
    seen.members[0].filling = 0;
    step(99);
    assert_in_range(freshness_lossless(m), 217 * CLOCK_MS / 10, 218 * CLOCK_MS / 10); /* e times that after 10 s */
}

TEST_WITH(start, NULL, polls_that_are_late_need_a_shorter_one_but_half_at_least)
{
    seen.members[0].filling = 0.9 / (8 * CLOCK_MS);
    step(1);
    m->cost_model.late = CLOCK_MS;
    assert_in_range(freshness_lossless(m), 6 * CLOCK_MS - 2, 6 * CLOCK_MS);
    m->cost_model.late = 100 * CLOCK_MS;
    assert_in_range(freshness_lossless(m), 4 * CLOCK_MS - 2, 4 * CLOCK_MS);
}

/* For two seconds only half of the polls have room: what they use is 5 % less than what is wanted. */
TEST_WITH(start, NULL, what_deferred_polls_would_have_used_counts_as_excess)
{
    step(10);
    assert_float_equal(learned->excess, 0, 1e-9);
    seen.members[0].polls = 50;
    step(20);
    assert_float_equal(learned->excess, 0, 1e-9);
    seen.members[0].deferred = true;
    step(20);
    assert_true(learned->excess > 4 && learned->excess <= 5);
    seen.members[0].deferred = false;
    step(100);
    assert_true(learned->excess < 2.5);
}

TEST_WITH(start, NULL, a_loss_shortens_nothing_where_polls_were_deferred_lately)
{
    seen.members[0].deferred = true;
    step(30);
    seen.members[0].deferred = false;
    step(1);
    seen.limits[1].state = LIMIT_VIOLATED;
    seen.limits[1].value = 2;
    step(1);
    assert_int_equal(learned->longest, 0);
    (void)start(NULL);
    step(30);
    seen.limits[1].state = LIMIT_VIOLATED;
    seen.limits[1].value = 2;
    step(1);
    assert_true(learned->longest > 0 && learned->longest <= CLOCK_MS / 2);
}

/* A third of the time is enough, if the rest brings back only a thirty-second of it. */
TEST_WITH(start, NULL, losses_beside_deferred_polls_are_infeasible_after_the_settling_time)
{
    int64_t violated = 0;
    seen.members[0].deferred = true;
    for (int i = 0; i < 100 && !learned->starved; i++) {
        seen.limits[1].state = i % 3 == 0 ? LIMIT_VIOLATED : LIMIT_HELD;
        violated += i % 3 == 0 ? EVERY : 0;
        step(1);
    }
    assert_true(learned->starved);
    assert_in_range(violated, SETTLING, SETTLING + 2 * EVERY);
    assert_true(actions.members[0].starved);
}
