// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Aspects that give way by importance: what holds for every policy that comes to rest. */
#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/policy_arrays.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { EVERY = 100000000, CASES = 24, LEVELS_MAX = 6, BUDGET = 10, SETTLE = 1200 };

static uint64_t seed;
static struct policy_state state = {.members = members};
static const enum experiment_policy policies[] = {POLICY_DPP_BAND, POLICY_ELASTIC, POLICY_INTEGRAL, POLICY_AIMD};
enum { POLICIES = sizeof policies / sizeof policies[0] };

/* A node whose records cost CPU whatever the period: those of each importance so much, the least first. */
struct world {
    uint32_t levels; /* importances, all of them */
    double percent[LEVELS_MAX];
};

static void begin(enum experiment_policy policy, uint32_t levels)
{
    struct experiment_adapt adapt = {
        .policy = policy, .every = EVERY, .period_min = 100 * CLOCK_US, .period_max = 100 * CLOCK_MS};
    policy_start(&state, &adapt, 10 * CLOCK_MS, 1);
    policy_set_levels(&state, 0, levels - 1);
}

static double use_of(const struct world *w)
{
    const struct policy_member *m = &state.members[0];
    double use = 0.1;
    for (uint32_t i = m->load_shedding.count; m->on && i < w->levels; i++)
        use += w->percent[i];
    return use + (m->on ? 100 * 20000.0 / (double)m->period : 0);
}

static void step(const struct world *w)
{
    const struct policy_member *m = &state.members[0];
    uint32_t before = m->load_shedding.count;
    bool was_on = m->on;
    double use = use_of(w) * (1 + 0.05 * (seed_unit(&seed) - 0.5));
    seen.limit_count = 1;
    seen.limits[0] = (struct policy_limit){.state = use > BUDGET ? LIMIT_VIOLATED : LIMIT_HELD,
                                           .compare = COMPARE_AT_MOST,
                                           .on_cpu = true,
                                           .bound = BUDGET,
                                           .value = use};
    seen.members[0] =
        (struct policy_measure){.cpu = use, .polls = m->on ? (double)EVERY / (double)m->period : 0, .elapsed = EVERY};
    policy_step(&state, &seen, &actions);
    assert_true(m->load_shedding.count <= m->load_shedding.levels);
    assert_true(m->load_shedding.count <= before + 1 && before <= m->load_shedding.count + 1); /* one at a time */
    if (was_on && !m->on)                                                                      /* the last resort */
        assert_int_equal(m->load_shedding.count, m->load_shedding.levels);
}

/* What is left when the first `count` have given way. */
static double left(const struct world *w, uint32_t count)
{
    double sum = 0.1;
    for (uint32_t i = count; i < w->levels; i++)
        sum += w->percent[i];
    return sum;
}

TEST(as_few_give_way_as_make_it_fit_and_nothing_is_turned_off)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.levels = 2 + (uint32_t)(seed_next(&seed) % (LEVELS_MAX - 1))};
        uint32_t needed = (uint32_t)(seed_next(&seed) % w.levels);
        for (uint32_t k = 0; k < w.levels; k++) /* the last ones fit well, those before are too much */
            w.percent[k] = k < needed ? seed_between(&seed, 12, 40) : seed_between(&seed, 0.5, 4) / w.levels;
        begin(policies[i % POLICIES], w.levels);
        int moves = 0;
        for (int k = 0; k < SETTLE; k++) {
            uint32_t before = state.members[0].load_shedding.count;
            step(&w);
            assert_true(state.members[0].on);
            moves += k > 300 && state.members[0].load_shedding.count != before;
        }
        assert_true(left(&w, state.members[0].load_shedding.count) <= BUDGET || needed > 0);
        assert_true(state.members[0].load_shedding.count >= needed || moves > 0); /* or one is being tried */
        assert_true(moves <= 8); /* tried again with doubling patience, in 90 s */
        assert_false(actions.infeasible);
    }
}

TEST(what_does_not_fit_without_all_but_the_most_important_is_off_and_infeasible)
{
    for (int i = 0; i < CASES / 2; i++) {
        struct world w = {.levels = 3, .percent = {5, 5, seed_between(&seed, 15, 60)}};
        begin(policies[i % POLICIES], w.levels);
        int step_off = 0, infeasible = 0;
        for (int k = 0; k < 300; k++) {
            step(&w);
            step_off = !state.members[0].on && !step_off ? k + 1 : step_off;
            infeasible += actions.infeasible;
        }
        assert_true(step_off > 0);
        assert_true(infeasible > 200);
        assert_true(actions.infeasible ? actions.needed > BUDGET : true);
    }
}

TEST(after_the_load_they_come_back_in_the_reverse_order)
{
    for (int i = 0; i < CASES / 2; i++) {
        struct world w = {.levels = 4, .percent = {20, 20, 20, 1}};
        begin(policies[i % POLICIES], w.levels);
        for (int k = 0; k < 300; k++)
            step(&w);
        assert_true(state.members[0].load_shedding.count >= 2);
        for (uint32_t k = 0; k < w.levels; k++)
            w.percent[k] = 0.2;
        int steps = 0;
        while (state.members[0].load_shedding.count > 0 && steps++ < 8000)
            step(&w);
        assert_int_equal(state.members[0].load_shedding.count, 0);
        assert_true(state.members[0].on);
    }
}

TEST(where_all_aspects_are_alike_none_gives_way)
{
    struct world w = {.levels = 1, .percent = {50}};
    begin(POLICY_ELASTIC, 1);
    for (int k = 0; k < 300; k++)
        step(&w);
    assert_int_equal(state.members[0].load_shedding.count, 0);
    assert_false(state.members[0].on);
}

TEST(the_literal_policies_turn_all_off_at_once)
{
    struct world w = {.levels = 3, .percent = {20, 20, 20}};
    begin(POLICY_SPP, 1);
    state.members[0].load_shedding.levels = 0;
    step(&w);
    assert_false(state.members[0].on);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
