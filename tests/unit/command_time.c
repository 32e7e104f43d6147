// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Times on the command line: which are taken, and which are refused with the sentence that names the forms. */
#include "ecs/cli/command_time.h"

#include "base/clock.h"
#include "base/options.h"
#include "tests/lib/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MISUSE = 2 };
static char said[512];

int __wrap_options_misuse(const char *format, ...) BEZEL_PRINTF(1, 2);

int __wrap_options_misuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return MISUSE;
}

static int read_from(const char *text, int64_t *ns)
{
    struct record_filter f = {.from = -1, .until = INT64_MAX};
    said[0] = '\0';
    setenv("TZ", "UTC-2", 1); /* two hours before UTC */
    int code = command_read_times(text, NULL, NULL, &f);
    *ns = f.from;
    return code;
}

TEST(a_time_is_of_the_clock_or_ns_since_1970)
{
    static const struct {
        const char *text;
        int64_t ns;
    } table[] = {
        {"0", 0},
        {" 17 ", 17},
        {"1970-01-02 02:00", 86400 * CLOCK_S},
        {"1970-01-02T02:00:01", 86401 * CLOCK_S},
        {"1970-01-02 00:00:01.5 UTC", 86401 * CLOCK_S + CLOCK_S / 2},
        {"1970-01-02 00:00:01.000000001Z", 86401 * CLOCK_S + 1},
        {"1970-01-02 00:00:59.0000000019 UTC", 86459 * CLOCK_S + 1},
    };
    int64_t ns;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (read_from(table[i].text, &ns) != OPTIONS_GO_ON || ns != table[i].ns)
            fail_msg("'%s': %lld: %s", table[i].text, (long long)ns, said);
}

TEST(a_time_without_a_date_is_of_today)
{
    static const char *const table[] = {"12:00", " 12:00", "12:00:00", "12:00:00.0", "10:00 UTC", "10:0Z"};
    int64_t ns;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(read_from(table[i], &ns), OPTIONS_GO_ON);
        assert_int_equal(ns % (86400 * CLOCK_S), 10 * 3600 * CLOCK_S);
    }
}

TEST(what_is_no_time_is_refused_with_the_forms)
{
    static const char *const table[] = {
        "",
        " ",
        "12:00 ",
        "12:",
        ":12",
        "12:00:",
        "12:00:00.",
        "12:00:00. UTC",
        "12:00.5",
        "12:60",
        "24:00",
        "12:00:60",
        "12:00:61",
        "12:00:00.5s",
        "12:00:00,5",
        "12:00:00.-5",
        "12:00 PM",
        "12:00UTCZ",
        "12:00 utc",
        "12:00:00..5",
        "+12:00",
        "-12:00",
        "1e",
        "1e9",
        "0x10",
        "017",
        "+",
        "-",
        "+1",
        "+1 s",
        "--1 s",
        "-+1 s",
        ".5",
        ".5 s",
        "1.",
        "1.s",
        "1. s",
        "1.5",
        "1 s 5 ms",
        "1 s s",
        "s",
        "1 sec",
        "1 S",
        "1,5 s",
        "1.0000000 s",
        "1 s .. 2 s",
        "nan",
        "inf s",
        "2026-11-30",
        "2026-11-30T",
        "2026-11-3012:00",
        "2026-02-30 12:00",
        "2026-13-01 12:00",
        "2026-11-30_12:00",
        "99999999999999999999",
        "9223372036854775808",
        "9223372037 s",
        "\xc3\xa4",
        "12:00\n13:00",
    };
    int64_t ns;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char expected[512];
        snprintf(expected, sizeof expected, "--from: '%s' is not a time: use " COMMAND_TIMES, table[i]);
        if (read_from(table[i], &ns) != MISUSE || strcmp(said, expected) != 0)
            fail_msg("'%s': %lld: %s", table[i], (long long)ns, said);
    }
}

TEST(an_hour_that_the_clock_shows_twice_or_never_is_not_guessed)
{
    struct record_filter f;
    const char *text = "2026-10-25 02:30";
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    assert_int_equal(command_read_times(text, NULL, NULL, &f), MISUSE);
    assert_non_null(strstr(said, "the clock shows '2026-10-25 02:30' twice"));
    assert_int_equal(command_read_times("2026-03-29 02:30", NULL, NULL, &f), MISUSE);
    assert_non_null(strstr(said, "is not a time"));
    static const char *const same[][2] = {{"2026-10-25 01:59", "2026-10-24 23:59 UTC"},
                                          {"2026-10-25 03:00", "2026-10-25 02:00 UTC"},
                                          {"2026-03-29 03:00", "2026-03-29 01:00 UTC"},
                                          {"2026-07-01 12:00", "2026-07-01 10:00 UTC"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct record_filter in_utc = {.from = -1};
        f.from = -2;
        assert_int_equal(command_read_times(same[i][0], NULL, NULL, &f), OPTIONS_GO_ON);
        assert_int_equal(command_read_times(same[i][1], NULL, NULL, &in_utc), OPTIONS_GO_ON);
        assert_int_equal(f.from, in_utc.from);
    }
}

TEST(a_duration_is_since_a_start_which_is_not_known_over_the_network)
{
    static const char *const table[] = {"1 s", "-1.188 s", " 1 s ", "0 s", "1.5h", "0.0", "-0"};
    int64_t ns;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (read_from(table[i], &ns) != MISUSE || !strstr(said, "the start of a run that is read over the network"))
            fail_msg("'%s': %s", table[i], said);
    }
}
