// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What a node does and costs, between sampling instants: measured where an interval is long enough to say something. */
#include "bezeld/node/cpu_usage.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#include <math.h>

#define T0    (1000 * CLOCK_S)
#define EVERY (100 * CLOCK_MS)

static struct experiment experiment = {.adapt = {.policy = POLICY_ELASTIC, .every = EVERY}};

static struct cpu_usage started(void)
{
    struct cpu_usage u;
    cpu_usage_open(&u, CLOCK_S);
    cpu_usage_start(&u, &experiment, T0, 2 * CLOCK_S);
    return u;
}

static void poll(struct cpu_usage *u, int64_t now, uint32_t records)
{
    cpu_usage_took(u, records);
    cpu_usage_polled(u, now);
}

TEST(nothing_is_measured_at_first)
{
    struct cpu_usage u = started();
    assert_true(isnan(u.measured.cpu) && u.measured.elapsed == 0 && u.cpu_opened == CLOCK_S);
}

TEST(an_interval_is_what_happened_in_it)
{
    struct cpu_usage u = started();
    poll(&u, T0 + 10, 5);
    poll(&u, T0 + 20, 7);
    assert_false(cpu_usage_measure(&u, T0 + EVERY, 2 * CLOCK_S + EVERY / 4, EVERY));
    assert_true(u.measured.cpu == 25 && u.measured.polls == 2 && u.measured.records == 12);
    assert_true(u.measured.elapsed == EVERY && u.sensor_cpu == 25);
    poll(&u, T0 + EVERY + 10, 1);
    assert_false(cpu_usage_measure(&u, T0 + 2 * EVERY, 2 * CLOCK_S + EVERY / 4, EVERY));
    assert_true(u.measured.cpu == 0 && u.measured.polls == 1 && u.measured.records == 1);
    assert_true(u.polls == 3 && u.records == 13);
}

TEST(of_a_short_interval_nothing_is_measured_and_it_goes_on)
{
    struct cpu_usage u = started();
    poll(&u, T0 + 10, 5);
    assert_false(cpu_usage_measure(&u, T0 + EVERY / 2 - 1, 2 * CLOCK_S + EVERY, EVERY));
    assert_true(u.measured.elapsed == 0 && isnan(u.measured.cpu));
    assert_false(cpu_usage_measure(&u, T0 + EVERY, 2 * CLOCK_S + EVERY, EVERY));
    assert_true(u.measured.elapsed == EVERY && u.measured.cpu == 100 && u.measured.records == 5);
}

TEST(deferred_polls_are_reported_with_the_next_interval)
{
    struct experiment_limit limit = {
        .kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 1};
    struct experiment e = experiment;
    struct cpu_usage u;
    e.limits = &limit;
    e.limit_count = 1;
    cpu_usage_open(&u, 0);
    cpu_usage_start(&u, &e, T0, 0);
    assert_false(cpu_usage_begin(&u, T0, 0));
    assert_true(cpu_budget_look(&u.cpu_budget, T0 + 1, EVERY) > T0 + 1); /* all of a CPU was used */
    assert_true(cpu_usage_measure(&u, T0 + EVERY, EVERY, EVERY));
    assert_true(u.measured.kept && u.measured.deferred);
    assert_false(cpu_usage_measure(&u, T0 + 2 * EVERY, EVERY, EVERY));
    assert_false(u.measured.deferred);
}

TEST(the_pace_is_that_of_polls_and_begins_anew)
{
    struct cpu_usage u = started();
    for (int i = 0; i < 4; i++)
        cpu_usage_polled(&u, T0 + 10 * i * i);
    poll_stats_take(&u.poll_stats, T0 + 100);
    assert_true(u.poll_stats.mean == 30 && u.poll_stats.worst == 50);
    poll_stats_restart(&u.poll_stats);
    assert_true(u.poll_stats.mean == 0 && u.polls == 4);
}
