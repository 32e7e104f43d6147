// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What lacks to a run: it is found on the nodes that it is about, while the run goes on as well as behind its end. */
#include "base/clock.h"
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
