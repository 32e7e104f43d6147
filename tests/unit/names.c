// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Names of the file that nothing in the run has: which one is told, with which sentence, and when none is. */
#include "run/verdict/names.h"
#include "tests/lib/test.h"
#include <string.h>

enum { PROCESSES = 3 };

static struct summary summary;
static struct summary_process processes[PROCESSES];
static struct summary_book books[2];
static struct builtin_knob declared[1];

static struct dict *dictionary(const struct dict_aspect *a, uint32_t count)
{
    static uint8_t bytes[4096];
    struct dict *d;
    int n = 0;
    for (uint32_t i = 0; i < count; i++)
        n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &a[i]);
    assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
    return d;
}

/* Two programs and the monitor, which samples; the second program has the aspect of the first without its field. */
static int begin(void **state)
{
    (void)state;
    static const struct dict_aspect client[] = {{1,
                                                 DICT_EVENT,
                                                 "temperature",
                                                 4,
                                                 {{DICT_FLOAT64, "value", "degC", ""},
                                                  {DICT_STRING, "place", "1", ""},
                                                  {DICT_STRING, "depth", "1", ""},
                                                  {DICT_ENUM, "state", "1", "solid|fluid|gas"}}},
                                                {2, DICT_EVENT, "shown", 1, {{DICT_INT64, "latency", "us", ""}}}};
    static const struct dict_aspect server[] = {
        {1, DICT_EVENT, "temperature", 2, {{DICT_INT64, "count", "1", ""}, {DICT_INT64, "depth", "1", ""}}},
    };
    struct dict_aspect monitor[2] = {builtin_aspects[BUILTIN_KNOB],
                                     {2, DICT_EVENT, "node_cpu", 1, {{DICT_FLOAT64, "user", "%", ""}}}};
    monitor[0].id = 1;
    books[0] = (struct summary_book){.aspect = 1, .name = "temperature", .attempts = 5, .stored = 5};
    books[1] = (struct summary_book){.aspect = 2, .name = "shown"};
    processes[0] = (struct summary_process){.name = "client",
                                            .role = ROLE_SUT,
                                            .state = PROCESS_ENDED,
                                            .dict = dictionary(client, 2),
                                            .books = books,
                                            .book_count = 2};
    processes[1] = (struct summary_process){
        .name = "server", .role = ROLE_SUT, .state = PROCESS_ENDED, .dict = dictionary(server, 1)};
    processes[2] = (struct summary_process){.name = "bezeld", .role = ROLE_DAEMON, .dict = dictionary(monitor, 2)};
    declared[0] = (struct builtin_knob){.process = "client", .knob = "quality"};
    summary =
        (struct summary){.processes = processes, .process_count = PROCESSES, .declared = declared, .declared_count = 1};
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROCESSES; i++)
        dict_free(processes[i].dict);
    return 0;
}

/* The sentence about a metric of `field` (NULL: a rate) of `aspect`; "": it is right. */
static const char *metric_where(const char *aspect, const char *field, bool in_time, const char *where)
{
    static struct names_found found;
    char names[2][32];
    struct experiment_metric m = {.name = NULL, .kind = field ? METRIC_MAX : METRIC_RATE, .in_time = in_time};
    snprintf(names[0], sizeof names[0], "%s", aspect ? aspect : "");
    snprintf(names[1], sizeof names[1], "%s", field ? field : "");
    m.aspect = aspect ? names[0] : NULL;
    m.field = field ? names[1] : NULL;
    char condition[64];
    snprintf(condition, sizeof condition, "%s", where ? where : "");
    m.where = where ? condition : NULL;
    struct experiment e = {.metrics = &m, .metric_count = 1};
    return names_metric(&summary, &e, 0, &found) ? found.text : "";
}

static const char *metric(const char *aspect, const char *field, bool in_time)
{
    return metric_where(aspect, field, in_time, NULL);
}

TEST_WITH(begin, end, what_a_condition_lacks_is_told_with_the_nearest)
{
    assert_string_equal(metric_where("temperature", NULL, false, "value > 90"), "");
    assert_string_equal(metric_where("temperature", NULL, false, "count != 0"), "");
    assert_string_equal(metric_where("temperature", NULL, false, "valeu > 90"),
                        "aspect \"temperature\" of client has no field \"valeu\"; the nearest is \"value\"");
    assert_string_equal(metric_where("temperature", NULL, false, "place = here"), "");
    assert_string_equal(metric_where("temperature", NULL, false, "place > 5"),
                        "field \"place\" of aspect \"temperature\" of client is a text, which = and != alone compare, "
                        "so 'where: place > 5' cannot be tested");
    assert_string_equal(metric_where("temperature", "value", false, "value > 5 ms"),
                        "field \"value\" of aspect \"temperature\" of client is a number without such a unit, so "
                        "'where: value > 5 ms' cannot be tested");
    assert_string_equal(metric_where("temperature", NULL, false, "state != gas"), "");
    assert_string_equal(metric_where("temperature", NULL, false, "state = 7"), "");
    assert_string_equal(metric_where("temperature", NULL, false, "state = fliud"),
                        "field \"state\" of aspect \"temperature\" has no label \"fliud\"; the nearest is \"fluid\"");
    assert_string_equal(metric_where("temperature", NULL, false, "state != plasma"),
                        "field \"state\" of aspect \"temperature\" has no label \"plasma\"; there is \"solid\", "
                        "\"fluid\", \"gas\"");
}

/* The same of an interval from `from` to `to` of process `of` (NULL: of any). */
static const char *interval(char *from, char *to, char *of, char *match)
{
    static struct names_found found;
    char *aspects[] = {from, to, NULL};
    struct experiment_metric m = {
        .kind = METRIC_INTERVAL, .interval = {.aspects = aspects, .processes = {NULL, of}, .count = 2, .match = match}};
    struct experiment e = {.metrics = &m, .metric_count = 1};
    return names_metric(&summary, &e, 0, &found) ? found.text : "";
}

TEST_WITH(begin, end, what_an_interval_lacks_is_told)
{
    static char temperature[] = "temperature", shown[] = "shown", melted[] = "melted", server[] = "server",
                client[] = "client", value[] = "value", latency[] = "latency", count[] = "count", wrong[] = "valeu",
                depth[] = "depth";
    assert_string_equal(interval(melted, shown, NULL, latency),
                        "no process has an aspect \"melted\"; there is \"temperature\", \"shown\"");
    assert_string_equal(interval(shown, temperature, server, count),
                        "aspect \"shown\" of client has no field \"count\", by which records match");
    assert_string_equal(interval(temperature, shown, NULL, wrong),
                        "aspect \"temperature\" of client has no field \"valeu\", by which records match");
    assert_string_equal(interval(temperature, shown, server, latency),
                        "aspect \"temperature\" of client has no field \"latency\", by which records match");
    assert_string_equal(interval(temperature, shown, client, NULL),
                        "aspect \"temperature\" of client is not of sendings of messages");
    assert_string_equal(interval(temperature, shown, client, depth),
                        "field \"depth\" of aspect \"temperature\" of server is a whole number, and that of aspects "
                        "before it is a text or an enum: they never match");
    assert_string_equal(interval(temperature, shown, client, value),
                        "aspect \"temperature\" of server has no field \"value\", by which records match");
}

TEST_WITH(begin, end, what_a_metric_lacks_is_told_with_the_nearest)
{
    assert_string_equal(metric("temperature", "value", false), "");
    assert_string_equal(metric("temperature", "count", false),
                        "no process has made a record of aspect \"temperature\", which has field \"count\"");
    assert_string_equal(metric("temperature", NULL, false), "");
    assert_string_equal(metric("shown", NULL, false), "");
    assert_string_equal(metric(NULL, NULL, false), "");
    assert_string_equal(metric("node_cpu", "user", false),
                        "no process has made a record of aspect \"node_cpu\", which has field \"user\"");
    assert_string_equal(metric("shown", "latency", true),
                        "no process has made a record of aspect \"shown\", which has field \"latency\"");
    assert_string_equal(metric("temprature", "value", false),
                        "no process has an aspect \"temprature\"; the nearest is \"temperature\" of client");
    assert_string_equal(metric("node_cup", NULL, false),
                        "no process has an aspect \"node_cup\"; the nearest is \"node_cpu\" of bezeld");
    assert_string_equal(metric("frames", NULL, false),
                        "no process has an aspect \"frames\"; there is \"temperature\", \"shown\"");
    assert_string_equal(metric("bezel_knob", NULL, false),
                        "no process has an aspect \"bezel_knob\"; there is \"temperature\", \"shown\"");
    assert_string_equal(metric("temperature", "valeu", false),
                        "aspect \"temperature\" of client has no field \"valeu\"; the nearest is \"value\"");
    assert_string_equal(metric("shown", "x", false),
                        "aspect \"shown\" of client has no field \"x\"; there is \"latency\"");
    assert_string_equal(metric("temperature", "place", false),
                        "field \"place\" of aspect \"temperature\" of client is a text, and no number");
    assert_string_equal(
        metric("temperature", "value", true),
        "field \"value\" of aspect \"temperature\" of client has the unit degC, and the bound is a time: "
        "write it as a plain number");
    assert_string_equal(metric("temperature", "count", true),
                        "field \"count\" of aspect \"temperature\" of server has no unit, and the bound is a time: "
                        "write it as a plain number");
}

TEST_WITH(begin, end, a_process_that_was_not_observed_may_have_the_name)
{
    processes[0].unobserved = 1;
    assert_string_equal(
        metric("temprature", "value", false),
        "no process that was observed has an aspect \"temprature\"; the nearest is \"temperature\" of client");
}

TEST_WITH(begin, end, nothing_is_told_before_all_is_known)
{
    struct dict *kept = processes[1].dict;
    processes[1].dict = NULL;
    assert_string_equal(metric("temprature", "value", false), "");
    processes[1].dict = kept;
    processes[1].state = PROCESS_RUNNING; /* its last counters did not come: it may have recorded since */
    assert_string_equal(metric("temperature", "count", false), "");
    processes[1].state = PROCESS_ENDED;
    processes[0].role = processes[1].role = ROLE_DAEMON; /* no program has recorded */
    assert_string_equal(
        metric("temprature", "value", false),
        "no program that records was observed, and nothing else made a record of aspect \"temprature\"");
}

/* The sentence about a knob of `process` (-1: of any). */
static const char *knob(const char *name, int process)
{
    static struct names_found found;
    char client[] = "client", server[] = "server", text[32];
    struct experiment_knob k = {.name = text, .process = process};
    struct experiment_process p[] = {{.name = client, .instances = 1}, {.name = server, .instances = 1}};
    struct experiment e = {.adapt = {.knobs = &k, .knob_count = 1}, .processes = p, .process_count = 2};
    snprintf(text, sizeof text, "%s", name);
    return names_knob(&summary, &e, 0, &found) ? found.text : "";
}

TEST_WITH(begin, end, a_knob_that_nobody_has_is_told)
{
    assert_string_equal(knob("quality", -1), "");
    assert_string_equal(knob("quality", 0), "");
    assert_string_equal(knob("qualty", -1),
                        "no process was found to have a knob \"qualty\"; the nearest is \"quality\" of client");
    assert_string_equal(
        knob("quality", 1),
        "process server was not found to have a knob \"quality\"; the nearest is \"quality\" of client");
    summary.declared_count = 0;
    assert_string_equal(knob("quality", -1), "no process was found to have a knob \"quality\"");
    summary.process_count = 2; /* an earlier monitor did not record which knobs there are */
    assert_string_equal(knob("quality", -1), "");
}

static void note(void *context, const char *what, const struct names_found *found)
{
    snprintf((char *)context + strlen(context), 1024 - strlen(context), "%s: %s\n", what, found->text);
}

TEST_WITH(begin, end, an_aspect_that_sensing_names_is_told_where_a_similar_one_is_there)
{
    char right[] = "shown", wrong[] = "shwon", other[] = "frames", glob[] = "shwo*", told[1024] = "";
    char *off[] = {right, wrong, other, glob, NULL};
    struct experiment_rule importance[] = {{wrong, 5}, {right, 3}, {NULL, 0}};
    struct experiment e = {.sensing = {.off = off, .importance = importance}};
    assert_int_equal(names_each(&summary, &e, false, note, told), 2);
    assert_string_equal(told,
                        "sensing.aspects.off shwon: no process has an aspect \"shwon\"; the nearest is \"shown\" of "
                        "client\nsensing.aspects.importance shwon: no process has an aspect \"shwon\"; the nearest is "
                        "\"shown\" of client\n");
}

/* An action need not be done before somebody learns that nothing has what it sets. */
TEST_WITH(begin, end, what_the_actions_of_a_trigger_name_is_told)
{
    char when[] = "any shown", aspect[] = "shown", knob[] = "quality", wrong[] = "qualty", shwon[] = "shwon",
         told[1024] = "";
    struct experiment_rule modes[] = {{shwon, 1}, {aspect, 1}, {NULL, 0}};
    struct experiment_action actions[] = {{.act = ACT_KNOB, .knob = knob, .process = -1},
                                          {.act = ACT_KNOB, .knob = wrong, .process = -1},
                                          {.act = ACT_ASPECTS, .modes = modes},
                                          {.act = ACT_STOP, .stop = true}};
    struct experiment_trigger t = {.when = when, .first = {.aspect = aspect}, .action_count = 4, .actions = actions};
    struct experiment e = {.triggers = &t, .trigger_count = 1};
    assert_int_equal(names_each(&summary, &e, false, note, told), 2);
    assert_string_equal(
        told,
        "trigger any shown: no process was found to have a knob \"qualty\"; the nearest is \"quality\" of client\n"
        "trigger any shown: no process has an aspect \"shwon\"; the nearest is \"shown\" of client\n");
}
