// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Limits on the flow of the monitor's own records: what holds for every policy that comes to rest. */
#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { EVERY = 100000000, CASES = 40, STEPS = 1200 };

static uint64_t seed;
static struct policy_state state = {.members = members};
static const enum experiment_policy policies[] = {POLICY_DPP_BAND, POLICY_ELASTIC, POLICY_INTEGRAL, POLICY_AIMD};
enum { POLICIES = sizeof policies / sizeof policies[0] };

/* A node: records are half a period old when they are taken, and something more; a poll costs CPU. */
struct world {
    double more;   /* ns */
    double cost;   /* ns of CPU a poll */
    double budget; /* percent; 0: there is no such limit */
    double bound;  /* ns of latency */
    double noise;
    int64_t window; /* ns that the latency looks back */
};

static double latency_at(const struct world *w, int64_t period)
{
    return (double)period / 2 + w->more;
}

static void begin(enum experiment_policy policy, int64_t period)
{
    struct experiment_adapt adapt = {
        .policy = policy, .every = EVERY, .period_min = 10 * CLOCK_US, .period_max = CLOCK_S};
    policy_start(&state, &adapt, period, 1);
}

static void step(const struct world *w)
{
    const struct policy_member *m = &state.members[0];
    double polls = (double)EVERY / (double)m->period, cpu = 0.2 + 100 * polls * w->cost / EVERY;
    double value = latency_at(w, m->period) * (1 + w->noise * (seed_unit(&seed) - 0.5));
    seen.limit_count = 0;
    seen.limits[seen.limit_count++] = (struct policy_limit){.state = !m->on             ? LIMIT_UNKNOWN
                                                                     : value > w->bound ? LIMIT_VIOLATED
                                                                                        : LIMIT_HELD,
                                                            .compare = COMPARE_AT_MOST,
                                                            .on_flow = true,
                                                            .bound = w->bound,
                                                            .value = value,
                                                            .window = w->window ? w->window : 2 * EVERY};
    if (w->budget > 0)
        seen.limits[seen.limit_count++] = (struct policy_limit){.state = cpu > w->budget ? LIMIT_VIOLATED : LIMIT_HELD,
                                                                .compare = COMPARE_AT_MOST,
                                                                .on_cpu = true,
                                                                .bound = w->budget,
                                                                .value = cpu};
    seen.members[0] = (struct policy_measure){.cpu = cpu, .polls = polls, .elapsed = EVERY};
    policy_step(&state, &seen, &actions);
    assert_in_range(m->period, state.period_min, state.period_max);
}

/* Whether the latency holds in the last tenth, how often the period changed there, and whether it starved there. */
struct end {
    int changes, broken, starved, steps;
};

static struct end run(const struct world *w)
{
    struct end end = {0};
    for (int i = 0; i < STEPS; i++) {
        step(w);
        if (i < STEPS - STEPS / 10)
            continue;
        end.steps++;
        end.changes += actions.members[0].action != POLICY_KEEP;
        end.broken += latency_at(w, state.members[0].period) > w->bound;
        end.starved += actions.members[0].starved;
    }
    return end;
}

TEST(a_latency_that_can_be_kept_is_kept_and_the_period_comes_to_rest)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.cost = 20000, .bound = seed_between(&seed, 1e6, 400e6), .noise = 0.05};
        w.more = w.bound * seed_between(&seed, 0.001, 0.5);
        begin(policies[i % POLICIES], (int64_t)seed_between(&seed, 100e3, 900e6));
        struct end end = run(&w);
        assert_int_equal(end.broken, 0);
        assert_int_equal(end.starved, 0);
        assert_true(end.changes <= 1);
    }
}

TEST(a_hiccup_costs_what_has_held_no_more_than_a_half)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.cost = 20000, .bound = seed_between(&seed, 10e6, 100e6), .more = 1e5}, hiccup = w;
        hiccup.more = w.bound * 50;
        begin(policies[i % POLICIES], 900 * CLOCK_MS);
        (void)run(&w);
        int64_t before = state.members[0].period;
        step(&hiccup);
        for (int k = 0; k < 20; k++)
            step(&w);
        assert_in_range(state.members[0].period, before / 2 - 1, before);
    }
}

TEST(with_a_budget_too_it_is_kept_where_both_fit)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.cost = 20000, .budget = seed_between(&seed, 1, 20), .noise = 0.05};
        double shortest = 100 * w.cost / w.budget; /* at about the whole budget */
        w.bound = shortest * seed_between(&seed, 5, 20);
        w.more = w.bound * 0.1;
        begin(policies[i % POLICIES], (int64_t)seed_between(&seed, 1e6, 900e6));
        struct end end = run(&w);
        assert_int_equal(end.broken, 0);
        assert_int_equal(end.starved, 0);
    }
}

/* An effect shows when it was measured for a window, after the two samples that decide and carry out. */
TEST(the_next_reduction_comes_when_the_effect_of_the_last_one_shows)
{
    const struct world w = {.cost = 20000, .bound = 1e3, .more = 1e6, .window = 5 * EVERY};
    static const enum experiment_policy judged_alone[] = {POLICY_INTEGRAL, POLICY_AIMD}; /* others act beside it */
    for (int i = 0; i < 2; i++) {
        begin(judged_alone[i], 900 * CLOCK_MS);
        for (int k = 1; k <= 4 * (5 + 2); k++) {
            int64_t before = state.members[0].period;
            step(&w);
            assert_int_equal(state.members[0].period < before, k % (5 + 2) == 0);
        }
    }
}

/* The window is longer than any pause between two tries: a reduction waits for the window all the same. */
TEST(a_limit_that_looks_far_back_is_answered)
{
    for (int i = 0; i < POLICIES; i++) {
        struct world w = {.cost = 20000, .bound = 1e6, .more = 1e5, .window = 400 * CLOCK_S};
        begin(policies[i], 900 * CLOCK_MS);
        for (int k = 0; k < 3 * 4010; k++)
            step(&w);
        assert_true(state.members[0].period <= 900 * CLOCK_MS / 4);
    }
}

TEST(where_the_budget_is_in_the_way_it_wins_and_that_is_said)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.cost = 20000, .budget = seed_between(&seed, 1, 20), .noise = 0.05};
        w.bound = 100 * w.cost / w.budget / seed_between(&seed, 5, 20);
        w.more = w.bound * 0.1;
        begin(policies[i % POLICIES], (int64_t)seed_between(&seed, 1e6, 900e6));
        struct end end = run(&w);
        double use = 0.2 + 100 * w.cost / (double)state.members[0].period;
        assert_true(use <= 1.001 * w.budget);
        assert_int_equal(end.broken, end.steps);
        assert_true(end.starved > end.steps / 2);
        assert_true(end.changes <= 2);
    }
}

TEST(what_no_period_helps_is_said_at_the_shortest)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.cost = 1000, .bound = 1e6, .more = 5e6, .noise = 0.05};
        begin(policies[i % POLICIES], (int64_t)seed_between(&seed, 100e3, 100e6));
        struct end end = run(&w);
        assert_int_equal(state.members[0].period, state.period_min);
        assert_int_equal(end.starved, end.steps);
        assert_int_equal(end.changes, 0);
    }
}

TEST(the_literal_policies_do_not_answer_it_by_polling_less)
{
    struct world w = {.cost = 1000, .bound = 1e6, .more = 5e6};
    begin(POLICY_SPP, 10 * CLOCK_MS);
    for (int i = 0; i < 20; i++)
        step(&w);
    assert_true(state.members[0].on);
    assert_int_equal(state.members[0].period, 10 * CLOCK_MS);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
