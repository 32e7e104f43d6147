// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The last resort, and what gives way before it: instant by instant. */
#include "resmgr/control/cutoff.h"
#include "base/clock.h"
#include "resmgr/control/load_shedding.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/test.h"

#include <math.h>

enum { MEMBERS = 3, BUDGET = 10, WHOLE = 20 };

static struct policy_state s = {.members = members};

static int start(void **state)
{
    (void)state;
    struct experiment_adapt adapt = {
        .policy = POLICY_ELASTIC, .every = CLOCK_S, .period_min = CLOCK_MS, .period_max = CLOCK_S};
    policy_start(&s, &adapt, CLOCK_S, MEMBERS);
    see_nothing(0);
    for (int i = 0; i < MEMBERS; i++) {
        seen.members[i].elapsed = CLOCK_S;
        s.members[i].cost_model =
            (struct policy_cost_model){.known = true, .cost = 1e6, .windows = 3, .use = 12, .base = 1};
    }
    return 0;
}

/* An instant of the first member alone. */
static void step(void)
{
    forget_actions();
    cutoff_step(&s, &seen, 0, BUDGET, &actions);
}

static void wait(int seconds)
{
    for (int i = 0; i < seconds; i++)
        step();
}

static void step_whole(void)
{
    forget_actions();
    for (uint32_t i = 0; i < MEMBERS; i++)
        cutoff_step(&s, &seen, i, INFINITY, &actions);
    cutoff_global(&s, WHOLE, &actions);
}

/* A budget that is used up without any poll: whatever the period, and whatever the use was before. */
TEST_WITH(start, NULL, it_takes_three_windows_without_a_poll_that_use_more)
{
    s.members[0].period = CLOCK_MS;
    s.members[0].cost_model.empty = 3;
    step();
    assert_true(s.members[0].on); /* 1 % of 10 */
    s.members[0].cost_model.base = BUDGET + 1;
    s.members[0].cost_model.empty = 2;
    step();
    assert_true(s.members[0].on);
    s.members[0].cost_model.empty = 3;
    step();
    assert_false(s.members[0].on);
    assert_true(actions.infeasible);
    assert_float_equal(actions.needed, BUDGET + 1, 1e-9);
}

TEST_WITH(start, NULL, it_takes_three_windows_at_the_longest_period)
{
    s.members[0].cost_model.windows = 2;
    step();
    assert_true(s.members[0].on);
    s.members[0].cost_model.windows = 3;
    s.members[0].period = CLOCK_S - 1;
    step();
    assert_true(s.members[0].on);
    s.members[0].period = CLOCK_S;
    step();
    assert_false(s.members[0].on);
    assert_true(actions.infeasible && actions.infeasible_member == 0);
    assert_true(actions.needed == 12 && actions.budget == BUDGET);
}

/* Seconds from one time that it is turned off to the next one on; what it costs to be on is `cost` ns a poll. */
static int seconds_off(double cost, double base)
{
    struct policy_member *m = &s.members[0];
    int seconds = 0;
    m->period = CLOCK_S;
    m->cost_model = (struct policy_cost_model){.known = true, .cost = cost, .windows = 3, .use = 12, .base = base};
    step();
    assert_false(m->on);
    m->cost_model.use = base; /* as measured while off */
    while (!m->on && seconds++ < 1000)
        step();
    return seconds;
}

TEST_WITH(start, NULL, it_is_tried_again_with_patience_that_doubles)
{
    static const int expected[] = {20, 40, 80, 160, 160, 160};
    for (int i = 0; i < 6; i++) /* what it takes while on does not fit in: 9 % and 1 % of a base */
        assert_int_equal(seconds_off(9e7, 1), expected[i]);
}

TEST_WITH(start, NULL, it_is_tried_again_sooner_where_it_can_be_expected_to_fit)
{
    assert_int_equal(seconds_off(1e6, 1), 5);
}

TEST_WITH(start, NULL, it_is_not_tried_again_while_what_stays_is_too_much_by_itself)
{
    assert_true(seconds_off(1e6, 9.5) > 1000);
    s.members[0].cost_model.use = 1;
    step();
    assert_true(s.members[0].on);
}

TEST_WITH(start, NULL, it_comes_back_at_the_longest_period)
{
    step();
    s.members[0].period = CLOCK_MS;
    s.members[0].cost_model.use = 1;
    wait(20);
    assert_true(s.members[0].on);
    assert_int_equal(s.members[0].period, CLOCK_S);
}

TEST_WITH(start, NULL, patience_is_forgotten_when_all_has_fit_in_for_long)
{
    assert_int_equal(seconds_off(9e7, 1), 20);
    assert_int_equal(seconds_off(9e7, 1), 40);
    s.members[0].cost_model.use = 1;
    s.members[0].period = CLOCK_MS;
    wait(39);
    assert_int_equal(seconds_off(9e7, 1), 80); /* not long enough */
    s.members[0].cost_model.use = 1;
    s.members[0].period = CLOCK_MS;
    wait(81);
    assert_int_equal(seconds_off(9e7, 1), 20);
}

TEST_WITH(start, NULL, time_under_another_setting_does_not_count)
{
    step();
    s.members[0].cost_model.use = 1;
    seen.members[0].unconfirmed = true;
    wait(200);
    assert_false(s.members[0].on);
    seen.members[0].unconfirmed = false;
    wait(20);
    assert_true(s.members[0].on);
}

TEST_WITH(start, NULL, the_worst_proof_is_told)
{
    s.members[0].cost_model.use = 15;
    s.members[1].cost_model.use = 30;
    forget_actions();
    for (uint32_t i = 0; i < MEMBERS; i++)
        cutoff_step(&s, &seen, i, BUDGET, &actions);
    assert_int_equal(actions.infeasible_member, 1);
    assert_true(actions.needed == 30);
}

/* ---- The budget of all together ---------------------------------------------------------------------------------- */

TEST_WITH(start, NULL, of_all_together_the_least_important_goes_first_and_of_equals_the_last)
{
    s.members[1].weight = 0.5;
    step_whole();
    assert_true(s.members[0].on && !s.members[1].on && s.members[2].on);
    assert_true(actions.infeasible && actions.infeasible_member == POLICY_ALL);
    assert_true(actions.needed == 36 && actions.budget == WHOLE);
    s.members[1].cost_model.use = 1;
    s.members[1].cost_model.windows = 0; /* of one that is off nothing more is asked */
    step_whole();                        /* 25 */
    assert_true(s.members[0].on && !s.members[1].on && !s.members[2].on);
}

/* Its own budget it has not broken. */
TEST_WITH(start, NULL, one_that_went_for_all_is_no_proof_of_its_own)
{
    for (int i = 0; i < MEMBERS; i++)
        s.members[i].cost_model.use = 9;
    step_whole();
    assert_false(s.members[2].on);
    forget_actions();
    cutoff_step(&s, &seen, 2, BUDGET, &actions);
    assert_false(actions.infeasible);
}

TEST_WITH(start, NULL, of_all_together_the_most_important_comes_back_first)
{
    s.members[1].weight = 0.5;
    step_whole();
    s.members[1].cost_model.use = 1;
    step_whole();
    s.members[2].cost_model.use = 1;
    s.members[0].cost_model.use = 2;
    for (int i = 0; i < 100 && !s.members[2].on; i++) {
        assert_false(s.members[1].on);
        step_whole();
    }
    assert_true(s.members[2].on);
    assert_false(s.members[1].on);
}

TEST_WITH(start, NULL, of_all_together_nothing_goes_while_one_can_poll_less)
{
    s.members[0].period = CLOCK_MS;
    step_whole();
    for (int i = 0; i < MEMBERS; i++)
        assert_true(s.members[i].on);
    assert_false(actions.infeasible);
}

TEST_WITH(start, NULL, of_all_together_aspects_of_the_least_important_give_way_first)
{
    s.members[1].weight = 0.5;
    policy_set_levels(&s, 0, 1);
    policy_set_levels(&s, 1, 1);
    step_whole();
    assert_int_equal(s.members[0].load_shedding.count, 0);
    assert_int_equal(s.members[1].load_shedding.count, 1);
    for (int i = 0; i < MEMBERS; i++)
        assert_true(s.members[i].on);
}

/* ---- What gives way ---------------------------------------------------------------------------------------------- */

/* Seconds until an importance comes back. */
static int seconds_shed(void)
{
    struct policy_member *m = &s.members[0];
    int seconds = 0;
    assert_true(load_shedding_more(m));
    m->period = CLOCK_MS;
    for (uint32_t before = m->load_shedding.count; m->load_shedding.count == before && seconds++ < 1000;)
        load_shedding_step(&s, m, &seen.members[0]);
    return seconds;
}

TEST_WITH(start, NULL, an_importance_that_came_back_for_nothing_waits_twice_as_long)
{
    static const int expected[] = {20, 40, 80, 160, 160};
    policy_set_levels(&s, 0, 2);
    for (int i = 0; i < 5; i++)
        assert_int_equal(seconds_shed(), expected[i]);
}

TEST_WITH(start, NULL, one_that_goes_after_another_does_not_count_as_a_failure)
{
    policy_set_levels(&s, 0, 3);
    assert_int_equal(seconds_shed(), 20);
    assert_true(load_shedding_more(&s.members[0])); /* the one that came back: 40 */
    assert_int_equal(seconds_shed(), 40);           /* and one more */
}

TEST_WITH(start, NULL, patience_with_importances_is_forgotten_when_all_fits_in)
{
    policy_set_levels(&s, 0, 1);
    assert_int_equal(seconds_shed(), 20);
    assert_int_equal(seconds_shed(), 40);
    for (int i = 0; i < 40; i++)
        load_shedding_step(&s, &s.members[0], &seen.members[0]);
    assert_int_equal(seconds_shed(), 20);
}

TEST_WITH(start, NULL, nothing_comes_back_at_the_longest_period_while_off_or_unconfirmed)
{
    struct policy_member *m = &s.members[0];
    policy_set_levels(&s, 0, 2);
    assert_true(load_shedding_more(m));
    assert_int_equal(m->cost_model.windows, 0); /* what is measured from now on is another thing */
    for (int i = 0; i < 100; i++)
        load_shedding_step(&s, m, &seen.members[0]);
    assert_int_equal(m->load_shedding.count, 1);
    m->period = CLOCK_MS;
    m->on = false;
    assert_false(load_shedding_more(m));
    load_shedding_step(&s, m, &seen.members[0]);
    assert_int_equal(m->load_shedding.count, 1);
    m->on = true;
    m->load_shedding.retry.waited = 0;
    seen.members[0].unconfirmed = true;
    for (int i = 0; i < 100; i++)
        load_shedding_step(&s, m, &seen.members[0]);
    assert_int_equal(m->load_shedding.count, 1);
}
