// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/pace/cpu_budget.h"

#include "base/clock.h"
#include "tests/lib/test.h"

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

/* CPU time that a node uses in a window, polling each `period` at `cost` ns; how many polls in *polls. */
static int64_t interval(struct cpu_budget *q, int64_t period, int64_t cost, int64_t *polls)
{
    int64_t cpu = 0, due = START, end = START + q->window;
    *polls = 0;
    while (due < end) {
        int64_t room = cpu_budget_asks(q, due) ? cpu_budget_look(q, due, cpu) : due;
        assert_true(room >= due);
        if (room > due) {
            due = room;
            continue;
        }
        cpu_budget_polled(q, due);
        cpu += cost;
        ++*polls;
        due += period > cost ? period : cost;
    }
    return cpu;
}

TEST(a_budget_is_kept_however_short_the_period_and_dear_the_polls)
{
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

TEST(what_is_not_used_up_puts_off_nothing)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int64_t polls;
    interval(&q, CLOCK_MS, 50000, &polls); /* half of it */
    assert_int_equal(polls, 100);
    assert_false(q.deferred);
    assert_false(cpu_budget_is_used_up(&q, 5));
    assert_true(cpu_budget_is_used_up(&q, 9.9));
}

/* A budget of which nothing was used in the window before `START + EVERY`, when an interval begins. */
static struct cpu_budget rested(void)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    for (int64_t t = 0; t <= EVERY; t += EVERY / 50)
        assert_int_equal(cpu_budget_look(&q, START + t, 0), START + t);
    cpu_budget_begin(&q, START + EVERY, 0, 0);
    return q;
}

TEST(what_was_not_used_is_there_for_a_burst_and_returns_as_it_gets_old)
{
    struct cpu_budget q = rested();
    int64_t now = START + EVERY, used = 19 * CLOCK_MS / 2; /* of 9.6 ms */
    assert_int_equal(cpu_budget_look(&q, now, used), now);
    now += used; /* a grain later, so that it is known when that was used */
    assert_int_equal(cpu_budget_look(&q, now, used), now);
    assert_false(q.deferred);
    used += CLOCK_MS;
    int64_t next = now;
    while (next == now || next < START + 2 * EVERY) { /* nothing of the window is old until then */
        int64_t later = cpu_budget_look(&q, next, used);
        assert_in_range(later, next, next + EVERY / 8);
        if (later == next)
            break;
        next = later;
    }
    assert_true(q.deferred);
    assert_in_range(next, START + 2 * EVERY, START + 2 * EVERY + EVERY / 8);
    cpu_budget_begin(&q, next, used, 0);
    assert_false(q.deferred);
}

/* After a window in which the budget was used evenly, a poll has room when one before is a window old. */
TEST(polls_that_are_deferred_come_as_far_apart_as_they_are_dear)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    const int64_t cost = 48 * CLOCK_US, apart = 500 * CLOCK_US; /* of 9.6 % */
    int64_t cpu = 0, now = START, polls = 0;
    for (; now < START + 3 * EVERY; polls++) {
        if (polls % 20 == 0)
            cpu_budget_begin(&q, now, cpu, polls > 0 ? 20 : 0);
        int64_t begun = now, room;
        cpu += cost;
        now += cost;
        while ((room = cpu_budget_look(&q, now, cpu)) > now)
            now = room;
        cpu_budget_polled(&q, now);
        if (polls > 20)
            assert_in_range(now - begun, apart / 2, 2 * apart);
    }
    assert_in_range(polls, 3 * EVERY / apart - 10, 3 * EVERY / apart + 10);
}

/* As the first one may be, beside some use that never ends. */
TEST(a_dear_poll_does_not_defer_all_others_for_ever)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int64_t now = START, cpu = 20 * CLOCK_MS;
    bool polls = false;
    cpu_budget_begin(&q, now += EVERY, cpu, 1);
    for (int i = 0; i < 10 && !polls; i++) {
        cpu += EVERY / 50; /* 2 %, of 10 */
        cpu_budget_begin(&q, now += EVERY, cpu, 0);
        polls = cpu_budget_look(&q, now, cpu) == now;
    }
    assert_true(polls);
}

/* The longest time that a poll of some thousand, which use half of the budget, waits when work of three windows comes
 * in between, and again after `again` polls. */
static int64_t longest_wait(int again)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    const int64_t cost = 20 * CLOCK_US, period = 400 * CLOCK_US, work = 3 * EVERY / BUDGET;
    int64_t now = START, cpu = 0, longest = 0;
    for (int i = 0; i < 2000; i++) {
        if (i % 50 == 0)
            cpu_budget_begin(&q, now, cpu, i > 0 ? 50 : 0);
        cpu += cost + (i == 1000 || i == 1000 + again ? work : 0);
        now += period;
        int64_t due = now, room;
        while ((room = cpu_budget_look(&q, now, cpu)) > now)
            now = room;
        cpu_budget_polled(&q, now);
        longest = i > 500 && now - due > longest ? now - due : longest;
    }
    return longest;
}

/* Else a node that attaches to processes would let their rings fill. */
TEST(work_that_is_done_once_defers_no_poll_for_long)
{
    assert_in_range(longest_wait(0), 0, 5 * CLOCK_MS);
    assert_in_range(longest_wait(500), 0, 5 * CLOCK_MS);
    assert_true(longest_wait(50) > EVERY / 2); /* twice in a window */
}

/* A poll that is due every 100 us and takes 20 % of a CPU uses up 10 %; when 5 % of that are left, rings decide. */
TEST(the_less_is_left_the_later_come_the_polls_that_rings_need)
{
    struct cpu_budget q = rested();
    const int64_t most = EVERY / 1000 * 96, due = 100 * CLOCK_US, lossless = 3 * CLOCK_MS;
    int64_t now = START + EVERY, cpu = 0, last = now, gap = due, room;
    q.lossless = lossless;
    while (now < START + 2 * EVERY - lossless) {
        while ((room = cpu_budget_look(&q, now, cpu)) > now)
            now = room;
        assert_int_equal(cpu_budget_look(&q, now + 1, cpu), now + 1); /* a node asks before it looks, and again then */
        assert_true(now - last >= gap || cpu == 0);
        gap = cpu == 0 ? due : now - last;
        if (cpu < most - most / 20)
            assert_int_equal(gap, due);
        last = now;
        int64_t earliest = cpu_budget_polled(&q, now);
        cpu += 20 * CLOCK_US;
        now = earliest > now + due ? earliest : now + due;
    }
    assert_in_range(gap, lossless / 2, lossless);
    assert_in_range(cpu, most - most / 50, EVERY / 1000 * 99);
}

/* The budget was used evenly. A poll takes what 1.6 ms of it have, and a look that comes too early what 0.6 ms have. */
TEST(waiting_frees_more_than_it_uses)
{
    struct cpu_budget q = rested();
    int64_t now = START + EVERY, cpu = 0, polls = 0;
    while (cpu < EVERY / 1000 * 96) {
        (void)cpu_budget_look(&q, now, cpu);
        now += CLOCK_MS / 4;
        cpu += 24 * CLOCK_US;
    }
    for (int64_t begun = now; now < begun + 3 * EVERY;) {
        int64_t room = cpu_budget_look(&q, now, cpu);
        if (room == now) {
            polls++;
            cpu_budget_polled(&q, now);
            now += 100 * CLOCK_US;
            cpu += 150 * CLOCK_US;
        } else {
            now = room;
            cpu += 60 * CLOCK_US;
        }
    }
    assert_in_range(polls, 3 * EVERY / (4 * CLOCK_MS), 3 * EVERY / (3 * CLOCK_MS / 2));
}

/* The budget is used up. Another poll, of 20 us, waits until rings need it, and may use 0.99 of the budget then. */
TEST(the_last_of_the_budget_is_for_polls_that_rings_need)
{
    struct cpu_budget q = rested();
    const int64_t most = EVERY / 1000 * 96, all = EVERY / 1000 * 99, apart = 3 * CLOCK_MS;
    int64_t now = START + EVERY;
    q.lossless = apart;
    q.poll = 20 * CLOCK_US;
    assert_int_equal(cpu_budget_look(&q, now, 0), now);
    cpu_budget_polled(&q, now);
    assert_int_equal(cpu_budget_look(&q, now + CLOCK_MS, most), now + apart);
    assert_int_equal(cpu_budget_look(&q, now + apart, most), now + apart);
    assert_int_equal(cpu_budget_look(&q, now + apart + CLOCK_US, most), now + apart + CLOCK_US);
    assert_int_equal(cpu_budget_polled(&q, now + apart), now + 2 * apart);
    assert_int_equal(cpu_budget_look(&q, now + apart + CLOCK_US, most), now + 2 * apart);
    now += 2 * apart;
    assert_true(cpu_budget_look(&q, now, all - 10 * CLOCK_US) > now);
    assert_int_equal(cpu_budget_look(&q, now, all - 20 * CLOCK_US), now);
    q.lossless = 0; /* nothing is known of rings: none needs a poll */
    assert_true(cpu_budget_look(&q, now + apart, most) > now + apart);
}

/* The few polls of an interval share what does not depend on them, and look dear: room is kept for 1.25 times the cost.
 */
TEST(a_polls_cost_rises_slowly)
{
    struct cpu_budget q = rested();
    const int64_t cost = 20 * CLOCK_US, most = EVERY / 1000 * 96;
    int64_t now = START + EVERY, cpu = 100 * cost;
    cpu_budget_begin(&q, now += EVERY, cpu, 100);
    cpu_budget_begin(&q, now += EVERY, cpu += 100 * cost, 1);
    for (int64_t t = 0; t <= EVERY; t += EVERY / 50)
        (void)cpu_budget_look(&q, now + t, cpu);
    now += EVERY;
    assert_int_equal(cpu_budget_look(&q, now, cpu + most - 5 * cost / 4), now);
    assert_true(cpu_budget_look(&q, now, cpu + most - cost) > now);
}

/* It costs more than a window has: it begins once nothing of the window is used. */
TEST(a_poll_dearer_than_the_budget_begins_once_a_window)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int64_t now = START, cpu = 0;
    for (int i = 0; i < 5; i++) {
        int64_t begun = now, room;
        cpu += 50 * CLOCK_MS;
        now += 50 * CLOCK_MS;
        cpu_budget_begin(&q, now, cpu, 1);
        while ((room = cpu_budget_look(&q, now, cpu)) > now)
            now = room;
        cpu_budget_polled(&q, now);
        assert_in_range(now - begun, EVERY, 4 * EVERY);
    }
}

TEST(the_clock_is_looked_at_now_and_then_only)
{
    struct cpu_budget q = cpu_budget_of(POLICY_ELASTIC, LIMIT_HOLD, EVERY);
    int looks = 0;
    for (int64_t t = START; t < START + EVERY; t += 10000)
        if (cpu_budget_asks(&q, t)) {
            looks++;
            assert_int_equal(cpu_budget_look(&q, t, 0), t);
        }
    assert_in_range(looks, 10, 800);
}

TEST(without_a_budget_or_with_another_policy_nothing_asks)
{
    struct cpu_budget q = {0};
    assert_false(cpu_budget_asks(&q, START));
    q = cpu_budget_of(POLICY_DPP_BAND, LIMIT_HOLD, EVERY);
    assert_false(cpu_budget_asks(&q, START) || cpu_budget_is_used_up(&q, 100));
    limits[0].kind = LIMIT_EXPECT;
    q = cpu_budget_of(POLICY_ELASTIC, LIMIT_EXPECT, EVERY);
    assert_false(cpu_budget_asks(&q, START));
    limits[0].kind = LIMIT_HOLD;
}
