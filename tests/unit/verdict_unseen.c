// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a verdict makes of records that no books of their aspect count, or that match what nobody knows. */
#include "run/verdict/verdict.h"
#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"

static struct verdict *judge(const struct sample *s)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, false, &v), 0);
    return v;
}

/* Limit 0 on process 1, of `aspect`, or of its own; judged as held. */
static void begin_unseen(struct sample *s, char *aspect, enum experiment_metric_kind kind, bool at_most)
{
    sample_held(s);
    s->experiment.limit_count = 1;
    s->metrics[0].kind = kind;
    s->metrics[0].aspect = aspect ? aspect : (char *)s->books[1][1].name;
    s->metrics[0].field = (char *)"duration";
    s->limits[0] = (struct experiment_limit){
        .kind = LIMIT_EXPECT, .compare = at_most ? COMPARE_AT_MOST : COMPARE_AT_LEAST, .bound = at_most ? 1e9 : -1e9};
    s->rows[0] = sample_row(0, 0, 9, 0);
    s->rows[0].last_violated = 0;
    s->rows[0].node = s->processes[1].node;
    s->summary.limit_count = 1;
}

TEST(what_a_note_says_is_missing_leaves_limits_on_it_unknown)
{
    static const char many[] = "more than 256 processes run at once: the others are not sampled",
                      *const sampler = "BEZEL-SAMPLER",
                      sums[] = "for the busiest threads sampler 'scheduling' has sums, for 10 s at a time",
                      open[] = "256 waits and long spans were open at once: further ones are recorded at their ends";
    static const struct {
        const char *aspect, *where, *code, *text;
        enum experiment_metric_kind kind;
        bool at_most, unknown;
    } cases[] = {{"process_usage", NULL, sampler, many, METRIC_MAX, true, true},
                 {"process_usage", NULL, sampler, many, METRIC_COUNT, true, true},
                 {"process_usage", NULL, sampler, many, METRIC_COUNT, false, false},
                 {"process_usage", NULL, sampler, many, METRIC_MAX, false, false},
                 {"process_usage", NULL, "BEZEL-OTHER", many, METRIC_MAX, true, false},
                 {"process_usage", NULL, sampler, sums, METRIC_MAX, true, false},
                 {"thread_interval", NULL, sampler, sums, METRIC_MAX, true, true},
                 {"thread_scheduling", NULL, sampler, "more than 66 threads run at once", METRIC_MEAN, false, true},
                 {"node_cpu", NULL, sampler, many, METRIC_MAX, true, false},
                 {NULL, NULL, sampler, many, METRIC_MAX, true, false},
                 {"hold", NULL, "BEZEL-OPEN-SPANS", open, METRIC_MAX, true, true},
                 {"hold", NULL, "BEZEL-OPEN-SPANS", open, METRIC_MIN, false, false},
                 {"hold", NULL, "BEZEL-OPEN-SPANS", open, METRIC_COUNT, true, false},
                 {"hold", "duration > 1 ms", "BEZEL-OPEN-SPANS", open, METRIC_COUNT, true, true},
                 {NULL, NULL, "BEZEL-OPEN-SPANS", open, METRIC_MAX, true, false}};
    struct dict_aspect hold = {.id = 3, .name = "hold", .kind = DICT_WAIT};
    struct dict d = {.aspect_count = 1, .aspects = &hold};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        begin_unseen(&s, (char *)cases[i].aspect, cases[i].kind, cases[i].at_most);
        s.metrics[0].where = (char *)cases[i].where;
        s.processes[1].dict = &d;
        s.notes[s.summary.note_count++] = (struct summary_note){.node = s.processes[1].node,
                                                                .instance = s.processes[1].instance,
                                                                .name = "",
                                                                .code = cases[i].code,
                                                                .text = cases[i].text};
        struct verdict *v = judge(&s);
        if ((v->limits[0].is == VERDICT_UNKNOWN) != cases[i].unknown)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        assert_int_equal(v->limits[0].unseen != NULL, cases[i].unknown);
        assert_int_equal(v->rows[0].is, v->limits[0].is);
        verdict_free(v);
    }
}

/* Of an aspect that was refused, or declared twice. */
TEST(records_of_which_nobody_knows_the_aspect_may_be_of_any)
{
    static const struct {
        const char *aspect;
        enum experiment_metric_kind kind;
        bool at_most, unknown;
        double tolerance;
    } cases[] = {{NULL, METRIC_MAX, true, true, 0},        {NULL, METRIC_MAX, false, false, 0},
                 {NULL, METRIC_COUNT, true, true, 0},      {NULL, METRIC_COUNT, false, false, 0},
                 {"elsewhere", METRIC_MAX, true, true, 0}, {"process_usage", METRIC_MAX, true, false, 0},
                 {NULL, METRIC_MEAN, true, false, 0.5},    {"elsewhere", METRIC_MEAN, true, true, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        begin_unseen(&s, (char *)cases[i].aspect, cases[i].kind, cases[i].at_most);
        s.limits[0].tolerance = cases[i].tolerance;
        s.books[1][0] = (struct summary_book){.aspect = 1, .name = "bezel_undeclared", .attempts = 7, .no_ring = 7};
        struct verdict *v = judge(&s);
        if ((v->limits[0].is == VERDICT_UNKNOWN) != cases[i].unknown)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        assert_int_equal(v->limits[0].missed, cases[i].unknown || cases[i].tolerance > 0 ? 7 : 0);
        verdict_free(v);
    }
}

/* Of an interval: they have no value to match by, or may belong to several. */
TEST(records_that_match_what_nobody_knows_leave_a_limit_unknown)
{
    static const struct {
        enum experiment_metric_kind statistic;
        bool at_most, unknown;
        double tolerance;
    } cases[] = {{METRIC_MAX, true, true, 0},         {METRIC_MAX, false, false, 0},
                 {METRIC_MIN, true, false, 0},        {METRIC_MIN, false, true, 0},
                 {METRIC_QUANTILE, true, true, 0.01}, {METRIC_QUANTILE, true, false, 0.03}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        begin_unseen(&s, NULL, METRIC_INTERVAL, cases[i].at_most);
        struct summary_chosen times = {.min = 1e6, .max = 2e6, .unclear = 0.02};
        s.metrics[0].interval.statistic = cases[i].statistic;
        s.metrics[0].aspect = s.metrics[0].field = NULL;
        s.limits[0].global = true;
        s.limits[0].tolerance = cases[i].tolerance;
        s.summary.chosen = &times;
        s.summary.chosen_count = 1;
        struct verdict *v = judge(&s);
        if (v->limits[0].is != (cases[i].unknown ? VERDICT_UNKNOWN : VERDICT_HELD))
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        verdict_free(v);
    }
}
