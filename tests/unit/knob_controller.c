// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Which limit a knob answers, and whose turn it is. */
#include "resmgr/control/knob_controller.h"

#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/test.h"

#include <string.h>

#define EVERY (100 * CLOCK_MS)

static struct experiment_metric metrics[] = {{.window = EVERY}, {.window = EVERY}};
static struct experiment_limit limits[] = {
    {.kind = LIMIT_HOLD, .metric = 0, .compare = COMPARE_AT_LEAST, .bound = 100},
    {.kind = LIMIT_HOLD, .metric = 1, .compare = COMPARE_AT_MOST, .bound = 10, .priority = 1}};
static struct experiment_knob files[2];
static struct experiment e = {.metric_count = 2, .metrics = metrics, .limit_count = 2, .limits = limits};
static struct knob_controller knob_controller;
static struct policy_member members[2];
static struct policy_member_actions member_actions[2];
static struct policy_state policy = {.members = members};
static struct policy_actions actions = {.members = member_actions};
static int64_t dead_time;

static int start(void **state)
{
    (void)state;
    struct experiment_knob any = {.process = -1, .min = INT32_MIN, .max = INT32_MAX, .serves = 1, .step = 10};
    files[0] = files[1] = any;
    metrics[0].kind = METRIC_RATE;
    dead_time = 0;
    e.adapt = (struct experiment_adapt){.policy = POLICY_ELASTIC,
                                        .every = EVERY,
                                        .period_min = CLOCK_MS,
                                        .period_max = CLOCK_S,
                                        .knob_count = 1,
                                        .knobs = files};
    policy_start(&policy, &e.adapt, CLOCK_MS, 2);
    memset(member_actions, 0, sizeof member_actions);
    actions = (struct policy_actions){.infeasible_member = POLICY_ALL, .members = member_actions};
    knob_controller_start(&knob_controller, &e);
    return 0;
}

static struct policy_limit at(uint32_t limit, double value)
{
    const struct experiment_limit *l = &limits[limit];
    bool held = l->compare == COMPARE_AT_LEAST ? value >= l->bound : value <= l->bound;
    return (struct policy_limit){.state = held ? LIMIT_HELD : LIMIT_VIOLATED,
                                 .compare = l->compare,
                                 .member = 1,
                                 .bound = l->bound,
                                 .value = value,
                                 .window = EVERY,
                                 .priority = l->priority};
}

/* An instant with both knobs there, 0 .. 100, at 100 at first, and the rate so. */
static void instant(double fps)
{
    struct knob_search_seen seen = {.present = true, .value = 100, .min = 0, .max = 100, .baseline = 100};
    struct policy_limit limit = at(0, fps);
    knob_controller_begin(&knob_controller, EVERY);
    for (uint32_t i = 0; i < e.adapt.knob_count; i++)
        knob_controller.knobs[i].seen = seen;
    knob_controller_take(&knob_controller, 0, &limit);
    knob_controller_step(&knob_controller, &policy, &actions, dead_time);
}

static void instants(int count, double fps)
{
    while (count-- > 0)
        instant(fps);
}

static bool hides(uint32_t i)
{
    struct policy_limit limit = at(i, i == 0 ? 1 : 1000); /* violated */
    knob_controller_take(&knob_controller, i, &limit);
    return limit.state == LIMIT_UNKNOWN;
}

static int32_t value(uint32_t i)
{
    const struct knob_controller_setpoint *o = &knob_controller.knobs[i].setpoint;
    return o->given ? o->value : 100;
}

TEST_WITH(start, NULL, polling_gives_way_first_and_what_came_of_it_is_waited_for)
{
    instants(50, 50);
    assert_int_equal(value(0), 100);
    actions.members[0].not_the_monitors = true; /* of another node */
    instants(50, 50);
    assert_int_equal(value(0), 100);
    actions.members[1].not_the_monitors = true;
    instant(50);
    assert_int_equal(value(0), 50);
    assert_int_equal(knob_controller.knobs[0].setpoint.moved, KNOB_SEARCH_HELP);
    assert_int_equal(knob_controller.knobs[0].setpoint.limit, 0);
    assert_true(knob_controller.knobs[0].setpoint.metric == 50);
}

TEST_WITH(start, NULL, polling_at_its_end_has_given_way_when_it_shows)
{
    policy.members[1].period = policy.period_max;
    instants(2, 50);
    assert_int_equal(value(0), 100);
    instant(50);
    assert_int_equal(value(0), 50);
    start(NULL);
    policy.members[1].on = false;
    instants(2, 50);
    instant(120); /* held meanwhile: begins anew */
    instants(2, 50);
    assert_int_equal(value(0), 100);
    instant(50);
    assert_int_equal(value(0), 50);
}

TEST_WITH(start, NULL, without_a_policy_nothing_gives_way_first)
{
    policy.policy = POLICY_NONE;
    instant(50);
    assert_int_equal(value(0), 50);
}

TEST_WITH(start, NULL, a_knob_that_comes_first_hides_the_violation_until_it_is_saturated)
{
    files[0].order = ORDER_KNOB_FIRST;
    assert_false(hides(0)); /* no program has it */
    instant(50);
    assert_int_equal(value(0), 50);
    assert_true(hides(0));
    assert_false(hides(1)); /* it does not serve that one */
    for (int i = 0; i < 100 && !knob_controller.knobs[0].setpoint.saturated; i++)
        instant(50 + (100 - value(0)) / 4);
    assert_int_equal(value(0), 0);
    assert_true(knob_controller.knobs[0].setpoint.saturated);
    assert_false(hides(0));
    assert_true(knob_controller.knobs[0].setpoint.metric == 75); /* the numbers that prove it */
}

TEST_WITH(start, NULL, what_its_own_return_breaks_is_hidden_and_taken_back)
{
    actions.members[1].not_the_monitors = true;
    instant(50);
    actions.members[1].not_the_monitors = false;
    assert_false(hides(0));
    for (int i = 0; i < 200 && knob_controller.knobs[0].setpoint.moved != KNOB_SEARCH_RETURN; i++)
        instant(120);
    int32_t returned = value(0);
    assert_in_range(returned, 51, 99);
    assert_true(hides(0));
    instant(50);
    assert_int_equal(knob_controller.knobs[0].setpoint.moved, KNOB_SEARCH_REVERT);
    assert_int_equal(value(0), 50);
    assert_true(hides(0));
    instants(20, 50);
    assert_int_equal(value(0), 50); /* it is polling's turn again */
    assert_false(hides(0));
}

TEST_WITH(start, NULL, of_two_the_first_gives_way_first_and_comes_back_last)
{
    e.adapt.knob_count = 2;
    policy.policy = POLICY_NONE;
    int64_t steps = 0;
    for (; steps < 500 && value(1) == 100; steps++)
        instant(50 + (100 - value(0)) / 4);
    assert_int_equal(value(0), 0);
    assert_int_equal(value(1), 50);
    bool second_first = true;
    for (steps = 0; steps < 2000 && value(0) < 100; steps++) {
        instant(120);
        second_first = second_first && (value(0) == 0 || value(1) == 100);
    }
    assert_true(second_first);
    assert_int_equal(value(0), 100);
}

TEST_WITH(start, NULL, it_answers_the_limit_of_the_least_number_that_is_violated)
{
    files[0].serves = 3;
    policy.policy = POLICY_NONE;
    struct knob_search_seen seen = {.present = true, .value = 100, .min = 0, .max = 100, .baseline = 100};
    struct policy_limit first = at(0, 99), second = at(1, 1000), unknown = {.state = LIMIT_UNKNOWN};
    knob_controller_begin(&knob_controller, EVERY);
    knob_controller.knobs[0].seen = seen;
    knob_controller_take(&knob_controller, 1, &second);
    knob_controller_take(&knob_controller, 0, &first);
    knob_controller_take(&knob_controller, 0, &unknown);
    knob_controller_step(&knob_controller, &policy, &actions, dead_time);
    assert_int_equal(knob_controller.knobs[0].setpoint.limit, 0);
}

/*
 * The plant: the limit holds at 50 and below, and its value shows what was in force as long ago as the loop takes. A
 * knob that is judged before that moves on to the end of its range.
 */
static int32_t least_value(int64_t given)
{
    enum { DEAD = 20 };
    int32_t in_force[DEAD], least = 100;
    for (int i = 0; i < DEAD; i++)
        in_force[i] = 100;
    policy.policy = POLICY_NONE;
    files[0].settle = given;
    for (int i = 0; i < 3 * DEAD; i++) {
        int32_t shown = in_force[i % DEAD];
        instant(shown <= 50 ? 100.5 : 50 + (100 - shown) / 4.0);
        in_force[i % DEAD] = value(0);
        least = value(0) < least ? value(0) : least;
    }
    return least;
}

TEST_WITH(start, NULL, a_change_over_the_loop_is_judged_when_its_dead_time_is_over)
{
    metrics[0].kind = METRIC_INTERVAL;
    dead_time = 20 * EVERY;
    assert_int_equal(least_value(0), 50);
    start(test_state);
    dead_time = 20 * EVERY; /* the limit is none on an interval, so no loop delays it */
    assert_int_equal(least_value(0), 0);
    start(test_state);
    metrics[0].kind = METRIC_INTERVAL;
    dead_time = 20 * EVERY;
    assert_int_equal(least_value(2 * EVERY), 0); /* as the file says */
    start(test_state);
}

TEST_WITH(start, NULL, programs_with_nothing_in_common_are_left_alone)
{
    struct knob_search_seen all = {.present = false}, none = {.present = false},
                            a = {.present = true, .value = 5, .min = 0, .max = 10, .baseline = 5},
                            b = {.present = true, .value = 7, .min = 4, .max = 20, .baseline = 7},
                            c = {.present = true, .value = 90, .min = 50, .max = 100, .baseline = 90};
    knob_controller_merge(&all, &none);
    assert_false(all.present);
    knob_controller_merge(&all, &a);
    knob_controller_merge(&all, &none);
    knob_controller_merge(&all, &b);
    assert_true(all.present && all.min == 4 && all.max == 10 && all.value == 5 && all.baseline == 5);
    assert_true(knob_search_is_possible(&files[0], &all));
    knob_controller_merge(&all, &c);
    assert_false(knob_search_is_possible(&files[0], &all));
}
