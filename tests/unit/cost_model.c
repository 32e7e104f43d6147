// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The estimate of what a poll costs, window by window, against a node whose base and cost the test knows. */
#include "resmgr/control/cost_model.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

#define COST 5e4 /* ns of a poll: 5 % at 1 ms */

static struct policy_member m;
static struct policy_cost_model *model = &m.cost_model;

static int start(void **state)
{
    (void)state;
    m = (struct policy_member){.on = true, .period = CLOCK_MS, .weight = 1};
    return 0;
}

/* What a window shows of a node that polls as it should. */
static struct policy_measure window(double base, double cost)
{
    double elapsed = COST_MODEL_WINDOW, polls = elapsed / (double)m.period;
    return (struct policy_measure){
        .cpu = base + 100 * cost * polls / elapsed, .polls = polls, .records = polls, .elapsed = (int64_t)elapsed};
}

static void windows(int n, double base, double cost)
{
    struct policy_measure seen = window(base, cost);
    for (int i = 0; i < n; i++)
        cost_model_step(&m, &seen);
}

static void change(int64_t period)
{
    cost_model_changed(model);
    m.period = period;
}

/* ---- What follows from a model ----------------------------------------------------------------------------------- */

/* The period for a use is the one at which polling uses so much, also where polls come late. */
TEST_WITH(start, NULL, the_period_for_a_use_is_the_one_that_has_it)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < 2000; i++) {
        int64_t period = (int64_t)seed_between(&seed, 1e4, 1e9);
        *model = (struct policy_cost_model){.known = true,
                                            .cost = seed_between(&seed, 1e2, 1e6),
                                            .base = seed_unit(&seed) * 5,
                                            .late = i % 3 ? seed_unit(&seed) * 2 * (double)period : 0};
        double use = cost_model_use(model, period);
        double late = fmin(model->late, (double)period / 2); /* at most half a period */
        assert_float_equal(use, model->base + 100 * model->cost / ((double)period + late), 1e-9 * use);
        int64_t again = cost_model_period(model, use, 1, INT64_MAX);
        assert_float_equal((double)again, (double)period, 2 + 1e-6 * (double)period);
    }
}

/* ---- Learning ---------------------------------------------------------------------------------------------------- */

TEST_WITH(start, NULL, the_first_window_gives_the_cost)
{
    windows(1, 0, COST);
    assert_true(model->known);
    assert_float_equal(model->cost, COST, 1);
}

/* Base and cost are told apart by a change of the period, if it is large; at most a third of the use is base. */
TEST_WITH(start, NULL, base_and_cost_are_told_apart_where_the_rate_changed_enough)
{
    static const struct {
        int64_t period;
        double base, learned; /* half of it is believed at once */
    } cases[] = {{4 * CLOCK_MS, 0.5, 0.25}, {1200 * CLOCK_US, 0.5, 0}, {4 * CLOCK_MS, 20, 0.5 * 0.33 * 21.25}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        windows(8, cases[i].base, COST);
        change(cases[i].period);
        windows(5, cases[i].base, COST);
        assert_float_equal(model->base, cases[i].learned, 1e-6);
    }
}

/* A deviation that is usual is no step, unless more is used than should be, in two windows. */
TEST_WITH(start, NULL, two_windows_above_the_most_are_a_step)
{
    static const struct {
        double most;
        int n; /* windows that are dearer by a quarter */
        bool stepped;
    } cases[] = {{0, 2, false}, {6.5, 2, false}, {6, 1, false}, {6, 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        windows(8, 0, COST);
        model->spread = 0.15;
        model->most = cases[i].most;
        windows(cases[i].n, 0, 1.25 * COST); /* 6.25 % */
        assert_int_equal(model->stepped, cases[i].stepped);
        assert_true((fabs(model->cost - 1.25 * COST) < 1) == cases[i].stepped);
    }
}

/* Across a step of the cost nothing can be compared. */
TEST_WITH(start, NULL, a_step_of_the_cost_is_no_base)
{
    windows(8, 0, COST);
    windows(2, 0, COST / 3);
    assert_true(model->stepped);
    assert_float_equal(model->cost, COST / 3, 1);
    change(4 * CLOCK_MS);
    assert_false(model->stepped);
    windows(5, 0, COST);
    assert_true(model->base == 0);
}

/* The base is no more than what a window without any poll shows. */
TEST_WITH(start, NULL, the_base_is_at_most_the_use)
{
    windows(1, 0, COST);
    model->base = 3;
    windows(1, 0.25, 0.1 * COST); /* 0.75 % in all */
    assert_float_equal(model->base, 0.75, 1e-9);
}

TEST_WITH(start, NULL, one_window_that_is_far_cheaper_is_enough_where_the_node_keeps_the_budget)
{
    for (int kept = 0; kept < 2; kept++) {
        (void)start(NULL);
        windows(8, 0, COST);
        struct policy_measure seen = window(0, COST / 3);
        seen.kept = kept;
        cost_model_step(&m, &seen);
        assert_float_equal(model->cost, kept ? COST / 3 : COST, 1);
        cost_model_step(&m, &seen);
        assert_float_equal(model->cost, COST / 3, 1);
    }
}

/* The first poll of a node that keeps the budget attaches to processes, and may cost a hundred others. */
TEST_WITH(start, NULL, the_cheaper_of_the_first_two_windows_gives_the_cost_where_the_node_keeps_the_budget)
{
    for (int dear_first = 0; dear_first < 2; dear_first++) {
        (void)start(NULL);
        for (int i = 0; i < 2; i++) {
            struct policy_measure seen = window(0, (i == 0) == dear_first ? 100 * COST : COST);
            seen.kept = true;
            assert_false(model->known);
            cost_model_step(&m, &seen);
        }
        assert_true(model->known);
        assert_float_equal(model->cost, COST, 1);
    }
}

/* 100 ms at a period of 1 s hold the noise of all that is done once a second. */
TEST_WITH(start, NULL, a_window_has_several_polls_where_the_node_keeps_the_budget)
{
    struct policy_measure seen = {.cpu = 5, .elapsed = COST_MODEL_WINDOW, .kept = true};
    static const struct {
        int64_t period;
        uint32_t steps; /* of 90 ms in a window */
    } cases[] = {{CLOCK_MS, 1}, {20 * CLOCK_MS, 2}, {50 * CLOCK_MS, 5}, {100 * CLOCK_MS, 6}, {CLOCK_S, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)start(NULL);
        m.period = cases[i].period;
        seen.polls = (double)seen.elapsed / (double)m.period;
        for (uint32_t k = 1; k <= 3 * cases[i].steps; k++) {
            cost_model_step(&m, &seen);
            assert_int_equal(model->windows, k / cases[i].steps);
        }
    }
}

/* Such windows are believed little by little; what counts as base from then on is no cost of polls any more. */
TEST_WITH(start, NULL, windows_in_which_all_polls_were_deferred_show_the_base)
{
    windows(20, 0, COST);
    struct policy_measure seen = {.cpu = 4, .elapsed = COST_MODEL_WINDOW, .deferred = true};
    for (uint32_t i = 1; i <= 20; i++) {
        cost_model_step(&m, &seen);
        assert_int_equal(model->empty, i);
        assert_float_equal(model->base, 4 * (1 - pow(0.7, i)), 1e-9);
        assert_float_equal(cost_model_use(model, CLOCK_MS), 5, 1e-9);
    }
    seen.polls = 1;
    cost_model_step(&m, &seen);
    assert_int_equal(model->empty, 0);
}

/* It does not wait for a poll of a period that is longer than a window. */
TEST_WITH(start, NULL, a_window_without_polls_ends_however_long_the_period_is)
{
    windows(2, 0, COST);
    change(CLOCK_S);
    struct policy_measure seen = {.cpu = 4, .elapsed = COST_MODEL_WINDOW, .deferred = true};
    for (uint32_t i = 1; i <= 3; i++) {
        cost_model_step(&m, &seen);
        assert_int_equal(model->empty, i);
    }
}

/* A node that uses more without polls than with them does something else: its polls are not too dear for the budget. */
TEST_WITH(start, NULL, more_use_without_polls_than_with_them_is_not_the_base)
{
    windows(20, 0, COST);
    struct policy_measure seen = {.cpu = 80, .elapsed = COST_MODEL_WINDOW, .deferred = true};
    cost_model_step(&m, &seen);
    assert_float_equal(model->base, 0.3 * 5, 1e-9);
    assert_float_equal(cost_model_use(model, CLOCK_MS), 5, 1e-9);
}

/* One window that is far off makes the model less sure, by no more than twice what is usual. */
TEST_WITH(start, NULL, a_surprise_that_passes_widens_the_spread_within_bounds)
{
    windows(20, 0, COST);
    assert_true(model->spread < 1e-6);
    windows(1, 0, 1000 * COST);
    assert_float_equal(model->cost, COST, 1);
    windows(1, 0, COST);
    assert_in_range((long long)(1e6 * model->spread), 1000, 45000); /* a tenth of 0.3, which then fades */
}

/* ---- Nodes that are late or starved ------------------------------------------------------------------------------ */

TEST_WITH(start, NULL, three_windows_of_a_starved_node_say_nothing_and_the_fourth_counts)
{
    windows(8, 0, COST);
    struct policy_measure seen = window(0, COST);
    seen.polls /= 10; /* the CPU that it uses looks ten times as dear */
    for (int i = 0; i < 3; i++) {
        cost_model_step(&m, &seen);
        assert_int_equal(model->windows, 8);
    }
    cost_model_step(&m, &seen);
    assert_int_equal(model->windows, 9);
}

TEST_WITH(start, NULL, who_defers_its_polls_is_neither_starved_nor_late)
{
    windows(8, 0, COST);
    model->late = (double)CLOCK_MS / 4;
    struct policy_measure seen = window(0, COST);
    seen.polls /= 10;
    seen.deferred = true;
    cost_model_step(&m, &seen);
    assert_int_equal(model->windows, 9);
    assert_true(model->late < (double)CLOCK_MS / 4);
}
