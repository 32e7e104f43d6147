// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What `write` writes, compact or not; the caller frees it. */
static char *written(void (*write)(struct json *j, const void *given), const void *given, bool compact)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    struct json j = {.out = out, .compact = compact};
    write(&j, given);
    fclose(out);
    return text;
}

static void assert_written(void (*write)(struct json *j, const void *given), const void *given, const char *expected)
{
    char *text = written(write, given, true);
    assert_string_equal(text, expected);
    free(text);
}

static void one_text(struct json *j, const void *text)
{
    json_array(j, NULL);
    json_text(j, NULL, text);
    json_array_end(j);
}

TEST(texts_are_escaped)
{
    assert_written(one_text, "plain", "[\"plain\"]\n");
    assert_written(one_text, "", "[\"\"]\n");
    assert_written(one_text, NULL, "[null]\n");
    assert_written(one_text, "a \"b\" \\c/", "[\"a \\\"b\\\" \\\\c/\"]\n");
    assert_written(one_text, "\n\t\001\033\177", "[\"\\u000a\\u0009\\u0001\\u001b\\u007f\"]\n");
    assert_written(one_text, "\xc2\x9b\xc3\x9b", "[\"\\u009b\xc3\x9b\"]\n");
    assert_written(one_text, "µ € 𝄞", "[\"µ € 𝄞\"]\n");
}

TEST(bytes_that_are_not_utf8_are_replaced_one_by_one)
{
    assert_written(one_text, "\xff", "[\"\\ufffd\"]\n");
    assert_written(one_text, "a\xc3", "[\"a\\ufffd\"]\n");                                  /* cut */
    assert_written(one_text, "\xc0\xaf", "[\"\\ufffd\\ufffd\"]\n");                         /* overlong '/' */
    assert_written(one_text, "\xe0\x80\xaf", "[\"\\ufffd\\ufffd\\ufffd\"]\n");              /* overlong '/' */
    assert_written(one_text, "\xed\xa0\x80", "[\"\\ufffd\\ufffd\\ufffd\"]\n");              /* surrogate */
    assert_written(one_text, "\xf4\x90\x80\x80x", "[\"\\ufffd\\ufffd\\ufffd\\ufffdx\"]\n"); /* beyond U+10FFFF */
}

static void one_double(struct json *j, const void *value)
{
    json_array(j, NULL);
    json_double(j, NULL, *(const double *)value);
    json_array_end(j);
}

TEST(doubles_read_back_as_they_were_and_what_json_lacks_is_null)
{
    const struct {
        double value;
        const char *expected;
    } cases[] = {
        {0.1, "[0.1]\n"},  {-2, "[-2]\n"},         {1e300, "[1e+300]\n"},  {0.1 + 0.2, "[0.30000000000000004]\n"},
        {NAN, "[null]\n"}, {INFINITY, "[null]\n"}, {-INFINITY, "[null]\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_written(one_double, &cases[i].value, cases[i].expected);
}

static void everything(struct json *j, const void *unused)
{
    (void)unused;
    json_object(j, NULL);
    json_int(j, "low", INT64_MIN);
    json_uint(j, "high", UINT64_MAX);
    json_uint_text(j, "exact", UINT64_MAX);
    json_bool(j, "yes", true);
    json_object(j, "empty");
    json_object_end(j);
    json_array(j, "list");
    json_int(j, NULL, 1);
    json_array(j, NULL);
    json_array_end(j);
    json_object(j, NULL);
    json_bool(j, "no", false);
    json_object_end(j);
    json_array_end(j);
    json_object_end(j);
}

TEST(groups_nest_with_commas_between_and_none_behind)
{
    assert_written(everything, NULL,
                   "{\"low\":-9223372036854775808,\"high\":18446744073709551615,\"exact\":\"18446744073709551615\","
                   "\"yes\":true,\"empty\":{},\"list\":[1,[],{\"no\":false}]}\n");
}

TEST(the_long_form_says_the_same_over_several_lines)
{
    char *text = written(everything, NULL, false);
    assert_non_null(strstr(text, "\n  \"yes\": true,\n  \"empty\": {},\n  \"list\": [\n    1,\n    [],\n    {\n"));
    assert_string_equal(text + strlen(text) - 2, "}\n");
    free(text);
}
