// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_filter.h"
#include "base/clock.h"
#include "mdr/parts.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 1, WORK = 2, FRAME = 0, LATENCY = 1, KIND = 2, CODEC = 3, DURATION = 0 };

static struct dict *make_dictionary(void)
{
    static uint8_t bytes[4096];
    struct dict_aspect shown = {.id = SHOWN, .name = "shown", .field_count = 4};
    shown.fields[FRAME] = (struct dict_field){DICT_INT64, "frame", "1", ""};
    shown.fields[LATENCY] = (struct dict_field){DICT_FLOAT64, "latency", "ms", ""};
    shown.fields[KIND] = (struct dict_field){DICT_ENUM, "kind", "", "key|delta"};
    shown.fields[CODEC] = (struct dict_field){DICT_STRING, "codec", "", ""};
    struct dict_aspect work = {.id = WORK, .name = "work", .kind = DICT_SPAN, .field_count = 1};
    work.fields[DURATION] = (struct dict_field){DICT_INT64, "duration", "ns", ""};
    struct dict *d;
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &shown);
    n = dict_append_aspect(bytes, (size_t)n, sizeof bytes, &work);
    n = dict_append_string(bytes, (size_t)n, sizeof bytes, 1, "h264");
    n = dict_append_string(bytes, (size_t)n, sizeof bytes, 2, "5");
    assert_int_equal(dict_parse(bytes, (size_t)n, &d), 0);
    return d;
}

/* Whether a record of `aspect` with `value` in `field` meets the condition. */
static bool meets(const char *condition, uint32_t aspect, uint32_t field, uint64_t value)
{
    struct dict *d = make_dictionary();
    struct record_filter f = RECORD_FILTER_ALL;
    uint8_t bytes[4 * 8] = {0}, wanted[DICT_ASPECTS_MAX + 1];
    const char *why;
    bytes_put_u64(bytes + 8 * (size_t)field, value);
    struct packet_record r = {.aspect = aspect, .value_count = d->field_counts[aspect], .values = bytes};
    if (condition_read(condition, &f.condition, &why) != 0)
        fail_msg("%s: %s", condition, why);
    (void)record_filter_aspects(&f, d, wanted);
    if (wanted[aspect] != RECORD_UNWANTED)
        assert_int_equal(wanted[aspect], RECORD_IF + field);
    bool holds = wanted[aspect] >= RECORD_IF && record_filter_holds(&f.condition, d, &r, field);
    dict_free(d);
    return holds;
}

static bool frame(const char *condition, int64_t value)
{
    return meets(condition, SHOWN, FRAME, (uint64_t)value);
}

static bool latency(const char *condition, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return meets(condition, SHOWN, LATENCY, bits);
}

static bool duration(const char *condition, int64_t value)
{
    return meets(condition, WORK, DURATION, (uint64_t)value);
}

TEST(numbers_are_compared_exactly)
{
    const int64_t large = INT64_C(1) << 60;
    assert_true(frame("frame > 5", 6) && !frame("frame > 5", 5));
    assert_true(frame("frame >= 5", 5) && !frame("frame >= 5", 4));
    assert_true(frame("frame<5", 4) && !frame("frame<5", 5));
    assert_true(frame("  frame\t<=5 ", 5) && !frame("frame <= 5", 6));
    assert_true(frame("frame = -3", -3) && frame("frame == -3", -3) && !frame("frame = -3", 3));
    assert_true(frame("frame != 0", 1) && !frame("frame != 0", 0));
    assert_true(frame("frame < 5.5", 5) && !frame("frame < 5.5", 6));
    assert_true(frame("frame > -2.5", -2) && !frame("frame > -2.5", -3));
    assert_true(!frame("frame = 5.5", 5) && !frame("frame >= 5.5", 5));
    assert_true(frame("frame = 1152921504606846976", large) && !frame("frame = 1152921504606846976", large + 1));
    assert_true(latency("latency >= 0.25", 0.25) && !latency("latency > 0.25", 0.25));
    assert_true(!latency("latency < 1", NAN) && !latency("latency != 1", NAN));
}

TEST(durations_are_compared_in_the_unit_of_the_field)
{
    assert_true(duration("duration > 5 ms", 5000001) && !duration("duration > 5 ms", 5000000));
    assert_true(duration("duration <= 5ms", 5000000));
    assert_true(latency("latency > 5 ms", 5.5) && !latency("latency > 5 ms", 5));
    assert_true(latency("latency = 1500 us", 1.5));
    assert_true(!duration("duration < 5 ms", -1) && duration("duration = -1", -1)); /* -1: it is unknown */
    assert_true(!frame("frame > 5 ms", 6000000));                                   /* a count is no time */
}

TEST(labels_and_strings_are_compared_as_texts)
{
    assert_true(meets("kind = delta", SHOWN, KIND, 1) && !meets("kind = delta", SHOWN, KIND, 0));
    assert_true(meets("kind != delta", SHOWN, KIND, 7) && !meets("kind = delta", SHOWN, KIND, 7));
    assert_true(meets("kind >= 1", SHOWN, KIND, 1) && !meets("kind >= 1", SHOWN, KIND, 0));
    assert_true(meets("codec = h264", SHOWN, CODEC, 1) && !meets("codec = h26", SHOWN, CODEC, 1));
    assert_true(meets("codec = 5", SHOWN, CODEC, 2) && meets("codec = \"5\"", SHOWN, CODEC, 2));
    assert_true(meets("codec = 'h264'", SHOWN, CODEC, 1) && !meets("codec = 'h264", SHOWN, CODEC, 1));
    assert_true(meets("codec = '5' ", SHOWN, CODEC, 2) && !meets("codec != '5'", SHOWN, CODEC, 2));
    assert_true(!meets("codec = h264", SHOWN, CODEC, 0) && meets("codec != h264", SHOWN, CODEC, 0)); /* no room */
    assert_true(!meets("codec > 4", SHOWN, CODEC, 2));
}

/* As of the offset of a clock, or a phase. */
TEST(a_time_may_be_negative)
{
    static const struct {
        const char *text;
        int64_t value, scale;
        bool holds;
    } cases[] = {
        {"x < -1 ms", -1000001, 1, true},     {"x < -1 ms", -1000000, 1, false},     {"x < -1 ms", 0, 1, false},
        {"x >= -1500 ms", -1, CLOCK_S, true}, {"x >= -1500 ms", -2, CLOCK_S, false}, {"x <= -2 s", -2, CLOCK_S, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct condition c;
        const char *why;
        assert_int_equal(condition_read(cases[i].text, &c, &why), 0);
        assert_int_equal(condition_holds_whole(&c.bound, cases[i].value, cases[i].scale), cases[i].holds);
    }
    assert_true(latency("latency < -5 ms", -5.5) && !latency("latency < -5 ms", -5));
}

TEST(what_is_no_condition_is_refused_with_a_remedy)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {{"", "FIELD OP VALUE"},
                 {"> 5", "FIELD OP VALUE"},
                 {"frame", "one of < <= = != >= >"},
                 {"frame ~ 5", "one of < <= = != >= >"},
                 {"frame >", "empty"},
                 {"frame > fast", "a duration such as 5 ms"},
                 {"frame > \"5\"", "texts go with = and !="},
                 {"frame > 5 parsecs", "a duration such as 5 ms"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct condition c = {.field = "untouched"};
        const char *why = "";
        assert_int_equal(condition_read(wrong[i].text, &c, &why), BEZEL_EINVAL);
        assert_string_equal(c.field, "untouched");
        if (!strstr(why, wrong[i].why))
            fail_msg("of '%s' it is said: %s", wrong[i].text, why);
    }
}

/* The check of a filter against a run with one process; a condition of NULL is none. */
static int check_names(const char *condition, struct record_filter f, char *text, size_t size)
{
    struct message_hello hello = {.node = "studio"};
    static struct message_process said = {.instance = 1, .name = "client"};
    const char *why;
    struct model *m = model_new("");
    struct model_node *node = model_add_node(m, &hello);
    struct model_process *p = model_add_process(node, &said);
    model_set_dictionary(p, make_dictionary());
    assert_int_equal(condition ? condition_read(condition, &f.condition, &why) : 0, 0);
    int err = record_filter_check(&f, m, text, size);
    model_free(m);
    return err;
}

static int check(const char *condition, const char *aspect, char *text, size_t size)
{
    struct record_filter f = RECORD_FILTER_ALL;
    f.aspect = aspect;
    return check_names(condition, f, text, size);
}

TEST(a_name_that_nobody_has_is_answered_with_the_nearest)
{
    static const struct {
        const char *node, *process, *aspect, *text;
    } cases[] = {
        {"stud*", "cl?ent", "sh*", ""},
        {"stdio", NULL, NULL, "the run has no node \"stdio\"; the nearest is \"studio\""},
        {"desk", NULL, NULL, "the run has no node \"desk\"; there is \"studio\""},
        {NULL, "cleint", NULL, "no process is named \"cleint\"; the nearest is \"client\""},
        {NULL, "server", NULL, "no process is named \"server\"; there is \"client\""},
        {NULL, NULL, "shwon", "no process that is wanted has an aspect \"shwon\"; the nearest is \"shown\" of client"},
        {NULL, NULL, "x*", "has an aspect \"x*\"; there is \"shown\", \"work\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512] = "";
        struct record_filter f = RECORD_FILTER_ALL;
        f.node = cases[i].node, f.process = cases[i].process, f.aspect = cases[i].aspect;
        assert_int_equal(check_names(NULL, f, text, sizeof text), cases[i].text[0] ? BEZEL_ENOENT : 0);
        if (!strstr(text, cases[i].text))
            fail_msg("of case %zu it is said: %s", i, text);
    }
}

TEST(a_condition_that_makes_no_sense_is_explained)
{
    static const struct {
        const char *condition, *aspect;
        int err;
        const char *text;
    } cases[] = {
        {"frame > 5", NULL, 0, ""},
        {"latency > 5 ms", NULL, 0, ""},
        {"kind = key", "sh*", 0, ""},
        {"frame > 5", "work", BEZEL_ENOENT, "has a field \"frame\""},
        {"duraton > 5 ms", NULL, BEZEL_ENOENT, "has a field \"duraton\"; the nearest is \"duration\" of work"},
        {"frame > 5 ms", NULL, BEZEL_EINVAL, "a plain number, in the field's own unit"},
        {"codec > 5", NULL, BEZEL_EINVAL, "with a text, by = or !="},
        {"kind != kye", NULL, BEZEL_EINVAL, "of aspect \"shown\" has no label \"kye\"; the nearest is \"key\""},
        {"kind = 5 ms", NULL, BEZEL_EINVAL, "with a text, by = or !="},
        {"latency = fast", NULL, BEZEL_EINVAL, "is a number of unit ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512] = "";
        assert_int_equal(check(cases[i].condition, cases[i].aspect, text, sizeof text), cases[i].err);
        if (!strstr(text, cases[i].text))
            fail_msg("of '%s' it is said: %s", cases[i].condition, text);
    }
}
