// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What limits on qualities leave for the monitor, instant by instant. */
#include "resmgr/control/qos_backoff.h"
#include "base/clock.h"
#include "resmgr/policies/policy.h"
#include "tests/lib/test.h"

#include <math.h>

enum { QUALITIES = 2 };

static struct policy_member members[2];
static struct policy_limit observed[QUALITIES];
static struct policy_measure measures[2];
static struct policy_state s = {.members = members};
static struct policy_observation seen = {.limits = observed, .members = measures};
static struct policy_member *m = &members[0];

static int start(void **state)
{
    (void)state;
    struct experiment_adapt adapt = {
        .policy = POLICY_ELASTIC, .every = CLOCK_S, .period_min = CLOCK_US, .period_max = CLOCK_S};
    policy_start(&s, &adapt, CLOCK_MS, 2);
    m->cost_model = (struct policy_cost_model){.known = true, .cost = 5e4}; /* 5 % at 1 ms */
    seen = (struct policy_observation){.limit_count = QUALITIES, .limits = observed, .members = measures};
    for (int i = 0; i < QUALITIES; i++)
        seen.limits[i] = (struct policy_limit){
            .state = LIMIT_HELD, .compare = COMPARE_AT_LEAST, .bound = 29, .value = 30, .window = CLOCK_S};
    seen.members[0].elapsed = seen.members[1].elapsed = CLOCK_S;
    return 0;
}

/* An instant; the period follows at once, as it does without a budget. */
static void step(void)
{
    policy_link_limits(&seen, 2);
    qos_backoff_step(&s, &seen, 0);
    if (m->qos_backoff.shortest > m->period)
        m->period = m->qos_backoff.shortest;
}

static void steps(int seconds)
{
    for (int i = 0; i < seconds; i++)
        step();
}

static void see(int quality, double value)
{
    seen.limits[quality].value = value;
    seen.limits[quality].state = value >= seen.limits[quality].bound ? LIMIT_HELD : LIMIT_VIOLATED;
}

static double strictest(int member)
{
    policy_link_limits(&seen, 2);
    return qos_backoff_strictest(&seen, member);
}

TEST_WITH(start, NULL, only_upper_bounds_of_the_cpu_are_budgets)
{
    seen.limits[0] = (struct policy_limit){.on_cpu = true, .compare = COMPARE_AT_LEAST, .bound = 5};
    assert_true(isinf(strictest(0)));
    seen.limits[0].compare = COMPARE_AT_MOST;
    seen.limits[1] = seen.limits[0];
    seen.limits[1].bound = 3;
    assert_true(strictest(0) == 3);
    seen.limits[1].member = POLICY_ALL;
    assert_true(strictest(0) == 5 && strictest(POLICY_ALL) == 3);
}

TEST_WITH(start, NULL, a_budget_for_all_is_shared_by_weight)
{
    seen.limits[0] =
        (struct policy_limit){.on_cpu = true, .member = POLICY_ALL, .compare = COMPARE_AT_MOST, .bound = 8};
    m->weight = 3;
    s.weights = 3 + 1;
    policy_link_limits(&seen, 2);
    assert_true(qos_backoff_budget(&s, &seen, 0) == 6);
    assert_true(qos_backoff_budget(&s, &seen, 1) == 2);
}

TEST_WITH(start, NULL, of_two_broken_qualities_that_with_the_lower_number_is_answered)
{
    see(0, 20);
    see(1, 10);
    step();
    assert_true(m->qos_backoff.margin == -19.0 / 29); /* of equals the one that is further off */
    start(NULL);
    seen.limits[1].priority = 1;
    see(0, 20);
    see(1, 10);
    step();
    assert_true(m->qos_backoff.margin == -9.0 / 29);
    start(NULL); /* one that is broken before one that holds, whatever its number */
    seen.limits[1].priority = 1;
    see(1, 20);
    step();
    assert_true(m->qos_backoff.margin == -9.0 / 29);
}

TEST_WITH(start, NULL, a_probe_that_breaks_it_goes_back_to_where_it_held)
{
    see(0, 20);
    step();
    assert_int_equal(m->period, 4 * CLOCK_MS);
    see(0, 30);
    for (int i = 0; i < 300 && !m->qos_backoff.probed; i++)
        step();
    assert_true(m->qos_backoff.probed);
    int64_t good = m->qos_backoff.good;
    m->period = m->qos_backoff.shortest;
    assert_true(m->period < good);
    see(0, 20);
    step();
    assert_int_equal(m->period, good);
    assert_int_equal(m->qos_backoff.retry.pause, 60 * CLOCK_S);
}

/* By steps of 1.5, one each time that the last one shows, to just above what failed; then by probes that grow. */
TEST_WITH(start, NULL, a_quality_that_holds_again_gives_the_period_back_step_by_step)
{
    static const struct {
        int steps; /* since the change before; 0: the patience says */
        int64_t shortest;
    } cases[] = {{6, 2666666}, {3, 1777777}, {3, 1250000}, {30, CLOCK_MS}, {0, 640000}, {0, 262144}};
    m->desired = 10 * CLOCK_US;
    see(0, 20);
    step();
    assert_int_equal(m->qos_backoff.shortest, 4 * CLOCK_MS);
    see(0, 30);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t before = m->qos_backoff.shortest;
        int n = 0;
        for (; m->qos_backoff.shortest == before; n++) {
            assert_true(n < 1000);
            step();
        }
        assert_true(cases[i].steps == 0 || n == cases[i].steps);
        assert_int_equal(m->qos_backoff.shortest, cases[i].shortest);
    }
}

/* Where a cut helps by less than a fifth of what is missing, and little is used, it was not to blame. */
TEST_WITH(start, NULL, a_cut_that_helps_by_chance_alone_is_given_up)
{
    for (int helps = 0; helps < 2; helps++) {
        start(NULL); /* 5 % at 1 ms, and 1.25 % after the cut: next to nothing */
        see(0, 20);
        step();
        see(0, helps ? 24 : 21); /* 4 or 1 of the 9 that are missing */
        steps(3);
        assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
        assert_int_equal(m->qos_backoff.shortest, helps ? 4 * CLOCK_MS : 0);
        assert_int_equal(m->period, helps ? 4 * CLOCK_MS : CLOCK_MS);
    }
}

/* A quality that swings by itself: the monitor gave back next to nothing, so what got better is not its doing. */
TEST_WITH(start, NULL, a_probe_that_shows_nothing_is_undone_when_that_is_concluded)
{
    m->cost_model.cost = 5e3; /* 0.5 % */
    see(0, 20);
    step();
    assert_int_equal(m->period, 4 * CLOCK_MS);
    see(0, 28.5);
    steps(2);
    assert_int_equal(m->qos_backoff.response, RESPONSE_REDUCED);
    assert_int_equal(m->period, 4 * CLOCK_MS);
    step();
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    assert_int_equal(m->qos_backoff.shortest, 0);
    assert_int_equal(m->period, CLOCK_MS);
}

/* With a budget the policy chose the period, and that one is restored. */
TEST_WITH(start, NULL, what_the_period_was_before_is_restored_not_the_shortest)
{
    m->cost_model.cost = 5e3;
    m->period = 3 * CLOCK_MS;
    seen.limits[1] =
        (struct policy_limit){.on_cpu = true, .state = LIMIT_HELD, .compare = COMPARE_AT_MOST, .bound = 10, .value = 1};
    see(0, 20);
    step();
    assert_int_equal(m->period, 12 * CLOCK_MS);
    steps(3);
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    assert_int_equal(m->period, 3 * CLOCK_MS);
}

TEST_WITH(start, NULL, no_probe_is_repeated_before_the_patience_is_over)
{
    m->cost_model.cost = 5e3;
    see(0, 20);
    steps(4);
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    int64_t patience = m->qos_backoff.stands / CLOCK_S;
    assert_int_equal(patience, 60);
    for (int i = 1; i < patience; i++) { /* it comes and goes */
        see(0, i % 5 ? 20 : 30);
        step();
        assert_int_equal(m->period, CLOCK_MS);
        assert_int_equal(m->qos_backoff.response, i % 5 ? RESPONSE_GIVEN_UP : RESPONSE_NONE);
    }
    see(0, 30);
    steps(2);
    see(0, 20);
    step();
    assert_int_equal(m->period, 4 * CLOCK_MS);
}

/* Violations that pass by themselves: each was taken for the effect of a longer period, which grew with every one. */
TEST_WITH(start, NULL, violations_that_pass_by_themselves_do_not_add_up)
{
    int longer = 0;
    m->cost_model.cost = 5e3;
    for (int i = 0; i < 2000; i++) {
        see(0, i % 10 ? 30 : 20);
        step();
        m->period = m->qos_backoff.shortest > CLOCK_MS ? m->qos_backoff.shortest : CLOCK_MS;
        assert_true(m->period <= 4 * CLOCK_MS);
        longer += m->period > CLOCK_MS;
    }
    assert_in_range(longer, 1, 500);
}

/* Samplers keep their periods while a limit is violated, so their use does not fall with the rate of polls. */
TEST_WITH(start, NULL, what_polls_cost_is_measured_beside_samplers)
{
    m->cost_model = (struct policy_cost_model){.known = true, .cost = 4.5e4, .windows = 9, .use = 4.5, .rate = 1e-6};
    see(0, 20);
    step();
    assert_int_equal(m->period, 4 * CLOCK_MS);
    m->cost_model = (struct policy_cost_model){.known = true,
                                               .cost = 16.4e4, /* as if samplers were polls: 4.1 % */
                                               .windows = 9,
                                               .use = 4.1,
                                               .rate = 0.25e-6};
    steps(3);
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    assert_int_equal(m->period, CLOCK_MS);
}

TEST_WITH(start, NULL, time_under_another_setting_or_unknown_does_not_count)
{
    m->cost_model.cost = 5e5; /* 50 % at 1 ms */
    see(0, 20);
    step();
    seen.members[0].unconfirmed = true;
    steps(100);
    assert_int_equal(m->period, 4 * CLOCK_MS);
    seen.members[0].unconfirmed = false;
    seen.members[0].elapsed = 0;
    steps(100);
    assert_int_equal(m->period, 4 * CLOCK_MS);
    seen.members[0].elapsed = CLOCK_S;
    steps(3); /* window and two instants: still broken */
    assert_int_equal(m->period, 16 * CLOCK_MS);
}

/* A metric may look back for an hour, which is longer than any pause. */
TEST_WITH(start, NULL, a_backoff_is_judged_however_far_the_metric_looks_back)
{
    m->cost_model.cost = 5e5; /* 50 % at 1 ms */
    seen.limits[0].window = seen.limits[1].window = 600 * CLOCK_S;
    see(0, 20);
    step();
    assert_int_equal(m->period, 4 * CLOCK_MS);
    steps(601);
    assert_int_equal(m->period, 4 * CLOCK_MS);
    step(); /* window and two instants: still broken */
    assert_int_equal(m->period, 16 * CLOCK_MS);
}

/* A monitor that uses next to nothing is tried no more, however long a quality is broken. */
TEST_WITH(start, NULL, what_is_not_its_fault_is_left_alone_while_it_uses_next_to_nothing)
{
    m->cost_model.cost = 5e3; /* 0.5 % */
    see(0, 20);
    steps(4);
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    assert_int_equal(m->qos_backoff.shortest, 0);
    m->period = CLOCK_MS;
    steps(1000);
    assert_int_equal(m->qos_backoff.response, RESPONSE_GIVEN_UP);
    assert_int_equal(m->period, CLOCK_MS);
    m->cost_model.cost = 5e4; /* it costs more now: it may be to blame */
    step();
    assert_int_equal(m->qos_backoff.response, RESPONSE_REDUCED);
}

/* Off, a quality that is made of records is unknown: time alone brings polling back, and then it begins anew. */
TEST_WITH(start, NULL, off_for_a_quality_that_became_unknown_ends_with_patience)
{
    m->qos_backoff =
        (struct policy_qos_backoff){.off = true, .retry.pause = 30 * CLOCK_S, .response = RESPONSE_REDUCED};
    for (int i = 0; i < QUALITIES; i++)
        seen.limits[i].state = LIMIT_UNKNOWN;
    steps(29);
    assert_true(m->qos_backoff.off);
    step();
    assert_false(m->qos_backoff.off);
    assert_int_equal(m->qos_backoff.response, RESPONSE_NONE);
    see(0, 20); /* at once, not when the last backoff shows */
    step();
    assert_int_equal(m->qos_backoff.response, RESPONSE_REDUCED);
    assert_int_equal(m->qos_backoff.retry.pause, 60 * CLOCK_S);
}
