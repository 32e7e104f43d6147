// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The elastic policy, instant by instant, with a cost model that the test sets: how far a period moves at once, how
 * long it waits for the last change to show, and how patient it is with what comes and goes.
 */
#include "base/clock.h"
#include "resmgr/control/cost_model.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/test.h"

#include <math.h>

#define COST   5e4  /* ns of a poll: 5 % at 1 ms */
#define BUDGET 10.0 /* %; 9 % is the target, and 8.37 % where a period is shortened to */

enum { MEMBERS = 2 };

static struct policy_state s = {.members = members};
static struct policy_member *m = &members[0];

static int start(void **state)
{
    (void)state;
    struct experiment_adapt adapt = {
        .policy = POLICY_ELASTIC, .every = CLOCK_S, .period_min = CLOCK_US, .period_max = CLOCK_S};
    policy_start(&s, &adapt, CLOCK_MS, MEMBERS);
    see_nothing(1);
    seen.limits[0] = (struct policy_limit){
        .state = LIMIT_HELD, .on_cpu = true, .compare = COMPARE_AT_MOST, .bound = BUDGET, .value = 5};
    for (int i = 0; i < MEMBERS; i++) { /* the cost model learns nothing by itself */
        seen.members[i] = (struct policy_measure){.cpu = NAN, .polls = NAN, .records = NAN, .elapsed = CLOCK_S};
        s.members[i].cost_model = (struct policy_cost_model){.known = true, .cost = COST, .use = 9.5, .windows = 5};
    }
    return 0;
}

/* An instant at which a poll of the first member costs `cost`. */
static enum policy_action step(double cost)
{
    m->cost_model.cost = cost;
    m->cost_model.windows = 5;
    policy_step(&s, &seen, &actions);
    return actions.members[0].action;
}

static int64_t period_of(double cost, double use)
{
    return (int64_t)(100 * cost / use);
}

/* ---- Shortening -------------------------------------------------------------------------------------------------- */

TEST_WITH(start, NULL, shortening_waits_until_the_last_change_shows_and_goes_by_at_most_a_factor_of_four)
{
    static const int64_t periods[] = {10 * CLOCK_MS, 2500 * CLOCK_US, 625 * CLOCK_US};
    seen.dead_time = CLOCK_S;
    seen.limits[0].window = 5 * CLOCK_S; /* that of a limit on the CPU does not count */
    seen.limit_count = 2;
    seen.limits[1] = (struct policy_limit){
        .state = LIMIT_HELD, .compare = COMPARE_AT_LEAST, .bound = 1, .value = 2, .window = 3 * CLOCK_S};
    int64_t settling = seen.dead_time + seen.limits[1].window + 2 * s.every, since = 0;
    m->period = periods[0];
    for (int n = 0, change = 0; n < 60; n++) {
        bool shortens = step(COST) == POLICY_SHORTEN;
        assert_int_equal(shortens, change < 2 && since >= settling);
        change += shortens;
        assert_int_equal(m->period, periods[change]);
        since = shortens ? 0 : since + CLOCK_S;
    }
}

TEST_WITH(start, NULL, a_period_is_shortened_to_the_middle_of_the_band)
{
    m->period = 1500 * CLOCK_US;
    for (int n = 0; step(COST) == POLICY_KEEP; n++)
        assert_true(n < 10);
    assert_int_equal(m->period, period_of(COST, 0.93 * 0.9 * BUDGET));
}

/* ---- Patience ---------------------------------------------------------------------------------------------------- */

/* Steps until the period changes, while a poll costs `cost`. */
static int steps_until_change(double cost)
{
    for (int n = 1;; n++) {
        if (step(cost) != POLICY_KEEP)
            return n;
        assert_true(n < 100);
    }
}

/* Where the node itself keeps the budget, small changes wait; longer after each that was undone, and up to a bound. */
TEST_WITH(start, NULL, a_change_that_is_undone_makes_the_next_small_one_wait_longer)
{
    static const struct {
        double times; /* the cost that suits the period */
        int steps;
    } cases[] = {{1.4, 5},           {1 / 1.45, 2 + 5}, {1.4, 9},         {1 / 1.45, 2 + 17}, {1.4, 17},
                 {1 / 1.45, 2 + 17}, {3, 17},           {1 / 1.45, 2 + 9}}; /* two until the change before shows, and
                                                                               then 2, 4, 8, 8, 8, 8, 4 s */
    s.every = seen.members[0].elapsed = CLOCK_S / 2;
    seen.members[0].kept = true;
    m->period = period_of(COST, 0.9 * BUDGET);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double suits = (double)m->period * 0.9 * BUDGET / 100;
        assert_int_equal(steps_until_change(cases[i].times * suits), cases[i].steps);
    }
}

/* A step of the cost is no hiccup. */
TEST_WITH(start, NULL, lengthening_does_not_wait_for_a_cost_that_stepped)
{
    seen.members[0].kept = true;
    m->period = period_of(COST, 0.9 * BUDGET);
    m->cost_model.stepped = true;
    assert_int_equal(step(1.4 * COST), POLICY_LENGTHEN);
    m->cost_model.stepped = false;
    assert_int_equal(step(2 * COST), POLICY_KEEP);
}

/* ---- A budget for all -------------------------------------------------------------------------------------------- */

/* Together they use the target, each as its weight says; who is light is not kept from what nobody else wants. */
TEST_WITH(start, NULL, a_budget_for_all_is_divided_by_weight)
{
    static const struct {
        double bound, weight, use[MEMBERS]; /* `weight` of the first; the second's is 1 */
    } cases[] = {{10, 1, {4.5, 4.5}}, {10, 0.5, {3, 6}}, {10, 0.25, {1.8, 7.2}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        seen.limits[0].member = POLICY_ALL;
        seen.limits[0].bound = cases[i].bound;
        s.members[0].weight = cases[i].weight;
        s.members[0].period = s.members[1].period = 100 * CLOCK_US; /* 50 % each */
        s.members[0].cost_model.use = s.members[1].cost_model.use = 50;
        for (int n = 0; n < 5; n++)
            (void)step(COST);
        for (int k = 0; k < MEMBERS; k++)
            assert_float_equal(cost_model_use(&s.members[k].cost_model, s.members[k].period), cases[i].use[k], 1e-3);
    }
}

/* The node keeps the budget itself, and uses 8 % whether it polls or not: that says nothing against shorter periods. */
TEST_WITH(start, NULL, rings_shorten_the_period_where_the_use_depends_little_on_it)
{
    seen.limits[seen.limit_count++] =
        (struct policy_limit){.state = LIMIT_HELD, .on_flow = true, .compare = COMPARE_AT_MOST, .bound = 1};
    seen.members[0].kept = true;
    m->freshness.filling = 0.9 / CLOCK_MS; /* full in 1.1 ms */
    m->cost_model.base = 8;
    m->period = 10 * CLOCK_MS;
    assert_int_equal(step(5e3), POLICY_SHORTEN);
    assert_in_range(m->period, period_of(5e3, 1.01), CLOCK_MS); /* 9 % in all */
}

/* A burst used far more than the budget. Whatever the next one needs, a fifth of what the base leaves is for polls. */
TEST_WITH(start, NULL, however_much_bursts_need_there_is_room_for_polls_beside_the_base)
{
    seen.limits[seen.limit_count++] =
        (struct policy_limit){.state = LIMIT_HELD, .on_flow = true, .compare = COMPARE_AT_MOST, .bound = 1};
    seen.members[0].kept = true;
    m->freshness.excess = 100;
    m->cost_model.base = 3;
    step(COST);
    assert_int_equal(m->period, period_of(COST, 0.2 * (BUDGET - 3)));
}

/* With what a burst of 4 % needs kept free, polls would come every ms; rings need them sooner. */
TEST_WITH(start, NULL, polls_that_rings_need_come_before_what_is_left_for_bursts)
{
    const struct {
        double full;         /* ns after which a ring is full */
        int64_t least, most; /* ns, of the period */
    } cases[] = {{1e6, 900000, CLOCK_MS},
                 {800e3, 720000, 800000},
                 {200e3, period_of(COST, 0.93 * BUDGET), period_of(COST, 0.93 * BUDGET)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        seen.limits[seen.limit_count++] =
            (struct policy_limit){.state = LIMIT_HELD, .on_flow = true, .compare = COMPARE_AT_MOST, .bound = 1};
        seen.members[0].kept = true;
        m->freshness.excess = 0.4 * BUDGET;
        m->freshness.filling = 1 / cases[i].full;
        step(COST);
        assert_in_range(m->period, cases[i].least, cases[i].most);
    }
}

/* Polls became dearer, as they often did before. Where that nearly uses up the budget, two windows are enough. */
TEST_WITH(start, NULL, two_windows_that_nearly_use_up_the_budget_lengthen_the_period)
{
    static const struct {
        double use; /* of the budget */
        bool lengthens;
    } cases[] = {{0.95, false}, {0.97, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        seen.limits[seen.limit_count++] =
            (struct policy_limit){.state = LIMIT_HELD, .on_flow = true, .compare = COMPARE_AT_MOST, .bound = 1};
        seen.members[0].kept = true;
        step(COST);
        int64_t before = m->period;
        m->cost_model.spread = 1;
        m->cost_model.windows = 100;
        seen.members[0].cpu = cases[i].use * BUDGET;
        seen.members[0].polls = CLOCK_S / (double)before;
        policy_step(&s, &seen, &actions);
        assert_int_equal(m->period, before);
        policy_step(&s, &seen, &actions);
        assert_int_equal((double)m->period > 1.2 * (double)before, cases[i].lengthens);
    }
}
