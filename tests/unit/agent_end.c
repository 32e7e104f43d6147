// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Processes that end are not silent ones, and what they end in is no violation; how long a hole may be that is no gap.
 * One judgement alone is unit/limit_judge's. */
#include "tests/lib/agent_harness.h"
#include "tests/lib/test.h"

TEST_WITH(NULL, end, processes_that_end_together_leave_no_violation)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    limits[1] = hold(ALL, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 2);
    for (int i = 0; i < 3; i++)
        enter(i, 30);
    go(10 * CLOCK_S, 0);
    for (int i = 0; i < 3; i++)
        workers[i].interval = 0;
    go(800 * CLOCK_MS, 0); /* until somebody notices */
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_true(out->limits[0].violated > 0 && out->limits[0].worst < 20);
    assert_true(out->limits[1].violated > 0);
    for (int i = 0; i < 3; i++)
        leave(&workers[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(out->limits[i].violated, 0);
        assert_int_equal(out->limits[i].last_violated, 0);
        assert_true(out->limits[i].worst > 29);
        assert_true(out->limits[i].unknown > 500 * CLOCK_MS);
        assert_int_equal(accounted(&out->limits[i]), 10700 * CLOCK_MS);
    }
    for (int i = 0; i < 5; i++) { /* however long nobody is there: no value is 0 */
        go(CLOCK_S, 0);
        assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
        assert_int_equal(out->limits[1].state, LIMIT_UNKNOWN);
    }
    enter(3, 30);
    go(3 * CLOCK_S, 0);
    assert_int_equal(out->limits[1].state, LIMIT_HELD);
    assert_int_equal(out->limits[1].violated, 0);
}

TEST_WITH(NULL, end, the_interval_in_which_processes_end_is_no_violation)
{
    limits[0] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = FPS, .compare = COMPARE_AT_LEAST, .bound = 990};
    limits[1] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_LEAST, .bound = 990};
    begin(POLICY_NONE, 2);
    struct worker *w = enter(0, 1000);
    go(5 * CLOCK_S, 0);
    w->next += EVERY / 2; /* its last records were made half an interval before the step: it has ended */
    go(EVERY, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(out->limits[i].state, LIMIT_VIOLATED);
    leave(w);
    assert_int_equal(out->limits[0].gap, 0);
    agent_step(agent, now += CLOCK_S, &(struct policy_measure){.cpu = NAN});
    assert_int_equal(out->limits[0].gap, CLOCK_S);
    out = agent_end(agent);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(out->limits[i].gap, 0); /* it is recorded once */
        assert_int_equal(out->limits[i].state, LIMIT_UNKNOWN);
        assert_false(out->limits[i].known);
        assert_int_equal(out->limits[i].violated, 0);
        assert_int_equal(out->limits[i].last_violated, 0);
        assert_true(out->limits[i].worst >= 990);
    }
}

/* What is found to be so does not end with a process that it is not about. */
TEST_WITH(NULL, end, the_end_judges_nothing_and_takes_nothing_else_back)
{
    limits[0] = (struct experiment_limit){
        .kind = LIMIT_EXPECT, .metric = LIMIT_ON_SENSOR_CPU, .compare = COMPARE_AT_MOST, .bound = 10};
    limits[1] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = FPS, .compare = COMPARE_AT_LEAST, .bound = 29};
    begin(POLICY_NONE, 2);
    struct worker *a = enter(0, 2);
    enter(1, 100);
    go(5 * CLOCK_S, 20);
    struct agent_limit before[2] = {out->limits[0], out->limits[1]};
    leave(&workers[1]);
    out = agent_end(agent);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(out->limits[i].state, LIMIT_VIOLATED);
        assert_int_equal(out->limits[i].violated, before[i].violated);
        assert_int_equal(accounted(&out->limits[i]), accounted(&before[i]));
    }
    leave(a);
    out = agent_end(agent);
    assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[1].state, LIMIT_UNKNOWN);
}

TEST_WITH(NULL, end, a_slow_process_that_ends_keeps_its_violation)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 1);
    struct worker *w = enter(0, 2);
    go(10 * CLOCK_S, 0);
    int64_t before = out->limits[0].violated;
    assert_true(before > 6 * CLOCK_S);
    w->interval = 0;
    go(300 * CLOCK_MS, 0);
    leave(w);
    /* but for the time since its last record, and the interval in which it made that */
    assert_true(out->limits[0].violated >= before - 600 * CLOCK_MS && out->limits[0].violated <= before);
    assert_true(out->limits[0].last_violated >= now - 900 * CLOCK_MS);
}

/* It stopped one aspect, went on with another one behind the last step, and ended before the next. */
TEST_WITH(NULL, end, what_was_broken_before_the_last_record_of_a_process_stays)
{
    limits[0] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = FPS, .compare = COMPARE_AT_LEAST, .bound = 29};
    limits[1] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_LEAST, .bound = 29};
    for (int told = 0; told < 2; told++) { /* to end: then its last records are its end */
        begin(POLICY_NONE, 2);
        struct worker *w = enter(0, 30);
        go(2 * CLOCK_S, 0);
        agent_count_all(agent, w->slot, w->attempts);
        if (told)
            agent_processes_end(agent);
        w->interval = 0;
        go(EVERY, 0);
        agent_count_all(agent, w->slot, w->attempts);
        go(EVERY, 0);
        assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
        agent_count_all(agent, w->slot, w->attempts + 1);
        leave(w);
        for (int i = 0; i < 2; i++)
            assert_int_equal(out->limits[i].last_violated, told ? 0 : now);
        end(NULL);
    }
}

/* It made a record behind the latest step, and nobody had looked for it when it was told to end, or found ended. */
TEST_WITH(NULL, end, what_was_broken_before_a_record_made_before_the_end_was_told_stays)
{
    limits[0] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = FPS, .compare = COMPARE_AT_LEAST, .bound = 29};
    limits[1] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_LEAST, .bound = 29};
    for (int i = 0; i < 4; i++) {
        bool before = i / 2, step = i % 2;
        begin(POLICY_NONE, 2);
        struct worker *w = enter(0, 30);
        go(2 * CLOCK_S, 0);
        w->interval = 0;
        agent_count_all(agent, w->slot, w->attempts);
        go(3 * EVERY, 0);
        assert_int_equal(out->limits[0].state, LIMIT_VIOLATED);
        int64_t violated = now;
        agent_count_all(agent, w->slot, w->attempts + before);
        agent_processes_end(agent);
        agent_count_all(agent, w->slot, w->attempts + 1);
        go(step ? EVERY : 0, 0);
        agent_count_all(agent, w->slot, w->attempts + 2);
        leave(w);
        for (int l = 0; l < 2; l++)
            assert_int_equal(out->limits[l].last_violated, before ? violated : 0);
        end(NULL);
    }
}

TEST_WITH(NULL, end, a_hung_process_that_ends_keeps_its_violation)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 1);
    struct worker *w = enter(0, 30);
    go(10 * CLOCK_S, 0);
    w->interval = 0;
    go(5 * CLOCK_S, 0);
    int64_t before = out->limits[0].violated;
    assert_true(before > 4 * CLOCK_S);
    leave(w);
    assert_int_equal(out->limits[0].violated, before);
    assert_int_equal(out->limits[0].worst, 0);
}

TEST_WITH(NULL, end, a_process_that_is_told_to_end_may_take_its_time)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    for (int hung = 0; hung < 2; hung++) {
        begin(POLICY_NONE, 1);
        struct worker *w = enter(0, 30);
        go(10 * CLOCK_S, 0);
        w->interval = 0;
        go(hung ? 3 * CLOCK_S : 0, 0); /* since before it was told to */
        int64_t before = out->limits[0].violated;
        agent_processes_end(agent);
        go(10 * CLOCK_S, 0);
        leave(w);
        assert_int_equal(out->limits[0].violated, before);
        assert_int_equal(before > 0, hung);
        end(NULL);
    }
}

TEST_WITH(NULL, end, a_process_that_only_paused_keeps_its_violation)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 1);
    struct worker *w = enter(0, 30);
    go(10 * CLOCK_S, 0);
    w->interval = 0;
    go(700 * CLOCK_MS, 0);
    w->interval = CLOCK_S / 30;
    w->next = now + 1;
    go(5 * CLOCK_S, 0);
    int64_t before = out->limits[0].violated, last = out->limits[0].last_violated;
    assert_true(before > CLOCK_S);
    assert_true(out->limits[0].worst < 20);
    leave(w);
    assert_int_equal(out->limits[0].violated, before);
    assert_int_equal(out->limits[0].last_violated, last);
    assert_true(out->limits[0].worst < 20);
}

TEST_WITH(NULL, end, a_pause_counts_even_if_the_process_catches_up_at_once_and_ends_later)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 1);
    struct worker *w = enter(0, 30);
    go(10 * CLOCK_S, 0);
    w->interval = 0;
    go(700 * CLOCK_MS, 0);
    int64_t paused_until = now;
    w->interval = CLOCK_S / 1000;
    w->next = now + 1;
    go(EVERY, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    w->interval = CLOCK_S / 30;
    go(5 * CLOCK_S, 0);
    w->interval = 0;
    go(800 * CLOCK_MS, 0);
    assert_int_equal(out->limits[0].last_violated, now);
    leave(w);
    assert_int_equal(out->limits[0].last_violated, paused_until);
    assert_true(out->limits[0].violated > 500 * CLOCK_MS && out->limits[0].violated <= 700 * CLOCK_MS);
    assert_true(out->limits[0].worst < 12 && out->limits[0].worst > 8);
}

TEST_WITH(NULL, end, a_process_that_stays_hung_beside_one_that_ends_keeps_the_violation)
{
    limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
    begin(POLICY_NONE, 1);
    struct worker *a = enter(0, 30), *b = enter(1, 30);
    go(10 * CLOCK_S, 0);
    a->interval = b->interval = 0;
    go(500 * CLOCK_MS, 0);
    int64_t before = out->limits[0].violated;
    assert_true(before > 0);
    leave(a);
    assert_int_equal(out->limits[0].violated, before);
    leave(b);
    assert_int_equal(out->limits[0].violated, 0);
}

/* It is silent in one aspect, and makes records of another: it is there, until the last of these. */
TEST_WITH(NULL, end, a_process_that_records_something_else_meanwhile_keeps_its_violation)
{
    for (int told = 0; told < 2; told++) {
        limits[0] = hold(FPS, COMPARE_AT_LEAST, 29);
        limits[1] = hold(ALL, COMPARE_AT_LEAST, 29);
        begin(POLICY_NONE, 2);
        struct worker *w = enter(0, 30);
        go(10 * CLOCK_S, 0);
        w->interval = 0;
        if (told)
            agent_processes_end(agent); /* what it records then is its end */
        for (uint64_t others = 1; others <= 8; others++) {
            agent_count_all(agent, w->slot, others);
            go(EVERY, 0);
        }
        int64_t before[2] = {out->limits[0].violated, out->limits[1].violated};
        go(300 * CLOCK_MS, 0); /* until somebody notices */
        leave(w);
        for (int i = 0; i < 2; i++) {
            assert_true(before[i] > 500 * CLOCK_MS);
            assert_int_equal(out->limits[i].violated, told ? 0 : before[i] - EVERY);
            assert_int_equal(out->limits[i].worst < 20, !told);
        }
        end(NULL);
    }
}

/* What one process counted does not add up with what the next one does: whether both are too many is open. */
TEST_WITH(NULL, end, a_number_over_processes_that_follow_one_another_is_not_known_to_hold)
{
    limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_MOST, .bound = 40};
    limits[1] = (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_LEAST, .bound = 1};
    limits[2] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = SHARE, .compare = COMPARE_AT_MOST, .bound = 2};
    limits[3] =
        (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = GAPS, .compare = COMPARE_AT_MOST, .bound = CLOCK_S};
    begin(POLICY_NONE, 4);
    struct worker *w = enter(0, 30);
    go(5 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    assert_int_equal(out->limits[0].unjudged, 0);
    leave(w);
    go(300 * CLOCK_MS, 0); /* nobody is there */
    assert_int_equal(out->limits[0].unjudged, 0);
    enter(1, 30);
    go(600 * CLOCK_MS, 0);
    assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
    assert_in_range(out->limits[0].unjudged, 500 * CLOCK_MS, 700 * CLOCK_MS);
    go(3 * CLOCK_S, 0);
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    assert_int_equal(out->limits[1].unjudged, 0);
    for (int i = 0; i < 4; i += i ? 1 : 2) {
        assert_int_equal(out->limits[i].state, LIMIT_HELD);
        assert_in_range(out->limits[i].unjudged, 500 * CLOCK_MS, 700 * CLOCK_MS);
    }
}

/* With all records of the one that has ended it is known; how slow the next one is shows when its window is whole. */
TEST_WITH(NULL, end, a_number_over_processes_that_follow_one_another_is_known_from_all_records)
{
    for (int i = 0; i < 4; i++)
        limits[i] = (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = i == 2 ? SHARE : ALL, .bound = 28};
    limits[0].compare = limits[1].compare = limits[2].compare = COMPARE_AT_MOST;
    limits[3].compare = COMPARE_AT_LEAST;
    limits[0].bound = 40;
    limits[1].bound = 15;
    limits[2].bound = 2;
    begin(POLICY_NONE, 4);
    agent_keep_ended(agent);
    struct worker *w = enter(0, 30);
    go(5 * CLOCK_S, 0);
    leave(w);
    go(300 * CLOCK_MS, 0); /* nobody is there */
    for (int i = 0; i < 4; i++)
        assert_int_equal(out->limits[i].state, LIMIT_UNKNOWN);
    enter(1, 30);
    go(300 * CLOCK_MS, 0); /* 12 of the one, and 9 of the other */
    assert_int_equal(out->limits[0].state, LIMIT_HELD);
    assert_int_equal(out->limits[1].state, LIMIT_VIOLATED);
    assert_int_equal(out->limits[2].state, LIMIT_UNKNOWN); /* of two numbers */
    assert_int_equal(out->limits[3].state, LIMIT_UNKNOWN);
    go(3 * CLOCK_S, 0);
    assert_int_equal(out->limits[3].state, LIMIT_HELD);
    for (int i = 0; i < 4; i++)
        assert_true((out->limits[i].unjudged > 0) == (i == 2) && (i == 1 || out->limits[i].violated == 0));
}

/* Of two processes each makes few enough, and both end before the next instant: they were too many together. */
TEST_WITH(NULL, end, what_the_last_processes_made_at_their_end_is_judged_once)
{
    limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .metric = ALL, .compare = COMPARE_AT_MOST, .bound = 5};
    for (int more = 0; more < 2; more++) {
        begin(POLICY_NONE, 1);
        struct worker *a = enter(0, 1), *b = enter(1, 1);
        a->interval = b->interval = 0;
        go(2 * CLOCK_S, 0);
        agent_count(agent, a->watch, 3, now + EVERY / 2);
        agent_count(agent, b->watch, more ? 5 : 2, now + EVERY / 2);
        leave(a);
        leave(b);
        go(CLOCK_S / 2, 0);
        assert_int_equal(out->limits[0].violated, more ? EVERY : 0);
        assert_int_equal(out->limits[0].state, LIMIT_UNKNOWN);
        end(NULL);
    }
}

/* A window that ended between two instants is no state of the second one: what was broken there may be over. */
/* Of a program that is started again, with a pause longer than the window, by itself and as a part of all nodes. */
TEST_WITH(NULL, end, a_rate_begins_with_the_first_record_behind_a_window_without_processes)
{
    const struct experiment_metric was = metrics[ALL];
    for (int global = 0; global < 2; global++) {
        metrics[ALL].window = CLOCK_S / 2;
        limits[0] = hold(ALL, COMPARE_AT_LEAST, 50);
        limits[0].kind = LIMIT_EXPECT;
        limits[1] = limits[0];
        limits[1].global = global;
        begin(POLICY_NONE, 2);
        struct worker *w = enter(0, 100);
        go(2 * CLOCK_S, 0);
        leave(w);
        go(CLOCK_S, 0);
        int64_t held = out->limits[0].held;
        w = enter(1, 100);
        w->next = now + CLOCK_S / 4;
        for (int i = 0; i < 15; i++) {
            go(EVERY, 0);
            assert_true(!global || agent_partial(agent, 1).state != PARTIAL_KNOWN ||
                        agent_partial(agent, 1).value >= 50);
        }
        assert_int_equal(out->limits[0].violated, 0);
        assert_in_range(out->limits[0].held - held, CLOCK_S / 2, CLOCK_S);
        end(NULL);
    }
    metrics[ALL] = was;
}

TEST_WITH(NULL, end, a_number_of_records_that_is_over_at_an_instant_lasts_no_longer)
{
    static const enum experiment_metric_kind kinds[] = {METRIC_RATE, METRIC_COUNT};
    for (int i = 0; i < 4; i++) {
        int bursts = i % 2 ? 4 : 2; /* records from 60 ms on, each 75 ms: too many for 325 or 175 ms */
        for (int m = FPS; m <= ALL; m++) {
            metrics[m].kind = kinds[i / 2];
            metrics[m].window = EVERY;
            limits[m] = (struct experiment_limit){
                .metric = m, .kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .persistence = 2 * (int64_t)EVERY};
        }
        limits[2] = limits[ALL];
        limits[2].global = true;
        begin(POLICY_NONE, 3);
        struct worker *w = enter(0, 100);
        go(EVERY, 0);
        w->interval = 0;
        go(CLOCK_S, 0);
        w->interval = 75 * CLOCK_MS;
        w->next = now + 60 * CLOCK_MS;
        go((bursts > 2 ? 3 : 2) * (int64_t)EVERY, 0);
        w->interval = 0;
        go(EVERY, 0);
        assert_int_equal(agent_partial(agent, 2).state, PARTIAL_KNOWN);
        assert_float_equal(agent_partial(agent, 2).value, 0, 0); /* 115 ms behind the last record */
        go(CLOCK_S, 0);
        for (int m = FPS; m <= ALL; m++) {
            assert_int_equal(out->limits[m].violated > 0, bursts > 2);
            assert_int_equal(out->limits[m].unjudged > 0, bursts == 2); /* between instants 300 ms apart */
            metrics[m].kind = METRIC_RATE;
            metrics[m].window = CLOCK_S;
        }
        end(NULL);
    }
}

TEST_WITH(NULL, end, a_hole_is_a_gap_where_a_value_may_leave_its_bound_and_come_back_in_it)
{
    static const struct {
        enum experiment_metric_kind kind;
        bool at_least, global;
        int64_t every, reach; /* ms */
    } cases[] = {
        {METRIC_MAX, false, false, 100, 2500},      {METRIC_MIN, true, false, 100, 2500},
        {METRIC_MAX, true, false, 100, 200},        {METRIC_MIN, false, false, 100, 200},
        {METRIC_LAST, false, false, 100, 200},      {METRIC_FIRST, false, false, 100, 200},
        {METRIC_RATE, false, false, 100, 200},      {METRIC_COUNT, false, false, 100, 200},
        {METRIC_PERCENT, false, false, 100, 200},   {METRIC_MEAN, true, false, 100, 200},
        {METRIC_QUANTILE, false, false, 100, 200},  {METRIC_TIME_MEAN, false, false, 100, 200},
        {METRIC_MISSES, false, false, 100, 200},    {METRIC_LAST, false, false, 1, 200},
        {METRIC_LAST, false, false, 2000, 4000},    {METRIC_MAX, false, true, 100, 10000},
        {METRIC_LAST, false, true, 100, 500},       {METRIC_RATIO, false, false, 100, 500},
        {METRIC_LATENCY, false, false, 100, 10000},
    };
    begin(POLICY_NONE, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool has_aspect = cases[i].kind != METRIC_RATIO && cases[i].kind != METRIC_LATENCY;
        struct experiment_metric m = {
            .kind = cases[i].kind, .aspect = has_aspect ? shown : NULL, .window = 10 * CLOCK_S};
        struct experiment_limit l = {.compare = cases[i].at_least ? COMPARE_AT_LEAST : COMPARE_AT_MOST,
                                     .global = cases[i].global};
        struct experiment e = {.metric_count = 1, .metrics = &m, .adapt = {.every = cases[i].every * CLOCK_MS}};
        if (agent_reach(&e, &l) != cases[i].reach * CLOCK_MS)
            fail_msg("case %zu: a reach of %lld ms", i, (long long)(agent_reach(&e, &l) / CLOCK_MS));
    }
}
