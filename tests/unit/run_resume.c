// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "ecs/course/run_state.h"
#include "tests/lib/test.h"
#include <string.h>

/* A run that is taken over, on a virtual clock. */
struct scene {
    struct experiment e;
    struct experiment_process process;
    struct experiment_node nodes[2];
    struct run_state s;
    struct state_actions first;
    int64_t now;
};

static char *no_arguments[] = {NULL};

/* Two nodes, the first with an address; two programs, of which `ended` have. */
static void resume(struct scene *c, struct state_saved saved, uint32_t ended)
{
    memset(c, 0, sizeof *c);
    c->now = 1000 * CLOCK_S;
    c->process = (struct experiment_process){.argv = no_arguments, .instances = 2};
    c->nodes[0] =
        (struct experiment_node){.address = (char[]){"tcp://192.0.2.1:1"}, .on_loss = {.action = ON_LOSS_STOP}};
    c->e = (struct experiment){.duration = 10 * CLOCK_S,
                               .grace = CLOCK_S,
                               .node_count = 2,
                               .nodes = c->nodes,
                               .process_count = 1,
                               .processes = &c->process};
    c->first = run_state_resume(&c->s, &c->e, &saved, ended, false, c->now);
}

static unsigned give(struct scene *c, struct state_event event)
{
    return run_state_step(&c->s, &event, c->now).what;
}

#define GIVE(c, ...) give((c), (struct state_event){__VA_ARGS__})

/* To the phase that follows. Returns the last actions. */
static unsigned serve_all(struct scene *c)
{
    assert_int_equal(c->first.what, ACTION_START_DAEMON);
    assert_int_equal(c->s.phase, PHASE_STARTING);
    assert_int_equal(GIVE(c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR), ACTION_START_NODES);
    assert_int_equal(GIVE(c, .type = EVENT_SERVES, .daemon = 1), 0);
    return GIVE(c, .type = EVENT_SERVES, .daemon = 2);
}

static struct state_saved running(void)
{
    return (struct state_saved){.phase = PHASE_RUNNING, .started = 996 * CLOCK_S};
}

TEST(one_that_was_starting_begins_anew)
{
    struct scene c;
    resume(&c, (struct state_saved){.phase = PHASE_STARTING}, 0);
    assert_int_equal(serve_all(&c), ACTION_START_PROCESSES);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(c.s.started, c.now);
}

TEST(one_that_was_running_goes_on_for_the_rest_of_its_duration)
{
    struct scene c;
    resume(&c, running(), 1);
    assert_int_equal(serve_all(&c), ACTION_START_PROCESSES);
    assert_int_equal(c.s.phase, PHASE_RUNNING);
    assert_int_equal(c.s.launched_left, 1);
    assert_true(run_state_deadline(&c.s) == 1006 * CLOCK_S);
    c.now = 1006 * CLOCK_S;
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_DURATION);
    assert_int_equal(c.s.ended - c.s.started, 10 * CLOCK_S);
}

TEST(one_whose_duration_or_programs_are_over_ends)
{
    struct scene c;
    struct state_saved saved = running();
    saved.started = 100 * CLOCK_S;
    resume(&c, saved, 0);
    (void)serve_all(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_DURATION);
    resume(&c, running(), 2);
    assert_int_equal(serve_all(&c), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_PROCESSES);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(a_process_that_was_never_started_fails_the_run_whatever_ended_it)
{
    for (int interrupted = 0; interrupted < 2; interrupted++) {
        struct scene c;
        struct state_saved saved = running();
        saved.started = interrupted ? saved.started : 100 * CLOCK_S; /* its duration is over */
        resume(&c, saved, 0);
        (void)serve_all(&c);
        assert_int_equal(GIVE(&c, .type = interrupted ? EVENT_INTERRUPT : EVENT_TICK), ACTION_STOP_PROCESSES);
        assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
        assert_int_equal(GIVE(&c, .type = EVENT_UNSTARTED), 0);
        assert_int_equal(c.s.phase, PHASE_DRAINING);
        assert_true(run_state_save(&c.s).failed);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_VIOLATED), EXIT_FAILED);
    }
}

TEST(an_end_that_had_begun_is_completed)
{
    struct scene c;
    struct state_saved saved = {.phase = PHASE_STOPPING,
                                .ended_by = ENDED_BY_INTERRUPT,
                                .interrupted = true,
                                .failed = true,
                                .started = 990 * CLOCK_S,
                                .ended = 995 * CLOCK_S};
    resume(&c, saved, 0);
    assert_int_equal(serve_all(&c), ACTION_STOP_PROCESSES);
    assert_int_equal(GIVE(&c, .type = EVENT_TREE_EMPTY), ACTION_DRAIN);
    for (enum state_phase phase = PHASE_DRAINING; phase <= PHASE_CLOSING_COLLECTOR; phase++) {
        saved.phase = phase;
        saved.drained[1] = saved.drained[2] = phase > PHASE_DRAINING;
        resume(&c, saved, 2);
        assert_int_equal(serve_all(&c), ACTION_DRAIN);
        (void)GIVE(&c, .type = EVENT_DRAINED, .daemon = 1);
        assert_int_equal(GIVE(&c, .type = EVENT_DRAINED, .daemon = 2), ACTION_STOP_NODES);
        assert_int_equal(c.s.ended_by, ENDED_BY_INTERRUPT);
        assert_int_equal(c.s.ended, 995 * CLOCK_S);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
    }
    saved.phase = PHASE_DONE;
    resume(&c, saved, 2);
    assert_int_equal(c.first.what, 0);
    assert_int_equal(c.s.phase, PHASE_DONE);
}

TEST(a_node_that_is_gone_ends_the_run_unless_the_file_says_otherwise)
{
    struct scene c;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        resume(&c, running(), 0);
        c.s.daemons[1].on_loss = goes_on ? ON_LOSS_CONTINUE : ON_LOSS_WAIT;
        (void)GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
        assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true), ACTION_REPORT_LOST);
        assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 2),
                         goes_on ? ACTION_START_PROCESSES : ACTION_STOP_PROCESSES);
        assert_int_equal(c.s.ended_by, goes_on ? ENDED_BY_NOTHING : ENDED_BY_FAILURE);
        assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), goes_on ? EXIT_OK : EXIT_FAILED);
    }
}

TEST(one_that_does_not_answer_is_not_waited_for_longer_than_at_a_start)
{
    struct scene c;
    resume(&c, running(), 0);
    (void)GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    (void)GIVE(&c, .type = EVENT_SERVES, .daemon = 2);
    c.now = run_state_deadline(&c.s);
    assert_true(c.now <= (1000 + 2) * CLOCK_S + STATE_START_LIMIT);
    assert_int_equal(GIVE(&c, .type = EVENT_TICK), ACTION_REPORT_LATE | ACTION_REPORT_LOST | ACTION_STOP_PROCESSES);
}

TEST(a_node_that_was_drained_may_be_gone)
{
    struct scene c;
    struct state_saved saved = {.phase = PHASE_CLOSING_NODES, .ended_by = ENDED_BY_DURATION, .started = 1, .ended = 2};
    saved.drained[1] = true;
    resume(&c, saved, 2);
    (void)GIVE(&c, .type = EVENT_SERVES, .daemon = STATE_COLLECTOR);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = 1, .unreachable = true), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_SERVES, .daemon = 2), ACTION_DRAIN);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
}

TEST(an_interrupt_meanwhile_ends_it_in_order)
{
    struct scene c;
    resume(&c, running(), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), 0);
    assert_int_equal(serve_all(&c), ACTION_STOP_PROCESSES);
    assert_int_equal(c.s.ended_by, ENDED_BY_INTERRUPT);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_OK);
    resume(&c, running(), 0);
    (void)GIVE(&c, .type = EVENT_INTERRUPT);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), ACTION_KILL);
}

TEST(without_a_collector_it_ends)
{
    struct scene c;
    resume(&c, running(), 0);
    assert_int_equal(GIVE(&c, .type = EVENT_DAEMON_ENDED, .daemon = STATE_COLLECTOR), 0);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(one_that_is_taken_over_itself_does_nothing_more)
{
    struct scene c;
    resume(&c, running(), 0);
    (void)serve_all(&c);
    assert_int_equal(GIVE(&c, .type = EVENT_TAKEN_OVER), 0);
    assert_int_equal(c.s.phase, PHASE_DONE);
    assert_int_equal(GIVE(&c, .type = EVENT_INTERRUPT), 0);
    assert_int_equal(run_state_exit_code(&c.s, EXIT_OK), EXIT_FAILED);
}

TEST(who_is_killed_while_it_takes_over_leaves_what_it_found)
{
    struct scene c;
    struct state_saved saved = running(), again;
    saved.attached_seen = saved.unmatched_reported = saved.drained[2] = true;
    resume(&c, saved, 0);
    again = run_state_save(&c.s);
    assert_int_equal(again.phase, PHASE_RUNNING);
    assert_int_equal(again.started, saved.started);
    assert_true(again.attached_seen && again.unmatched_reported && again.drained[2] && !again.drained[1]);
}
