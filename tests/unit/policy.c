// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/policies/policy.h"
#include "base/clock.h"
#include "tests/lib/limits_seen.h"
#include "tests/lib/test.h"

static const struct limits_seen held = {.held = 2}, broken = {.held = 1, .broken = 1}, unknown = {.unknown = 2},
                                nothing = {0}, partly = {.held = 1, .unknown = 1};

static struct policy_state start(enum experiment_policy policy, int64_t period)
{
    static struct policy_member member;
    struct experiment_adapt adapt = {.policy = policy, .period_min = CLOCK_US, .period_max = CLOCK_S};
    struct policy_state s = {.members = &member};
    policy_start(&s, &adapt, period, 1);
    return s;
}

static void expect(struct policy_state *s, struct limits_seen seen, enum policy_action action, bool on, int64_t period)
{
    assert_int_equal(limits_step(s, seen), action);
    assert_int_equal(s->members[0].on, on);
    assert_int_equal(s->members[0].period, period);
}

TEST(an_experiment_starts_on_at_the_period_of_its_file)
{
    struct policy_state s = start(POLICY_DPP, 5 * CLOCK_MS);
    assert_true(s.members[0].on);
    assert_int_equal(s.members[0].period, 5 * CLOCK_MS);
    assert_int_equal(s.period_min, CLOCK_US);
    assert_int_equal(s.period_max, CLOCK_S);
}

TEST(without_a_policy_nothing_changes)
{
    struct policy_state s = start(POLICY_NONE, CLOCK_MS);
    expect(&s, broken, POLICY_KEEP, true, CLOCK_MS);
    expect(&s, held, POLICY_KEEP, true, CLOCK_MS);
}

TEST(spp_turns_off_and_resumes_at_the_same_period)
{
    struct policy_state s = start(POLICY_SPP, CLOCK_MS);
    expect(&s, held, POLICY_KEEP, true, CLOCK_MS);
    expect(&s, broken, POLICY_OFF, false, CLOCK_MS);
    expect(&s, broken, POLICY_KEEP, false, CLOCK_MS);
    expect(&s, partly, POLICY_RESUME, true, CLOCK_MS);
    expect(&s, held, POLICY_KEEP, true, CLOCK_MS);
}

TEST(dpp_doubles_until_a_double_would_pass_the_upper_bound)
{
    struct policy_state s = start(POLICY_DPP, 250 * CLOCK_MS);
    expect(&s, broken, POLICY_LENGTHEN, true, 500 * CLOCK_MS);
    expect(&s, broken, POLICY_LENGTHEN, true, CLOCK_S);
    expect(&s, broken, POLICY_OFF, false, CLOCK_S);
    s = start(POLICY_DPP, 600 * CLOCK_MS);
    expect(&s, broken, POLICY_OFF, false, 600 * CLOCK_MS);
    expect(&s, broken, POLICY_KEEP, false, 600 * CLOCK_MS);
}

TEST(dpp_resumes_at_the_upper_bound_and_halves_from_there)
{
    struct policy_state s = start(POLICY_DPP, 600 * CLOCK_MS);
    expect(&s, broken, POLICY_OFF, false, 600 * CLOCK_MS);
    expect(&s, held, POLICY_RESUME, true, CLOCK_S);
    expect(&s, held, POLICY_SHORTEN, true, 500 * CLOCK_MS);
    expect(&s, partly, POLICY_SHORTEN, true, 250 * CLOCK_MS);
}

TEST(dpp_halves_down_to_the_lower_bound_itself)
{
    struct policy_state s = start(POLICY_DPP, 3 * CLOCK_US);
    expect(&s, held, POLICY_SHORTEN, true, 1500);
    expect(&s, held, POLICY_SHORTEN, true, CLOCK_US);
    expect(&s, held, POLICY_KEEP, true, CLOCK_US);
}

TEST(what_is_unknown_keeps_everything_on_or_off)
{
    for (enum experiment_policy p = POLICY_NONE; p <= POLICY_DPP; p++) {
        struct policy_state s = start(p, CLOCK_MS);
        expect(&s, unknown, POLICY_KEEP, true, CLOCK_MS);
        expect(&s, nothing, POLICY_KEEP, true, CLOCK_MS);
        s.members[0].on = false;
        expect(&s, unknown, POLICY_KEEP, false, CLOCK_MS);
        expect(&s, nothing, POLICY_KEEP, false, CLOCK_MS);
    }
}

TEST(a_bound_near_the_end_of_int64_does_not_overflow)
{
    struct experiment_adapt adapt = {.policy = POLICY_DPP, .period_min = 1, .period_max = INT64_MAX};
    struct policy_member member;
    struct policy_state s = {.members = &member};
    policy_start(&s, &adapt, INT64_MAX / 2 + 1, 1);
    expect(&s, broken, POLICY_OFF, false, INT64_MAX / 2 + 1);
    policy_start(&s, &adapt, INT64_MAX / 2, 1);
    expect(&s, broken, POLICY_LENGTHEN, true, INT64_MAX - 1);
}

TEST(a_period_beyond_the_bounds_is_clamped)
{
    for (int p = POLICY_NONE; p < EXPERIMENT_POLICY_COUNT; p++) {
        struct policy_state s = start((enum experiment_policy)p, CLOCK_MS);
        policy_set_period(&s, POLICY_ALL, 5 * CLOCK_S);
        limits_step(&s, partly);
        if (experiment_policy_can((enum experiment_policy)p, POLICY_MOVES))
            assert_true(s.members[0].period <= CLOCK_S);
        else
            assert_int_equal(s.members[0].period, 5 * CLOCK_S);
    }
}

TEST(actions_have_names)
{
    assert_string_equal(policy_action_name(POLICY_KEEP), "keep");
    assert_string_equal(policy_action_name(POLICY_SHORTEN), "shorten");
    assert_string_equal(policy_action_name(POLICY_LENGTHEN), "lengthen");
    assert_string_equal(policy_action_name(POLICY_OFF), "off");
    assert_string_equal(policy_action_name(POLICY_RESUME), "resume");
}
