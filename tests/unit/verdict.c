// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/verdict/verdict.h"
#include "base/exit_code.h"
#include "bezeld/node/own_trace.h"

#include "run/rundb/rundb.h"
#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"

#include <math.h>

static struct verdict *judge(const struct sample *s, bool running)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, running, &v), 0);
    return v;
}

/* One node, one limit, one row: what becomes of it. */
struct judged {
    const char *why;
    enum experiment_limit_kind kind;
    int metric;
    double held, violated, last_violated; /* s */
    double off_at, resumed_at;            /* s; 0: never */
    enum verdict_is is;
    int exit_code;
};

static const struct judged judged[] = {
    {"never in violation", LIMIT_HOLD, 0, 9, 0, 0, 0, 0, VERDICT_HELD, 0},
    {"exactly the tolerance", LIMIT_HOLD, 0, 9.9, 0.1, 5, 0, 0, VERDICT_HELD, 0},
    {"above the tolerance", LIMIT_HOLD, 0, 9.8, 0.2, 5, 0, 0, VERDICT_VIOLATED, 3},
    {"only judged", LIMIT_EXPECT, 0, 5, 5, 9, 0, 0, VERDICT_VIOLATED, 3},
    {"never known", LIMIT_HOLD, 0, 0, 0, 0, 0, 0, VERDICT_UNKNOWN, 1},
    {"violated to the end, collection off", LIMIT_HOLD, 0, 5, 5, 9.9, 4, 0, VERDICT_INFEASIBLE, 3},
    {"violated while off, but within window and settling", LIMIT_HOLD, 0, 5, 5, 6, 4, 0, VERDICT_VIOLATED, 3},
    {"just beyond window and settling", LIMIT_HOLD, 0, 5, 5, 6.001, 4, 0, VERDICT_INFEASIBLE, 3},
    {"sensor_cpu has no window", LIMIT_HOLD, LIMIT_ON_SENSOR_CPU, 5, 5, 5.1, 4, 0, VERDICT_INFEASIBLE, 3},
    {"violated before it went off", LIMIT_HOLD, 0, 5, 5, 4, 4, 0, VERDICT_VIOLATED, 3},
    {"on again before the last violation", LIMIT_HOLD, 0, 5, 5, 9.9, 4, 5, VERDICT_VIOLATED, 3},
    {"an expectation is never infeasible", LIMIT_EXPECT, 0, 5, 5, 9.9, 4, 0, VERDICT_VIOLATED, 3},
    {"within tolerance though off", LIMIT_HOLD, 0, 99.5, 0.5, 9.9, 4, 0, VERDICT_HELD, 0},
};

TEST(a_limit_is_judged_by_its_share_and_by_what_was_left_to_adapt)
{
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        const struct judged *c = &judged[i];
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].kind = c->kind;
        s.limits[0].metric = c->metric;
        s.rows[0] = sample_row(0, 0, c->held, c->violated);
        s.rows[0].last_violated = sample_time(c->last_violated);
        s.summary.limit_count = 1;
        if (c->off_at > 0)
            sample_add_decision(&s, c->off_at, POLICY_OFF, CLOCK_S, 0, 0);
        if (c->resumed_at > 0)
            sample_add_decision(&s, c->resumed_at, POLICY_RESUME, 0, CLOCK_S, -1);
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != c->is || v->is != c->is || verdict_exit_code(v) != c->exit_code)
            fail_msg("%s: %s, exit code %d", c->why, verdict_name(v->is), verdict_exit_code(v));
        verdict_free(v);
    }
}

/* Held and violated are said if they are so whatever was the case in the time that nobody judged. */
TEST(what_was_not_judged_counts_against_either_answer)
{
    static const struct {
        double held, violated, unjudged, tolerance;
        enum verdict_is is;
    } cases[] = {
        {9, 0, 0, 0.01, VERDICT_HELD},         {9.9, 0, 0.1, 0.01, VERDICT_HELD},
        {9.9, 0, 0.1, 0, VERDICT_UNKNOWN},     {9, 0, 1, 0.01, VERDICT_UNKNOWN},
        {9, 0.05, 0.95, 0.1, VERDICT_HELD},    {9, 0.05, 0.951, 0.1, VERDICT_UNKNOWN},
        {5, 5, 90, 0.05, VERDICT_UNKNOWN},     {5, 5.01, 89.99, 0.05, VERDICT_VIOLATED},
        {0, 0.001, 9, 0, VERDICT_VIOLATED},    {0, 0, 9, 0.5, VERDICT_UNKNOWN},
        {1, 0, 0.0000001, 0, VERDICT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].kind = LIMIT_EXPECT;
        s.limits[0].tolerance = cases[i].tolerance;
        s.rows[0] = sample_row(0, 0, cases[i].held, cases[i].violated);
        s.rows[0].unjudged = (int64_t)(cases[i].unjudged * (double)CLOCK_S);
        s.rows[0].unknown = s.rows[0].unjudged + CLOCK_S;
        s.summary.limit_count = 1;
        struct verdict *v = judge(&s, false);
        if (v->is != cases[i].is)
            fail_msg("case %zu: %s", i, verdict_name(v->is));
        assert_int_equal(v->limits[0].unjudged, s.rows[0].unjudged);
        verdict_free(v);
    }
}

/* One node held; the other held as far as it was judged, had nothing to judge, or was violated. */
TEST(a_node_that_was_not_judged_spoils_the_limit_on_all)
{
    static const struct {
        double held, violated, unjudged;
        enum verdict_is is;
    } others[] = {
        {0, 0, 0, VERDICT_HELD}, {5, 0, 3, VERDICT_UNKNOWN}, {0, 0, 3, VERDICT_UNKNOWN}, {5, 5, 3, VERDICT_VIOLATED}};
    for (size_t i = 0; i < 2 * sizeof others / sizeof *others; i++) {
        struct sample s;
        sample_troubled(&s);
        uint32_t other = i % 2;
        s.experiment.limit_count = 1;
        s.limits[0].kind = LIMIT_EXPECT;
        s.summary.limit_count = 2;
        s.summary.conclusion_count = 0;
        s.rows[1 - other] = sample_row(1 - other, 0, 9, 0);
        s.rows[other] = sample_row(other, 0, others[i / 2].held, others[i / 2].violated);
        s.rows[other].unjudged = s.rows[other].unknown = (int64_t)(others[i / 2].unjudged * (double)CLOCK_S);
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->limits[0].is, others[i / 2].is);
        verdict_free(v);
    }
}

/* A stored record, or a time of an interval, that breaks a limit on a maximum, and that no instant has seen. */
TEST(a_record_that_nobody_judged_is_in_the_verdict)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_compare compare;
        enum experiment_limit_kind limit;
        double worst, tolerance; /* ms */
        enum verdict_is is;
        bool strays;
        double share;
    } cases[] = {
        {METRIC_QUANTILE, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0, VERDICT_UNKNOWN, true, 1},
        {METRIC_QUANTILE, COMPARE_AT_MOST, LIMIT_EXPECT, 44, 0, VERDICT_HELD, false, 1}, /* which is broken already */
        {METRIC_QUANTILE, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0, VERDICT_HELD, false, 0.99},
        {METRIC_QUANTILE, COMPARE_AT_LEAST, LIMIT_EXPECT, 30, 0, VERDICT_UNKNOWN, true, 0},
        {METRIC_QUANTILE, COMPARE_AT_LEAST, LIMIT_EXPECT, 30, 0, VERDICT_HELD, false, 1},
        {METRIC_MAX, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0, VERDICT_UNKNOWN, true, 0},
        {METRIC_MAX, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0.01, VERDICT_HELD, true, 0},
        {METRIC_MAX, COMPARE_AT_MOST, LIMIT_EXPECT, 45, 0, VERDICT_HELD, false, 0},
        {METRIC_MAX, COMPARE_AT_MOST, LIMIT_HOLD, 12, 0, VERDICT_HELD, false, 0},
        {METRIC_MEAN, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0, VERDICT_HELD, false, 0},
        {METRIC_MIN, COMPARE_AT_MOST, LIMIT_EXPECT, 12, 0, VERDICT_HELD, false, 0},
        {METRIC_MIN, COMPARE_AT_LEAST, LIMIT_EXPECT, 30, 0, VERDICT_UNKNOWN, true, 0},
        {METRIC_MIN, COMPARE_AT_LEAST, LIMIT_EXPECT, 0.5, 0, VERDICT_HELD, false, 0},
    };
    for (size_t n = 0; n < 2 * (sizeof cases / sizeof *cases); n++) {
        size_t i = n / 2; /* of records, and of times of an interval */
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].share = cases[i].share;
        s.metrics[0].field = (char *)"latency";
        s.metrics[0].in_time = true;
        s.limits[0].kind = cases[i].limit;
        s.limits[0].compare = cases[i].compare;
        s.limits[0].bound = 20e6;
        s.limits[0].tolerance = cases[i].tolerance;
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = cases[i].worst * 1e6;
        s.fields[1][1][0] =
            (struct summary_field){.name = "latency", .unit = "ms", .count = 3, .min = {.d = 0.5}, .max = {.d = 45}};
        s.books[1][1].fields = s.fields[1][1];
        s.books[1][1].field_count = 1;
        struct summary_chosen held = {.process = 1, .min = NAN, .max = NAN}; /* at the last record */
        s.summary.chosen = &held;
        s.summary.chosen_count = verdict_has_end(&s.experiment, 0);
        struct summary_chosen times = {.process = 0, .min = 0.5e6, .max = 45e6};
        if (n % 2) {
            s.metrics[0].kind = METRIC_INTERVAL;
            s.metrics[0].interval.statistic = cases[i].kind;
            s.metrics[0].aspect = s.metrics[0].field = NULL;
            s.limits[0].global = true;
            s.summary.chosen = &times;
            s.summary.chosen_count = 1;
        }
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->rows[0].is != cases[i].is || v->limits[0].strays != cases[i].strays)
            fail_msg("case %zu.%zu: %s", i, n % 2, verdict_name(v->limits[0].is));
        if (cases[i].strays)
            assert_true(v->limits[0].stray == (cases[i].compare == COMPARE_AT_LEAST ? 0.5e6 : 45e6));
        verdict_free(v);
    }
}

/* A violated limit, and what was found when it was last in violation, or had been. */
TEST(what_proves_a_limit_infeasible_is_named)
{
    static const struct {
        int metric;
        enum experiment_metric_kind kind;
        int found, ended; /* of enum builtin_conclusion_kind; whether it held no longer for long */
        enum verdict_is is;
        enum verdict_why why;
    } cases[] = {
        {LIMIT_ON_SENSOR_CPU, METRIC_RATE, CONCLUSION_INFEASIBLE, 0, VERDICT_INFEASIBLE, WHY_BUDGET},
        {LIMIT_ON_SENSOR_CPU, METRIC_RATE, CONCLUSION_INFEASIBLE, 1, VERDICT_VIOLATED, WHY_NONE},
        {LIMIT_ON_SENSOR_CPU, METRIC_RATE, CONCLUSION_INFEASIBLE, 2, VERDICT_INFEASIBLE, WHY_BUDGET}, /* just found */
        {LIMIT_ON_SENSOR_CPU, METRIC_RATE, CONCLUSION_INFEASIBLE, 3, VERDICT_INFEASIBLE, WHY_BUDGET}, /* tried again */
        {LIMIT_ON_SENSOR_CPU, METRIC_RATE, CONCLUSION_NOT_THE_MONITORS, 0, VERDICT_VIOLATED, WHY_NONE},
        {0, METRIC_RATE, CONCLUSION_NOT_THE_MONITORS, 0, VERDICT_INFEASIBLE, WHY_NOT_THE_MONITORS},
        {0, METRIC_RATE, CONCLUSION_INFEASIBLE, 0, VERDICT_VIOLATED, WHY_NONE},
        {0, METRIC_LOST, CONCLUSION_STARVED, 0, VERDICT_INFEASIBLE, WHY_STARVED},
        {0, METRIC_LOST, CONCLUSION_NOT_THE_MONITORS, 0, VERDICT_VIOLATED, WHY_NONE},
        {0, METRIC_RATE, CONCLUSION_LOAD_SHEDDING, 0, VERDICT_VIOLATED, WHY_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].metric = cases[i].metric;
        s.metrics[0].kind = cases[i].kind;
        s.rows[0] = sample_row(0, 0, 5, 5);
        static const double last_at[] = {8, 9.5, 5.999, 7.5};
        s.rows[0].last_violated = sample_time(last_at[cases[i].ended]);
        s.summary.limit_count = 1;
        struct builtin_conclusion conclusions[] = {
            {.at = sample_time(2), .what = CONCLUSION_VIOLATED, .holds = true, .limit = 0},
            {.at = sample_time(6), .what = cases[i].found, .holds = true, .limit = -1, .needed = 12, .budget = 10},
            {.at = sample_time(7), .what = cases[i].found, .holds = false, .limit = -1}};
        s.summary.conclusions = conclusions;
        s.summary.conclusion_count = cases[i].ended % 2 ? 3 : 2;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != cases[i].is || v->limits[0].why != cases[i].why)
            fail_msg("case %zu: %s, %d", i, verdict_name(v->limits[0].is), (int)v->limits[0].why);
        assert_int_equal(v->rows[0].since, sample_time(2));
        assert_true(v->limits[0].why == WHY_BUDGET ? v->limits[0].needed == 12 && v->limits[0].budget == 10
                                                   : isnan(v->limits[0].needed));
        verdict_free(v);
    }
}

/* That polling less does not help it either proves nothing of what polling more would. */
TEST(the_flow_of_records_is_starved_where_collection_was_turned_off)
{
    struct sample s;
    sample_held(&s);
    s.experiment.limit_count = 1;
    s.metrics[0].kind = METRIC_LATENCY;
    s.rows[0] = sample_row(0, 0, 5, 5);
    s.rows[0].last_violated = sample_time(9.9);
    s.summary.limit_count = 1;
    sample_add_decision(&s, 4, POLICY_OFF, CLOCK_S, 0, 0);
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->limits[0].is, VERDICT_INFEASIBLE);
    assert_int_equal(v->limits[0].why, WHY_STARVED);
    verdict_free(v);
}

TEST(limits_that_exclude_each_other_are_infeasible_where_they_are_violated)
{
    struct sample s;
    sample_held(&s);
    s.limits[1] = s.limits[0];
    s.limits[0].bound = 30;
    s.limits[1].compare = COMPARE_AT_MOST;
    s.limits[1].bound = 20;
    s.rows[0] = sample_row(0, 0, 5, 5);
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->limits[0].is, VERDICT_INFEASIBLE);
    assert_int_equal(v->limits[0].why, WHY_CONTRADICTION);
    assert_int_equal(v->limits[0].contradicts, 1);
    assert_int_equal(v->limits[1].is, VERDICT_HELD); /* it did hold */
    verdict_free(v);
}

TEST(the_exit_code_is_that_of_the_run_where_it_failed_by_itself)
{
    static const int outcomes[] = {EXIT_OK, EXIT_FAILED, EXIT_UNREACHABLE};
    static const char *const none[] = {"256", "-1", "4294967296"}; /* a shell would see the last byte of it */
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        struct sample held, troubled;
        char number[2] = {(char)('0' + outcomes[i])};
        sample_held(&held);
        held.properties[0] = (struct summary_property){"outcome", number};
        struct verdict *v = judge(&held, false);
        assert_int_equal(verdict_exit_code(v), outcomes[i]);
        assert_int_equal(v->failed, outcomes[i] != EXIT_OK);
        verdict_free(v);
        sample_troubled(&troubled);
        troubled.properties[0] = (struct summary_property){"outcome", number};
        v = judge(&troubled, false);
        assert_int_equal(verdict_exit_code(v), outcomes[i] ? outcomes[i] : EXIT_VIOLATED);
        verdict_free(v);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct sample held;
        sample_held(&held);
        held.properties[0] = (struct summary_property){"outcome", none[i]};
        struct verdict *v = judge(&held, false);
        assert_int_equal(verdict_exit_code(v), EXIT_FAILED);
        verdict_free(v);
    }
}

TEST(decisions_of_another_node_do_not_count)
{
    struct sample s;
    sample_troubled(&s);
    s.decisions[s.summary.decision_count - 1].node = 1;
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->limits[0].is, VERDICT_VIOLATED);
    verdict_free(v);
}

TEST(nodes_that_cannot_judge_a_limit_leave_it_to_those_that_can)
{
    struct sample s;
    sample_troubled(&s);
    s.rows[3] = sample_row(1, 0, 0, 0);
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->rows[3].is, VERDICT_UNKNOWN);
    assert_int_equal(v->limits[0].is, VERDICT_INFEASIBLE);
    assert_int_equal(v->limits[1].is, VERDICT_VIOLATED);
    assert_int_equal(v->limits[1].node, 0);
    assert_int_equal(v->limits[2].is, VERDICT_UNKNOWN); /* no row at all */
    assert_int_equal(v->is, VERDICT_INFEASIBLE);
    verdict_free(v);
}

TEST(rows_of_limits_that_the_experiment_lacks_are_passed_over)
{
    struct sample s;
    sample_held(&s);
    s.rows[1].limit = 7;
    s.experiment.limit_count = 1;
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->is, VERDICT_HELD);
    verdict_free(v);
}

TEST(books_balance_by_unfinished_records_and_by_nothing_else)
{
    struct sample s;
    sample_held(&s);
    s.books[1][0].attempts += 3;
    s.books[1][0].full = 2;
    s.processes[1].unfinished = 1;
    struct verdict *v = judge(&s, false);
    assert_true(v->balanced);
    assert_int_equal(verdict_lost(&v->sut), 3);
    assert_int_equal(v->sut.stored, 8 * 301);
    assert_int_equal(v->daemons.stored, 108);
    verdict_free(v);

    s.books[2][1].stored += 5; /* more than was produced */
    s.books[3][1].attempts += 5;
    v = judge(&s, false);
    assert_false(v->balanced); /* though the sum is 0 */
    assert_int_equal(v->sut.rest, 0);
    assert_int_equal(v->books[2].rest, -5);
    assert_int_equal(v->books[3].rest, 5);
    verdict_free(v);
}

TEST(books_that_agree_do_not_balance_where_the_end_is_not_stored)
{
    struct sample s;
    struct summary_stream streams[] = {{0, 300, false, {0}}, {1, 302, true, {0}}};
    for (int fault = 0; fault < 4; fault++) {
        sample_held(&s);
        s.processes[1].streams = streams;
        s.processes[1].stream_count = fault == 0 ? 1 : 2; /* 0: none, 1: an open stream, 2: no last books, 3: a node */
        if (fault == 2)
            s.processes[1].stream_count = 1, s.processes[1].state = PROCESS_RUNNING;
        if (fault == 3)
            s.processes[1].stream_count = 1, s.nodes[0].open = true;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->balanced, fault == 0);
        assert_int_equal(v->lacks[LACK_UNKNOWN], fault == 1 || fault == 2);
        assert_int_equal(v->lacks[LACK_VANISHED], fault == 3);
        assert_int_equal(v->is, fault == 3 ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(verdict_exit_code(v), fault == 0 ? 0 : 1);
        verdict_free(v);
        s.summary.property_count = 2; /* the run lives: it is in flight */
        v = judge(&s, true);
        assert_int_equal(v->run, RUN_RUNNING);
        assert_int_equal(v->lacks[LACK_UNKNOWN] + v->lacks[LACK_VANISHED], 0);
        assert_int_equal(v->is, VERDICT_HELD);
        verdict_free(v);
    }
}

TEST(books_do_not_balance_where_a_process_was_not_observed)
{
    struct sample s;
    for (int who = 0; who < 3; who++) { /* 0: all were, 1: a child of a process was not, 2: one of a node */
        sample_held(&s);
        s.processes[1].unobserved = who == 1;
        s.nodes[0].unobserved = who == 2 ? 2 : 0;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_UNOBSERVED], who);
        assert_int_equal(v->balanced, who == 0);
        assert_int_equal(v->is, who ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->limits[0].is, who ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        assert_int_equal(verdict_exit_code(v), who ? 1 : 0);
        verdict_free(v);
        s.summary.property_count = 2; /* nor will they be, however long the run goes on */
        v = judge(&s, true);
        assert_int_equal(v->run, RUN_RUNNING);
        assert_int_equal(v->balanced, who == 0);
        verdict_free(v);
    }
    s.processes[1].unobserved = s.nodes[0].unobserved = UINT64_MAX;
    struct verdict *v = judge(&s, false);
    assert_true(v->lacks[LACK_UNOBSERVED] == UINT64_MAX);
    verdict_free(v);
}

/* What counts at one node may be of another that has the same launcher, that of `bezel run`. */
TEST(a_process_that_was_not_observed_leaves_nodes_of_other_launchers_alone)
{
    struct sample s;
    for (int remote = 0; remote < 4; remote++) { /* bit 0: studio, whose row it is; 1: desk1, where it counted */
        struct experiment_node nodes[] = {{.name = (char *)"studio"}, {.name = (char *)"desk1"}};
        for (int i = 0; i < 2; i++)
            nodes[i].address = remote >> i & 1 ? (char *)"tcp://192.0.2.11:7767" : (char *)"ipc:///run/bezeld";
        sample_held(&s);
        s.experiment.nodes = nodes;
        s.experiment.node_count = s.summary.node_count = 2;
        s.nodes[1] = s.nodes[0];
        s.nodes[1].name = "desk1";
        s.nodes[1].unobserved = 1;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->rows[0].is, remote == 0 ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->limits[0].is, VERDICT_UNKNOWN);
        verdict_free(v);
    }
}

TEST(what_a_node_gave_up_is_lost_where_its_last_books_show_how_much)
{
    struct sample s;
    struct summary_stream streams[] = {{0, 300, true, {0}}};
    for (int lacks = 0; lacks < 4;
         lacks++) { /* 0: nothing, 1: the run gave nothing up, 2: the node left, 3: last books */
        sample_held(&s);
        s.nodes[0].open = lacks != 2;
        s.processes[1].streams = streams;
        s.processes[1].stream_count = 1;
        s.processes[1].state = lacks == 3 ? PROCESS_RUNNING : PROCESS_ENDED;
        s.books[1][0].attempts += 7;
        s.books[1][0].full += 2;
        if (lacks != 1)
            s.properties[s.summary.property_count++] = (struct summary_property){RUNDB_UNDRAINED, "1"};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->balanced, lacks == 0);
        assert_int_equal(v->sut.unstored, lacks == 3 ? 0 : 5); /* its last books are there, and tell */
        assert_int_equal(v->sut.rest, lacks == 3 ? 5 : 0);
        assert_int_equal(v->lacks[LACK_VANISHED], lacks == 1 || lacks == 3);
        assert_int_equal(v->lacks[LACK_UNKNOWN], lacks != 0);
        assert_int_equal(v->is, lacks == 2 ? VERDICT_HELD : VERDICT_UNKNOWN);
        s.books[1][0].stored += 6; /* more than was produced: a fault, but where its end is unknown */
        verdict_free(v);
        v = judge(&s, false);
        assert_false(v->balanced);
        assert_int_equal(v->sut.rest, lacks == 0 ? -1 : 0);
        verdict_free(v);
    }
}

/* An end that is not proved is not known: a process that went on, or a launcher that has not said that all have ended.
 */
TEST(what_may_have_gone_on_unobserved_leaves_the_books_open)
{
    for (int what = 0; what < 3; what++) {
        struct sample s;
        sample_held(&s);
        if (what == 1)
            s.processes[1].state = PROCESS_LEFT;
        if (what == 2)
            s.properties[s.summary.property_count++] = (struct summary_property){RUNDB_UNENDED, "on node desk1"};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->balanced, what == 0);
        assert_int_equal(v->lacks[LACK_LEFT], what == 1);
        assert_int_equal(v->lacks[LACK_UNKNOWN], what == 1);
        assert_int_equal(v->lacks[LACK_UNENDED], what == 2);
        assert_int_equal(verdict_exit_code(v), what ? EXIT_FAILED : EXIT_OK);
        assert_int_equal(v->limits[0].is, what == 1 ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        verdict_free(v);
        s.summary.property_count = 2; /* the next bezeld does not know either what was recorded meanwhile */
        v = judge(&s, true);
        assert_int_equal(v->is, what == 1 ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_int_equal(verdict_is_complete(v), what != 1);
        verdict_free(v);
    }
}

/* A program of a node that joined again, which no process there is: one of that pid on another node is not it. */
TEST(a_program_between_two_lives_of_a_bezeld_is_not_known_by_its_pid_alone)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct sample s;
        sample_held(&s);
        s.nodes[1] = s.nodes[0];
        s.nodes[2] = s.nodes[0];
        s.nodes[2].name = "stage";
        s.summary.node_count = 3;
        s.processes[2].node = elsewhere ? 2 : 1;
        s.processes[2].started = s.nodes[2].first_at;
        for (uint32_t i = 0; i < s.summary.process_count; i++)
            s.processes[i].pid = 100 + i;
        s.programs[0] = (struct summary_program){.node = s.nodes[0].name, .name = "p", .pid = 102};
        s.summary.program_count = 1;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_REJOINED], elsewhere);
        verdict_free(v);
    }
}

/* A bezeld that ended in order has joined once more: what began to record in between is in no books. */
TEST(what_was_recorded_between_two_lives_of_a_bezeld_is_unknown)
{
    for (int what = 0; what < 4; what++) {
        struct sample s;
        sample_held(&s);
        s.nodes[1] = s.nodes[0];
        s.nodes[1].first_at = sample_time(5);
        s.processes[2].node = 1;
        if (what == 3) /* it was there when the program began */
            s.processes[2].started = sample_time(6);
        s.nodes[1].name = what == 0 ? "stage" : s.nodes[0].name;
        s.summary.node_count = 2;
        if (what == 2) /* and is told of by itself */
            s.notes[s.summary.note_count++] = (struct summary_note){.code = "BEZEL-CLOCK-GAP", .text = "", .name = ""};
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->lacks[LACK_REJOINED], what == 1);
        assert_int_equal(v->balanced, what == 0 || what == 3);
        assert_int_equal(verdict_is_complete(v), what == 0 || what == 3);
        assert_int_equal(v->limits[0].is, what == 0 || what == 3 ? VERDICT_HELD : VERDICT_UNKNOWN);
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        verdict_free(v);
    }
}

/* The monitor's own records count as well: what it gave up of them leaves no limit certain. */
TEST(what_a_node_gave_up_of_the_daemons_own_records_counts_too)
{
    struct sample s;
    sample_held(&s);
    uint32_t daemon = 0;
    while (s.processes[daemon].role != ROLE_DAEMON)
        daemon++;
    s.nodes[s.processes[daemon].node].open = true;
    s.processes[daemon].state = PROCESS_ENDED;
    s.books[daemon][0].attempts += 5;
    s.properties[s.summary.property_count++] = (struct summary_property){RUNDB_UNDRAINED, "1"};
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->daemons.unstored, 5);
    assert_int_equal(v->sut.unstored, 0);
    assert_true(v->given_up);
    assert_int_equal(v->is, VERDICT_UNKNOWN);
    assert_int_equal(verdict_exit_code(v), EXIT_FAILED);
    verdict_free(v);
}

/* A collector that was killed may have packets that no books have followed. */
TEST(until_the_last_books_are_there_what_is_stored_or_lost_was_produced)
{
    struct sample s;
    struct summary_stream streams[] = {{0, 350, true, {0}}};
    sample_held(&s);
    struct summary_process *p = &s.processes[1];
    p->state = PROCESS_RUNNING;
    p->streams = streams;
    p->stream_count = 1;
    p->book_count = 1;
    uint64_t stored = s.books[1][0].stored;
    s.books[1][0].attempts = 10;
    s.books[1][0].full = 2;
    for (int by_ordinals = 0; by_ordinals < 2; by_ordinals++) {
        p->discarded = by_ordinals ? 50 : 2; /* 50: the trace knows of more losses than the counters do */
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->books[1].attempts, stored + p->discarded);
        assert_int_equal(v->books[1].rest, by_ordinals ? 48 : 0);
        assert_int_equal(verdict_aspect(&s.summary, p, &s.books[1][0]).attempts, stored + 2);
        assert_int_equal(verdict_aspect(&s.summary, p, &s.books[1][0]).rest, 0);
        assert_false(v->balanced);
        verdict_free(v);
    }
    p->state = PROCESS_ENDED; /* these are its last: they are wrong */
    streams[0].open = false;
    struct verdict *v = judge(&s, false);
    assert_true(v->books[1].rest < 0);
    verdict_free(v);
}

TEST(a_global_limit_is_unknown_once_its_manager_was_given_up)
{
    for (int given_up = 0; given_up < 2; given_up++)
        for (int whole = 0; whole < 2; whole++) {
            struct sample s;
            sample_held(&s);
            s.limits[0].global = whole;
            s.rows[0].epoch = whole;
            if (given_up)
                s.properties[s.summary.property_count++] = (struct summary_property){RUNDB_UNMANAGED, "1"};
            struct verdict *v = judge(&s, false);
            assert_int_equal(v->limits[0].is, given_up && whole ? VERDICT_UNKNOWN : VERDICT_HELD);
            assert_int_equal(verdict_exit_code(v), given_up && whole ? 1 : 0);
            verdict_free(v);
        }
}

TEST(the_trace_may_hold_more_where_something_is_unknown)
{
    struct sample s;
    sample_held(&s);
    s.summary.behind = true;
    struct verdict *v = judge(&s, false);
    assert_false(v->lacks[LACK_BEHIND]); /* all is accounted for: it is somebody else's file */
    verdict_free(v);
    s.nodes[0].open = true;
    v = judge(&s, false);
    assert_true(v->lacks[LACK_BEHIND]);
    verdict_free(v);
}

/* Counters are the process's: where its end is unknown, they are believed as far as nothing contradicts them. */
TEST(what_a_refused_process_counted_is_unstored_and_its_end_unknown)
{
    struct sample s;
    for (int more = -5; more <= 5; more += 5) {
        sample_held(&s);
        s.processes[1].state = PROCESS_ENDED;
        s.processes[1].refused = true;
        s.books[1][0].attempts += (uint64_t)more;
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->sut.rest, 0);
        assert_int_equal(v->sut.unstored, more > 0 ? more : 0);
        assert_int_equal(v->lacks[LACK_UNKNOWN], 1);
        assert_false(v->balanced);
        assert_int_equal(v->is, VERDICT_HELD);
        verdict_free(v);
    }
}

TEST(processes_that_were_left_out_are_in_no_balance)
{
    struct sample s;
    sample_held(&s);
    s.summary.left_out = true;
    struct verdict *v = judge(&s, false);
    assert_false(v->balanced);
    assert_int_equal(verdict_exit_code(v), 1);
    verdict_free(v);
}

TEST(losses_of_window_and_spool_have_causes_of_their_own)
{
    struct sample s;
    sample_held(&s);
    s.books[1][0].attempts += 12;
    s.books[1][0].window = 5;
    s.books[1][0].spool = 7;
    struct verdict *v = judge(&s, false);
    assert_true(v->balanced);
    assert_int_equal(v->sut.window, 5);
    assert_int_equal(v->sut.spool, 7);
    assert_int_equal(verdict_lost(&v->sut), 12);
    verdict_free(v);
}

TEST(what_was_overwritten_is_counted_by_ordinals_and_must_agree_with_the_counters)
{
    struct sample s;
    sample_held(&s);
    sample_recorder(&s, 1);
    const struct summary_book *a = &s.books[1][0], *b = &s.books[1][1];
    struct verdict *v = judge(&s, false);
    assert_true(v->balanced);
    assert_true(v->overwrites);
    assert_int_equal(v->books[1].overwritten, a->attempts + b->attempts - 100 - 10 - 3 - 1);
    assert_int_equal(verdict_lost(&v->sut), a->attempts + b->attempts - 100);
    assert_true(verdict_explains_aspects(&s.processes[1], &v->books[1]));
    verdict_free(v);

    static const struct {
        int64_t discarded, stored, attempts; /* that are told more than there were */
    } faults[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {-490, 0, 0}, {-500, 0, 0}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sample_held(&s);
        sample_recorder(&s, 1);
        s.processes[1].discarded += (uint64_t)faults[i].discarded;
        s.books[1][0].stored += (uint64_t)faults[i].stored;
        s.books[1][1].attempts += (uint64_t)faults[i].attempts;
        v = judge(&s, false);
        assert_false(v->balanced);
        assert_false(verdict_explains_aspects(&s.processes[1], &v->books[1]));
        assert_int_equal(verdict_exit_code(v), 1);
        verdict_free(v);
    }
}

TEST(gaps_are_overwritten_only_where_a_process_overwrites)
{
    struct sample s;
    sample_held(&s);
    sample_recorder(&s, 1);
    s.processes[1].overwrites = false;
    struct verdict *v = judge(&s, false);
    assert_false(v->balanced);
    assert_false(v->overwrites);
    assert_int_equal(v->books[1].overwritten, 0);
    verdict_free(v);
}

TEST(a_run_without_an_end_is_running_while_somebody_runs_it)
{
    struct sample s;
    sample_held(&s);
    s.summary.property_count = 2;
    int64_t last = SAMPLE_BOOTED + s.nodes[0].last_at;
    for (int running = 0; running < 2; running++) {
        struct verdict *v = judge(&s, running);
        assert_int_equal(v->run, running ? RUN_RUNNING : RUN_ABORTED);
        assert_int_equal(v->duration, last - SAMPLE_STARTED);
        verdict_free(v);
    }
}

TEST(a_run_that_failed_or_was_aborted_is_not_passed)
{
    struct sample s;
    sample_held(&s);
    s.properties[3].value = "failure";
    struct verdict *v = judge(&s, false);
    assert_int_equal(v->is, VERDICT_HELD);
    assert_int_equal(verdict_exit_code(v), 1);
    verdict_free(v);

    s.rows[0].violated = s.rows[0].held;
    v = judge(&s, false);
    assert_int_equal(verdict_exit_code(v), 3);
    verdict_free(v);

    sample_held(&s);
    s.summary.processes[0].unfinished++;
    v = judge(&s, false);
    assert_false(v->balanced);
    assert_int_equal(verdict_exit_code(v), 1);
    verdict_free(v);

    sample_held(&s);
    s.summary.property_count = 2; /* without an end */
    v = judge(&s, false);
    assert_int_equal(v->is, VERDICT_UNKNOWN); /* it may have gone on */
    assert_int_equal(v->limits[0].is, VERDICT_UNKNOWN);
    assert_int_equal(v->rows[0].is, VERDICT_UNKNOWN);
    assert_int_equal(verdict_exit_code(v), 1);
    verdict_free(v);
    v = judge(&s, true);
    assert_int_equal(v->is, VERDICT_HELD);
    assert_int_equal(verdict_exit_code(v), 0);
    verdict_free(v);
    s.rows[0].violated = s.rows[0].held;
    v = judge(&s, false);
    assert_int_equal(v->is, VERDICT_VIOLATED);
    verdict_free(v);
}

TEST(an_empty_database_gives_a_verdict_too)
{
    struct summary empty = {0};
    struct sample s;
    sample_held(&s);
    struct verdict *v;
    assert_int_equal(verdict_new(&empty, &s.experiment, false, &v), 0);
    assert_int_equal(v->run, RUN_ABORTED);
    assert_int_equal(v->is, VERDICT_UNKNOWN);
    assert_int_equal(v->duration, 0);
    assert_true(v->balanced);
    verdict_free(v);
}

TEST(a_rate_counts_intervals_not_records)
{
    struct summary_book b = {.stored = 31, .first_ns = 5 * CLOCK_S, .last_ns = 6 * CLOCK_S};
    assert_true(fabs(verdict_rate(&b) - 30) < 1e-9);
    b.stored = 1;
    assert_true(isnan(verdict_rate(&b)));
    b.stored = 2;
    b.last_ns = b.first_ns;
    assert_true(isnan(verdict_rate(&b)));
}
