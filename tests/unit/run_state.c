// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run_state.h"

#include "base/exit_code.h"
#include "tests/lib/test.h"
#include <string.h>

/* One experiment on a virtual clock: each call is an event, its result the actions. */
struct scene {
    struct experiment e;
    struct experiment_process processes[2];
    struct run_state s;
    int64_t now;
};

static char *no_arguments[] = {NULL};

static void begin(struct scene *c, uint32_t nodes, uint32_t launched, bool attached, int64_t duration)
{
    memset(c, 0, sizeof *c);
    c->now = 1000 * CLOCK_S;
    c->e =
        (struct experiment){.duration = duration, .grace = 2 * CLOCK_S, .node_count = nodes, .processes = c->processes};
    if (launched > 0)
        c->processes[c->e.process_count++] = (struct experiment_process){.argv = no_arguments, .instances = launched};
    if (attached)
        c->processes[c->e.process_count++] = (struct experiment_process){.attach = (char[]){"nav*"}, .instances = 1};
    struct state_actions a = run_state_begin(&c->s, &c->e, false, c->now);
    assert_int_equal(a.what, ACTION_START_DAEMON);
    assert_int_equal(a.daemon, STATE_COLLECTOR);
}

static unsigned give(struct scene *c, struct state_event event)
{
    return run_state_step(&c->s, &event, c->now).what;
}

#define GIVE(c, ...) give((c), (struct state_event){__VA_ARGS__})

/* Lets the clock go to the next deadline, which must be within `span`, and ticks. */
static unsigned tick_within(struct scene *c, int64_t span)
{
    int64_t at = run_state_deadline(&c->s);
    assert_true(at <= c->now + span);
    c->now = at > c->now ? at : c->now;
    return GIVE(c, .type = EVENT_TICK);
}

/* To RUNNING. */
static void run_up(struct scene *c)
{
    assert_int_equal(GIVE(c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR), ACTION_START_NODES);
    unsigned last = 0;
    for (uint32_t d = 1; d < c->s.daemon_count; d++) {
        assert_int_equal(last, 0);
        last = GIVE(c, .type = EVENT_SERVES, .daemon = d);
    }
    assert_int_equal(last, c->s.launched > 0 ? ACTION_START_PROCESSES : 0);
    assert_int_equal(c->s.phase, PHASE_RUNNING);
}

/* From CLOSING_NODES to DONE, everybody obeying. */
static void close_down(struct scene *c)
{
    assert_int_equal(c->s.phase, PHASE_CLOSING_NODES);
    unsigned last = 0;
    for (uint32_t d = 1; d < c->s.daemon_count; d++)
        last = GIVE(c, .type = EVENT_DAEMON_ENDED, .daemon = d);
    assert_int_equal(last, ACTION_STOP_COLLECTOR);
    GIVE(c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(c->s.phase, PHASE_DONE);
    assert_true(run_state_deadline(&c->s) == INT64_MAX);
}

TEST(runs_for_its_duration_and_takes_everything_down_in_order)
{
    struct scene c;
    begin(&c, 2, 3, false, 10 * CLOCK_S);
    run_up(&c);
    int64_t started = c.now;
    assert_int_equal(tick_within(&c, 10 * CLOCK_S), ACTION_STOP_PROCESSES);
    assert_true(c.now - started == 10 * CLOCK_S);
    for (int i = 0; i < 3; i++)
        assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 2), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 1), ACTION_STOP_NODES);
    close_down(&c);
    assert_int_equal(c.s.ended_by, ENDED_BY_DURATION);
    assert_true(c.s.ended - c.s.started == 10 * CLOCK_S);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_VIOLATED), EXIT_VIOLATED);
    assert_int_equal(run_state_exit_code(&c.s, BEZEL_ESYS), EXIT_FAILED);
}

TEST(ends_when_its_processes_have_ended)
{
    struct scene c;
    begin(&c, 1, 2, false, 0);
    run_up(&c);
    assert_true(run_state_deadline(&c.s) == INT64_MAX);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), ACTION_STOP_PROCESSES); /* what they left behind */
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(goes_on_without_a_process_that_died_and_fails_at_the_end)
{
    struct scene c;
    begin(&c, 1, 2, false, 10 * CLOCK_S);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED, .failed = true), 0);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(tick_within(&c, 10 * CLOCK_S), ACTION_STOP_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_VIOLATED), EXIT_FAILED);
}

TEST(a_daemon_that_let_go_of_its_processes_fails_the_run_and_comes_again)
{
    struct scene c;
    begin(&c, 1, 1, false, CLOCK_S);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .failed = true), 0);
    assert_int_equal(tick_within(&c, 0), ACTION_START_DAEMON);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 1), 0);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

/* That of a persistent bezeld, whose end is not seen: the next one reports it. */
TEST(a_session_that_let_go_of_its_processes_fails_the_run_when_it_serves_again)
{
    struct scene c;
    begin(&c, 1, 1, false, CLOCK_S);
    run_up(&c);
    (void)GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true);
    assert_int_equal(tick_within(&c, 0), ACTION_START_DAEMON);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 1, .failed = true), 0);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(a_session_that_cannot_be_had_is_unreachable_but_not_one_that_was_lost)
{
    struct scene c;
    begin(&c, 1, 1, false, CLOCK_S);
    GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true), ACTION_STOP_COLLECTOR);
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_UNREACHABLE);

    begin(&c, 1, 1, false, CLOCK_S);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true), 0);
    assert_int_equal(tick_within(&c, 0), ACTION_START_DAEMON); /* asked for again, at once */
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 1), 0);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(a_daemon_that_cannot_start_ends_the_others_and_nothing_is_launched)
{
    struct scene c;
    begin(&c, 2, 1, false, CLOCK_S);
    GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 1), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 2), ACTION_STOP_NODES);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1), ACTION_STOP_COLLECTOR);
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_true(c.s.started == 0);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);

    begin(&c, 2, 1, false, CLOCK_S);
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(c.s.phase, PHASE_DONE);
}

/* Who kills a daemon may do so at any time; one that ended by itself would do so again. */
TEST(a_daemon_that_is_killed_before_it_serves_is_started_again_five_times)
{
    for (uint32_t d = 0; d <= 2; d++) {
        struct scene c;
        begin(&c, 2, 1, false, CLOCK_S);
        if (d > 0)
            GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
        for (int death = 1; death <= STATE_RESTARTS; death++) {
            assert_false(run_state_gives_up(&c.s, d, c.now));
            assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = d, .killed = true), 0);
            assert_int_equal(c.s.phase, PHASE_STARTING);
            assert_int_equal(tick_within(&c, 2 * CLOCK_S), ACTION_START_DAEMON);
        }
        assert_true(run_state_gives_up(&c.s, d, c.now));
        GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = d, .killed = true);
        assert_int_not_equal(c.s.phase, PHASE_STARTING);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
    }
}

TEST(a_daemon_that_is_not_ready_in_time_is_unreachable)
{
    struct scene c;
    begin(&c, 1, 1, false, CLOCK_S);
    GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    assert_int_equal(tick_within(&c, STATE_START_LIMIT), ACTION_REPORT_LATE | ACTION_STOP_NODES);
    assert_int_equal(tick_within(&c, STATE_CLOSE_LIMIT), ACTION_REPORT_LATE | ACTION_KILL_NODES);
    close_down(&c);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_UNREACHABLE);
}

TEST(many_daemons_may_take_long_as_long_as_one_after_the_other_serves)
{
    struct scene c;
    begin(&c, 3, 1, false, 0);
    GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    for (uint32_t d = 1; d < 3; d++) {
        c.now += STATE_START_LIMIT - 1;
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
        assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = d), 0);
    }
    assert_int_equal(tick_within(&c, STATE_START_LIMIT), ACTION_REPORT_LATE | ACTION_STOP_NODES);
}

TEST(restarts_a_killed_daemon_at_once_and_stays_successful)
{
    for (uint32_t d = 0; d <= 2; d++) {
        struct scene c;
        begin(&c, 2, 1, false, 10 * CLOCK_S);
        run_up(&c);
        assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = d), 0);
        struct state_event tick = {.type = EVENT_TICK};
        assert_true(run_state_deadline(&c.s) <= c.now);
        struct state_actions a = run_state_step(&c.s, &tick, c.now);
        assert_int_equal(a.what, ACTION_START_DAEMON);
        assert_int_equal(a.daemon, d);
        assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = d), 0);
        assert_int_equal(c.s.phase, PHASE_RUNNING);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
    }
}

TEST(a_collector_that_serves_again_starts_no_node_a_second_time)
{
    struct scene c;
    begin(&c, 2, 1, false, 0);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR), ACTION_START_NODES);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 1), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR, .killed = true), 0);
    assert_int_equal(tick_within(&c, 2 * CLOCK_S), ACTION_START_DAEMON);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR), 0);
    assert_int_equal(c.s.phase, PHASE_STARTING);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 2), ACTION_START_PROCESSES);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
}

TEST(gives_up_a_daemon_that_dies_too_often_but_forgets_old_deaths)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_up(&c);
    for (int i = 0; i < 20; i++) { /* often, but never six times in the span */
        GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1);
        assert_true(tick_within(&c, CLOCK_S * 2) & ACTION_START_DAEMON);
        GIVE(&c, .type = EVENT_SERVES, .daemon = 1);
        c.now += STATE_RESTART_SPAN / STATE_RESTARTS;
    }
    c.now += STATE_RESTART_SPAN;
    for (int i = 0; i < STATE_RESTARTS; i++) {
        assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1), 0);
        assert_true(tick_within(&c, 2 * CLOCK_S) & ACTION_START_DAEMON);
    }
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_FAILURE);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_STOP_COLLECTOR); /* nobody is left to drain */
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(a_daemon_restarted_while_draining_is_drained_too)
{
    struct scene c;
    begin(&c, 2, 0, true, CLOCK_S);
    run_up(&c);
    assert_int_equal(tick_within(&c, CLOCK_S), ACTION_DRAIN | ACTION_REPORT_UNMATCHED);
    GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 2);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1), 0); /* it holds nothing any more */
    assert_int_equal(tick_within(&c, 0), ACTION_START_DAEMON);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 2), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 2), ACTION_STOP_NODES);
}

TEST(drains_as_long_as_there_is_progress_and_no_longer)
{
    struct scene c;
    begin(&c, 1, 0, true, CLOCK_S);
    run_up(&c);
    GIVE(&c, .type = EVENT_ATTACHED, .living = 1, .seen = 1);
    assert_int_equal(tick_within(&c, CLOCK_S), ACTION_DRAIN);
    for (int i = 0; i < 100; i++) {
        c.now += STATE_DRAIN_LIMIT - 1;
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
        assert_int_equal(GIVE(&c, .type = EVENT_PROGRESS), 0);
    }
    assert_int_equal(tick_within(&c, STATE_DRAIN_LIMIT), ACTION_REPORT_UNDRAINED | ACTION_STOP_NODES);
    close_down(&c);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_UNREACHABLE);
}

/* To DRAINING, into a store that fails. */
static void drain_failing(struct scene *c)
{
    begin(c, 1, 1, false, 0);
    run_up(c);
    assert_int_equal(GIVE(c, .type = EVENT_STORE_FAILED), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
}

TEST(a_store_that_fails_stops_the_experiment_and_is_not_waited_for_long)
{
    struct scene c;
    drain_failing(&c);
    assert_int_equal(tick_within(&c, STATE_FAILING_LIMIT), ACTION_REPORT_UNDRAINED | ACTION_STOP_NODES);
    close_down(&c);
    assert_int_equal(c.s.ended_by, ENDED_BY_FAILURE);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(a_collector_that_comes_back_has_time_to_show_that_it_can_write)
{
    struct scene c;
    drain_failing(&c);
    (void)GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(tick_within(&c, CLOCK_S), ACTION_START_DAEMON);
    (void)GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    assert_true(run_state_deadline(&c.s) > c.now + STATE_FAILING_LIMIT);
    (void)GIVE(&c, .type = EVENT_PROGRESS);
    (void)GIVE(&c, .type = EVENT_STORE_FAILED); /* it cannot */
    assert_int_equal(tick_within(&c, STATE_FAILING_LIMIT), ACTION_REPORT_UNDRAINED | ACTION_STOP_NODES);
}

TEST(the_first_interrupt_stops_and_the_second_kills)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_STOP_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_KILL);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_int_equal(c.s.ended_by, ENDED_BY_INTERRUPT);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(an_interrupt_from_a_shared_terminal_gives_the_process_time)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_state_begin(&c.s, &c.e, true, c.now);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT, .terminal = true), ACTION_INTERRUPT_PROCESSES);
    begin(&c, 1, 1, false, 0);
    run_state_begin(&c.s, &c.e, true, c.now);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT, .terminal = false), ACTION_STOP_PROCESSES);
    begin(&c, 1, 1, false, 0); /* not interactive: the SUT does not share the terminal */
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT, .terminal = true), ACTION_STOP_PROCESSES);
}

TEST(an_interrupt_before_the_start_launches_nothing)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_STOP_COLLECTOR);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR), 0);
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(attached_processes_that_ended_end_the_experiment_but_a_short_absence_does_not)
{
    struct scene c;
    begin(&c, 1, 0, true, 0);
    run_up(&c);
    GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = 0);
    c.now += CLOCK_S;
    GIVE(&c, .type = EVENT_ATTACHED, .living = 1, .seen = 1);
    assert_true(run_state_deadline(&c.s) == INT64_MAX);
    GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = 1);
    c.now += STATE_ABSENCE / 2;
    GIVE(&c, .type = EVENT_ATTACHED, .living = 1, .seen = 2);
    c.now += STATE_ABSENCE;
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
    GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = 2);
    assert_int_equal(tick_within(&c, STATE_ABSENCE), ACTION_DRAIN);
    assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(with_a_duration_attached_processes_may_go_and_come_and_it_lasts_that_long)
{
    struct scene c;
    begin(&c, 1, 0, true, 10 * CLOCK_S);
    run_up(&c);
    int64_t started = c.now;
    for (uint64_t life = 1; life <= 3; life++) {
        GIVE(&c, .type = EVENT_ATTACHED, .living = 1, .seen = life);
        c.now += CLOCK_S / 2;
        GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = life);
        c.now += 2 * STATE_ABSENCE;
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
        assert_true(run_state_deadline(&c.s) == started + 10 * CLOCK_S);
    }
    assert_int_equal(tick_within(&c, 10 * CLOCK_S), ACTION_DRAIN);
    assert_int_equal(c.s.ended_by, ENDED_BY_DURATION);
    assert_true(c.s.ended - c.s.started == 10 * CLOCK_S);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(what_is_attached_to_neither_ends_nor_prolongs_what_is_started)
{
    for (int64_t duration = 0; duration <= 10 * CLOCK_S; duration += 10 * CLOCK_S) {
        struct scene c;
        begin(&c, 1, 1, true, duration);
        run_up(&c);
        GIVE(&c, .type = EVENT_ATTACHED, .living = 2, .seen = 2);
        GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = 2);
        c.now += 2 * STATE_ABSENCE;
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
        GIVE(&c, .type = EVENT_ATTACHED, .living = 2, .seen = 3);
        assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), ACTION_STOP_PROCESSES);
        assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
    }
}

TEST(silence_of_what_is_attached_to_is_reported_once_and_nothing_seen_is_unreachable)
{
    struct scene c;
    begin(&c, 1, 0, true, 20 * CLOCK_S);
    run_up(&c);
    assert_int_equal(tick_within(&c, STATE_ATTACH_LIMIT), ACTION_REPORT_UNMATCHED);
    c.now += CLOCK_S;
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
    assert_int_equal(tick_within(&c, 20 * CLOCK_S), ACTION_DRAIN);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_UNREACHABLE);
    begin(&c, 1, 0, true, STATE_ATTACH_LIMIT / 2);
    run_up(&c);
    assert_int_equal(tick_within(&c, STATE_ATTACH_LIMIT / 2), ACTION_DRAIN | ACTION_REPORT_UNMATCHED);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_UNREACHABLE);
}

TEST(a_lost_launcher_fails_the_experiment_but_not_the_draining)
{
    struct scene c;
    begin(&c, 1, 2, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_LAUNCHER_LOST), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 1), ACTION_STOP_NODES);
    close_down(&c);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(without_the_launcher_here_those_elsewhere_are_ended)
{
    struct scene c;
    begin(&c, 1, 3, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_LAUNCHER_LOST, .living = 2), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    begin(&c, 1, 3, false, CLOCK_S);
    run_up(&c);
    assert_int_equal(tick_within(&c, CLOCK_S), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_LAUNCHER_LOST, .living = 1), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(a_process_may_end_the_run_or_fail_it_by_not_getting_ready)
{
    struct scene c;
    begin(&c, 1, 3, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED, .stops = true), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
    begin(&c, 1, 3, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_UNREADY), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_FAILURE);
    assert_int_equal(GIVE(&c, .type = EVENT_UNREADY), 0);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(processes_that_cannot_be_ended_do_not_hold_up_the_end)
{
    struct scene c;
    begin(&c, 1, 1, false, CLOCK_S);
    run_up(&c);
    assert_int_equal(tick_within(&c, CLOCK_S), ACTION_STOP_PROCESSES);
    assert_int_equal(tick_within(&c, 2 * c.e.grace + STATE_CLOSE_LIMIT),
                     ACTION_REPORT_LATE | ACTION_KILL_LAUNCHER | ACTION_DRAIN);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

static void begin_managed(struct scene *c)
{
    begin(c, 2, 1, false, 0);
    c->e.adapt.by = ADAPT_BY_MANAGER;
    c->e.adapt.policy = POLICY_DPP;
    run_state_begin(&c->s, &c->e, false, c->now);
    GIVE(c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    GIVE(c, .type = EVENT_SERVES, .daemon = 1);
    assert_int_equal(GIVE(c, .type = EVENT_SERVES, .daemon = 2), ACTION_START_PROCESSES | ACTION_START_DAEMON);
}

TEST(a_manager_is_started_with_the_processes_and_ended_before_draining)
{
    struct scene c;
    begin_managed(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_STOP_MANAGER | ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 3), 0);
    assert_int_equal(c.s.daemons[3].phase, DAEMON_GONE);
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);                /* it is not restarted */
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 3), 0); /* which it sent before it was stopped */
    assert_int_equal(c.s.daemons[3].phase, DAEMON_GONE);
    assert_int_equal(c.s.phase, PHASE_DRAINING);
    assert_false(c.s.unmanaged);
    GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 2), ACTION_STOP_NODES); /* nobody waits for its end */
    GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 2), ACTION_STOP_COLLECTOR);
}

TEST(a_manager_that_dies_is_restarted_until_it_is_given_up_and_the_run_goes_on)
{
    struct scene c;
    begin_managed(&c);
    for (int i = 0; i < STATE_RESTARTS; i++) {
        assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 3), 0);
        assert_int_equal(c.s.daemons[3].phase, DAEMON_DOWN);
        assert_int_equal(tick_within(&c, 2 * CLOCK_S), ACTION_START_DAEMON);
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
    }
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 3), 0);
    assert_int_equal(c.s.daemons[3].phase, DAEMON_GONE);
    assert_true(c.s.unmanaged);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_false(c.s.failed);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN); /* there is none to stop */
}

TEST(there_is_no_manager_where_nodes_decide)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_up(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
}

/* ---- When, to the nanosecond ------------------------------------------------------------------------------------- */

TEST(pauses_between_restarts_double_and_a_death_is_forgotten_after_its_span)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_up(&c);
    int64_t first = c.now;
    for (int i = 0; i < STATE_RESTARTS; i++) {
        GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1);
        assert_int_equal(run_state_deadline(&c.s) - c.now, i == 0 ? 0 : (100 * CLOCK_MS) << (i - 1));
        (void)tick_within(&c, 2 * CLOCK_S);
        GIVE(&c, .type = EVENT_SERVES, .daemon = 1);
    }
    assert_true(run_state_gives_up(&c.s, 1, first + STATE_RESTART_SPAN - 1));
    assert_false(run_state_gives_up(&c.s, 1, first + STATE_RESTART_SPAN));
}

/* Twice the grace, since an interrupted process gets it twice, and what a daemon has to stop. */
/* Of three nodes the second has a persistent bezeld, and the file says what follows if that is lost. */
static void begin_remote(struct scene *c, struct experiment_node nodes[3], enum experiment_on_loss action, int64_t wait)
{
    static char address[] = "tcp://192.0.2.7:7767";
    memset(nodes, 0, 3 * sizeof *nodes);
    nodes[1].address = address;
    nodes[1].on_loss = (struct experiment_loss){action, wait};
    begin(c, 3, 1, false, 0);
    c->e.nodes = nodes;
    (void)run_state_begin(&c->s, &c->e, false, c->now);
    run_up(c);
}

TEST(a_lost_node_ends_the_run_where_the_file_says_so)
{
    struct scene c;
    struct experiment_node nodes[3];
    begin_remote(&c, nodes, ON_LOSS_STOP, 0);
    assert_int_equal(GIVE(&c, .type = EVENT_SILENT, .daemon = 1), 0); /* a child: it is stopped, or started again */
    assert_int_equal(GIVE(&c, .type = EVENT_SILENT, .daemon = 2), ACTION_REPORT_LOST | ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 1), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 3), ACTION_STOP_NODES); /* the lost one is not awaited */
    assert_int_equal(c.s.ended_by, ENDED_BY_FAILURE);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(a_lost_node_is_waited_for_as_long_as_the_file_says)
{
    struct scene c;
    struct experiment_node nodes[3];
    begin_remote(&c, nodes, ON_LOSS_WAIT, 30 * CLOCK_S);
    assert_int_equal(GIVE(&c, .type = EVENT_SILENT, .daemon = 2), 0);
    c.now += 29 * CLOCK_S;
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_HEARD, .daemon = 2), 0);
    assert_true(run_state_deadline(&c.s) == INT64_MAX);
    assert_int_equal(GIVE(&c, .type = EVENT_SILENT, .daemon = 2), 0);
    int64_t before = c.now;
    assert_int_equal(tick_within(&c, 30 * CLOCK_S), ACTION_REPORT_LOST | ACTION_STOP_PROCESSES);
    assert_true(c.now - before == 30 * CLOCK_S);
    assert_int_equal(c.s.phase, PHASE_STOPPING);
}

TEST(without_a_lost_node_the_run_goes_on_and_with_it_again_where_the_file_says_so)
{
    struct scene c;
    struct experiment_node nodes[3];
    begin_remote(&c, nodes, ON_LOSS_CONTINUE, 0);
    assert_int_equal(GIVE(&c, .type = EVENT_SILENT, .daemon = 2), ACTION_REPORT_LOST);
    assert_true(c.s.daemons[2].lost);
    assert_int_equal(GIVE(&c, .type = EVENT_HEARD, .daemon = 2), 0);
    assert_false(c.s.daemons[2].lost);
    for (int i = 0; i < STATE_RESTARTS; i++) {
        GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 2, .unreachable = true);
        assert_int_equal(tick_within(&c, CLOCK_S * 2), ACTION_START_DAEMON);
    }
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 2, .unreachable = true), ACTION_REPORT_LOST);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(GIVE(&c, .type = EVENT_PROCESS_ENDED), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 1), ACTION_DRAIN);
    assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 3), ACTION_STOP_NODES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(each_phase_of_the_end_has_its_time)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    run_up(&c);
    GIVE(&c, .type = EVENT_INTERRUPT);
    assert_int_equal(run_state_deadline(&c.s) - c.now, 2 * c.e.grace + STATE_CLOSE_LIMIT);
    c.now += CLOCK_S;
    GIVE(&c, .type = EVENT_TREE_EMPTY);
    assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_DRAIN_LIMIT);
    GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
    assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_CLOSE_LIMIT);
    c.now += CLOCK_S;
    GIVE(&c, .type = EVENT_PROGRESS); /* prolongs the draining alone */
    assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_CLOSE_LIMIT - CLOCK_S);
    assert_int_equal(tick_within(&c, STATE_CLOSE_LIMIT), ACTION_REPORT_LATE | ACTION_KILL_NODES);
    assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_CLOSE_LIMIT); /* told once in that time */
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true), ACTION_STOP_COLLECTOR);
    assert_int_equal(tick_within(&c, STATE_CLOSE_LIMIT), ACTION_REPORT_LATE | ACTION_KILL_COLLECTOR);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED); /* only at the start it cannot be had */
}

/* On a busy machine a daemon may have no CPU for longer than it has time: it is not hung. */
TEST(time_without_a_cpu_does_not_count)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    c.now += STATE_START_LIMIT - CLOCK_S;
    GIVE(&c, .type = EVENT_STARVED, .starved = 8 * CLOCK_S);
    assert_int_equal(run_state_deadline(&c.s) - c.now, 9 * CLOCK_S);
    GIVE(&c, .type = EVENT_STARVED, .starved = 8 * CLOCK_S); /* more than there was */
    assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_START_LIMIT);
    run_up(&c);
    GIVE(&c, .type = EVENT_STARVED, .starved = CLOCK_S);
    assert_true(run_state_deadline(&c.s) == INT64_MAX);
    GIVE(&c, .type = EVENT_INTERRUPT);
    GIVE(&c, .type = EVENT_TREE_EMPTY);
    GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
    for (int i = 0; i < 5; i++) {
        c.now += 10 * CLOCK_S;
        GIVE(&c, .type = EVENT_STARVED, .starved = 9 * CLOCK_S);
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
        assert_int_equal(run_state_deadline(&c.s) - c.now, STATE_CLOSE_LIMIT - (i + 1) * CLOCK_S);
    }
    assert_int_equal(tick_within(&c, STATE_CLOSE_LIMIT), ACTION_REPORT_LATE | ACTION_KILL_NODES);
}

TEST(a_daemon_that_holds_nothing_is_not_restarted)
{
    struct scene c;
    begin(&c, 2, 1, false, 0);
    run_up(&c);
    GIVE(&c, .type = EVENT_INTERRUPT);
    GIVE(&c, .type = EVENT_TREE_EMPTY);
    GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1), 0);
    assert_int_equal(c.s.daemons[1].phase, DAEMON_GONE);
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
}

/* However often it is said that nobody is there. */
TEST(absence_counts_from_its_begin)
{
    struct scene c;
    begin(&c, 1, 0, true, 0);
    run_up(&c);
    GIVE(&c, .type = EVENT_ATTACHED, .living = 1, .seen = 1);
    int64_t begin_of_it = c.now;
    for (; c.now < begin_of_it + STATE_ABSENCE; c.now += STATE_ABSENCE / 4) {
        GIVE(&c, .type = EVENT_ATTACHED, .living = 0, .seen = 1);
        assert_int_equal(run_state_deadline(&c.s), begin_of_it + STATE_ABSENCE);
        assert_int_equal(GIVE(&c, .type = EVENT_TICK), 0);
    }
    c.now = begin_of_it + STATE_ABSENCE;
    (void)GIVE(&c, .type = EVENT_TICK);
    assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
}

TEST(who_starts_something_has_a_run_also_where_nobody_was_attached_to)
{
    struct scene c;
    begin(&c, 1, 1, true, 0);
    run_up(&c);
    GIVE(&c, .type = EVENT_PROCESS_ENDED);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(a_run_that_is_killed_before_it_began_has_an_end)
{
    struct scene c;
    begin(&c, 1, 1, false, 0);
    GIVE(&c, .type = EVENT_INTERRUPT);
    c.now += CLOCK_S;
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_KILL);
    assert_int_equal(c.s.ended, c.now);
}
