// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What lacks to a run: it is found on the nodes that it is about, while the run goes on as well as behind its end. */
#include "base/clock.h"
#include "base/exit_code.h"
#include "mdr/manage.h"
#include "run/rundb/rundb.h"
#include "run/verdict/verdict.h"
#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"

static struct verdict *judge(const struct sample *s, bool running)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, running, &v), 0);
    return v;
}

/* A note about one node is none of another, whose bezeld ended in order and joined again. */
TEST(a_jump_of_one_clock_does_not_explain_that_another_node_joined_again)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct sample s;
        sample_held(&s);
        s.nodes[1] = s.nodes[2] = s.nodes[0];
        s.nodes[1].first_at = sample_time(5);
        s.nodes[2].name = "stage";
        s.summary.node_count = 3;
        s.processes[2].node = 1; /* it began before that */
        s.notes[s.summary.note_count++] =
            (struct summary_note){.node = elsewhere ? 2 : 0, .code = "BEZEL-CLOCK-GAP", .text = "", .name = ""};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_REJOINED], elsewhere);
        assert_int_equal(v->lacks[LACK_CLOCK_GAP], 1);
        assert_int_equal(v->rows[0].is, VERDICT_UNKNOWN); /* of node 0 */
        assert_int_equal(v->limits[0].is, VERDICT_UNKNOWN);
        verdict_free(v);
    }
}

/* Unless the process of its name is the life before: a `bezel run` was killed when it had just started it again. */
TEST(a_program_whose_pid_nobody_told_is_known_by_its_name)
{
    for (uint32_t again = 0; again < 2; again++) {
        struct sample s;
        sample_held(&s);
        s.nodes[1] = s.nodes[0];
        s.nodes[1].first_at = sample_time(5);
        s.summary.node_count = 2;
        s.processes[2].node = 0;
        s.processes[2].pid = 102;
        s.programs[0] = (struct summary_program){.node = s.nodes[0].name, .name = s.processes[2].name};
        s.programs[1] = s.programs[0];
        s.programs[1].pid = 102;
        s.summary.program_count = 1 + again;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_REJOINED], again);
        verdict_free(v);
    }
}

/* Nobody knows of which node there is more: on none the limit is known to have held. */
TEST(a_trace_that_no_collector_has_read_leaves_the_rows_of_all_nodes_unknown)
{
    for (int behind = 0; behind < 2; behind++) {
        struct sample s;
        sample_held(&s);
        s.properties[s.summary.property_count++] = (struct summary_property){RUNDB_BEHIND, behind ? "1" : "0"};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_UNCOUNTED], behind);
        assert_int_equal(v->limits[0].is, behind ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        verdict_free(v);
    }
}

/* While the run goes on too: their records never come. */
TEST(a_run_of_which_processes_were_refused_is_not_complete)
{
    for (int i = 0; i < 4; i++) {
        struct sample s;
        bool running = i & 1, refused = i & 2;
        sample_held(&s);
        s.summary.left_out = refused;
        if (running)
            s.properties[2].key = s.properties[3].key = "nothing"; /* in place of its end */
        struct verdict *v = judge(&s, running);
        assert_int_equal(v->run, running ? RUN_RUNNING : RUN_ENDED);
        assert_int_equal(v->balanced, !refused);
        assert_int_equal(verdict_is_complete(v), !refused);
        verdict_free(v);
    }
}

/* What the next bezeld does not know either, no books of a run that goes on account for. */
TEST(what_went_on_unobserved_leaves_the_books_of_a_run_that_goes_on_open)
{
    struct sample s;
    sample_held(&s);
    s.properties[2].key = s.properties[3].key = "nothing";
    s.processes[1].state = PROCESS_LEFT;
    struct verdict *v = judge(&s, true);
    assert_false(v->balanced);
    assert_int_equal(v->is, VERDICT_UNKNOWN);
    verdict_free(v);
}

/*
 * While a run goes on: a node of which nothing comes may have broken its limits since. That counts from when more than
 * its next record is missing, and as a gap: with much time judged before, a tolerance bears it.
 */
TEST(a_node_that_is_not_heard_does_not_hold)
{
    static const struct {
        double now, held;
        bool left, again, limits;
        double unheard;
    } cases[] = {{12.8, 8, false, false, true, 0},    {13, 8, false, false, true, 3.1},
                 {17, 8, false, false, true, 7.1},    {17, 8, true, false, true, 0},
                 {17, 8, false, true, true, 0},       {17, 8, false, false, false, 0},
                 {13, 4000, false, false, true, 3.1}, {0, 8, false, false, true, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.properties[2] = (struct summary_property){"nothing", ""}; /* in place of its end */
        s.nodes[0].open = !cases[i].left;
        if (cases[i].again) { /* its machine was booted anew */
            s.nodes[1] = s.nodes[0];
            s.nodes[1].last_at = sample_time(16.5);
            s.summary.node_count = 2;
        }
        s.rows[0] = sample_row(0, 0, cases[i].held, 0);
        s.experiment.limit_count = cases[i].limits;
        s.summary.limit_count = cases[i].limits;
        s.summary.now = cases[i].now > 0 ? SAMPLE_STARTED + (int64_t)(cases[i].now * 1e9) : 0;
        struct verdict *v = judge(&s, true);
        assert_int_equal(verdict_unheard(v, &s.summary, &s.experiment, &s.nodes[0]), (int64_t)(cases[i].unheard * 1e9));
        bool holds = cases[i].unheard == 0 || cases[i].held > 1000;
        assert_int_equal(v->is, holds ? VERDICT_HELD : VERDICT_UNKNOWN);
        assert_int_equal(verdict_exit_code(v), holds ? EXIT_OK : EXIT_FAILED);
        if (cases[i].limits)
            assert_int_equal(v->rows[0].unjudged, (int64_t)(cases[i].unheard * 1e9));
        if (cases[i].limits) /* now it is unknown, though all of the run may hold */
            assert_int_equal(verdict_now(&v->rows[0], MESSAGE_LIMIT_HELD), cases[i].unheard > 0);
        verdict_free(v);
    }
}

/* One that was not heard at all, or has not come, may break any limit; so may any node break one of all of them. */
TEST(nor_do_limits_of_all_nodes_or_where_a_node_told_nothing)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sample s;
        bool lacks = i & 1, global = i & 2;
        sample_held(&s);
        s.properties[2] = (struct summary_property){"nothing", ""};
        s.nodes[1] = (struct summary_node){.name = "other", .open = true, .ahead = SAMPLE_BOOTED};
        s.nodes[1].last_at = lacks ? 0 : sample_time(3);
        s.summary.node_count = 2;
        s.rows[0].epoch = s.limits[0].global = global;
        s.rows[1] = sample_row(1, 0, 4000, 0);
        s.experiment.limit_count = 1;
        s.summary.limit_count = lacks ? 1 : 2;
        s.summary.now = SAMPLE_STARTED + 10 * CLOCK_S;
        struct verdict *v = judge(&s, true);
        assert_int_equal(v->limits[0].is, lacks || global ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(verdict_now(&v->limits[0], MESSAGE_LIMIT_HELD), VERDICT_UNKNOWN); /* "other" may break it */
        verdict_free(v);
    }
}

/* Its manager may be stopped while all nodes are heard; another one may have followed. */
TEST(a_limit_of_all_nodes_does_not_hold_by_what_its_manager_said_long_ago)
{
    static const struct {
        double first, second;
        bool open, held;
    } cases[] = {{9, 0, true, true}, {3, 0, true, false}, {3, 9, true, true}, {3, 6, true, false}, {3, 0, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.properties[2] = (struct summary_property){"nothing", ""};
        s.nodes[0].open = cases[i].open;
        s.limits[0].global = true;
        s.experiment.limit_count = 1;
        s.summary.limit_count = cases[i].second > 0 ? 2 : 1;
        s.rows[1] = s.rows[0] = sample_row(0, 0, 3, 0);
        s.rows[1].settling = s.rows[0].settling = 0;
        s.rows[0].epoch = 1;
        s.rows[0].at = sample_time(cases[i].first);
        s.rows[1].epoch = 2;
        s.rows[1].at = sample_time(cases[i].second);
        s.rows[1].held = s.rows[1].at - s.rows[0].at;
        s.summary.now = SAMPLE_STARTED + 10 * CLOCK_S;
        struct verdict *v = judge(&s, true);
        assert_int_equal(v->limits[0].is, cases[i].held ? VERDICT_HELD : VERDICT_UNKNOWN);
        assert_int_equal(verdict_now(&v->rows[s.summary.limit_count - 1], MESSAGE_LIMIT_HELD), v->limits[0].is);
        verdict_free(v);
    }
}
