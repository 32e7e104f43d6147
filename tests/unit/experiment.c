// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/experiments.h"
#include "tests/lib/test.h"

#include <fnmatch.h>

static struct experiment_diagnostics found;

static struct experiment *read_good(const char *text)
{
    struct experiment *e = NULL;
    if (experiment_read(text, strlen(text), &e, &found) != 0)
        fail_msg("%u:%u: %s: %s", found.list[0].at.line, found.list[0].at.column, found.list[0].path,
                 found.list[0].sentence);
    return e;
}

static void done(struct experiment *e)
{
    experiment_diagnostics_free(&found);
    experiment_free(e);
}

/* Reads a wrong text, whose only finding must be at line:column and contain `part`. */
static void expect_error(const char *text, uint32_t line, uint32_t column, const char *part)
{
    struct experiment *e = NULL;
    assert_int_equal(experiment_read(text, strlen(text), &e, &found), BEZEL_EMALFORMED);
    assert_null(e);
    assert_int_equal(found.count, 1);
    if (found.list[0].at.line != line || found.list[0].at.column != column || !strstr(found.list[0].sentence, part))
        fail_msg("%u:%u: %s", found.list[0].at.line, found.list[0].at.column, found.list[0].sentence);
    experiment_diagnostics_free(&found);
}

TEST(two_lines_are_an_experiment)
{
    struct experiment *e = read_good("experiment: hello\ncommand: ./my-app --fast\n");
    assert_int_equal(found.count, 0);
    assert_string_equal(e->name, "hello");
    assert_int_equal(e->duration, 0);
    assert_int_equal(e->grace, 2 * CLOCK_S);
    assert_int_equal(e->node_count, 1);
    assert_string_equal(e->nodes[0].name, "local");
    assert_null(e->nodes[0].dir);
    assert_int_equal(e->nodes[0].at.line, 0);
    assert_int_equal(e->process_count, 1);
    const struct experiment_process *p = &e->processes[0];
    assert_string_equal(p->name, "my-app");
    assert_int_equal(p->node, 0);
    assert_string_equal(p->argv[0], "./my-app");
    assert_string_equal(p->argv[1], "--fast");
    assert_null(p->argv[2]);
    assert_null(p->attach);
    assert_null(p->directory);
    assert_null(p->environment);
    assert_int_equal(p->instances, 1);
    assert_int_equal(p->output, OUTPUT_FILE);
    assert_int_equal(p->at.line, 2);
    assert_int_equal(e->sensing.ring_records, 4096);
    assert_int_equal(e->sensing.ring_threads, 128);
    assert_int_equal(e->sensing.mode, POLL_POLLING);
    assert_int_equal(e->sensing.period, CLOCK_MS);
    assert_int_equal(e->sensing.forward, FORWARD_BATCH);
    assert_int_equal(e->sensing.window_bytes, 16 << 20);
    assert_int_equal(e->metric_count + e->limit_count, 0);
    assert_int_equal(e->adapt.policy, POLICY_NONE);
    assert_int_equal(e->adapt.every, 100 * CLOCK_MS);
    assert_int_equal(e->adapt.period_min, CLOCK_US);
    assert_int_equal(e->adapt.period_max, CLOCK_S);
    assert_null(e->store.listen);
    assert_int_equal(e->store.sync, EXPERIMENT_SYNC_NEVER);
    assert_int_equal(e->order.buffers, ORDER_MISO);
    assert_int_equal(e->order.memory, 64 << 20);
    assert_int_equal(e->order.wait, 5 * CLOCK_S);
    done(e);
}

static void check_full_processes(const struct experiment *e)
{
    static const char *const server[] = {"videoconf-server", "--fps", "30", NULL};
    static const char *const client[] = {"videoconf-client", "--title", "the client", "--note", "it's mine", NULL};
    static const char *const environment[] = {"LANG=C", "EMPTY=", "NOTE=two\nlines, a \"quote\" and a \\", NULL};
    const struct experiment_process *p = e->processes;
    assert_int_equal(e->process_count, 3);
    assert_string_equal(p[0].name, "server");
    assert_int_equal(p[0].node, 0);
    assert_true(experiments_same_vector(p[0].argv, (char *const *)server));
    assert_int_equal(p[0].at.line, 8);
    assert_int_equal(p[0].at.column, 5);
    assert_int_equal(p[1].node, 1);
    assert_int_equal(p[1].instances, 8);
    assert_true(experiments_same_vector(p[1].argv, (char *const *)client));
    assert_true(experiments_same_vector(p[1].environment, (char *const *)environment));
    assert_string_equal(p[1].directory, "/tmp");
    assert_int_equal(p[1].output, OUTPUT_NONE);
    assert_string_equal(p[2].attach, "/opt/robot/bin/nav*");
    assert_null(p[2].argv);
}

static void check_full_limits(const struct experiment *e)
{
    const struct experiment_limit *l = e->limits;
    assert_int_equal(e->limit_count, 3);
    assert_int_equal(l[0].kind, LIMIT_HOLD);
    assert_int_equal(l[0].metric, 0);
    assert_int_equal(l[0].compare, COMPARE_AT_LEAST);
    assert_true(l[0].bound == 29);
    assert_int_equal(l[0].persistence, 500 * CLOCK_MS);
    assert_true(l[0].tolerance == 0.01);
    assert_string_equal(l[0].text, "fps >= 29");
    assert_int_equal(l[1].metric, LIMIT_ON_SENSOR_CPU);
    assert_int_equal(l[1].compare, COMPARE_AT_MOST);
    assert_true(l[1].bound == 10);
    assert_int_equal(l[2].kind, LIMIT_EXPECT);
    assert_int_equal(l[2].metric, 1);
    assert_true(l[2].bound == 80.5);
    assert_true(l[2].tolerance == 0.125);
}

TEST(the_full_file_sets_every_key)
{
    char *text;
    size_t n;
    assert_int_equal(file_read("tests/golden/experiments/full.yaml", EXPERIMENT_FILE_MAX, &text, &n), 0);
    struct experiment *e = read_good(text);
    free(text);
    assert_int_equal(found.count, 0);
    assert_string_equal(e->name, "video-conference");
    assert_int_equal(e->duration, 100 * CLOCK_S);
    assert_int_equal(e->grace, 500 * CLOCK_MS);
    assert_int_equal(e->node_count, 2);
    assert_string_equal(e->nodes[0].name, "studio");
    assert_string_equal(e->nodes[1].name, "desk1");
    assert_string_equal(e->nodes[1].dir, "/dev/shm/desk1");
    check_full_processes(e);
    assert_int_equal(e->sensing.ring_records, 4096); /* not said: what is attached to has its own */
    assert_int_equal(e->sensing.period, 500 * CLOCK_US);
    assert_int_equal(e->sensing.forward, FORWARD_BATCH);
    assert_int_equal(e->sensing.batch, 256);
    assert_int_equal(e->sensing.when_full, WHEN_FULL_DISCARD);
    assert_int_equal(e->sensing.window_bytes, 32 << 20);
    assert_string_equal(e->sensing.count[1], "*_[0-9]");
    assert_null(e->sensing.count[2]);
    assert_string_equal(e->sensing.off[0], "debug_*");
    assert_string_equal(e->sensing.expire[0].pattern, "frame_shown");
    assert_int_equal(e->sensing.expire[0].value, 100 * CLOCK_MS);
    assert_string_equal(e->sensing.expire[1].pattern, "nav_*");
    assert_null(e->sensing.expire[2].pattern);
    assert_int_equal(e->metric_count, 2);
    assert_string_equal(e->metrics[0].aspect, "frame_shown");
    assert_int_equal(e->metrics[0].window, 200 * CLOCK_MS);
    assert_true(e->metrics[0].per_process);
    assert_string_equal(e->metrics[1].aspect, "video:frame.shown");
    assert_false(e->metrics[1].per_process);
    assert_int_equal(e->sensor_cpu_window, 500 * CLOCK_MS);
    check_full_limits(e);
    assert_int_equal(e->adapt.policy, POLICY_DPP);
    assert_int_equal(e->adapt.period_min, 100 * CLOCK_US);
    assert_int_equal(e->adapt.period_max, 50 * CLOCK_MS);
    assert_int_equal(e->adapt.at.line, 30);
    assert_string_equal(e->store.listen, "tcp://127.0.0.1:*");
    assert_int_equal(e->store.sync, 0);
    assert_int_equal(e->order.buffers, ORDER_SISO);
    assert_int_equal(e->order.memory, 16 << 20);
    assert_int_equal(e->order.wait, 2 * CLOCK_S);
    done(e);
}

/* Ring keys apply to started processes only; a printed default draws no warning. */
TEST(rings_are_of_the_processes_that_are_started)
{
    struct experiment *e = read_good("experiment: x\nprocesses: [{name: a, command: a}, {name: b, attach: b}]\n"
                                     "sensing: {ring: {records: 8192, threads: 1024, when-full: overwrite}}\n");
    assert_int_equal(e->sensing.ring_records, 8192);
    assert_int_equal(e->sensing.ring_threads, 1024);
    assert_int_equal(e->sensing.when_full, WHEN_FULL_OVERWRITE);
    assert_true(experiment_starts(e) && experiment_attaches(e));
    assert_int_equal(found.count, 3);
    done(e);
    for (int set = 0; set < 8; set++) {
        char text[256];
        snprintf(text, sizeof text,
                 "experiment: x\nprocesses: [{name: b, attach: b}]\n"
                 "sensing: {ring: {records: %d, threads: %d, when-full: %s}}\n",
                 set & 1 ? 64 : 4096, set & 2 ? 1 : 128, set & 4 ? "overwrite" : "discard");
        e = read_good(text);
        assert_int_equal(found.count, 3);
        assert_false(experiment_starts(e));
        done(e);
        assert_true(experiments_require_invariants(text, strlen(text)));
    }
}

TEST(a_pattern_can_match_a_name)
{
    static const char *const good[] = {"*", "a", "?x.y:z_0", "[a-z]", "[!a-z0-9_]*", "a[-]b", "**"};
    static const char *const bad[] = {"",   " ",     "a b",   "[",    "[]",  "[!]", "a]",
                                      "[a", "[a[b]", "[z-a]", "a\\*", "a/b", "{a}", "\xc3\xa4"};
    char longest[EXPERIMENT_NAME_MAX + 2];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(experiment_pattern_ok(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(experiment_pattern_ok(bad[i]));
    memset(longest, 'a', sizeof longest);
    longest[EXPERIMENT_NAME_MAX + 1] = '\0';
    assert_false(experiment_pattern_ok(longest));
    longest[EXPERIMENT_NAME_MAX] = '\0';
    assert_true(experiment_pattern_ok(longest));
}

/* The error names the bound of the system, for texts of any length. */
TEST(texts_too_long_for_the_system_are_refused_with_the_bound)
{
    static const struct {
        const char *before, *part, *behind;
        size_t times;
        const char *path, *sentence;
    } cases[] = {{"command: ", "/bb", "", 1700, "command", "is a path of 5100 bytes; allowed: up to 4095"},
                 {"command: [app, ", "bbbbbbbb", "]", 16384, "command[1]",
                  "is an argument of 131072 bytes; allowed: up to 131071"},
                 {"processes: [{name: a, command: app, environment: {A: ", "bbbbbbbb", "}}]", 16384,
                  "processes[0].environment.A", "has 131074 bytes with its name; allowed: up to 131071"},
                 {"processes: [{name: a, command: app, directory: ", "bbbbb", "}]", 1000, "processes[0].directory",
                  "is a path of 5000 bytes; allowed: up to 4095"},
                 {"processes: [{name: a, attach: ", "a", "}]", 5000, "processes[0].attach",
                  "is a glob of 5000 bytes; allowed: up to 4095"},
                 {"command: app\nstore: {keys: ", "/bb", "}", 1700, "store.keys",
                  "is a path of 5100 bytes; allowed: up to 4027"},
                 {"command: app\nnodes: {a: {dir: ", "/bb", "}}", 1700, "nodes.a.dir", "of at most 72 bytes"},
                 {"command: app\nsensing: {spool: {size: 1 GiB, dir: ", "/bb", "}}", 1700, "sensing.spool.dir",
                  "of at most 1000 bytes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t n;
        struct experiment *e = NULL;
        FILE *out = open_memstream(&text, &n);
        assert_non_null(out);
        fprintf(out, "experiment: x\n%s", cases[i].before);
        for (size_t k = 0; k < cases[i].times; k++)
            fputs(cases[i].part, out);
        fprintf(out, "%s\n", cases[i].behind);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(experiment_read(text, n, &e, &found), BEZEL_EMALFORMED);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.list[0].path, cases[i].path);
        assert_non_null(strstr(found.list[0].sentence, cases[i].sentence));
        experiment_diagnostics_free(&found);
        free(text);
    }
}

/* A name of the longest length is one; one character more is none, not one that nobody knows. */
TEST(the_metric_of_a_limit_has_a_name_of_at_most_so_many_characters)
{
    char name[EXPERIMENT_NAME_MAX + 2], text[512];
    memset(name, 'm', sizeof name);
    name[EXPERIMENT_NAME_MAX + 1] = '\0';
    for (int longer = 0; longer < 2; longer++) {
        struct experiment *e = NULL;
        const char *in_limit = name + !longer;
        int n = snprintf(text, sizeof text,
                         "experiment: x\ncommand: app\nmetrics: {%s: {rate: a}}\nlimits: [{expect: %s >= 1}]\n",
                         name + 1, in_limit);
        assert_int_equal(experiment_read(text, (size_t)n, &e, &found), longer ? BEZEL_EMALFORMED : 0);
        if (longer) {
            assert_int_equal(found.count, 1);
            assert_non_null(strstr(found.list[0].sentence, "is not a limit"));
        } else
            assert_string_equal(e->metrics[e->limits[0].metric].name, in_limit);
        experiment_free(e);
        experiment_diagnostics_free(&found);
    }
}

/* The bezeld of each node counts as a process. */
TEST(more_processes_than_the_store_accepts_are_refused)
{
    for (int limit = 9; limit <= 10; limit++) {
        char text[256];
        struct experiment *e = NULL;
        snprintf(text, sizeof text,
                 "experiment: x\nnodes: {a: {}, b: {}}\nprocesses: [{name: p, node: a, command: p, instances: 8}, "
                 "{name: q, node: b, attach: q}]\nstore: {limits: {processes: %d}}\n",
                 limit);
        int err = experiment_read(text, strlen(text), &e, &found);
        assert_int_equal(err, limit == 10 ? 0 : BEZEL_EMALFORMED);
        assert_int_equal(found.count, limit == 10 ? 0 : 1);
        done(e);
    }
    char *text = NULL;
    size_t n;
    struct experiment *e = NULL;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    fputs("experiment: x\nprocesses:\n", out);
    for (int i = 0; i < EXPERIMENT_PROCESSES_MAX; i++)
        fprintf(out, "  - {name: p%d, command: p, instances: %d}\n", i, EXPERIMENT_INSTANCES_MAX);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(experiment_read(text, n, &e, &found), BEZEL_EMALFORMED);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.list[0].path, "processes");
    assert_non_null(strstr(found.list[0].sentence, "65536 started processes and one bezeld per node (1) are more "
                                                   "than store.limits.processes, 65536"));
    experiment_diagnostics_free(&found);
    free(text);
}

static void is_glob(const char *glob, bool good)
{
    char text[256];
    struct experiment *e = NULL;
    snprintf(text, sizeof text, "experiment: x\nprocesses: [{name: a, attach: '%s'}]\n", glob);
    if (experiment_read(text, strlen(text), &e, &found) != (good ? 0 : BEZEL_EMALFORMED))
        fail_msg("%s: %zu findings", glob, found.count);
    experiment_free(e);
    experiment_diagnostics_free(&found);
}

/* fnmatch() decides: an accepted glob matches the text beside it, a refused one at most itself. */
TEST(globs_that_match_nothing_are_refused)
{
    static const char *const good[][2] = {
        {"nav", "nav"},           {"*", "anything"},      {"n?v", "nav"},   {"[a-c]x", "bx"},       {"[!a-c]x", "dx"},
        {"[^a-c]x", "dx"},        {"[]x]", "]"},          {"[!]]", "a"},    {"[a-]", "-"},          {"[-a]", "-"},
        {"[[]a", "[a"},           {"[[:digit:]]*", "7x"}, {"a\\*b", "a*b"}, {"[\\]]", "]"},         {"[a-a]", "a"},
        {"/opt/*/n", "/opt/x/n"}, {"[a\\-z]", "-"},       {"x]", "x]"},     {"[[:alpha:]0-9]", "5"}};
    static const char *const bad[] = {"[a-", "[",     "[]",    "[!]",   "[^]",         "nav[z-a]", "[9-0a]",
                                      "a\\", "[a\\]", "[[:x]", "[a-\\", "x[[:digit:]", "[!",       "[a"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        is_glob(good[i][0], true);
        if (fnmatch(good[i][0], good[i][1], 0) != 0)
            fail_msg("%s does not match %s", good[i][0], good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        is_glob(bad[i], false);
}

TEST(a_nodes_folder_is_the_same_however_it_is_written)
{
    struct experiment *e = read_good("experiment: x\ncommand: a\nnodes: {n: {dir: //x/./y//..//z/.}}\n");
    assert_string_equal(e->nodes[0].dir, "/x/y/../z"); /* y may be a link: only the system knows what is above it */
    done(e);
    e = read_good("experiment: x\ncommand: a\nnodes: {n: {dir: /./}}\n");
    assert_string_equal(e->nodes[0].dir, "/");
    done(e);
}

TEST(the_policy_follows_from_the_limits)
{
    static const struct {
        const char *rest;
        enum experiment_policy policy;
    } cases[] = {{"", POLICY_NONE},
                 {"limits: [{expect: sensor_cpu <= 10 %}]", POLICY_NONE},
                 {"limits: [{expect: sensor_cpu <= 10 %}, {hold: sensor_cpu <= 20 %}]", POLICY_ELASTIC},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {every: 1 s}", POLICY_ELASTIC},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {by: manager}", POLICY_ELASTIC},
                 {"limits: [{hold: monitoring_latency <= 20 ms}]", POLICY_ELASTIC},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nsensing: {poll: {mode: busy-wait}}", POLICY_SPP},
                 {"limits: [{expect: sensor_cpu <= 20 %}]\nsensing: {poll: {mode: busy-wait}}", POLICY_NONE},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: spp}", POLICY_SPP},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: none}", POLICY_NONE},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: dpp}", POLICY_DPP},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: dpp-band}", POLICY_DPP_BAND},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: elastic}", POLICY_ELASTIC},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: integral}", POLICY_INTEGRAL},
                 {"limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {policy: aimd}", POLICY_AIMD}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "experiment: x\ncommand: x\n%s\n", cases[i].rest);
        struct experiment *e = read_good(text);
        assert_int_equal(e->adapt.policy, cases[i].policy);
        done(e);
    }
}

/* With a budget as the only limit, the default policy must not poll more often than the file says. */
TEST(a_policy_that_is_not_named_does_not_poll_more_often_than_the_file_says)
{
    static const struct {
        const char *rest;
        int64_t min, max;
    } cases[] = {
        {"adapt: {every: 1 s}", CLOCK_MS, CLOCK_S},
        {"sensing: {poll: {period: 20 ms}}", 20 * CLOCK_MS, CLOCK_S},
        {"sensing: {poll: {period: 5 s}}", 5 * CLOCK_S, 5 * CLOCK_S},
        {"sensing: {poll: {period: 20 ms}}\nadapt: {period: 2 ms .. 1 s}", 2 * CLOCK_MS, CLOCK_S},
        {"sensing: {poll: {period: 20 ms}}\nadapt: {policy: elastic}", CLOCK_US, CLOCK_S},
        {"sensing: {poll: {period: 20 ms}}\nadapt: {max-age: 1 s}", 20 * CLOCK_MS, CLOCK_S / 2},
        {"  - {expect: lost_ratio <= 1 %}", CLOCK_MS, CLOCK_S},
        {"  - {hold: monitoring_latency <= 20 ms}", CLOCK_US, CLOCK_S}, /* which shorter periods help */
        {"sensing: {poll: {mode: busy-wait}}", CLOCK_US, CLOCK_S},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "experiment: x\ncommand: x\nlimits:\n  - {hold: sensor_cpu <= 20 %%}\n%s\n",
                 cases[i].rest);
        struct experiment *e = read_good(text);
        assert_int_equal(e->adapt.period_min, cases[i].min);
        assert_int_equal(e->adapt.period_max, cases[i].max);
        done(e);
    }
}

/* Whether limits `a` and `b` on metrics of one aspect contradict each other; the answer must be the same for both. */
static bool exclude_each_other(const char *a, const char *b)
{
    char text[1024];
    snprintf(text, sizeof text,
             "experiment: x\ncommand: x\nmetrics:\n  each: {rate: work, window: 5 s}\n  all: {rate: work, per: node}\n"
             "  rests: {rate: rest}\n  least: {min: size, of: work}\n  most: {max: size, of: work, per: node}\n"
             "  mean: {mean: size, of: work}\n  half: {quantile: size, of: work, share: 50 %%}\n"
             "  nine: {quantile: size, of: work, share: 90 %%}\n  late: {max: time, of: work}\n"
             "  soon: {min: time, of: work}\n  rest: {max: size, of: rest}\nlimits: [{expect: %s}, {hold: %s}]\n",
             a, b);
    struct experiment *e = read_good(text);
    int first = experiment_limit_contradicts(e, 0), second = experiment_limit_contradicts(e, 1);
    assert_int_equal(first, first < 0 ? -1 : 1);
    assert_int_equal(second, first < 0 ? -1 : 0);
    done(e);
    return first >= 0;
}

TEST(limits_that_no_records_meet_exclude_each_other)
{
    static const struct {
        const char *a, *b;
        bool exclude;
    } cases[] = {
        {"each >= 30", "each <= 29", true},
        {"each >= 30", "each <= 30", false},
        {"each >= 30", "each >= 40", false},
        {"each >= 30", "all <= 29", true},
        {"all >= 30", "each <= 29", false}, /* there may be two processes */
        {"each >= 30", "rests <= 29", false},
        {"least >= 9", "most <= 8", true},
        {"least >= 9", "half <= 8", true},
        {"mean >= 9", "most <= 8", true},
        {"most >= 9", "least <= 8", false},
        {"mean >= 9", "half <= 8", false},
        {"half >= 9", "nine <= 8", true},
        {"nine >= 9", "half <= 8", false},
        {"least >= 9", "rest <= 8", false},
        {"least >= 9", "each <= 8", false},
        {"soon >= 9", "late <= 8", true},
        {"least >= 9", "late <= 8", false},
        {"soon >= 9 s", "late <= 8 ms", true},
        {"soon >= 9", "late <= 8 ns", false}, /* of what unit? */
        {"each >= 30", "sensor_cpu <= 5 %", false},
        {"each >= 30", "all <= 29, per: global", true},
        {"all >= 30, per: global", "each <= 29", false}, /* there may be two nodes */
        {"all >= 30, per: global", "all <= 29", false},
        {"least >= 9", "most <= 8, per: global", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (exclude_each_other(cases[i].a, cases[i].b) != cases[i].exclude)
            fail_msg("%s, %s", cases[i].a, cases[i].b);
}

static void expect_words(const char *command, const char *words)
{
    char text[256], joined[256] = "|";
    snprintf(text, sizeof text, "experiment: x\ncommand: |-\n  %s\n", command);
    struct experiment *e = read_good(text);
    for (char **a = e->processes[0].argv; *a; a++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s|", *a);
    }
    assert_string_equal(joined, words);
    done(e);
}

TEST(commands_are_split_at_blanks)
{
    expect_words("app", "|app|");
    expect_words("app  -a \t b", "|app|-a|b|");
    expect_words("app 'a b' \"c d\"", "|app|a b|c d|");
    expect_words("app 'a'\"b\"c", "|app|abc|");
    expect_words("app '' \"\"", "|app|||");
    expect_words("app --x='$HOME|*' \"it's\"", "|app|--x=$HOME|*|it's|");
    expect_words("app a=b {c} d,e %f @g h~ i#j k!", "|app|a=b|{c}|d,e|%f|@g|h~|i#j|k!|");
}

TEST(what_needs_a_shell_is_refused)
{
    static const char characters[] = "|&;<>()$`\\*?";
    char text[64];
    for (const char *c = characters; *c; c++) {
        snprintf(text, sizeof text, "experiment: x\ncommand: |-\n  app a%cb\n", *c);
        expect_error(text, 2, 10, "shell");
        snprintf(text, sizeof text, "experiment: x\ncommand: |-\n  app 'a%cb'\n", *c);
        done(read_good(text));
        snprintf(text, sizeof text, "experiment: x\ncommand: ['app', 'a%cb']\n", *c);
        done(read_good(text));
    }
    expect_error("experiment: x\ncommand: |-\n  app \"$HOME\"\n", 2, 10, "shell");
    expect_error("experiment: x\ncommand: app ~/x\n", 2, 10, "shell");
    expect_error("experiment: x\ncommand: \"app #x\"\n", 2, 10, "shell");
}

TEST(a_process_is_named_after_its_program)
{
    static const char *const cases[][2] = {{"/usr/bin/app", "app"},
                                           {"./a b", "a_b"},
                                           {".hidden", "_hidden"},
                                           {"bin/-x", "_x"},
                                           {"dir/", "dir_"},
                                           {"f\xc3\xbcr", "f__r"},
                                           {"/opt/x/robot-2.1_b", "robot-2.1_b"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "experiment: x\ncommand: [\"%s\"]\n", cases[i][0]);
        struct experiment *e = read_good(text);
        assert_string_equal(e->processes[0].name, cases[i][1]);
        done(e);
    }
}

TEST(several_instances_are_numbered)
{
    char name[EXPERIMENT_NAME_MAX + 1], p_name[] = "client";
    struct experiment_process p = {.name = p_name, .instances = 1};
    experiment_instance_name(&p, 0, name, sizeof name);
    assert_string_equal(name, "client");
    p.instances = 12;
    experiment_instance_name(&p, 11, name, sizeof name);
    assert_string_equal(name, "client.12");
}

TEST(findings_are_in_the_order_of_the_file)
{
    char *printed;
    size_t n;
    struct experiment_diagnostics own = {0};
    FILE *out = open_memstream(&printed, &n);
    assert_int_equal(experiment_report(&own, false, (struct experiment_place){7, 3}, "b", "no file '%s'", "x\ny"), 0);
    assert_int_equal(experiment_report(&own, true, (struct experiment_place){2, 9}, "a", "doubtful"), 0);
    assert_int_equal(experiment_report(&own, false, (struct experiment_place){7, 3}, "b", "as well"), 0);
    assert_int_equal(experiment_report(&own, false, (struct experiment_place){7, 2}, "b", "before"), 0);
    assert_int_equal(experiment_report(&own, false, (struct experiment_place){0, 0}, "", "everything"), 0);
    assert_int_equal(own.count, 5);
    assert_int_equal(own.errors, 4);
    experiment_print_diagnostics(&own, "x.yaml", out);
    fclose(out);
    assert_string_equal(printed, "x.yaml: everything\n"
                                 "x.yaml:2:9: warning: a: doubtful\n"
                                 "x.yaml:7:2: b: before\n"
                                 "x.yaml:7:3: b: no file 'x?y'\n"
                                 "x.yaml:7:3: b: as well\n");
    free(printed);
    experiment_diagnostics_free(&own);
    assert_int_equal(own.count, 0);
    experiment_diagnostics_free(&own);
}

TEST(a_flood_of_errors_is_counted)
{
    char *text, *printed;
    size_t n, m;
    struct experiment *e = NULL;
    FILE *in = open_memstream(&text, &n), *out = open_memstream(&printed, &m);
    fputs("experiment: x\ncommand: x\n", in);
    for (int i = 0; i < 3000; i++)
        fprintf(in, "key%d: 1\n", i);
    fclose(in);
    assert_int_equal(experiment_read(text, n, &e, &found), BEZEL_EMALFORMED);
    assert_int_equal(found.errors, 3000);
    assert_int_equal(found.count, 1000);
    experiment_print_diagnostics(&found, "x", out);
    fclose(out);
    assert_non_null(strstr(printed, "x: and 2000 more errors\n"));
    free(text);
    free(printed);
    done(e);
}

TEST(what_is_too_large_is_refused)
{
    char *text = malloc(EXPERIMENT_FILE_MAX + 1);
    struct experiment *e = NULL;
    memset(text, '#', EXPERIMENT_FILE_MAX + 1);
    assert_int_equal(experiment_read(text, EXPERIMENT_FILE_MAX + 1, &e, &found), BEZEL_EMALFORMED);
    assert_non_null(strstr(found.list[0].sentence, "larger"));
    done(e);
    memset(text, '[', EXPERIMENT_FILE_MAX); /* answered at once, not after a million levels */
    assert_int_equal(experiment_read(text, EXPERIMENT_FILE_MAX, &e, &found), BEZEL_EMALFORMED);
    assert_non_null(strstr(found.list[0].sentence, "nested"));
    done(e);
    for (size_t i = 0; i < EXPERIMENT_FILE_MAX; i++)
        text[i] = "- \n"[i % 3];
    assert_int_equal(experiment_read(text, EXPERIMENT_FILE_MAX, &e, &found), BEZEL_EMALFORMED);
    assert_non_null(strstr(found.list[0].sentence, "more than 4096 entries"));
    done(e);
    free(text);
}

TEST(entries_beyond_the_maximum_are_refused)
{
    char *text;
    size_t n;
    FILE *in = open_memstream(&text, &n);
    fputs("experiment: x\nprocesses:\n", in);
    for (int i = 0; i < EXPERIMENT_PROCESSES_MAX + 1; i++)
        fprintf(in, "- {name: p%d, command: x}\n", i);
    fclose(in);
    expect_error(text, 3, 1, "has 257 entries; allowed: up to 256");
    free(text);
}

/* Texts with characters that YAML must escape are read back from the output of experiment_print(). */
TEST(odd_texts_survive_printing)
{
    static const char *const texts[] = {
        "plain", "-",       "- x",     "a: b",    "#no comment", "a #b",
        "'",     "\\\"",    "{",       "[a, b]",  "&a",          "*a",
        "!t",    "%",       "@",       "`",       "|",           ">",
        "?",     "? x",     "~",       "null",    " leading",    "trailing ",
        "a  b",  "\\t",     "\\n",     "\\r\\n",  "\\x01",       "\\x7f",
        "\\x85", "\\u2028", "\\u2029", "\\ufeff", "\\ufffe",     "\xc3\xa4\xf0\x9f\x8e\xac",
        "---",   "...",     "010",     "1 ms",    "\\\\",        "x,y",
        "x]",    "=",       "<<"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "experiment: x\nprocesses: [{name: x, command: [\"%s\", \"%s\"], directory: \"%s\", environment: {A: "
                 "\"%s\"}}, "
                 "{name: y, attach: \"*%s*\"}]\n",
                 texts[i], texts[i], texts[i], texts[i], texts[i]);
        if (!experiments_require_invariants(text, strlen(text)))
            fail_msg("refused: %s", text);
    }
}

static void warns_of_cpus(const char *yaml, uint32_t cpus, const char *of)
{
    struct experiment *e;
    struct experiment_diagnostics read, warned = {0};
    assert_int_equal(experiment_read(yaml, strlen(yaml), &e, &read), 0);
    assert_int_equal(experiment_check_cpus(e, cpus, &warned), 0);
    assert_int_equal(warned.count, of != NULL);
    if (of) {
        assert_true(warned.list[0].warning);
        assert_int_equal(warned.list[0].at.line, 3);
        assert_non_null(strstr(warned.list[0].sentence, of));
    }
    experiment_diagnostics_free(&warned);
    experiment_diagnostics_free(&read);
    experiment_free(e);
}

#define BUSY(nodes, keys)                                                                                              \
    "experiment: x\nsensing:\n  real-time: {policy: fifo" keys "}\n  poll: {mode: busy-wait}\nnodes: {" nodes          \
    "}\nprocesses: [{name: x, node: a, command: x}]\n"

TEST(a_placement_that_starves_a_machine_draws_a_warning)
{
    warns_of_cpus(BUSY("a: {}", ", cpu: 1"), 2, NULL);
    warns_of_cpus(BUSY("a: {}", ", cpu: 2"), 2, "CPUs 0 .. 1");
    warns_of_cpus(BUSY("a: {}", ", cpu: 1, io-cpu: [0, 7]"), 2, "CPUs 0 .. 1");
    warns_of_cpus(BUSY("a: {}", ""), 1, "1 node busy-waits");
    warns_of_cpus(BUSY("a: {}, b: {}", ", cpu: 1"), 4, "1 of them");
    warns_of_cpus(BUSY("a: {}, b: {}", ", cpu: [1, 2]"), 4, NULL);
    warns_of_cpus(BUSY("a: {}, b: {}", ", cpu: [0, 1]"), 2,
                  "2 nodes busy-wait in policy fifo, and this machine has 2 CPUs");
    warns_of_cpus("experiment: x\nsensing:\n  real-time: {policy: fifo}\ncommand: x\n", 1, NULL);
    /* Another machine has CPUs of its own. */
    warns_of_cpus("experiment: x\nsensing:\n  real-time: {policy: fifo, cpu: 7}\n  poll: {mode: busy-wait}\n"
                  "nodes: {a: {address: \"tcp://b:7767\"}}\nprocesses: [{name: x, node: a, attach: x}]\n"
                  "store: {keys: k}\n",
                  2, NULL);
    warns_of_cpus("experiment: x\nsensing:\n  real-time: {policy: fifo, cpu: 1}\n  poll: {mode: busy-wait}\n"
                  "nodes: {a: {}, b: {address: \"tcp://b:7767\"}}\nprocesses: [{name: x, node: a, command: x}]\n"
                  "store: {keys: k}\n",
                  2, NULL);
}

/* The file has twice what a message holds; each node is sent its own part. */
TEST(what_one_of_a_thousand_nodes_has_to_know_fits_into_a_message)
{
    char *text = NULL, *part = NULL;
    size_t n = 0, m = 0;
    struct experiment *e = NULL;
    struct experiment_diagnostics none;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    fputs("experiment: many\nnodes:\n", out);
    for (int i = 0; i < EXPERIMENT_NODES_MAX; i++)
        fprintf(out,
                "  machine-%d: {address: \"tcp://machine-%d.plant-with-a-long-name.example.org:7767\", key: k%d}\n", i,
                i, i);
    fputs("processes:\n", out);
    for (int i = 0; i < EXPERIMENT_PROCESSES_MAX; i++)
        fprintf(out, "  - {name: process-%d, node: machine-%d, attach: \"/opt/plant/bin/a-program-%d\"}\n", i, i, i);
    fputs("store: {keys: keys}\n", out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(experiment_read(text, n, &e, &none), 0);
    assert_int_equal(experiment_part_text(e, 7, &part, &m), 0);
    assert_true(n > 61440 && m < 61440);
    assert_non_null(strstr(part, "a-program-7"));
    assert_null(strstr(part, "a-program-8"));
    assert_null(strstr(part, "machine-8.plant"));
    experiment_diagnostics_free(&none);
    experiment_free(e);
    free(text);
    free(part);
}
