// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Policies that misbehave, in the place of all real ones: the bounds that they get. */
#include "base/clock.h"
#include "resmgr/policies/policy_internal.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

enum { MEMBERS = 3 };

static struct policy_member wanted;
static struct policy_actions verdict;
static struct policy_member_actions claimed[MEMBERS];

static void misbehave(struct policy_state *state, struct policy_actions *actions)
{
    for (uint32_t i = 0; i < state->count; i++) {
        state->members[i].period = wanted.period;
        state->members[i].on = wanted.on;
    }
    verdict.members = actions->members;
    memcpy(actions->members, claimed, sizeof claimed);
    *actions = verdict;
}

#define STAND_IN(NAME, name, word, abilities)                                                                          \
    void policy_rule_##name(struct policy_state *state, const struct policy_observation *seen,                         \
                            struct policy_actions *actions)                                                            \
    {                                                                                                                  \
        (void)seen;                                                                                                    \
        misbehave(state, actions);                                                                                     \
    }
EXPERIMENT_POLICIES(STAND_IN)

static struct policy_member members[MEMBERS];
static struct policy_member_actions member_actions[MEMBERS];
static struct policy_state state = {.members = members};
static struct policy_actions actions = {.members = member_actions};

static void start(enum experiment_policy policy)
{
    struct experiment_adapt adapt = {
        .policy = policy, .every = 100 * CLOCK_MS, .period_min = 100 * CLOCK_US, .period_max = CLOCK_S};
    verdict = (struct policy_actions){0};
    memset(claimed, 0, sizeof claimed);
    policy_start(&state, &adapt, CLOCK_MS, MEMBERS);
}

static void step(void)
{
    struct policy_limit observed[1];
    struct policy_measure measures[MEMBERS];
    struct policy_observation seen = {.limit_count = 1, .limits = observed, .members = measures};
    seen.limits[0] = (struct policy_limit){.state = LIMIT_HELD, .value = 1, .bound = 2, .compare = COMPARE_AT_MOST};
    for (int i = 0; i < MEMBERS; i++)
        seen.members[i] = (struct policy_measure){.cpu = 1, .polls = 100, .records = 100, .elapsed = 100 * CLOCK_MS};
    policy_step(&state, &seen, &actions);
}

TEST(whatever_period_a_policy_sets_is_clamped_to_the_bounds_of_the_file)
{
    static const int64_t periods[] = {INT64_MIN, -1, 0, 1, CLOCK_US, 10 * CLOCK_S, INT64_MAX};
    for (int p = 0; p < EXPERIMENT_POLICY_COUNT; p++)
        for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
            bool moves = experiment_policy_can((enum experiment_policy)p, POLICY_MOVES);
            start((enum experiment_policy)p);
            for (int k = 0; k < 6; k++) { /* on, off, on ... */
                wanted = (struct policy_member){.on = k % 2 == 0, .period = periods[i]};
                step();
                for (int m = 0; m < MEMBERS; m++) {
                    int64_t period = state.members[m].period;
                    assert_int_equal(period, !moves ? CLOCK_MS : periods[i] > CLOCK_S ? CLOCK_S : 100 * CLOCK_US);
                    assert_int_equal(actions.members[m].action == POLICY_OFF, k % 2 == 1);
                }
            }
        }
}

TEST(what_a_policy_says_is_done_is_what_changed)
{
    start(POLICY_ELASTIC);
    wanted = (struct policy_member){.on = true, .period = CLOCK_MS};
    for (int m = 0; m < MEMBERS; m++)
        claimed[m].action = POLICY_OFF;
    step();
    for (int m = 0; m < MEMBERS; m++)
        assert_int_equal(actions.members[m].action, POLICY_KEEP);
}

TEST(numbers_that_are_none_prove_nothing)
{
    static const struct {
        double needed, budget;
        bool proof;
    } cases[] = {{12, 10, true},        {NAN, 10, false},       {12, NAN, false}, {INFINITY, 10, false},
                 {12, INFINITY, false}, {12, -INFINITY, false}, {9, 10, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(POLICY_ELASTIC);
        wanted = (struct policy_member){.on = false, .period = CLOCK_S};
        verdict.infeasible = true;
        verdict.needed = cases[i].needed;
        verdict.budget = cases[i].budget;
        step();
        assert_int_equal(actions.infeasible, cases[i].proof);
    }
}
