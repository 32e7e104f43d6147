// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a violated limit asks of a run. */
#include "config/experiment.h"
#include "tests/lib/test.h"
#include "views/why/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct experiment_diagnostics found;
static struct experiment *e;
static struct why_limits asked;

/* Asks what the limits of a file ask, whose rest is given. */
static void ask(const char *rest)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "experiment: x\ncommand: app\n%s", rest);
    assert_in_range(n, 1, sizeof text - 1);
    experiment_free(e);
    e = NULL;
    if (experiment_read(text, (size_t)n, &e, &found) != 0)
        fail_msg("%s: %s", rest, found.list[0].sentence);
    experiment_diagnostics_free(&found);
    memset(&asked, 0, sizeof asked);
    for (uint32_t i = 0; i < e->limit_count; i++)
        why_ask(&asked, e, &e->limits[i], 0.5);
    assert_int_equal(asked.question_count + asked.refusal_count, e->limit_count);
}

/* Of one metric and one limit. */
static const struct why_question *question(const char *metric, const char *limit)
{
    char text[1024];
    snprintf(text, sizeof text, "metrics: {m: {%s}}\nlimits: [{expect: m %s}]\n", metric, limit);
    ask(text);
    if (asked.question_count != 1)
        fail_msg("%s, %s: refused: %s", metric, limit, asked.refusals[0].why);
    const struct why_question *q = &asked.questions[0];
    assert_string_equal(q->limit, e->limits[0].text);
    assert_float_equal(q->share, 0.5, 0);
    assert_true(q->from == INT64_MIN && q->until == INT64_MAX);
    return q;
}

static void is_refused(const char *metric, const char *limit, const char *why)
{
    char text[1024];
    snprintf(text, sizeof text, "metrics: {m: {%s}}\nlimits: [{expect: m %s}]\n", metric, limit);
    ask(text);
    assert_int_equal(asked.refusal_count, 1);
    assert_string_equal(asked.refusals[0].limit, e->limits[0].text);
    if (!strstr(asked.refusals[0].why, why))
        fail_msg("%s, %s: %s", metric, limit, asked.refusals[0].why);
}

/* What limits ask; those that ask nothing are refused, with these words. Times in ns. */
static const struct {
    const char *metric, *limit, *refused;
    enum why_of of;
    const char *aspect, *field, *where;
    int64_t beyond;
    enum why_between between;
} limits[] = {
    {"rate: a, where: v > 2", ">= 5 /s", NULL, WHY_GAP, "a", NULL, "v > 2", 199999999, WHY_OF_PROCESS},
    {"count: a, window: 1 s", ">= 5", NULL, WHY_GAP, "a", NULL, NULL, 199999999, WHY_OF_PROCESS},
    {"misses: a, period: 20 ms, window: 1 s", "<= 0", NULL, WHY_GAP, "a", NULL, NULL, 20000000, WHY_OF_THREAD},
    {"misses: a, period: 20 ms, window: 1 s, per: node", "<= 0", NULL, WHY_GAP, "a", NULL, NULL, 20000000,
     WHY_OF_THREAD},
    {"rate: a", "<= 5 /s", "too many records", 0, NULL, NULL, NULL, 0, 0},
    {"count: a, window: 1 s", "<= 5", "too many records", 0, NULL, NULL, NULL, 0, 0},
    {"misses: a, period: 20 ms, window: 1 s", ">= 1", "too many records", 0, NULL, NULL, NULL, 0, 0},
    {"max: f, of: a", "<= 3 ms", NULL, WHY_FIELD, "a", "f", NULL, 3000000, WHY_OF_THREAD},
    {"max: inter-arrival, of: a", "<= 3 ms", NULL, WHY_GAP, "a", NULL, NULL, 3000000, WHY_OF_THREAD},
    {"interval: [a, b], match: n, max: yes", "<= 3 ms", NULL, WHY_INTERVAL, "b", NULL, NULL, 3000000, WHY_OF_THREAD},
    {"max: f, of: a", ">= 3 ms", "how long", 0, NULL, NULL, NULL, 0, 0},
    {"max: f, of: a", "<= 3", "how long", 0, NULL, NULL, NULL, 0, 0},
    {"mean: inter-arrival-jitter, of: a", "<= 3 ms", "how regular", 0, NULL, NULL, NULL, 0, 0},
    {"percent: a, where: b > 1", "<= 1 %", "share of the records", 0, NULL, NULL, NULL, 0, 0},
};

static void same_text(const char *is, const char *wanted)
{
    if (!is || !wanted)
        assert_ptr_equal(is, wanted);
    else
        assert_string_equal(is, wanted);
}

TEST(limits_ask_for_what_was_too_long_or_too_far_apart)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].refused) {
            is_refused(limits[i].metric, limits[i].limit, limits[i].refused);
            continue;
        }
        const struct why_question *q = question(limits[i].metric, limits[i].limit);
        assert_int_equal(q->of, limits[i].of);
        same_text(q->aspect, limits[i].aspect);
        same_text(q->field, limits[i].field);
        same_text(q->where, limits[i].where);
        assert_int_equal(q->beyond, limits[i].beyond);
        assert_int_equal(q->between, limits[i].between);
        assert_int_equal(q->part, strstr(limits[i].metric, "max") ? 0 : 1000000000);
        assert_ptr_equal(q->interval, q->of == WHY_INTERVAL ? &e->metrics[e->limits[0].metric] : NULL);
    }
}

/* Where a record that is too long is no violation by itself, how long before one it may have had a part in it; ns. */
TEST(what_may_have_had_a_part_in_a_violation)
{
    static const char quantile[] = "quantile: f, of: a, share: 95 %, window: 2 s";
    assert_int_equal(question(quantile, "<= 3 ms")->part, 2000000000);
    assert_int_equal(question("mean: f, of: a", "<= 3 ms")->part, 1000000000);
    assert_int_equal(question("interval: [a, b], match: n, mean: yes", "<= 3 ms")->part, 1000000000);
    ask("metrics: {m: {max: f, of: a, window: 100 ms}}\nlimits: [{expect: m <= 3 ms, for: 600 ms}]\n");
    assert_int_equal(asked.questions[0].part, 700000000);
}

TEST(what_no_thread_did_asks_nothing)
{
    ask("limits: [{hold: sensor_cpu <= 1 %}]\n");
    assert_int_equal(asked.refusal_count, 1);
    assert_non_null(strstr(asked.refusals[0].why, "about the monitor"));
}

TEST(more_limits_than_are_answered_are_refused)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "metrics: {m: {max: f, of: a}}\nlimits:\n");
    for (int i = 1; i <= WHY_LIMITS_MOST + 1; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "  - {expect: m <= %d ms}\n", i);
    ask(text);
    assert_int_equal(asked.question_count, WHY_LIMITS_MOST);
    assert_int_equal(asked.refusal_count, 1);
    assert_string_equal(asked.refusals[0].limit, e->limits[WHY_LIMITS_MOST].text);
    assert_non_null(strstr(asked.refusals[0].why, "more violated limits"));
    for (int i = 0; i < 2 * WHY_LIMITS_MOST; i++)
        why_refuse(&asked, &e->limits[0], "no");
    assert_int_equal(asked.refusal_count, WHY_LIMITS_MOST);
}

static void note_remedy(void *any, const char *text)
{
    *(bool *)any = *(bool *)any || strstr(text, "Threads waited for a timer or a device");
    assert_null(strstr(text, "Switches were recorded in part"));
}

/* Of two reasons for which something is unknown the remedy is that of the one with more. */
TEST(a_cause_that_is_unknown_has_the_remedy_of_most)
{
    struct slow_term terms[] = {{.is = PATH_UNKNOWN, .why = PATH_NO_SWITCHES, .slow = 1e6},
                                {.is = PATH_UNKNOWN, .why = PATH_INTERRUPT, .slow = 19e6}};
    struct slow_instance slow = {.until = 20000000};
    struct why_answer a = {.question = {.limit = "m <= 1 ms", .of = WHY_GAP, .aspect = "a"},
                           .choice = {.count = 9, .over = 1, .slow_count = 1, .slow = &slow, .beyond = 1000000},
                           .activity = {.intervals = 1},
                           .terms = {.count = 2, .terms = terms, .slow = 20e6, .slow_unknown = 20e6}};
    struct why_page p = {.answers = &a, .answer_count = 1};
    bool any = false;
    why_cause(&p, &a, note_remedy, &any);
    assert_true(any);
}

static void note_root(void *any, const char *text)
{
    *(bool *)any = *(bool *)any || strstr(text, "as root");
}

/* Who sees what ended waits is not told to become who may. */
TEST(waits_that_nobody_explains_want_root_only_where_no_waking_is_seen)
{
    struct slow_term term = {.is = PATH_UNKNOWN, .why = PATH_BLOCKED, .slow = 20e6};
    struct slow_instance slow = {.until = 20000000};
    struct why_answer a = {.question = {.limit = "m <= 1 ms", .of = WHY_GAP, .aspect = "a"},
                           .choice = {.count = 9, .over = 1, .slow_count = 1, .slow = &slow, .beyond = 1000000},
                           .activity = {.intervals = 1},
                           .terms = {.count = 1, .terms = &term, .slow = 20e6, .slow_unknown = 20e6}};
    struct why_page p = {.answers = &a, .answer_count = 1};
    bool any = false;
    why_cause(&p, &a, note_root, &any);
    assert_true(any);
    a.activity.wakings = 1;
    any = false;
    why_cause(&p, &a, note_root, &any);
    assert_false(any);
}

/* What breaks nothing explains no violation. */
TEST(a_limit_that_no_instance_breaks_has_no_cause)
{
    struct why_answer a = {.question = {.limit = "m <= 1 s", .of = WHY_GAP, .aspect = "a"},
                           .choice = {.count = 99, .beyond = 1000000000}};
    struct why_page p = {.answers = &a, .answer_count = 1};
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    why_text(&p, out);
    fclose(out);
    assert_string_equal(text,
                        "m <= 1 s: none of the 99 stored times between two a is longer than 1.00 s: what violated it "
                        "is not among them.\n");
    free(text);
    assert_false(why_is_known(&a));
}

int main(void)
{
    int failed = test_run(NULL, NULL);
    experiment_free(e);
    return failed;
}
