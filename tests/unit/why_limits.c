// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a violated limit asks of a run. */
#include "config/experiment.h"
#include "views/why/why.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

static void too_few_records_ask_for_the_gaps_between_them(void **unused)
{
    (void)unused;
    const struct why_question *q = question("rate: a, where: v > 2", ">= 5 /s");
    assert_int_equal(q->of, WHY_GAP);
    assert_string_equal(q->aspect, "a");
    assert_string_equal(q->where, "v > 2");
    assert_int_equal(q->beyond, 0);
    assert_false(q->by_thread);
    q = question("count: a, window: 1 s", ">= 5");
    assert_int_equal(q->of, WHY_GAP);
    assert_int_equal(q->beyond, 0);
    q = question("misses: a, period: 20 ms, window: 1 s", "<= 0");
    assert_int_equal(q->of, WHY_GAP);
    assert_string_equal(q->aspect, "a");
    assert_int_equal(q->beyond, 20000000);
    is_refused("rate: a", "<= 5 /s", "too many records");
    is_refused("count: a, window: 1 s", "<= 5", "too many records");
    is_refused("misses: a, period: 20 ms, window: 1 s", ">= 1", "too many records");
}

static void long_times_ask_for_what_took_longer(void **unused)
{
    (void)unused;
    const struct why_question *q = question("max: f, of: a", "<= 3 ms");
    assert_int_equal(q->of, WHY_FIELD);
    assert_string_equal(q->aspect, "a");
    assert_string_equal(q->field, "f");
    assert_int_equal(q->beyond, 3000000);
    assert_true(q->by_thread);
    q = question("max: inter-arrival, of: a", "<= 3 ms");
    assert_int_equal(q->of, WHY_GAP);
    assert_int_equal(q->beyond, 3000000);
    q = question("interval: [a, b], match: n, max: yes", "<= 3 ms");
    assert_int_equal(q->of, WHY_INTERVAL);
    assert_string_equal(q->aspect, "b");
    assert_ptr_equal(q->interval, &e->metrics[e->limits[0].metric]);
    is_refused("max: f, of: a", ">= 3 ms", "how long");
    is_refused("max: f, of: a", "<= 3", "how long");
    is_refused("mean: inter-arrival-jitter, of: a", "<= 3 ms", "how regular");
}

static void what_no_thread_did_asks_nothing(void **unused)
{
    (void)unused;
    is_refused("percent: a, where: b > 1", "<= 1 %", "share of the records");
    ask("limits: [{hold: sensor_cpu <= 1 %}]\n");
    assert_int_equal(asked.refusal_count, 1);
    assert_non_null(strstr(asked.refusals[0].why, "about the monitor"));
}

static void more_limits_than_are_answered_are_refused(void **unused)
{
    char text[2048];
    (void)unused;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_records_ask_for_the_gaps_between_them),
        cmocka_unit_test(long_times_ask_for_what_took_longer),
        cmocka_unit_test(what_no_thread_did_asks_nothing),
        cmocka_unit_test(more_limits_than_are_answered_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    experiment_free(e);
    return failed;
}
