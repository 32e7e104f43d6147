// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/start_plan.h"
#include "base/clock.h"
#include "tests/lib/test.h"

static struct experiment *e;
static struct start_plan plan;

/* The plan of an experiment with these processes, of which the first steps are taken at time 1. */
static void begin(const char *processes)
{
    char text[1024];
    struct experiment_diagnostics found;
    int n = snprintf(text, sizeof text, "experiment: x\nprocesses:\n%s", processes);
    assert_int_equal(experiment_read(text, (size_t)n, &e, &found), 0);
    experiment_diagnostics_free(&found);
    assert_int_equal(start_plan_make(e, &plan), 0);
    start_plan_step(&plan, 1);
}

static int end(void **state)
{
    (void)state;
    start_plan_free(&plan);
    experiment_free(e);
    e = NULL;
    return 0;
}

/* "WTRr.o": the phases of all programs. */
static const char *phases(void)
{
    static const char letters[] = {[START_WAITS] = 'W', [START_TOLD] = 'T',   [START_RUNS] = 'r',
                                   [START_READY] = 'R', [START_PAUSES] = 'p', [START_OVER] = 'o'};
    static char text[16];
    for (size_t i = 0; i < plan.count; i++)
        text[i] = letters[plan.programs[i].phase];
    text[plan.count] = '\0';
    return text;
}

TEST_WITH(NULL, end, all_are_told_at_once_but_those_that_wait)
{
    begin("  - {name: a, command: x, instances: 2}\n"
          "  - {name: b, command: x, after: [a]}\n"
          "  - {name: c, command: x, after: [b, a]}\n");
    assert_string_equal(phases(), "TTWW");
    start_plan_runs(&plan, 0, 2);
    start_plan_step(&plan, 2);
    assert_string_equal(phases(), "RTWW"); /* all instances must be ready */
    start_plan_runs(&plan, 1, 3);
    start_plan_step(&plan, 3);
    assert_string_equal(phases(), "RRTW");
    start_plan_runs(&plan, 2, 4);
    start_plan_step(&plan, 4);
    assert_string_equal(phases(), "RRRT");
    assert_int_equal(start_plan_deadline(&plan), INT64_MAX);
}

TEST_WITH(NULL, end, readiness_is_waited_for)
{
    begin("  - {name: a, command: x, ready: {port: 80, within: 2 s}}\n"
          "  - {name: b, command: x, after: [a], ready: {time: 3 s}}\n"
          "  - {name: c, command: x, after: [b]}\n");
    start_plan_runs(&plan, 0, CLOCK_S);
    start_plan_step(&plan, CLOCK_S);
    assert_string_equal(phases(), "rWW");
    assert_int_equal(start_plan_deadline(&plan), 3 * CLOCK_S);
    assert_int_equal(start_plan_late(&plan, 3 * CLOCK_S - 1), -1);
    assert_int_equal(start_plan_late(&plan, 3 * CLOCK_S), 0);
    assert_int_equal(start_plan_late(&plan, 4 * CLOCK_S), -1); /* once */
    start_plan_ready(&plan, 0);
    start_plan_ready(&plan, 2); /* it does not run */
    start_plan_step(&plan, 4 * CLOCK_S);
    assert_string_equal(phases(), "RTW");
    start_plan_runs(&plan, 1, 5 * CLOCK_S);
    assert_int_equal(start_plan_deadline(&plan), 8 * CLOCK_S);
    start_plan_step(&plan, 8 * CLOCK_S - 1);
    assert_string_equal(phases(), "RrW");
    assert_int_equal(start_plan_late(&plan, 100 * CLOCK_S), -1); /* it has a time, and is never late */
    start_plan_step(&plan, 8 * CLOCK_S);
    assert_string_equal(phases(), "RRT");
}

TEST_WITH(NULL, end, one_that_ends_well_need_not_have_been_ready)
{
    begin("  - {name: a, command: x, ready: {time: 1 h}}\n  - {name: b, command: x, after: [a]}\n");
    start_plan_runs(&plan, 0, 1);
    assert_false(start_plan_ends(&plan, 0, false, 2));
    start_plan_step(&plan, 2);
    assert_string_equal(phases(), "oT");
}

TEST_WITH(NULL, end, a_failure_is_followed_by_so_many_restarts)
{
    begin("  - {name: a, command: x, restart: on-failure, restarts: 2, restart-pause: 10 ms}\n");
    int64_t now = 1;
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(plan.programs[0].wanted, i);
        start_plan_runs(&plan, 0, now);
        assert_true(start_plan_ends(&plan, 0, true, now));
        assert_int_equal(start_plan_deadline(&plan), now + 10 * CLOCK_MS);
        start_plan_step(&plan, now + 10 * CLOCK_MS - 1);
        assert_string_equal(phases(), "p");
        start_plan_step(&plan, now += 10 * CLOCK_MS);
        assert_string_equal(phases(), "T");
    }
    assert_int_equal(plan.programs[0].wanted, 3);
    assert_false(start_plan_ends(&plan, 0, true, now)); /* it could not even be started */
    assert_string_equal(phases(), "o");
    assert_false(start_plan_ends(&plan, 0, true, now)); /* it is over */
}

TEST_WITH(NULL, end, a_good_end_is_followed_by_none)
{
    begin("  - {name: a, command: x, restart: on-failure}\n");
    start_plan_runs(&plan, 0, 1);
    assert_false(start_plan_ends(&plan, 0, false, 1));
    assert_string_equal(phases(), "o");
}

TEST_WITH(NULL, end, who_waits_for_a_failed_one_is_over_too)
{
    size_t failed = 99;
    begin("  - {name: a, command: x, ready: {port: 80}}\n"
          "  - {name: b, command: x, after: [a]}\n"
          "  - {name: c, command: x, after: [b]}\n"
          "  - {name: d, command: x}\n");
    start_plan_runs(&plan, 0, 1);
    assert_int_equal(start_plan_stuck(&plan, &failed), -1);
    assert_false(start_plan_ends(&plan, 0, true, 1));
    assert_int_equal(start_plan_stuck(&plan, &failed), 1);
    assert_int_equal(failed, 0);
    assert_int_equal(start_plan_stuck(&plan, &failed), 2);
    assert_int_equal(failed, 1);
    assert_int_equal(start_plan_stuck(&plan, &failed), -1);
    assert_string_equal(phases(), "oooT");
}

TEST_WITH(NULL, end, one_that_is_given_up_is_not_started_again)
{
    size_t failed = 99;
    begin("  - {name: a, command: x, ready: {port: 80}, restart: on-failure}\n  - {name: b, command: x, after: [a]}\n"
          "  - {name: c, command: x, restart: on-failure}\n  - {name: d, command: x, after: [c]}\n");
    start_plan_give_up(&plan, 0); /* it was never ready */
    start_plan_runs(&plan, 2, 1);
    start_plan_give_up(&plan, 2); /* it was */
    start_plan_step(&plan, CLOCK_S);
    assert_string_equal(phases(), "oWoT");
    assert_int_equal(start_plan_stuck(&plan, &failed), 1);
    assert_int_equal(failed, 0);
    assert_int_equal(start_plan_stuck(&plan, &failed), -1);
    start_plan_step(&plan, 3600 * CLOCK_S);
    assert_string_equal(phases(), "oooT");
}

TEST_WITH(NULL, end, one_that_was_ready_and_fails_later_holds_nobody_up)
{
    size_t failed;
    begin("  - {name: a, command: x}\n  - {name: b, command: x, after: [a]}\n");
    start_plan_runs(&plan, 0, 1);
    assert_false(start_plan_ends(&plan, 0, true, 1));
    assert_int_equal(start_plan_stuck(&plan, &failed), -1);
    start_plan_step(&plan, 1);
    assert_string_equal(phases(), "oT");
}
