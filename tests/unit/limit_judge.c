// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The judgement of one limit, value by value; what agents make of it is unit/agent's. */
#include "resmgr/agent/limit_judge.h"
#include "base/clock.h"
#include "tests/lib/test.h"

#include <math.h>

#define SETTLING CLOCK_S
#define REACH    (200 * CLOCK_MS)

static struct experiment_limit limit;
static struct agent_limit seen;
static struct limit_judge j;
static struct limit_judge_run runs[3];
static int64_t now;

static int start(void **state)
{
    (void)state;
    limit = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = 10};
    limit_judge_start(&j, &limit, SETTLING, REACH, &seen);
    for (int i = 0; i < 3; i++)
        runs[i] = (struct limit_judge_run){0};
    now = 1000 * CLOCK_S;
    return 0;
}

static struct limit_judge_value value(double v, int64_t silent)
{
    return (struct limit_judge_value){.known = !isnan(v), .value = v, .of_records = true, .silent = silent};
}

/* An instant 100 ms later, with values of processes 0 and 1. */
static void step(struct limit_judge_value a, struct limit_judge_value b)
{
    now += 100 * CLOCK_MS;
    limit_judge_begin(&j, now);
    limit_judge_value(&j, &runs[0], 0, a);
    limit_judge_value(&j, &runs[1], 1, b);
    limit_judge_end(&j);
}

static int64_t sum(void)
{
    assert_true(seen.settling >= 0 && seen.held >= 0 && seen.violated >= 0 && seen.unknown >= 0);
    return seen.settling + seen.held + seen.violated + seen.unknown;
}

/* A program began to record long before the first instant: nobody judged that time. */
TEST_WITH(start, NULL, a_late_first_instant_leaves_a_gap)
{
    limit_judge_since(&j, now - 200 * CLOCK_MS, false);
    limit_judge_since(&j, now - 100 * CLOCK_MS, false); /* another one */
    step(value(5, 0), value(5, 0));
    assert_int_equal(seen.gap, 300 * CLOCK_MS);
    assert_int_equal(seen.unjudged, 300 * CLOCK_MS);
    assert_int_equal(sum(), 300 * CLOCK_MS);
    limit_judge_since(&j, now - CLOCK_S, false); /* too late to say so */
    step(value(5, 0), value(5, 0));
    assert_int_equal(seen.gap, 0);
    assert_int_equal(sum(), 400 * CLOCK_MS);
}

TEST_WITH(start, NULL, a_first_instant_in_time_counts_from_the_begin_of_programs)
{
    limit_judge_since(&j, now - 100 * CLOCK_MS, false);
    step(value(50, 0), value(5, 0));
    assert_int_equal(seen.gap, -1);
    assert_true(seen.violated == 200 * CLOCK_MS && sum() == seen.violated);
}

/* What the judge before it judged is not known here: the gap may be shorter, and counts in no sum. */
TEST_WITH(start, NULL, a_first_instant_that_resumes_tells_how_far_its_gap_may_reach)
{
    limit_judge_since(&j, now - 50 * CLOCK_MS, true);
    limit_judge_since(&j, now - CLOCK_S, false); /* a program of before */
    step(value(5, 0), value(5, 0));
    assert_int_equal(seen.gap, -150 * CLOCK_MS);
    assert_int_equal(sum(), 0);
    step(value(5, 0), value(5, 0));
    assert_int_equal(seen.gap, 0);
}

/* What is not known, but too much already, breaks an upper bound; it holds nothing, and no lower bound. */
TEST_WITH(start, NULL, what_is_too_much_already_is_violated)
{
    static const struct {
        enum experiment_compare compare;
        double bound, least;
        enum limit_state state;
    } cases[] = {{COMPARE_AT_MOST, 10, 11, LIMIT_VIOLATED}, {COMPARE_AT_MOST, 10, 10, LIMIT_UNKNOWN},
                 {COMPARE_AT_MOST, 0, 1, LIMIT_VIOLATED},   {COMPARE_AT_MOST, 0, 0, LIMIT_UNKNOWN},
                 {COMPARE_AT_MOST, -10, 0, LIMIT_UNKNOWN},  {COMPARE_AT_LEAST, 10, 11, LIMIT_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(NULL);
        limit.compare = cases[i].compare;
        limit.bound = cases[i].bound;
        for (int k = 0; k < 2; k++)
            step((struct limit_judge_value){.least = cases[i].least}, (struct limit_judge_value){.known = false});
        assert_int_equal(seen.state, cases[i].state);
        assert_int_equal(seen.violated, cases[i].state == LIMIT_VIOLATED ? 100 * CLOCK_MS : 0);
        assert_int_equal(seen.held, 0);
        if (cases[i].state == LIMIT_VIOLATED)
            assert_float_equal(seen.worst, cases[i].least, 1e-9);
    }
}

/* Records that have not come can only add to a number. */
TEST_WITH(start, NULL, what_came_is_enough_for_a_lower_bound)
{
    for (int least = 9; least <= 10; least++) {
        start(NULL);
        limit.compare = COMPARE_AT_LEAST;
        for (int k = 0; k < 2; k++)
            step((struct limit_judge_value){.open = true, .least = least}, value(20, 0));
        assert_int_equal(seen.state, least < 10 ? LIMIT_UNKNOWN : LIMIT_HELD);
        assert_int_equal(seen.unjudged, least < 10 ? 100 * CLOCK_MS : 0);
    }
    limit.compare = COMPARE_AT_MOST;
}

/* What is broken, but not for long enough, is no violation that could be taken back. */
TEST_WITH(start, NULL, nothing_is_taken_back_that_was_not_counted)
{
    limit.persistence = 500 * CLOCK_MS;
    step(value(5, 0), value(5, 0));
    for (int i = 0; i < 3; i++)
        step(value(20, 100 * CLOCK_MS), value(5, 0));
    assert_int_equal(seen.violated, 0);
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 0);
    assert_int_equal(seen.held, 300 * CLOCK_MS);
    assert_int_equal(sum(), 300 * CLOCK_MS);
}

TEST_WITH(start, NULL, what_the_end_of_a_process_broke_is_taken_back_whole)
{
    step(value(5, 0), value(5, 0));
    step(value(12, 0), value(5, 0)); /* true: it recorded once more after that */
    step(value(13, 0), value(5, 0)); /* and may have ended within this interval */
    step(value(90, 100 * CLOCK_MS), value(5, 0));
    step(value(95, 200 * CLOCK_MS), value(5, 0));
    assert_true(seen.worst == 95);
    int64_t last = now;
    limit_judge_drop(&j, &runs[0], false);
    assert_true(seen.worst == 12);
    assert_int_equal(seen.last_violated, last - 300 * CLOCK_MS);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    assert_int_equal(seen.unknown, 300 * CLOCK_MS);
    assert_int_equal(sum(), 400 * CLOCK_MS);
}

/* Where it ends within a sampling period it has made records in it, and fewer than in a whole one. */
TEST_WITH(start, NULL, the_interval_in_which_a_process_ends_is_no_sample)
{
    step(value(5, 0), value(5, 0));
    step(value(5, 0), value(5, 0));
    step(value(12, 0), value(5, 0));
    assert_int_equal(seen.state, LIMIT_VIOLATED); /* as far as is known now */
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 0);
    assert_int_equal(seen.last_violated, 0);
    assert_true(seen.worst == 5);
    assert_int_equal(seen.unknown, 100 * CLOCK_MS);
}

/* It made a record of another aspect behind the instant, and ended before the next one. */
TEST_WITH(start, NULL, what_a_process_broke_before_its_last_record_stays)
{
    step(value(5, 0), value(5, 0));
    step(value(12, 100 * CLOCK_MS), value(11, 100 * CLOCK_MS));
    limit_judge_drop(&j, &runs[0], true);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    assert_int_equal(seen.last_violated, now);
    assert_true(seen.worst == 12);
    limit_judge_drop(&j, &runs[1], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    step(value(90, 100 * CLOCK_MS), value(5, 0)); /* the next one is a suspect anew */
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    assert_true(seen.worst == 12);
}

TEST_WITH(start, NULL, of_several_that_break_it_one_that_goes_on_confirms_it)
{
    step(value(5, 0), value(5, 0));
    step(value(12, 0), value(13, 0));
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    step(value(NAN, 0), value(5, 0)); /* it recorded, whatever the other did */
    limit_judge_drop(&j, &runs[1], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
    assert_true(seen.worst == 13);
}

TEST_WITH(start, NULL, one_confirms_what_was_and_is_a_suspect_anew_whoever_is_asked_first)
{
    for (int first = 0; first < 2; first++) {
        start(NULL);
        step(value(5, 0), value(5, 0));
        step(value(12, 0), value(12, 0)); /* true: one of them goes on */
        struct limit_judge_value silent = value(90, 100 * CLOCK_MS), records = value(12, 0);
        step(first ? silent : records, first ? records : silent);
        limit_judge_drop(&j, &runs[0], false);
        limit_judge_drop(&j, &runs[1], false);
        assert_int_equal(seen.violated, 100 * CLOCK_MS);
        assert_int_equal(seen.unknown, 100 * CLOCK_MS);
        assert_true(seen.worst == 12);
    }
}

/* The worst value is one that the limit had: where an error is known, it is not taken off that number alone. */
TEST_WITH(start, NULL, the_worst_value_is_no_better_than_the_last)
{
    for (int at_least = 0; at_least < 2; at_least++) {
        start(NULL);
        limit.compare = at_least ? COMPARE_AT_LEAST : COMPARE_AT_MOST;
        struct limit_judge_value bounded = value(10, 0);
        bounded.resolution = 3;
        step(bounded, bounded);
        step(bounded, bounded);
        assert_true(seen.known && seen.value == 10);
        assert_true(seen.worst == 10);
        assert_int_equal(seen.state, LIMIT_HELD);
    }
    limit.compare = COMPARE_AT_MOST;
}

TEST_WITH(start, NULL, what_is_not_made_of_records_ends_with_no_process)
{
    struct limit_judge_value cpu = {.known = true, .value = 20};
    for (int i = 0; i < 2; i++) {
        now += 100 * CLOCK_MS;
        limit_judge_begin(&j, now);
        limit_judge_value(&j, &runs[0], -1, cpu);
        limit_judge_end(&j);
    }
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
}

/* The memory of a process that ended is another's, or the node's own with other processes. */
TEST_WITH(start, NULL, what_is_forgotten_begins_anew)
{
    limit.persistence = 300 * CLOCK_MS;
    for (int i = 0; i < 3; i++)
        step(value(20, 0), value(5, 0));
    limit_judge_drop(&j, &runs[0], false);
    for (int i = 0; i < 3; i++) {
        step(value(20, 0), value(5, 0));
        assert_int_equal(seen.state, LIMIT_HELD);
    }
    step(value(20, 0), value(5, 0));
    assert_int_equal(seen.state, LIMIT_VIOLATED);
}

TEST_WITH(start, NULL, a_process_that_is_silent_for_longer_than_a_limit_settles_is_hung)
{
    step(value(5, 0), value(5, 0));
    step(value(20, SETTLING), value(5, 0));
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 0);
    step(value(20, SETTLING + 1), value(5, 0));
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.violated, 100 * CLOCK_MS);
}

TEST_WITH(start, NULL, the_process_that_is_worst_is_named_and_of_equals_the_first)
{
    step(value(20, 0), value(30, 0));
    assert_int_equal(seen.slot, 1);
    step(value(20, 0), value(20, 0));
    assert_int_equal(seen.slot, 0);
    step(value(-3, 0), value(NAN, 0));
    assert_int_equal(seen.slot, 0);
    step(value(NAN, 0), value(NAN, 0));
    assert_int_equal(seen.slot, -1);
    assert_int_equal(seen.state, LIMIT_UNKNOWN);
}

/* What holds for lack of persistence is not what was worst, as long as it is doubtful. */
TEST_WITH(start, NULL, what_is_doubtful_is_not_worst_before_it_is_violated_either)
{
    limit.persistence = CLOCK_S;
    step(value(5, 0), value(5, 0));
    step(value(90, 100 * CLOCK_MS), value(5, 0));
    limit_judge_drop(&j, &runs[0], false);
    assert_true(seen.worst == 5);
}

/* The instant behind is violated, or holds, or has no value: of the time between it says nothing. */
TEST_WITH(start, NULL, what_nobody_judged_is_unknown_whatever_follows)
{
    const double then[] = {5, 20, NAN};
    for (size_t i = 0; i < 3; i++) {
        start(NULL);
        step(value(5, 0), value(5, 0));
        assert_int_equal(seen.gap, -1);
        now += REACH - 100 * CLOCK_MS;
        step(value(5, 0), value(5, 0));
        assert_true(seen.gap == 0 && seen.held == REACH && seen.unknown == 0);
        now += REACH - 100 * CLOCK_MS + 1;
        step(value(then[i], 0), value(then[i], 0));
        assert_true(seen.gap == REACH + 1 && seen.unjudged == REACH + 1 && seen.unknown == REACH + 1);
        assert_true(seen.held == REACH && seen.violated == 0);
        step(value(5, 0), value(5, 0));
        assert_true(seen.gap == 0 && seen.unjudged == REACH + 1 && seen.held == REACH + 100 * CLOCK_MS);
    }
}

TEST_WITH(start, NULL, a_gap_is_not_taken_back_with_the_end_of_a_process)
{
    step(value(5, 0), value(5, 0));
    now += 10 * REACH;
    step(value(90, 100 * CLOCK_MS), value(5, 0));
    step(value(90, 200 * CLOCK_MS), value(5, 0));
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.unjudged, 10 * REACH + 100 * CLOCK_MS);
    assert_int_equal(seen.unknown, seen.unjudged + 100 * CLOCK_MS);
    assert_int_equal(seen.violated, 0);
}

TEST_WITH(start, NULL, before_the_first_value_a_gap_is_one_too_and_while_it_settles_none)
{
    limit.kind = LIMIT_HOLD;
    step(value(NAN, 0), value(NAN, 0));
    now += REACH;
    step(value(NAN, 0), value(NAN, 0));
    assert_int_equal(seen.unjudged, REACH + 100 * CLOCK_MS);
    step(value(5, 0), value(5, 0));
    now += SETTLING - 100 * CLOCK_MS;
    step(value(5, 0), value(5, 0));
    assert_true(seen.settling == SETTLING + 100 * CLOCK_MS && seen.unjudged == REACH + 100 * CLOCK_MS);
}

/* That one process holds the limit says nothing of another one, and that one breaks it does. */
TEST_WITH(start, NULL, a_value_that_leaves_it_open_is_not_judged)
{
    struct limit_judge_value open = {.open = true}, none = {.known = false};
    step(value(5, 0), none);
    step(open, value(5, 0));
    assert_int_equal(seen.state, LIMIT_UNKNOWN);
    assert_int_equal(seen.unjudged, 100 * CLOCK_MS);
    assert_int_equal(seen.gap, 100 * CLOCK_MS); /* so its records are looked at after the run */
    step(open, value(20, 0));
    assert_int_equal(seen.state, LIMIT_VIOLATED);
    assert_int_equal(seen.gap, 0);
    step(none, none);
    step(value(5, 0), none);
    assert_int_equal(seen.state, LIMIT_HELD);
    assert_int_equal(seen.unjudged, 100 * CLOCK_MS);
    assert_int_equal(seen.unknown, 200 * CLOCK_MS);
    assert_int_equal(sum(), 400 * CLOCK_MS);
}

/* It was whole at one instant and broken at the next: it may have been broken for all of the time between. */
TEST_WITH(start, NULL, what_may_have_lasted_too_long_is_not_held)
{
    static const struct {
        int64_t persistence, held, violated, unjudged; /* ms, after 3 broken instants and a whole one */
    } cases[] = {{0, 100, 300, 0},    {50, 150, 200, 50}, {100, 200, 200, 0},
                 {150, 250, 100, 50}, {250, 350, 0, 50},  {300, 400, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(NULL);
        limit.persistence = cases[i].persistence * CLOCK_MS;
        step(value(5, 0), value(5, 0));
        for (int k = 0; k < 3; k++)
            step(value(20, 0), value(5, 0));
        step(value(5, 0), value(5, 0));
        assert_int_equal(seen.held, cases[i].held * CLOCK_MS);
        assert_int_equal(seen.violated, cases[i].violated * CLOCK_MS);
        assert_int_equal(seen.unjudged, cases[i].unjudged * CLOCK_MS);
        assert_int_equal(seen.unknown, seen.unjudged);
        assert_int_equal(sum(), 400 * CLOCK_MS);
    }
}

/* Broken, open, broken, broken: it may have been broken all the time, for longer than the limit permits. */
TEST_WITH(start, NULL, what_was_open_may_have_been_broken)
{
    static const struct {
        double values[5];                                    /* NaN: open */
        int64_t persistence, held, violated, unjudged, gaps; /* ms; gaps: the records are looked at after the run */
    } cases[] = {{{20, NAN, 20, 20, 5}, 250, 200, 0, 300, 300},   {{20, NAN, 20, 20, 20}, 200, 100, 100, 300, 300},
                 {{NAN, 20, 20, 20, 5}, 150, 100, 100, 300, 300}, {{20, NAN, 5, 20, 20}, 250, 400, 0, 100, 100},
                 {{20, NAN, 20, 5, 5}, 300, 400, 0, 100, 100},    {{NAN, NAN, NAN, NAN, 20}, 300, 0, 0, 500, 500},
                 {{NAN, 5, 20, 20, 20}, 250, 350, 0, 150, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t gaps = 0;
        start(NULL);
        limit.persistence = cases[i].persistence * CLOCK_MS;
        step(value(5, 0), value(5, 0));
        for (int k = 0; k < 5; k++) {
            struct limit_judge_value v = value(cases[i].values[k], 0);
            v.open = !v.known;
            step(v, value(5, 0));
            gaps += seen.gap;
        }
        assert_int_equal(seen.held, cases[i].held * CLOCK_MS);
        assert_int_equal(seen.violated, cases[i].violated * CLOCK_MS);
        assert_int_equal(seen.unjudged, cases[i].unjudged * CLOCK_MS);
        assert_int_equal(gaps, cases[i].gaps * CLOCK_MS);
        assert_int_equal(seen.unknown, seen.unjudged);
        assert_int_equal(sum(), 500 * CLOCK_MS);
    }
}

TEST_WITH(start, NULL, what_has_no_value_is_not_broken)
{
    limit.persistence = 250 * CLOCK_MS;
    struct limit_judge_value open = {.open = true}, none = {.known = false};
    step(value(20, 0), none);
    step(open, none);
    step(none, none);
    for (int i = 0; i < 3; i++)
        step(value(20, 0), none);
    assert_int_equal(seen.held, 250 * CLOCK_MS);
    assert_int_equal(seen.unjudged, 150 * CLOCK_MS);
}

/* Whole at an instant, and broken at some time before it: for how long is not known. */
TEST_WITH(start, NULL, what_was_broken_since_the_instant_before_may_have_lasted)
{
    static const struct {
        int broken;
        int64_t persistence, held, violated, unjudged; /* ms */
    } cases[] = {{0, 50, 50, 0, 50},    {0, 100, 100, 0, 0}, {2, 150, 150, 0, 150},
                 {2, 200, 200, 0, 100}, {2, 300, 300, 0, 0}, {2, 100, 200, 100, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(NULL);
        limit.persistence = cases[i].persistence * CLOCK_MS;
        step(value(5, 0), value(5, 0));
        for (int k = 0; k < cases[i].broken; k++)
            step(value(20, 0), value(5, 0));
        struct limit_judge_value over = value(5, 0);
        over.was_broken = true;
        step(over, value(5, 0));
        assert_int_equal(seen.held, cases[i].held * CLOCK_MS);
        assert_int_equal(seen.violated, cases[i].violated * CLOCK_MS);
        assert_int_equal(seen.unjudged, cases[i].unjudged * CLOCK_MS);
        step(value(5, 0), value(5, 0));
        assert_int_equal(seen.held, (cases[i].held + 100) * CLOCK_MS);
    }
}

TEST_WITH(start, NULL, what_the_end_of_a_process_broke_did_not_last)
{
    limit.persistence = 50 * CLOCK_MS;
    step(value(5, 0), value(5, 0));
    step(value(20, 100 * CLOCK_MS), value(5, 0));
    assert_int_equal(seen.unjudged, 50 * CLOCK_MS);
    limit_judge_drop(&j, &runs[0], false);
    assert_int_equal(seen.unjudged, 0);
    assert_int_equal(seen.unknown, 50 * CLOCK_MS);
    step(value(5, 0), value(5, 0));
    assert_int_equal(seen.held, 150 * CLOCK_MS);
}

TEST_WITH(start, NULL, adaptation_settles_from_the_first_value_though_it_leaves_it_open)
{
    struct limit_judge_value open = {.open = true};
    limit.kind = LIMIT_HOLD;
    for (int i = 0; i <= 10; i++)
        step(open, open);
    assert_int_equal(seen.settling, SETTLING);
    step(open, open);
    assert_int_equal(seen.unjudged, 100 * CLOCK_MS);
}
