// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a verdict makes of what nobody knows: processes that never came, managers that were gone, records in no books,
 * lost records, and an instant that counts no time.
 */
#include "base/clock.h"
#include "base/exit_code.h"
#include "run/verdict/rejudge.h"
#include "run/verdict/verdict.h"
#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <math.h>

static struct verdict *judge(const struct sample *s, bool running)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, running, &v), 0);
    return v;
}

/* Of two processes to attach to; a process of another name is not one of them, one that was refused is. */
TEST(a_process_to_attach_to_that_never_came_is_not_passed_over)
{
    static const struct {
        const char *names[2];
        size_t absent;
    } cases[] = {{{"server", "client.1"}, 0}, {{"server", "nav"}, 1}, {{"nav", "log"}, 2}, {{"refused", "nav"}, 1}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct sample s;
        bool running = i % 2;
        sample_held(&s);
        struct experiment_process processes[] = {{.name = (char *)cases[i / 2].names[0], .attach = (char *)"a"},
                                                 {.name = (char *)cases[i / 2].names[1], .attach = (char *)"b"},
                                                 {.name = (char *)"plain"}};
        s.experiment.processes = processes;
        s.experiment.process_count = 3;
        s.notes[s.summary.note_count++] =
            (struct summary_note){.pid = 7, .name = "refused", .code = "BEZEL-REFUSED", .text = ""};
        s.notes[s.summary.note_count++] = (struct summary_note){.name = "nav", .code = "BEZEL-NO-SEGMENT", .text = ""};
        if (running)
            s.properties[2] = (struct summary_property){"nothing", ""}; /* in place of its end */
        struct verdict *v = judge(&s, running);
        if (!running) {
            assert_int_equal(v->lacks[LACK_ABSENT], cases[i / 2].absent);
            assert_int_equal(verdict_exit_code(v), cases[i / 2].absent ? EXIT_UNREACHABLE : EXIT_OK);
        }
        assert_int_equal(v->run, running ? RUN_RUNNING : RUN_ENDED);
        if (running)
            assert_int_equal(v->lacks[LACK_ABSENT], 0);
        verdict_free(v);
    }
}

/* What it lacks may be anything: only of a run that goes on, and while it is filled, it is as good as the run. */
TEST(a_mirror_that_is_not_complete_is_never_complete_and_holds_while_it_is_filled)
{
    for (unsigned i = 0; i < 8; i++) {
        bool partial = i & 1, stale = i & 2, ended = i & 4;
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.summary.mirror =
            (struct mirror_look){.partial = partial, .grows = partial && !ended, .stale = partial && stale};
        if (!ended)
            s.properties[2] = (struct summary_property){"nothing", ""}; /* in place of its end */
        struct verdict *v = judge(&s, !ended && !partial);
        bool held = !partial || (!ended && !stale);
        assert_int_equal(v->run, ended ? RUN_ENDED : RUN_RUNNING);
        assert_int_equal(v->is, held ? VERDICT_HELD : VERDICT_UNKNOWN);
        assert_int_equal(v->limits[0].is, v->is);
        assert_int_equal(v->rows[0].is, v->is);
        assert_int_equal(verdict_exit_code(v), held ? EXIT_OK : EXIT_FAILED);
        assert_int_equal(verdict_is_complete(v), !partial);
        verdict_free(v);
    }
}

/* A manager judged for 5 s and held; the next one began some time later. */
TEST(between_two_managers_nobody_judged)
{
    static const double between[] = {0, 0.05, 0.5, 4};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].global = true;
        s.limits[0].kind = LIMIT_EXPECT;
        s.summary.limit_count = 2;
        s.rows[0] = sample_row(0, 0, 5, 0);
        s.rows[0].epoch = 1;
        s.rows[0].at = sample_time(5);
        s.rows[1] = sample_row(0, 0, 3, 0);
        s.rows[1].epoch = 2;
        s.rows[0].settling = s.rows[1].settling = 0;
        s.rows[1].at = sample_time(8 + between[i]);
        s.rows[1].held = CLOCK_S;
        s.rows[1].unknown = 2 * CLOCK_S;
        struct verdict *v = judge(&s, false);
        assert_in_range(v->limits[0].unjudged, (int64_t)(between[i] * 1e9), (int64_t)(between[i] * 1e9) + 1000);
        assert_int_equal(v->limits[0].is, between[i] > 0.08 ? VERDICT_UNKNOWN : VERDICT_HELD);
        verdict_free(v);
        struct history_gap gap = {
            .begin = sample_time(5), .end = sample_time(5 + between[i]), .restarted = true, .judged = true};
        gap.held = gap.end - gap.begin; /* by the records: in no row, so none loses unknown time of its own */
        rejudge_take_gap(&s.summary, &s.experiment, &gap);
        v = judge(&s, false);
        assert_in_range(v->limits[0].unjudged, 0, 1000);
        assert_int_equal(s.rows[1].unknown, 2 * CLOCK_S);
        verdict_free(v);
    }
}

/* Notes by which there may be records in no books; and others, whose loss is counted or that tell of none. */
TEST(a_run_is_complete_only_if_no_note_tells_of_records_in_no_books)
{
    static const struct {
        const char *code;
        bool complete;
    } codes[] = {{"BEZEL-SEGMENT", false},   {"BEZEL-NODE-SHARE", false}, {"BEZEL-NOTES", false},
                 {"BEZEL-CLOCK-GAP", false}, {"BEZEL-PAUSED", true},      {"BEZEL-SEGMENT-CUT", true},
                 {"BEZEL-STREAMS", true},    {"BEZEL-LEFT-BEHIND", true}, {"BEZEL-NO-SEGMENT", true},
                 {"BEZEL-NOTES-MORE", true}};
    for (size_t i = 0; i < 2 * sizeof codes / sizeof *codes; i++) {
        struct sample s;
        bool running = i % 2, complete = codes[i / 2].complete;
        sample_held(&s);
        if (running)
            s.properties[2].key = s.properties[3].key = "nothing";
        s.notes[s.summary.note_count++] = (struct summary_note){.name = "", .code = codes[i / 2].code, .text = ""};
        struct verdict *v = judge(&s, running);
        assert_int_equal(v->run, running ? RUN_RUNNING : RUN_ENDED);
        assert_int_equal(verdict_is_complete(v), complete);
        assert_int_equal(v->balanced, complete);
        assert_int_equal(v->is, complete ? VERDICT_HELD : VERDICT_UNKNOWN); /* nor were limits judged by them */
        assert_int_equal(verdict_exit_code(v), complete ? EXIT_OK : EXIT_FAILED);
        verdict_free(v);
    }
}

/* What was judged while records came is known; what is judged from the store is not, where that lacks some. */
TEST(records_that_are_gone_from_the_store_are_in_the_verdict)
{
    enum { NONE, GONE, JUDGED_ANEW, GAP_JUDGED, UNTAKEN, FAULTS };
    for (int fault = NONE; fault < FAULTS; fault++) {
        struct sample s;
        sample_held(&s);
        struct history_gap gap = {
            .begin = s.rows[0].at - CLOCK_S, .end = s.rows[0].at, .judged = true, .held = CLOCK_S};
        s.summary.missing = fault == NONE || fault == UNTAKEN ? 0 : 3;
        s.summary.judged_anew = fault == JUDGED_ANEW;
        s.summary.gaps = &gap;
        s.summary.gap_count = fault == GAP_JUDGED;
        s.summary.untaken = fault == UNTAKEN;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->balanced, fault == NONE);
        assert_int_equal(verdict_is_complete(v), fault == NONE);
        assert_int_equal(v->is, fault == JUDGED_ANEW || fault == GAP_JUDGED ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(verdict_exit_code(v), fault == NONE ? EXIT_OK : EXIT_FAILED);
        verdict_free(v);
    }
}

/* No run is looked for: its records do not tell. */
TEST(a_gap_that_records_do_not_tell_says_why)
{
    static const char *const why[] = {"no records tell its value", "it is of two metrics",
                                      "the clock of a node is not known well enough",
                                      "an operator switched aspects on or off"};
    for (int reason = 0; reason < 4; reason++) {
        struct sample s;
        char *operands[] = {(char *)"a", (char *)"b", NULL};
        sample_held(&s);
        struct history_gap gap = {.begin = s.rows[0].at - CLOCK_S, .end = s.rows[0].at};
        s.summary.gaps = &gap;
        s.summary.gap_count = 1;
        s.limits[0].metric = reason == 0 ? LIMIT_ON_SENSOR_CPU : 0;
        s.metrics[0].operands = reason == 1 ? operands : NULL;
        s.limits[0].global = s.summary.judged_anew = reason == 2;
        if (reason == 2)
            s.nodes[0].run_clock.kind = RUN_CLOCK_WALL;
        if (reason == 3)
            s.notes[s.summary.note_count++] = (struct summary_note){.name = "", .code = "BEZEL-STEERED", .text = ""};
        assert_int_equal(rejudge_gaps("nowhere", &s.summary, &s.experiment), 0);
        assert_false(gap.judged);
        assert_string_equal(gap.why, why[reason]);
    }
}

/* What is not judged of one gap: bezeld counts from an instant, which the observation of it is stamped behind. */
static int64_t left_of_gap(int64_t epoch, int64_t stamped_behind, int64_t doubtful)
{
    struct history h = {.most = 16};
    struct experiment_limit limit = {.compare = COMPARE_AT_MOST};
    struct experiment e = {.limit_count = 1, .limits = &limit, .adapt = {.every = 100 * CLOCK_MS}};
    struct builtin_limit row = {.at = 9 * CLOCK_S, .unknown = CLOCK_S, .unjudged = CLOCK_S, .epoch = epoch};
    struct summary s = {.limits = &row, .limit_count = 1};
    history_observe(&h, &(struct builtin_observation){.at = CLOCK_S + stamped_behind, .state = 1, .value = 1});
    history_observe(&h, &(struct builtin_observation){.at = 2 * CLOCK_S, .state = 1, .value = 1, .gap = CLOCK_S});
    assert_int_equal(h.gap_count, 1);
    struct history_gap *g = &h.gaps[0];
    g->doubtful = doubtful;
    g->held = g->end - g->begin - doubtful;
    rejudge_take_gap(&s, &e, g);
    history_close(&h);
    return row.unjudged;
}

TEST(a_gap_that_is_judged_leaves_nothing)
{
    for (int epoch = 0; epoch <= 1; epoch++) { /* of a node; of a manager, whose messages take their time */
        assert_int_equal(left_of_gap(epoch, -20 * CLOCK_US, 0), 0);
        assert_int_equal(left_of_gap(epoch, 0, 0), 0);
        assert_int_equal(left_of_gap(epoch, 20 * CLOCK_US, 0), 0);
        assert_int_equal(left_of_gap(epoch, 20 * CLOCK_US, 30 * CLOCK_MS), 30 * CLOCK_MS);
        assert_int_equal(left_of_gap(epoch, 100 * CLOCK_MS, 0),
                         100 * CLOCK_MS); /* more than lies between two instants */
    }
}

/* bezeld was killed after 3 s, was there again after 4 s, and stood still until 5 s, before it knew a value; and later.
 */
TEST(a_gap_of_two_lives_that_is_judged_leaves_that_of_another)
{
    struct history h = {.most = 16};
    struct experiment e = {.adapt = {.every = 100 * CLOCK_MS}};
    struct builtin_limit rows[] = {{.at = 3 * CLOCK_S, .held = 3 * CLOCK_S, .worst = 1},
                                   {.at = 9 * CLOCK_S,
                                    .held = 3700 * CLOCK_MS,
                                    .unknown = 1300 * CLOCK_MS,
                                    .unjudged = 900 * CLOCK_MS,
                                    .worst = 1}};
    history_observe(&h, &(struct builtin_observation){.at = 3 * CLOCK_S, .state = 1, .value = 1});
    history_observe(&h, &(struct builtin_observation){.at = 4 * CLOCK_S, .value = (double)NAN, .gap = -1});
    history_observe(&h, &(struct builtin_observation){.at = 5 * CLOCK_S, .value = (double)NAN, .gap = 600 * CLOCK_MS});
    assert_int_equal(h.gap_count, 1);
    struct summary s = {.limits = rows, .limit_count = 2, .gaps = h.gaps, .gap_count = 1};
    rejudge_join(&s, &e);
    assert_int_equal(s.limit_count, 1);
    assert_int_equal(rows[0].held + rows[0].unknown, 9 * CLOCK_S);
    assert_int_equal(rows[0].unjudged, 1900 * CLOCK_MS);
    h.gaps[0].held = h.gaps[0].end - h.gaps[0].begin;
    rejudge_take_gap(&s, &e, &h.gaps[0]);
    assert_int_equal(rows[0].held, 8700 * CLOCK_MS);
    assert_int_equal(rows[0].unknown, 300 * CLOCK_MS);
    assert_int_equal(rows[0].unjudged, 300 * CLOCK_MS);
    history_close(&h);
}

/* The manager judged until `judged`, which the node that recorded it at 3 s did not record any more. */
TEST(a_gap_to_what_was_recorded_before_has_none_of_what_was_judged_since)
{
    static const struct {
        int64_t judged, begin;
    } gaps[] = {{3 * CLOCK_S, 3 * CLOCK_S}, {3 * CLOCK_S + 700 * CLOCK_MS, 3 * CLOCK_S + 700 * CLOCK_MS}};
    for (size_t i = 0; i < 4; i++) {
        struct sample s;
        sample_held(&s);
        bool other = i / 2; /* of a later manager */
        int64_t base = s.rows[0].at - 9 * CLOCK_S, unjudged = 5 * CLOCK_S - gaps[i % 2].judged;
        struct history_gap gap = {.begin = base + 3 * CLOCK_S, .end = base + 5 * CLOCK_S, .restarted = true};
        s.summary.gaps = &gap;
        s.summary.gap_count = s.summary.limit_count = 1;
        s.limits[0].metric = LIMIT_ON_SENSOR_CPU;
        s.limits[0].global = true;
        s.rows[0].epoch = 1;
        s.rows[0].held = (other ? 5 : 9) * CLOCK_S - unjudged;
        s.rows[0].violated = s.rows[0].settling = 0;
        s.rows[0].unknown = s.rows[0].unjudged = unjudged;
        assert_int_equal(rejudge_gaps("nowhere", &s.summary, &s.experiment), 0);
        assert_int_equal(gap.begin, base + (other ? 3 * CLOCK_S : gaps[i % 2].begin));
    }
}

/* The file has two nodes, and the database one of them. */
TEST(a_node_that_never_joined_is_not_passed_over)
{
    for (int both = 0; both < 2; both++) {
        struct sample s;
        struct experiment_node nodes[] = {{.name = (char *)"studio"}, {.name = (char *)(both ? "studio" : "desk1")}};
        sample_held(&s);
        s.experiment.nodes = nodes;
        s.experiment.node_count = 2;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_UNJOINED], !both);
        assert_int_equal(v->balanced, both);
        assert_int_equal(verdict_is_complete(v), both);
        assert_int_equal(v->is, both ? VERDICT_HELD : VERDICT_UNKNOWN);
        assert_int_equal(verdict_exit_code(v), both ? EXIT_OK : EXIT_FAILED);
        verdict_free(v);
    }
}

/*
 * A process that lived before (its ordinals began at 1,000), two of whose rings have counted one loss more than
 * attempts. What the counters of the aspect, the ordinals, or the number of rings do not say so, stays a fault.
 */
TEST(a_loss_that_was_begun_before_the_run_counts_as_produced)
{
    static const struct {
        uint64_t more, discarded, base, before;
        int64_t rest;
    } cases[] = {{0, 10, 1000, 0, 0},  {1, 10, 1000, 1, 0}, {2, 10, 1000, 2, 0}, {3, 10, 1000, 0, -3},
                 {1, 11, 1000, 0, -1}, {1, 9, 1000, 0, -1}, {1, 10, 0, 0, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        struct summary_process *p = &s.processes[0];
        struct summary_book *b = &s.books[0][0];
        struct summary_stream streams[2] = {{.next_ordinal = cases[i].base + 400},
                                            {.next_ordinal = cases[i].base + 212}};
        p->streams = streams;
        p->stream_count = 2;
        p->discarded = cases[i].discarded;
        b->full = 4 + cases[i].more;
        b->off = 6;
        b->attempts = b->stored + 10;
        streams[1].next_ordinal += cases[i].discarded - 10;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->books[0].before, cases[i].before);
        assert_int_equal(v->books[0].rest, cases[i].rest);
        assert_int_equal(v->balanced, cases[i].rest == 0);
        assert_int_equal(verdict_aspect(&s.summary, p, b).rest, cases[i].rest);
        verdict_free(v);
    }
}

/* The first instant counts no time. What it found is no less a violation, where none is allowed. */
TEST(an_instant_in_violation_is_one)
{
    static const struct {
        enum experiment_limit_kind kind;
        double held, tolerance, last_violated;
        enum verdict_is is;
    } cases[] = {{LIMIT_EXPECT, 9, 0, 1, VERDICT_VIOLATED},
                 {LIMIT_EXPECT, 0, 0, 1, VERDICT_VIOLATED}, /* it ran no longer */
                 {LIMIT_EXPECT, 9, 0.01, 1, VERDICT_HELD},
                 {LIMIT_EXPECT, 9, 0, 0, VERDICT_HELD},
                 {LIMIT_HOLD, 9, 0, 1, VERDICT_HELD}}; /* while it settled */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].kind = cases[i].kind;
        s.limits[0].tolerance = cases[i].tolerance;
        s.rows[0] = sample_row(0, 0, cases[i].held, 0);
        s.rows[0].last_violated = cases[i].last_violated > 0 ? sample_time(cases[i].last_violated) : 0;
        s.summary.limit_count = 1;
        struct verdict *v = judge(&s, false);
        if (v->is != cases[i].is || v->limits[0].is != cases[i].is)
            fail_msg("case %zu: %s", i, verdict_name(v->is));
        assert_int_equal(v->limits[0].nodes, 1);
        verdict_free(v);
    }
}

/* By the timeline it was violated for longer than counts: of `expect` limits since a process ended. */
TEST(what_an_end_takes_back_is_told)
{
    static const struct {
        enum experiment_limit_kind kind;
        double violated, counts, before_end;
    } cases[] = {
        {LIMIT_EXPECT, 1, 0, 1}, {LIMIT_EXPECT, 1, 0.05, 0.95}, {LIMIT_EXPECT, 0.2, 0, 0}, {LIMIT_HOLD, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.limits[0].kind = cases[i].kind;
        s.rows[0] = sample_row(0, 0, 9, cases[i].counts);
        struct history_violation v = {.begin = sample_time(5), .end = sample_time(5 + cases[i].violated)};
        s.summary.violations = &v;
        s.summary.violation_count = 1;
        struct verdict *is = judge(&s, false);
        assert_int_equal(is->is, VERDICT_HELD);
        assert_in_range(is->limits[0].before_end, (int64_t)(cases[i].before_end * 1e9),
                        (int64_t)(cases[i].before_end * 1e9) + 1000);
        verdict_free(is);
    }
}

/* Each manager counted its own times; the timeline has those of all. What is more is told once. */
TEST(what_a_later_manager_counted_is_not_taken_back)
{
    struct sample s;
    sample_held(&s);
    s.limits[0].kind = LIMIT_EXPECT;
    s.rows[0] = sample_row(0, 0, 1, 0.2);
    s.rows[1] = sample_row(0, 0, 1, 2.4);
    s.rows[0].epoch = 1;
    s.rows[1].epoch = 2;
    s.summary.limit_count = 2;
    struct history_violation v = {.begin = sample_time(3), .end = sample_time(5.6)};
    s.summary.violations = &v;
    s.summary.violation_count = 1;
    assert_int_equal(verdict_more_violated(&s.summary, &s.experiment, &s.rows[0]), 0);
    v.end += CLOCK_S;
    assert_in_range(verdict_more_violated(&s.summary, &s.experiment, &s.rows[0]), CLOCK_S - 1000, CLOCK_S + 1000);
    assert_int_equal(verdict_more_violated(&s.summary, &s.experiment, &s.rows[1]), 0);
}

/* Any lost record may have been the largest one. If a tolerance allows for them, their count is there to be said. */
TEST(lost_records_count_against_a_limit)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_compare compare;
        double tolerance;
        bool overwrites;
        uint64_t full, off, attempts, missed;
        enum verdict_is is;
        bool holds, early; /* it is a `hold` limit; the losses were while adaptation settled */
    } cases[] = {
        {METRIC_MAX, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MIN, COMPARE_AT_LEAST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0.5, false, 7, 0, 7, 7, VERDICT_HELD, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0.01, false, 70000, 0, 70000, 70000, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_LEAST, 0, false, 7, 0, 7, 0, VERDICT_HELD, false,
         false}, /* a larger one changes nothing */
        {METRIC_MEAN, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MEAN, COMPARE_AT_LEAST, 0.5, false, 7, 0, 7, 7, VERDICT_HELD, false, false},
        {METRIC_QUANTILE, COMPARE_AT_MOST, 0.01, false, 70000, 0, 70000, 70000, VERDICT_UNKNOWN, false, false},
        {METRIC_LAST, COMPARE_AT_MOST, 0, false, 0, 7, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0, false, 0, 7, 7, 7, VERDICT_UNKNOWN, false, false}, /* in a pause, say */
        {METRIC_PERCENT, COMPARE_AT_LEAST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_COUNT, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false,
         false}, /* of those that meet 'where' */
        {METRIC_COUNT, COMPARE_AT_LEAST, 0, false, 7, 0, 7, 0, VERDICT_HELD, false, false},
        {METRIC_RATE, COMPARE_AT_MOST, 0, false, 0, 7, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0, true, 0, 0, 9, 9, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, true, false},
        {METRIC_MEAN, COMPARE_AT_MOST, 0.01, false, 0, 70000, 70000, 70000, VERDICT_UNKNOWN, true, false},
        {METRIC_MEAN, COMPARE_AT_MOST, 0.5, false, 7, 0, 7, 7, VERDICT_HELD, true, false},
        {METRIC_MEAN, COMPARE_AT_MOST, 0, false, 7, 0, 7, 0, VERDICT_HELD, true, true},
        {METRIC_MAX, COMPARE_AT_MOST, 0, false, 0, 0, 0, 0, VERDICT_HELD, false, false},
        {METRIC_MISSES, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false},
        {METRIC_MAX, COMPARE_AT_MOST, 0, false, 7, 0, 7, 7, VERDICT_UNKNOWN, false, false}};
    const size_t count = sizeof cases / sizeof *cases;
    for (size_t i = 0; i < count; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].arrivals = i == count - 1 ? ARRIVALS_TIME : ARRIVALS_NONE; /* a time across a loss */
        s.metrics[0].period = CLOCK_MS;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].field = (char *)"latency";
        s.metrics[0].where = (char *)"latency > 0";
        s.limits[0].kind = cases[i].holds ? LIMIT_HOLD : LIMIT_EXPECT;
        s.limits[0].metric = 0;
        s.limits[0].compare = cases[i].compare;
        s.limits[0].tolerance = cases[i].tolerance;
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].last_violated = 0;
        s.rows[0].node = s.processes[1].node;
        s.rows[0].at = sample_time(10); /* judged for 9 s, up to 0.1 s before: after 0.9 s or 1 s */
        s.processes[1].last_loss = sample_time(cases[i].early ? 0.85 : 0.95);
        s.summary.limit_count = 1;
        s.processes[1].overwrites = cases[i].overwrites;
        s.books[1][1].full = cases[i].full;
        s.books[1][1].off = cases[i].off;
        s.books[1][1].attempts += cases[i].attempts;
        s.processes[1].discarded = cases[i].attempts;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->limits[0].missed != cases[i].missed)
            fail_msg("case %zu: %s, %" PRIu64 " missed", i, verdict_name(v->limits[0].is), v->limits[0].missed);
        verdict_free(v);
    }
}

/* Of a pause; not what the file counts from the start, nor what the counters know, nor of another aspect. */
TEST(what_was_not_recorded_counts_unless_nobody_wanted_it)
{
    static const struct {
        const char *counted, *where, *note;
        enum experiment_metric_kind kind;
        enum verdict_is is;
        bool switched;
    } cases[] = {{NULL, NULL, "", METRIC_MAX, VERDICT_UNKNOWN, false},
                 {"frame_*", NULL, "", METRIC_MAX, VERDICT_HELD, false},
                 {"tick", NULL, "", METRIC_MAX, VERDICT_UNKNOWN, false},
                 {NULL, NULL, "", METRIC_COUNT, VERDICT_HELD, false},
                 {NULL, "latency > 5", "", METRIC_COUNT, VERDICT_UNKNOWN, false},
                 {"*", NULL, "change 2: aspects off: tick frame_*", METRIC_MAX, VERDICT_UNKNOWN, true},
                 {"*", NULL, "change 2: aspects off: tick frame_*", METRIC_COUNT, VERDICT_UNKNOWN, true},
                 {"*", NULL, "change 2: aspects off: tick", METRIC_MAX, VERDICT_HELD, false},
                 {"*", NULL, "change 2: aspects on: frame_*", METRIC_MAX, VERDICT_HELD, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        char *counted[] = {(char *)cases[i].counted, NULL};
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.experiment.sensing.count = counted;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].where = (char *)cases[i].where;
        s.limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST};
        s.limits[0].bound = cases[i].where ? 5 : 1e9;
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].last_violated = 0;
        s.rows[0].unknown = s.rows[0].unjudged = cases[i].switched ? 1 : 0; /* ns */
        s.rows[0].node = s.processes[1].node;
        s.summary.limit_count = 1;
        s.books[1][1].off = s.processes[1].discarded = 7;
        s.books[1][1].attempts += 7;
        if (cases[i].note[0])
            s.notes[s.summary.note_count++] = (struct summary_note){
                .node = s.processes[1].node, .name = "", .code = "BEZEL-STEERED", .text = cases[i].note};
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->limits[0].switched != cases[i].switched)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        verdict_free(v);
    }
}

/* Of the time in which an operator had turned one of its aspects off, an interval has no record. */
TEST(an_interval_is_not_held_by_records_alone_while_an_aspect_was_off)
{
    char *aspects[] = {(char *)"sent", (char *)"taken", NULL};
    for (int i = 0; i < 4; i++) {
        bool alone = i & 1, off = i & 2;
        struct sample s;
        struct history_gap gap = {.limit = 0, .never = alone, .judged = true};
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.metrics[0] = (struct experiment_metric){.name = s.metrics[0].name,
                                                  .kind = METRIC_INTERVAL,
                                                  .window = CLOCK_S,
                                                  .interval = {.aspects = aspects, .count = 2}};
        s.limits[0] =
            (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = 1e9, .global = true};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].epoch = 1;
        s.rows[0].last_violated = 0;
        s.summary.limit_count = s.summary.gap_count = 1;
        s.summary.gaps = &gap;
        s.notes[s.summary.note_count++] =
            (struct summary_note){.name = "",
                                  .code = "BEZEL-STEERED",
                                  .text = off ? "change 1: aspects off: taken" : "change 1: aspects off: x"};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->limits[0].is, alone && off ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->limits[0].switched, off);
        verdict_free(v);
    }
}

/* Of 3 records that a process made, 2 were lost: more than 3 cannot meet the condition. Of a node there are others. */
TEST(lost_records_leave_a_number_known_that_they_cannot_reach)
{
    static const struct {
        enum experiment_metric_kind kind;
        double bound;
        bool per_process;
        enum verdict_is is;
    } cases[] = {{METRIC_COUNT, 3, true, VERDICT_HELD},     {METRIC_COUNT, 2, true, VERDICT_UNKNOWN},
                 {METRIC_RATE, 6, true, VERDICT_HELD},      {METRIC_RATE, 5, true, VERDICT_UNKNOWN},
                 {METRIC_COUNT, 3, false, VERDICT_UNKNOWN}, {METRIC_PERCENT, 100, true, VERDICT_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].where = (char *)"latency > 5";
        s.metrics[0].window = CLOCK_S / 2;
        s.metrics[0].per_process = cases[i].per_process;
        s.limits[0] =
            (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = cases[i].bound};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].last_violated = 0;
        s.summary.limit_count = 1;
        for (size_t p = 0; p < s.summary.process_count; p++)
            for (size_t b = 0; b < s.processes[p].book_count; b++)
                if (strcmp(s.processes[p].books[b].name, s.metrics[0].aspect) == 0)
                    s.processes[p].books[b].attempts = s.processes[p].books[b].stored = 0;
        s.books[1][1].attempts = 3;
        s.books[1][1].full = s.processes[1].discarded = 2;
        s.books[1][1].stored = 1;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        verdict_free(v);
    }
}

/* Five records of a process, of which so many were in its last window, as far as they were read. */
TEST(the_last_window_of_a_process_may_have_too_many)
{
    static const struct {
        enum experiment_metric_kind kind;
        bool was_read;
        double last, worst;
        enum verdict_is is;
        double stray;
    } cases[] = {{METRIC_COUNT, true, 2, NAN, VERDICT_HELD, NAN}, {METRIC_COUNT, true, 3, NAN, VERDICT_UNKNOWN, 3},
                 {METRIC_COUNT, true, 3, 1, VERDICT_UNKNOWN, 3},  {METRIC_COUNT, true, 3, 4, VERDICT_HELD, NAN},
                 {METRIC_COUNT, false, 0, 1, VERDICT_UNKNOWN, 5}, {METRIC_RATE, false, 0, 1, VERDICT_UNKNOWN, 5},
                 {METRIC_MEAN, false, 0, 1, VERDICT_HELD, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        for (size_t p = 0; p < s.summary.process_count; p++)
            for (size_t b = 0; b < s.processes[p].book_count; b++)
                if (p != 1 && strcmp(s.processes[p].books[b].name, s.books[1][1].name) == 0)
                    s.processes[p].books[b].attempts = s.processes[p].books[b].stored = 0;
        s.books[1][1].attempts = s.books[1][1].stored = 5;
        struct summary_chosen chosen = {.limit = 0, .process = 1, .min = 0, .max = cases[i].last};
        s.summary.chosen = &chosen;
        s.summary.chosen_count = cases[i].was_read;
        s.experiment.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].window = CLOCK_S;
        s.limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = 2};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].last_violated = 0;
        s.rows[0].worst = cases[i].worst;
        s.rows[0].node = s.processes[1].node;
        s.summary.limit_count = 1;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->limits[0].strays != !isnan(cases[i].stray))
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        if (v->limits[0].strays) {
            assert_float_equal(v->limits[0].stray, cases[i].stray, 1e-9);
            assert_int_equal(v->limits[0].unchosen, !cases[i].was_read);
        }
        verdict_free(v);
    }
}

/* Of a condition that no record may meet: whether one of a process did, as far as that was read; windows of `window`.
 */
TEST(a_record_that_may_not_be_is_known_between_short_windows)
{
    static const struct {
        enum experiment_metric_kind kind;
        int64_t window;
        double bound, worst, met; /* NaN: none did; -1: that was not read */
        enum verdict_is is;
        double stray;
    } cases[] = {{METRIC_PERCENT, 10 * CLOCK_MS, 0, 0, 1, VERDICT_UNKNOWN, 100},
                 {METRIC_COUNT, 10 * CLOCK_MS, 0, NAN, 1, VERDICT_UNKNOWN, 1},
                 {METRIC_RATE, 10 * CLOCK_MS, 0, 0, 1, VERDICT_UNKNOWN, 100},
                 {METRIC_PERCENT, 10 * CLOCK_MS, 0, 0, -1, VERDICT_UNKNOWN, 100},
                 {METRIC_PERCENT, 10 * CLOCK_MS, 0, 0, NAN, VERDICT_HELD, NAN},
                 {METRIC_PERCENT, 10 * CLOCK_MS, 0, 5, 1, VERDICT_HELD, NAN}, /* one was judged */
                 {METRIC_PERCENT, 10 * CLOCK_MS, 50, 0, NAN, VERDICT_HELD, NAN},
                 {METRIC_PERCENT, 200 * CLOCK_MS, 0, 0, NAN, VERDICT_HELD, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        for (size_t p = 0; p < s.summary.process_count; p++)
            for (size_t b = 0; b < s.processes[p].book_count; b++)
                if (p != 1 && strcmp(s.processes[p].books[b].name, s.books[1][1].name) == 0)
                    s.processes[p].books[b].attempts = s.processes[p].books[b].stored = 0;
        struct summary_chosen chosen = {.limit = 0, .process = 1, .min = cases[i].met, .max = cases[i].met};
        s.summary.chosen = &chosen;
        s.summary.chosen_count = !(cases[i].met < 0);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.experiment.adapt.every = 100 * CLOCK_MS;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].where = (char *)"latency > 50";
        s.metrics[0].window = cases[i].window;
        s.limits[0] =
            (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = cases[i].bound};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = cases[i].worst;
        s.rows[0].node = s.processes[1].node;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->limits[0].strays != !isnan(cases[i].stray))
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        if (v->limits[0].strays) {
            assert_float_equal(v->limits[0].stray, cases[i].stray, 1e-9);
            assert_int_equal(v->limits[0].unchosen, cases[i].met < 0);
        }
        verdict_free(v);
    }
}

/* A rate or number of records whose windows of 20 ms are shorter than the time between two readings. */
TEST(a_window_within_a_sampling_period_is_not_judged_by_the_period)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_compare compare;
        double bound, tolerance, violated; /* s, of 9 */
        int64_t every;
        enum verdict_is is;
    } cases[] = {{METRIC_RATE, COMPARE_AT_LEAST, 5, 0, 0, 100 * CLOCK_MS, VERDICT_UNKNOWN},
                 {METRIC_RATE, COMPARE_AT_LEAST, 5, 0, 0, 20 * CLOCK_MS, VERDICT_HELD},
                 {METRIC_RATE, COMPARE_AT_MOST, 0, 0, 0, 100 * CLOCK_MS, VERDICT_HELD},
                 {METRIC_RATE, COMPARE_AT_LEAST, 5, 0, 1, 100 * CLOCK_MS, VERDICT_VIOLATED},
                 {METRIC_RATE, COMPARE_AT_LEAST, 5, 0.01, 1, 100 * CLOCK_MS, VERDICT_UNKNOWN},
                 {METRIC_COUNT, COMPARE_AT_LEAST, 5, 0.1, 0, 100 * CLOCK_MS, VERDICT_UNKNOWN},
                 {METRIC_COUNT, COMPARE_AT_LEAST, 5, 0.1, 1, 100 * CLOCK_MS, VERDICT_VIOLATED},
                 {METRIC_COUNT, COMPARE_AT_MOST, 5, 0, 0, 100 * CLOCK_MS, VERDICT_HELD},
                 {METRIC_COUNT, COMPARE_AT_MOST, 5, 0, 1, 80 * CLOCK_MS, VERDICT_VIOLATED},
                 {METRIC_COUNT, COMPARE_AT_MOST, 5, 0, 1, 100 * CLOCK_MS, VERDICT_UNKNOWN},
                 {METRIC_MEAN, COMPARE_AT_MOST, 5, 0, 1, 100 * CLOCK_MS, VERDICT_VIOLATED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.experiment.adapt.every = cases[i].every;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].window = 20 * CLOCK_MS;
        s.metrics[0].aspect = NULL; /* else what it was at the last records counts, too */
        s.limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT,
                                                .compare = cases[i].compare,
                                                .bound = cases[i].bound,
                                                .tolerance = cases[i].tolerance};
        s.rows[0] = sample_row(0, 0, 9 - cases[i].violated, cases[i].violated);
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->rows[0].is != cases[i].is || v->is != cases[i].is)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        verdict_free(v);
    }
}

/* At the last record of a process its limit stood at `end` (NaN: it held there), if that was read. */
TEST(what_only_the_last_records_break_is_in_the_verdict)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_limit_kind limit;
        bool was_read;
        double end, worst, tolerance;
        int64_t persistence, settling; /* ns */
        enum verdict_is is;
        bool strays;
        int64_t unknown, known; /* ns; known: from the end of the process to when a state was known first; 0: before */
    } cases[] = {
        {METRIC_LAST, LIMIT_EXPECT, true, 50, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_LAST, LIMIT_EXPECT, true, 50, 10, 0.01, 0, 0, VERDICT_HELD, true, 0, 0},
        {METRIC_LAST, LIMIT_EXPECT, true, NAN, 10, 0, 0, 0, VERDICT_HELD, false, 0, 0},
        {METRIC_LAST, LIMIT_EXPECT, true, 50, 60, 0, 0, 0, VERDICT_HELD, false, 0, 0},   /* judged: a worse one */
        {METRIC_LAST, LIMIT_EXPECT, true, 50, 60, 0, 1, 0, VERDICT_UNKNOWN, true, 0, 0}, /* that did not last */
        {METRIC_MEAN, LIMIT_EXPECT, true, 50, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_MEAN, LIMIT_EXPECT, false, 90, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_PERCENT, LIMIT_EXPECT, true, 50, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_PERCENT, LIMIT_EXPECT, false, 100, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_QUANTILE, LIMIT_HOLD, true, 50, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_MAX, LIMIT_HOLD, true, 50, 10, 0, 0, 0, VERDICT_UNKNOWN, true, 0, 0},
        {METRIC_MAX, LIMIT_HOLD, true, 50, 10, 0, 0, 8 * CLOCK_S, VERDICT_HELD, false, 0, 0}, /* it settled */
        {METRIC_MAX, LIMIT_HOLD, true, 50, 10, 0, 0, 8 * CLOCK_S, VERDICT_UNKNOWN, true, 8 * CLOCK_S, 0},
        {METRIC_MAX, LIMIT_HOLD, true, 50, 10, 0, 0, 8 * CLOCK_S, VERDICT_HELD, false, 8 * CLOCK_S, CLOCK_S},
        {METRIC_MAX, LIMIT_HOLD, true, 50, 10, 0, 0, 50 * CLOCK_MS, VERDICT_UNKNOWN, true, 0, 0}}; /* had, perhaps */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].aspect = (char *)s.books[0][0].name; /* of one process */
        s.metrics[0].field = cases[i].kind == METRIC_PERCENT ? NULL : (char *)"latency";
        s.limits[0] = (struct experiment_limit){.kind = cases[i].limit,
                                                .compare = COMPARE_AT_MOST,
                                                .bound = 20,
                                                .persistence = cases[i].persistence,
                                                .tolerance = cases[i].tolerance};
        s.fields[0][0][0] = (struct summary_field){.name = "latency", .unit = "1", .count = 3, .max = {.d = 90}};
        s.books[0][0].fields = s.fields[0][0];
        s.books[0][0].field_count = 1;
        struct summary_chosen chosen = {.min = cases[i].end, .max = cases[i].end};
        s.summary.chosen = &chosen;
        s.summary.chosen_count = cases[i].was_read;
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].last_violated = 0;
        s.rows[0].unknown = cases[i].unknown;
        s.rows[0].worst = cases[i].worst;
        s.rows[0].at = s.books[0][0].last_ns + (cases[i].settling ? 9 * CLOCK_S + cases[i].settling : 0);
        struct history_series known = {.judged_from = s.books[0][0].last_ns + cases[i].known};
        s.summary.series = &known;
        s.summary.series_count = cases[i].known > 0;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->rows[0].is != cases[i].is || v->limits[0].strays != cases[i].strays)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        if (v->limits[0].strays) {
            assert_true(v->limits[0].stray == cases[i].end);
            assert_int_equal(v->limits[0].unchosen, !cases[i].was_read);
            assert_int_equal(v->limits[0].stray_at, s.books[0][0].last_ns);
        }
        verdict_free(v);
    }
}
