// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/cpu_budget.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { EVERY = 100 * 1000000, BUDGET = 10, START = 12345 };

static struct experiment_limit limits[2] = {
    {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 90},
    {.kind = LIMIT_HOLD, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = BUDGET}};

static struct cpu_budget cpu_budget_of(enum experiment_policy policy, enum experiment_limit_kind kind, int64_t every)
{
    struct experiment e = {.adapt = {.policy = policy, .every = every}, .limit_count = 2, .limits = limits};
    struct cpu_budget q;
    limits[1].kind = kind;
    cpu_budget_start(&q, &e);
    cpu_budget_begin(&q, START, 0, 0);
    return q;
}

/* CPU time that a node uses in a sampling interval, polling each `period` at `cost` ns; how many polls in *polls. */
static int64_t interval(struct cpu_budget *q, int64_t period, int64_t cost, int64_t *polls)
{
    int64_t cpu = 7777, due = START, end = START + q->every;
    cpu_budget_begin(q, START, cpu, 0);
    *polls = 0;
    while (due < end) {
        int64_t room = cpu_budget_asks(q, due) ? cpu_budget_look(q, due, cpu) : due;
        assert_true(room >= due);
        if (room > due) {
            due = room;
            continue;
        }
        cpu += cost;
        ++*polls;
        due += period > cost ? period : cost;
    }
    return cpu - 7777;
}

static void a_budget_is_kept_however_short_the_period_and_dear_the_polls(void **state)
{
    (void)state;
    for (int64_t every = CLOCK_MS * 10; every <= CLOCK_S; every *= 10)
        for (int64_t period = 1000; period <= CLOCK_MS; period *= 10)
            for (int64_t cost = 2000; cost <= 300000; cost *= 12) {
                struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, every);
                int64_t polls, used = interval(&q, period, cost, &polls), most = every * BUDGET / 100;
                double wanted = (double)cost / (double)(period > cost ? period : cost);
                if (every >= 100 * CLOCK_MS) /* a poll, or what lies between two looks, is small beside the budget */
                    assert_true(used <= most);
                assert_true(used <= most + cost + CLOCK_MS);
                if (wanted > 0.12)
                    assert_true(q.deferred && used >= most * 8 / 10);
                if (wanted < 0.09)
                    assert_false(q.deferred);
            }
}

static void what_is_not_used_up_puts_off_nothing(void **state)
{
    (void)state;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int64_t polls;
    interval(&q, CLOCK_MS, 50000, &polls); /* half of it */
    assert_int_equal(polls, 100);
    assert_false(q.deferred);
    assert_false(cpu_budget_is_used_up(&q, 5));
    assert_true(cpu_budget_is_used_up(&q, 9.9));
}

static void a_burst_is_let_through_and_the_rest_comes_evenly(void **state)
{
    (void)state;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    cpu_budget_begin(&q, START, 0, 0);
    assert_int_equal(cpu_budget_look(&q, START, 2 * CLOCK_MS), START); /* a fifth of the budget, at once */
    int64_t half = cpu_budget_look(&q, START, 5 * CLOCK_MS), most = cpu_budget_look(&q, START, 9 * CLOCK_MS);
    assert_in_range(half, START + EVERY / 5, START + EVERY / 2);
    assert_in_range(most, START + EVERY * 8 / 10, START + EVERY);
    assert_true(q.deferred);
    cpu_budget_begin(&q, START + EVERY, 9 * CLOCK_MS, 0);
    assert_false(q.deferred);
    assert_int_equal(cpu_budget_look(&q, START + EVERY, 9 * CLOCK_MS), START + EVERY);
}

/* Else each of polls that are due all the time begins as soon as there is room for it, and most of it is its wake-up.
 */
static void a_deferred_poll_waits_for_more_than_its_wake_up(void **state)
{
    (void)state;
    for (int64_t every = 10 * CLOCK_MS; every <= CLOCK_S; every *= 10) {
        struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, every);
        int64_t cpu = every / 100 * BUDGET / 2, now = cpu_budget_look(&q, START, cpu);
        assert_true(q.deferred && cpu_budget_look(&q, now, cpu) == now);
        int64_t next = cpu_budget_look(&q, now, cpu + 2000); /* a poll that found nothing */
        assert_in_range(next - now, CLOCK_MS / 2, every / 8);
    }
    limits[1].bound = 0.01;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    assert_in_range(cpu_budget_look(&q, START, 6000) - START, EVERY / 8, EVERY);
    limits[1].bound = BUDGET;
}

static void a_poll_as_dear_as_those_before_begins_only_where_it_fits_in(void **state)
{
    (void)state;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    cpu_budget_begin(&q, START + EVERY, 12 * CLOCK_MS, 3); /* 4 ms each, of 9.6 */
    int64_t begun = START + EVERY, cpu = 12 * CLOCK_MS;
    assert_int_equal(cpu_budget_look(&q, begun, cpu), begun);
    int64_t second = cpu_budget_look(&q, begun, cpu + 4 * CLOCK_MS);
    assert_in_range(second, begun + 1, begun + EVERY / 2);
    assert_int_equal(cpu_budget_look(&q, second, cpu + 4 * CLOCK_MS), second);
    assert_true(cpu_budget_look(&q, second, cpu + 8 * CLOCK_MS) > begun + EVERY);
    assert_true(cpu_budget_look(&q, begun + EVERY, cpu + 8 * CLOCK_MS) >
                begun + EVERY); /* however late the next begins */
    assert_true(q.deferred);
    cpu_budget_begin(&q, begun + EVERY, cpu + 8 * CLOCK_MS, 0);
    assert_int_equal(cpu_budget_look(&q, begun + EVERY, cpu + 8 * CLOCK_MS), begun + EVERY);
    assert_true(cpu_budget_look(&q, begun + EVERY, cpu + 16 * CLOCK_MS) >
                begun + 2 * EVERY); /* none was: they cost as before */
}

static void a_poll_dearer_than_the_budget_begins_once_an_interval(void **state)
{
    (void)state;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int64_t begun = START, cpu = 0;
    for (int i = 0; i < 5; i++) {
        cpu += 50 * CLOCK_MS;
        begun += EVERY;
        cpu_budget_begin(&q, begun, cpu, 1);
        assert_int_equal(cpu_budget_look(&q, begun + 1000, cpu + 10000), begun + 1000);
        assert_true(cpu_budget_look(&q, begun + 60 * CLOCK_MS, cpu + 50 * CLOCK_MS) > begun + EVERY);
    }
}

static void the_clock_is_looked_at_now_and_then_only(void **state)
{
    (void)state;
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int looks = 0;
    for (int64_t t = START; t < START + EVERY; t += 10000)
        if (cpu_budget_asks(&q, t)) {
            looks++;
            assert_int_equal(cpu_budget_look(&q, t, 0), t);
        }
    assert_in_range(looks, 50, 400);
}

static void without_a_budget_or_with_another_policy_nothing_asks(void **state)
{
    (void)state;
    struct cpu_budget q = {0};
    assert_false(cpu_budget_asks(&q, START));
    q = cpu_budget_of(POLICY_DPP_BAND, LIMIT_HOLD, EVERY);
    assert_false(cpu_budget_asks(&q, START) || cpu_budget_is_used_up(&q, 100));
    limits[0].kind = LIMIT_EXPECT;
    q = cpu_budget_of(POLICY_ELASTIC, LIMIT_EXPECT, EVERY);
    assert_false(cpu_budget_asks(&q, START));
    limits[0].kind = LIMIT_HOLD;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_is_kept_however_short_the_period_and_dear_the_polls),
        cmocka_unit_test(what_is_not_used_up_puts_off_nothing),
        cmocka_unit_test(a_burst_is_let_through_and_the_rest_comes_evenly),
        cmocka_unit_test(a_deferred_poll_waits_for_more_than_its_wake_up),
        cmocka_unit_test(a_poll_as_dear_as_those_before_begins_only_where_it_fits_in),
        cmocka_unit_test(a_poll_dearer_than_the_budget_begins_once_an_interval),
        cmocka_unit_test(the_clock_is_looked_at_now_and_then_only),
        cmocka_unit_test(without_a_budget_or_with_another_policy_nothing_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
