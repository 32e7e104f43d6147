// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Limits and the metrics that they are on: what is read, and what is refused, with the sentence that says why. */
#include "base/clock.h"
#include "config/experiment.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct experiment_diagnostics found;

static int read_text(const char *rest, struct experiment **e)
{
    char text[8192];
    int n = snprintf(text, sizeof text, "experiment: x\ncommand: app\n%s", rest);
    assert_in_range(n, 1, sizeof text - 1);
    return experiment_read(text, (size_t)n, e, &found);
}

static struct experiment *read_good(const char *rest)
{
    struct experiment *e = NULL;
    if (read_text(rest, &e) != 0)
        fail_msg("%s: %s", rest, found.list[0].sentence);
    experiment_diagnostics_free(&found);
    return e;
}

/* Whether `text` is printed of where the metrics of file `rest` are computed. */
static void is_placed(const char *rest, const char *text)
{
    struct experiment *e = read_good(rest);
    char *printed = NULL;
    size_t n;
    FILE *out = open_memstream(&printed, &n);
    assert_int_equal(experiment_print_places(e, out), 0);
    fclose(out);
    assert_string_equal(printed, text);
    free(printed);
    experiment_free(e);
}

TEST(a_metric_says_where_it_is_computed_and_what_crosses_the_network)
{
    static const char one[] = "All nodes are of one machine, so nothing of this crosses a network.\n";
    char text[512];
    is_placed("", "");
    snprintf(
        text, sizeof text,
        "e2e: in the root, the collector that stores the run. To it: the records of a, b of app and c from all nodes, "
        "which it stores. To the manager: the value, every 50 ms.\n%s",
        one);
    is_placed("metrics: {e2e: {interval: [a, b of app, c], match: f, max: yes}}\nlimits: [{expect: e2e <= 5 ms}]\n"
              "adapt: {every: 100 ms}\n",
              text);
    snprintf(
        text, sizeof text,
        "e2e: in the root, the collector that stores the run. To it: the records of a and b from all nodes, which it "
        "stores; it is computed when they have been stored, for the report.\n%s",
        one);
    is_placed("metrics: {e2e: {interval: [a, b], match: f, max: yes, at: root}}\n", text);
    snprintf(
        text, sizeof text,
        "q: in each node. To the collector: its value, once a second. To the manager, which joins them: the histogram "
        "of its values, 12 bytes for each bucket that has some, every 100 ms.\n%s",
        one);
    is_placed("metrics: {q: {quantile: v, of: a, per: node, at: node}}\nlimits: [{expect: q <= 5, per: global}]\n",
              text);
    snprintf(
        text, sizeof text,
        "r: in each node, of each of its processes. To the collector: the values, once a second. To the manager, which "
        "decides: the value that the limit r >= 5 /s is judged by, every 100 ms.\n%s",
        one);
    is_placed("metrics: {r: {rate: a}}\nlimits: [{hold: r >= 5 /s}]\nadapt: {by: manager, every: 100 ms, period: 1 ms "
              ".. 2 ms}\n",
              text);
}

TEST(metrics_are_refused_with_what_is_wrong_with_them)
{
    static const struct {
        const char *rest, *path, *sentence;
    } cases[] = {
        {"metrics: {monitoring_latency: {per: process}}\nlimits: [{expect: monitoring_latency <= 1 ms}]\n",
         "metrics.monitoring_latency.per", "a built-in metric has one value per node"},
        {"metrics: {m: {mean: v, of: a, share: 0.5}}\n", "metrics.m.share", "applies only to 'quantile'"},
        {"metrics: {m: {max: v, of: a, share: 0.5}}\n", "metrics.m.share", "applies only to 'quantile'"},
        {"metrics: {m: {rate: a, at: root}}\n", "metrics.m.at", "each node computes this metric"},
        {"metrics: {m: {rate: a, at: noed}}\n", "metrics.m.at", "there is no collector 'noed'; did you mean 'node'?"},
        {"metrics: {m: {rate: a, at: [node]}}\n", "metrics.m.at", "node, or root"},
        {"metrics: {m: {interval: [a, b], match: f, max: yes, at: node}}\n", "metrics.m.at",
         "no node has the records of the others"},
        {"metrics: {m: {interval: [a, b], match: f, max: yes, at: elsewhere}}\n", "metrics.m.at",
         "there is no collector 'elsewhere'"},
        {"collectors: {rack: {}}\nmetrics: {m: {interval: [a, b], match: f, max: yes, at: rack}}\n", "metrics.m.at",
         "inner collector 'rack' passes records on, and computes no metric; give 'at: root'"},
        {"metrics: {sensor_cpu: {at: root}}\nlimits: [{hold: sensor_cpu <= 5 %}]\n", "metrics.sensor_cpu.at",
         "each node computes this metric"},
        {"metrics: {m: {rate: a, of: a}}\n", "metrics.m.of", "applies only to a metric of a field"},
        {"metrics: {m: {ratio: a}}\n", "metrics.m.ratio", "a list of the names of two metrics"},
        {"metrics: {m: {ratio: [a]}}\n", "metrics.m.ratio", "a list of the names of two metrics"},
        {"metrics: {m: {ratio: [a, m]}, a: {rate: b}}\n", "metrics.m.ratio[1]", "is not of the records"},
        {"metrics: {m: {ratio: [a, b]}, a: {rate: b}}\n", "metrics.m.ratio[1]", "there is no metric 'b'"},
        {"metrics: {m: {difference: [a, lost_ratio]}, a: {rate: b}, lost_ratio: {window: 1 s}}\n",
         "metrics.m.difference[1]", "is not of the records"},
        {"metrics: {m: {difference: [a, b]}, a: {rate: b}, b: {rate: b, per: node}}\n", "metrics.m.difference",
         "give both the same 'per'"},
        {"metrics: {m: {ratio: [a, a], window: 1 s}, a: {rate: b}}\n", "metrics.m.window", "cannot be combined with"},
        {"metrics: {m: {ratio: [a, a], difference: [a, a]}, a: {rate: b}}\n", "metrics.m.difference",
         "cannot be combined with 'ratio'"},
        {"metrics: {m: {ratio: [a, a]}, a: {rate: b, per: node}}\nlimits: [{expect: m <= 1, per: global}]\n",
         "limits[0].per", "is of two values of a node"},
        {"metrics: {m: {difference: [a, a]}, a: {max: f, of: b}}\nlimits: [{expect: m <= 1 ms}, {expect: a <= 5}]\n",
         "limits[1].expect", "add the unit"},
        {"metrics: {m: {rate: a, match: b}}\n", "metrics.m.match", "applies only to 'interval'"},
        {"metrics: {m: {rate: a, memory: 1000}}\n", "metrics.m.memory", "applies only to 'interval'"},
        {"metrics: {m: {interval: [a, b], match: f}}\n", "metrics.m.quantile", "is missing; expected: a share"},
        {"metrics: {m: {interval: [a, b], max: yes}}\n", "metrics.m.match", "is missing; expected: the field"},
        {"metrics: {m: {interval: [a, b], match: f, quantile: 101 %}}\n", "metrics.m.quantile", "is out of range"},
        {"metrics: {m: {interval: [a, b], match: 7, max: yes}}\n", "metrics.m.match", "cannot be the name of a field"},
        {"metrics: {m: {interval: [a, b of c/d], match: f, max: yes}}\n", "metrics.m.interval[1]",
         "cannot be the name of a process"},
        {"metrics: {m: {interval: [a, b of ], match: f, max: yes}}\n", "metrics.m.interval[1]", "cannot be the name"},
        {"metrics: {m: {interval: [a of c, a], match: f, max: yes}}\n", "metrics.m.interval[1]", "appears twice"},
        {"metrics: {m: {interval: [a of c, a of c], match: f, max: yes}}\n", "metrics.m.interval[1]", "appears twice"},
        {"metrics: {m: {interval: [a, b], match: f, max: yes, share: 5 %}}\n", "metrics.m.share",
         "cannot be combined with 'interval'"},
        {"metrics: {m: {interval: [a, b, c, d, e, f, g, h, i], match: f, max: yes}}\n", "metrics.m.interval",
         "a list of 2 to 8 aspects"},
        {"metrics: {m: {interval: [a, b], match: f, max: yes}}\nlimits: [{expect: m <= 5}]\n", "limits[0].expect",
         "the unit is missing or unknown"},
        {"limits: [{expect: sensor_cpu <= 5 %, priority: 1}]\n", "limits[0].priority", "applies only to 'hold'"},
        {"limits: [{expect: lost_ratio >= 5 %}]\n", "limits[0].expect", "is a cost"},
        {"limits: [{expect: monitoring_latency >= 5 ms}]\n", "limits[0].expect", "is a cost"},
        {"metrics: {m: {mean: v, of: a}}\nlimits: [{expect: m >= 1/s}]\n", "limits[0].expect",
         "a number is expected, or a duration"},
        {"metrics: {m: {mean: v, of: a}}\nlimits: [{expect: m >= 1 ms}, {expect: m <= 5}]\n", "limits[1].expect",
         "has no unit, and another limit on the same metric has a unit of time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct experiment *e = NULL;
        assert_int_equal(read_text(cases[i].rest, &e), BEZEL_EMALFORMED);
        bool said = false;
        for (uint32_t k = 0; k < found.count; k++)
            said = said || (strcmp(found.list[k].path, cases[i].path) == 0 &&
                            strstr(found.list[k].sentence, cases[i].sentence));
        if (!said)
            fail_msg("%s: %s %s", cases[i].rest, found.list[0].path, found.list[0].sentence);
        experiment_diagnostics_free(&found);
    }
}

TEST(bounds_are_read_with_sign_and_unit)
{
    static const struct {
        const char *bound;
        double value;
        enum experiment_unit unit;
    } cases[] = {{"-2.5", -2.5, UNIT_NUMBER},   {"  -2.5", -2.5, UNIT_NUMBER}, {"3", 3, UNIT_NUMBER},
                 {"0", 0, UNIT_NUMBER},         {"2 ms", 2e6, UNIT_DURATION},  {" 2 ms", 2e6, UNIT_DURATION},
                 {"-1 us", -1e3, UNIT_DURATION}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[256];
        snprintf(rest, sizeof rest, "metrics: {m: {mean: v, of: a}}\nlimits: [{expect: 'm >= %s  '}]\n",
                 cases[i].bound);
        struct experiment *e = read_good(rest);
        assert_true(e->limits[0].bound == cases[i].value);
        assert_int_equal(e->limits[0].unit, cases[i].unit);
        assert_int_not_equal(e->limits[0].text[strlen(e->limits[0].text) - 1], ' ');
        experiment_free(e);
    }
}

/* Zero is the same in every unit. */
TEST(a_bound_of_zero_needs_no_unit_beside_a_time)
{
    struct experiment *e =
        read_good("metrics: {m: {mean: v, of: a}}\nlimits: [{expect: m <= 1 ms}, {expect: m >= 0}]\n");
    assert_true(e->metrics[0].in_time);
    experiment_free(e);
}

TEST(a_built_in_metric_that_the_file_does_not_define_is_as_the_manual_says)
{
    struct experiment *e = read_good("limits: [{expect: monitoring_latency <= 1 ms}]\n");
    assert_int_equal(e->metric_count, 1);
    assert_int_equal(e->metrics[0].kind, METRIC_LATENCY);
    assert_true(e->metrics[0].share == 0.99 && e->metrics[0].window == CLOCK_S);
    assert_false(e->metrics[0].per_process);
    experiment_free(e);
}

TEST(a_built_in_metric_is_of_the_node)
{
    static const char *const entries[] = {"per: node", "window: 2s", "window: 2s, per: node"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        char rest[128];
        snprintf(rest, sizeof rest, "metrics: {storing_latency: {%s}}\n", entries[i]);
        struct experiment *e = read_good(rest);
        assert_false(e->metrics[0].per_process);
        assert_int_equal(e->metrics[0].kind, METRIC_STORING);
        experiment_free(e);
    }
}

/* Its entry is no metric: those behind it move up. It is printed where a limit reads it, and then read as it was. */
TEST(the_cpu_use_has_a_window_and_does_not_slow_decisions)
{
    static const struct {
        const char *metrics;
        int64_t window;
    } cases[] = {{"", CLOCK_S}, {"sensor_cpu: {per: node}, ", CLOCK_S}, {"sensor_cpu: {window: 4 s}, ", 4 * CLOCK_S}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[300], *printed = NULL;
        size_t n;
        snprintf(rest, sizeof rest,
                 "metrics: {fps: {rate: a, window: 100 ms}, %sheat: {mean: t, of: a}}\n"
                 "limits: [{expect: heat <= 9}, {hold: sensor_cpu <= 5 %%}, {expect: fps >= 3}]\n",
                 cases[i].metrics);
        struct experiment *e = read_good(rest), *again = NULL;
        FILE *out = open_memstream(&printed, &n);
        assert_int_equal(experiment_print(e, out), 0);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(experiment_read(printed, n, &again, &found), 0);
        for (int k = 0; k < 2; k++) {
            const struct experiment *it = k ? again : e;
            assert_int_equal(it->metric_count, 2);
            assert_int_equal(it->limits[0].metric, 1);
            assert_string_equal(it->metrics[1].name, "heat");
            assert_int_equal(it->limits[2].metric, 0);
            assert_int_equal(experiment_limit_window(it, &it->limits[1]), cases[i].window);
            assert_int_equal(it->adapt.every, 100 * CLOCK_MS);
        }
        experiment_diagnostics_free(&found);
        experiment_free(again);
        experiment_free(e);
        free(printed);
    }
}

/* Half of the age is shorter than the shortest period, which the file sets elsewhere. */
TEST(an_age_that_no_period_suits_is_refused)
{
    struct experiment *e = NULL;
    assert_int_equal(read_text("sensing: {poll: {period: 60ms}}\nlimits: [{hold: sensor_cpu <= 5 %}]\n"
                               "adapt: {by: manager, every: 100ms, max-age: 100ms}\n",
                               &e),
                     BEZEL_EMALFORMED);
    assert_non_null(strstr(found.list[0].sentence, "more than half of adapt.max-age"));
    experiment_diagnostics_free(&found);
}

/* As many metrics as there may be, and a limit on a built-in one that would be one more. */
TEST(a_built_in_metric_beyond_the_last_is_refused)
{
    for (int more = 0; more < 2; more++) {
        char rest[8000];
        struct experiment *e = NULL;
        size_t n = (size_t)snprintf(rest, sizeof rest, "metrics: {");
        for (int i = 0; i < EXPERIMENT_METRICS_MAX - 1 + more; i++)
            n += (size_t)snprintf(rest + n, sizeof rest - n, "%sm%d: {rate: a}", i ? ", " : "", i);
        snprintf(rest + n, sizeof rest - n, "}\nlimits: [{expect: lost_ratio <= 1 %%}]\n");
        assert_int_equal(read_text(rest, &e), more ? BEZEL_EMALFORMED : 0);
        experiment_diagnostics_free(&found);
        experiment_free(e);
    }
}

TEST(the_age_of_observations_bounds_the_period)
{
    static const struct {
        const char *adapt;
        int64_t longest;
        const char *refused;
    } cases[] = {
        {"every: 100ms, max-age: 100ms", 50 * CLOCK_MS, NULL}, /* as old as the next decision */
        {"every: 100ms, max-age: 99ms", 0, "is less than adapt.every"},
        {"every: 100ms, max-age: 300ms", 150 * CLOCK_MS, NULL},
        {"every: 100ms, max-age: 3s", CLOCK_S, NULL},
        {"every: 100ms, max-age: 300ms, period: 1ms .. 150ms", 150 * CLOCK_MS, NULL},
        {"every: 100ms, max-age: 300ms, period: 1ms .. 151ms", 0, "more than half of adapt.max-age"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[256];
        struct experiment *e = NULL;
        snprintf(rest, sizeof rest, "limits: [{hold: sensor_cpu <= 5 %%}]\nadapt: {by: manager, policy: elastic, %s}\n",
                 cases[i].adapt);
        int err = read_text(rest, &e);
        if (err ? !cases[i].refused || !strstr(found.list[0].sentence, cases[i].refused) : cases[i].refused != NULL)
            fail_msg("%s: %s", cases[i].adapt, err ? found.list[0].sentence : "is read");
        if (!err)
            assert_int_equal(e->adapt.period_max, cases[i].longest);
        experiment_diagnostics_free(&found);
        experiment_free(e);
    }
}

/* Longer only where nothing says how soon or how many records are taken; as far as a ring allows. */
TEST(the_period_may_lengthen_where_the_file_leaves_it_open)
{
    static const struct {
        const char *rest;
        int64_t longest;
    } cases[] = {
        {"", 3072 * CLOCK_US},
        {"sensing: {ring: {records: 2048}}", 1536 * CLOCK_US},
        {"sensing: {ring: {records: 1024}}", CLOCK_MS},
        {"sensing: {ring: {records: 1048576}}", EXPERIMENT_QUIET_MAX},
        {"sensing: {poll: {mode: polling, forward: batch, batch: 0, doorbell: yes}}", 3072 * CLOCK_US},
        {"metrics: {fps: {rate: a}}\nlimits: [{expect: fps >= 1}]", 3072 * CLOCK_US},
        {"sensing: {poll: {period: 1 ms}}", CLOCK_MS},
        {"sensing: {poll: {mode: busy-wait}}", CLOCK_MS},
        {"sensing: {poll: {forward: collect}}", CLOCK_MS},
        {"sensing: {poll: {batch: 10}}", CLOCK_MS},
        {"sensing: {forward: {accumulate: 2}}", CLOCK_MS},
        {"sensing: {expire: {a: 1 s}}", CLOCK_MS},
        {"limits: [{expect: monitoring_latency <= 1 s}]", CLOCK_MS},
        {"limits: [{expect: lost_ratio <= 1 %}]", CLOCK_MS},
        {"limits: [{hold: sensor_cpu <= 5 %}]", CLOCK_MS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct experiment *e = read_good(cases[i].rest);
        assert_int_equal(e->sensing.period, CLOCK_MS);
        assert_int_equal(e->sensing.period_quiet, cases[i].longest);
        experiment_free(e);
    }
}

/* Where a limit on programs may want a reason, and nothing is so tight that the sampler could break it. */
TEST(scheduling_is_sampled_unasked_where_it_may_be)
{
#define RATE    "metrics: {fps: {rate: a}}\n"
#define SLOW    "{expect: fps >= 1}"
#define LIMITED RATE "limits: [" SLOW "]\n"
    static const struct {
        const char *rest;
        bool is;
    } cases[] = {
        {"", false},
        {RATE, false},
        {LIMITED, true},
        {LIMITED "sensing: {ring: {records: 2048}}", true},
        {LIMITED "sensing: {samplers: {}}", false},
        {LIMITED "sensing: {samplers: {cpu: 1 s}}", false},
        {LIMITED "sensing: {poll: {mode: busy-wait}}", false},
        {RATE "limits: [{hold: sensor_cpu <= 5 %}]", false},
        {RATE "limits: [{hold: sensor_cpu <= 2 %}, " SLOW "]", true},
        {RATE "limits: [{hold: sensor_cpu <= 1.9 %}, " SLOW "]", false},
        {RATE "limits: [{expect: lost_ratio <= 1 %}]", false},
        {RATE "limits: [{expect: monitoring_latency_max <= 10 ms}, " SLOW "]", true},
        {RATE "limits: [{expect: monitoring_latency_max <= 9 ms}, " SLOW "]", false},
        {RATE "limits: [" SLOW ", {expect: storing_latency <= 9 ms}]", false},
        {"metrics: {fps: {rate: a}, waits: {max: waiting, of: thread_scheduling}}\nlimits: [" SLOW "]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        struct experiment *e = read_good(cases[i].rest);
        if (e->sensing.sampled_unasked != cases[i].is)
            fail_msg("%s: %s", cases[i].rest, cases[i].is ? "off" : "on");
        assert_int_equal(e->sensing.sampler[EXPERIMENT_SAMPLER_SCHEDULING], cases[i].is ? 100 * CLOCK_MS : 0);
        assert_int_equal(experiment_print(e, out), 0);
        fclose(out);
        assert_int_equal(strstr(text, "\n  samplers:") == NULL, cases[i].is); /* read again it is the same */
        free(text);
        experiment_free(e);
    }
}

TEST(the_shortest_latency_of_the_file_is_asked_for)
{
    static const struct {
        const char *rest;
        int64_t asked;
    } cases[] = {
        {"", 0},
        {"sensing: {expire: {a: 0 s, b: 3 ms, c: 1 s}}", 3 * CLOCK_MS},
        {"sensing: {expire: {a: 3 ms}}\nlimits: [{expect: storing_latency_max <= 2 ms}]", 2 * CLOCK_MS},
        {"limits: [{expect: monitoring_latency <= 2 ms}, {expect: lost_ratio <= 1 %}]", 2 * CLOCK_MS},
        {"metrics: {fps: {rate: a}}\nlimits: [{expect: sensor_cpu <= 1 %}, {expect: fps <= 2}]", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct experiment *e = read_good(cases[i].rest);
        assert_int_equal(experiment_asked_latency(e), cases[i].asked);
        experiment_free(e);
    }
}

/* What one value decides has no tolerance that could hide it, unless the file says so. */
TEST(the_tolerance_of_a_single_extreme_is_none_by_default)
{
    static const struct {
        const char *metric, *limit;
        double tolerance;
    } cases[] = {
        {"rate: a", "m >= 1", 0.01},
        {"mean: v, of: a", "m >= 1", 0.01},
        {"min: v, of: a", "m >= 1", 0},
        {"max: v, of: a", "m <= 1", 0},
        {"last: v, of: a", "m <= 1", 0},
        {"quantile: v, of: a", "m <= 1", 0.01},
        {"quantile: v, of: a, share: 50 %", "m <= 1", 0.01},
        {"quantile: v, of: a, share: 99.9 %", "m <= 1", 0},
        {"quantile: v, of: a, share: 0.5 %", "m <= 1", 0},
        {"quantile: v, of: a, share: 1 %", "m <= 1", 0.01},
        {"max: v, of: a", "m <= 1, tolerance: 2 %", 0.02},
        {"max: v, of: a", "monitoring_latency_max <= 1 ms", 0},
        {"max: v, of: a", "storing_latency_max <= 1 ms", 0},
        {"max: v, of: a", "monitoring_latency <= 1 ms", 0.01},
        {"max: v, of: a", "lost_ratio <= 1 %", 0.01},
        {"max: v, of: a", "sensor_cpu <= 1 %", 0.01},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char rest[256];
        snprintf(rest, sizeof rest, "metrics: {m: {%s}}\nlimits: [{expect: %s}]\n", cases[i].metric, cases[i].limit);
        struct experiment *e = read_good(rest);
        if (e->limits[0].tolerance != cases[i].tolerance)
            fail_msg("%s, %s: %g", cases[i].metric, cases[i].limit, e->limits[0].tolerance);
        experiment_free(e);
    }
}

TEST(metrics_and_limits_of_another_file_take_the_place_of_those_that_are_there)
{
    static const char other[] =
        "experiment: other\nmetrics: {lag: {max: v, of: a}}\nlimits: [{hold: lag <= 2}, {expect: "
        "sensor_cpu <= 5 %}]\nnodes: {unread: 7}\n",
                      wrong[] = "metrics: {lag: {max: v}}\n";
    struct experiment *e =
        read_good("metrics: {fps: {rate: frame}, all: {rate: frame, per: node}}\nlimits: [{hold: fps >= 29}]\n"
                  "adapt: {knobs: [{knob: q, serves: fps, helps: less}]}\n");
    assert_int_equal(experiment_read_judged(other, sizeof other - 1, e, &found), 0);
    experiment_diagnostics_free(&found);
    assert_string_equal(e->name, "x");
    assert_int_equal(e->metric_count, 1);
    assert_int_equal(e->limit_count, 2);
    assert_string_equal(e->metrics[0].name, "lag");
    assert_int_equal(e->limits[1].metric, LIMIT_ON_SENSOR_CPU);
    assert_int_equal(e->adapt.knob_count, 0);
    assert_int_equal(e->adapt.policy, POLICY_NONE);
    assert_int_equal(experiment_read_judged(wrong, sizeof wrong - 1, e, &found), BEZEL_EMALFORMED);
    assert_int_equal(found.errors, 1);
    experiment_diagnostics_free(&found);
    experiment_free(e);
}

TEST(a_metric_of_two_has_their_unit_window_and_place)
{
    struct experiment *e =
        read_good("metrics:\n  sensor_cpu: {window: 5 s}\n  m: {difference: [a, b]}\n  n: {ratio: [b, a]}\n"
                  "  a: {max: f, of: x, per: node, window: 2 s}\n  b: {max: f, of: y, per: node}\n"
                  "limits: [{expect: m <= 5 ms}, {expect: n <= 0.5}, {expect: sensor_cpu <= 5 %}]\n");
    const struct experiment_metric *m = &e->metrics[0];
    assert_string_equal(m->name, "m");
    assert_int_equal(m->kind, METRIC_DIFFERENCE);
    assert_int_equal(experiment_metric_operand(e, m, 0), 2);
    assert_int_equal(experiment_metric_operand(e, m, 1), 3);
    assert_int_equal(experiment_metric_operand(e, &e->metrics[2], 0), -1);
    assert_true(m->window == 2 * CLOCK_S && !m->per_process && m->in_time && !m->aspect);
    assert_true(e->metrics[2].in_time && e->metrics[3].in_time && !e->metrics[1].in_time);
    assert_int_equal(e->limits[0].unit, UNIT_DURATION);
    assert_int_equal(e->limits[1].unit, UNIT_NUMBER);
    assert_int_equal(e->limits[1].metric, 1);
    experiment_free(e);
    e = read_good("metrics: {m: {difference: [a, a]}, a: {rate: b}}\nlimits: [{expect: m <= 5 /s}]\n");
    assert_int_equal(e->limits[0].unit, UNIT_PER_SECOND);
    experiment_free(e);
}

TEST(a_limit_on_an_interval_is_global_and_has_a_manager)
{
    struct experiment *e = read_good("metrics: {e2e: {interval: [frame_captured, frame_shown], match: frame, quantile: "
                                     "99 %, window: 5 s}}\nlimits: [{hold: e2e <= 80 ms}]\n");
    const struct experiment_metric *m = &e->metrics[0];
    assert_int_equal(m->kind, METRIC_INTERVAL);
    assert_int_equal(m->interval.statistic, METRIC_QUANTILE);
    assert_true(m->share == 0.99 && m->in_time && !m->per_process && !m->interval.by_end);
    assert_int_equal(m->interval.memory, EXPERIMENT_MATCH_MEMORY);
    assert_string_equal(m->interval.match, "frame");
    assert_true(experiment_metric_is_of(m, "frame_shown") && !experiment_metric_is_of(m, "frame"));
    assert_null(experiment_metric_aspect(m, 2));
    assert_true(e->limits[0].global && experiment_has_manager(e) && experiment_is_managed(e));
    assert_true(e->limits[0].tolerance == 0.01);
    experiment_free(e);
    e = read_good("metrics: {m: {interval: [b, a of client, 'a of relay-*'], match: f, max: yes}}\n");
    assert_true(!e->metrics[0].interval.processes[0]);
    assert_string_equal(e->metrics[0].interval.aspects[2], "a");
    assert_string_equal(e->metrics[0].interval.processes[1], "client");
    assert_string_equal(e->metrics[0].interval.processes[2], "relay-*");
    experiment_free(e);
    e = read_good("metrics: {m: {interval: [a, b], match: messages, max: yes, per: node}}\n");
    assert_true(!e->metrics[0].interval.match && e->metrics[0].interval.by_end && !e->metrics[0].per_process);
    assert_true(experiment_default_tolerance(e, &(struct experiment_limit){.metric = 0}) == 0);
    assert_true(!experiment_has_manager(e));
    experiment_free(e);
}

TEST(what_may_not_happen_once_has_no_tolerance)
{
    static const struct {
        const char *metric, *limit;
        double tolerance;
    } cases[] = {{"count: a", "m <= 0", 0},
                 {"count: a, where: b > 1", "m <= 0", 0},
                 {"count: a", "m <= 1", 0.01},
                 {"count: a", "m >= 0", 0.01},
                 {"rate: a", "m <= 0", 0},
                 {"percent: a, where: b > 1", "m <= 0 %", 0},
                 {"percent: a, where: b > 1", "m <= 1 %", 0.01},
                 {"mean: b, of: a", "m <= 0", 0.01},
                 {"max: b, of: a", "m <= 5", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "metrics: {m: {%s}}\nlimits: [{expect: %s}]\n", cases[i].metric, cases[i].limit);
        struct experiment *e = read_good(text);
        if (e->limits[0].tolerance != cases[i].tolerance)
            fail_msg("%s: %g", text, e->limits[0].tolerance);
        experiment_free(e);
    }
}
