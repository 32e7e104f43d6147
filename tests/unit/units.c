// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/units.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include <string.h>

static int64_t duration(const char *text)
{
    int64_t ns = -1;
    const char *why = NULL;
    if (units_read_duration(text, &ns, &why) != 0)
        fail_msg("'%s' was refused: %s", text, why);
    assert_null(why);
    return ns;
}

/* Refused with a sentence that holds `part`, the value untouched. */
static void no_duration(const char *text, const char *part)
{
    int64_t ns = -1;
    const char *why = NULL;
    if (units_read_duration(text, &ns, &why) != BEZEL_EINVAL)
        fail_msg("'%s' was read as %lld ns", text, (long long)ns);
    assert_int_equal(ns, -1);
    assert_non_null(why);
    if (!strstr(why, part))
        fail_msg("'%s': \"%s\" does not speak of \"%s\"", text, why, part);
}

TEST(durations_are_exact_nanoseconds)
{
    assert_int_equal(duration("1 ms"), CLOCK_MS);
    assert_int_equal(duration("100us"), 100 * CLOCK_US);
    assert_int_equal(duration("100 \xc2\xb5s"), 100 * CLOCK_US);
    assert_int_equal(duration("100\xce\xbcs"), 100 * CLOCK_US);
    assert_int_equal(duration("  2 \t s "), 2 * CLOCK_S);
    assert_int_equal(duration("1.5 h"), 5400 * CLOCK_S);
    assert_int_equal(duration("0.1 us"), 100);
    assert_int_equal(duration("0.000001 ms"), 1);
    assert_int_equal(duration("3 min"), 180 * CLOCK_S);
    assert_int_equal(duration("7 ns"), 7);
    assert_int_equal(duration("9223372036854775807 ns"), INT64_MAX);
    assert_int_equal(duration("0"), 0);
    assert_int_equal(duration("0.0"), 0);
    assert_int_equal(duration("0 s"), 0);
}

TEST(what_is_no_duration_is_refused)
{
    no_duration("", "a number is expected");
    no_duration("ms", "a number is expected");
    no_duration("-1 ms", "a number is expected");
    no_duration("+1 ms", "a number is expected");
    no_duration(".5 s", "a number is expected");
    no_duration("100", "unit is missing");
    no_duration("100 m", "unit is missing or unknown");
    no_duration("1 S", "unit is missing or unknown");
    no_duration("1 msec", "unit is missing or unknown");
    no_duration("1e3 ms", "unit is missing or unknown");
    no_duration("0x10 ms", "unit is missing or unknown");
    no_duration("1_000 ms", "unit is missing or unknown");
    no_duration("1,5 s", "unit is missing or unknown");
    no_duration("010 ms", "octal");
    no_duration("00", "octal");
    no_duration("1. s", "digits are expected");
    no_duration("1.0000000 s", "at most 6 digits");
    no_duration("1.5 ns", "whole number");
    no_duration("0.0001 us", "whole number");
    no_duration("1 ms x", "text behind");
    no_duration("1 ms 5 us", "text behind");
    no_duration("1 ms.", "text behind");
    no_duration("9223372036854775808 ns", "too large");
    no_duration("2562048 h", "too large");
    no_duration("99999999999999999999 ns", "too large");
}

TEST(ranges_are_two_ordered_durations)
{
    int64_t low = -1, high = -1;
    const char *why = NULL;
    assert_int_equal(units_read_duration_range("100 us .. 1 s", &low, &high, &why), 0);
    assert_true(low == 100 * CLOCK_US && high == CLOCK_S);
    assert_int_equal(units_read_duration_range("1us..1us", &low, &high, &why), 0);
    assert_true(low == CLOCK_US && high == CLOCK_US);
    assert_int_equal(units_read_duration_range("0..1.5 s", &low, &high, &why), 0);
    assert_true(low == 0 && high == 1500 * CLOCK_MS);
    static const char *const wrong[] = {"1 s .. 1 ms",       "1 s",       "1 s ..",       ".. 1 s",
                                        "1 .. 2 s",          "1 s . 2 s", "1 s .. 2 s x", "1 s ... 2 s",
                                        "1 s .. 2 s .. 3 s", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        low = high = -7;
        why = NULL;
        if (units_read_duration_range(wrong[i], &low, &high, &why) != BEZEL_EINVAL || !why)
            fail_msg("'%s' was read", wrong[i]);
        assert_true(low == -7 && high == -7);
    }
}

TEST(sizes_are_exact_bytes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"16 MiB", 16 << 20}, {"16MiB", 16 << 20}, {"1.5 KiB", 1536}, {"64 kB", 64000}, {"2 MB", 2000000},
                {"3 GB", 3000000000}, {"1 GiB", 1 << 30},  {"7 B", 7},        {"0", 0}};
    static const char *const wrong[] = {"16",    "16 M", "16 mib", "16 MiB/s", "1.0001 KiB",
                                        "0.5 B", "-1 B", "0x1 B",  "08 B"};
    uint64_t bytes;
    const char *why = NULL;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (units_read_size(good[i].text, &bytes, &why) != 0 || bytes != good[i].bytes)
            fail_msg("'%s'", good[i].text);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (units_read_size(wrong[i], &bytes, &why) != BEZEL_EINVAL)
            fail_msg("'%s' was read", wrong[i]);
}

TEST(percents_counts_and_rates_are_read)
{
    double v = -1;
    uint64_t n = 0;
    const char *why = NULL;
    assert_int_equal(units_read_percent("10 %", &v, &why), 0);
    assert_true(v == 10.0);
    assert_int_equal(units_read_percent(" 0.25% ", &v, &why), 0);
    assert_true(v == 0.25);
    assert_int_equal(units_read_percent("10", &v, &why), BEZEL_EINVAL);
    assert_string_equal(why, "the unit is missing or unknown: %");
    assert_int_equal(units_read_percent("10 %%", &v, &why), BEZEL_EINVAL);
    assert_int_equal(units_read_percent("%", &v, &why), BEZEL_EINVAL);

    assert_int_equal(units_read_count("4096", &n, &why), 0);
    assert_int_equal(n, 4096);
    assert_int_equal(units_read_count("0", &n, &why), 0);
    assert_int_equal(n, 0);
    assert_int_equal(units_read_count("18446744073709551615", &n, &why), 0);
    assert_true(n == UINT64_MAX);
    static const char *const wrong[] = {"", "18446744073709551616", "1.0", "4k", "0x10", "010", "1 2", "-1", "1e3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (units_read_count(wrong[i], &n, &why) != BEZEL_EINVAL)
            fail_msg("'%s' was read", wrong[i]);

    assert_int_equal(units_read_rate("29.97", &v, &why), 0);
    assert_true(v == 29.97);
    assert_int_equal(units_read_rate("30 /s", &v, &why), 0);
    assert_true(v == 30.0);
    assert_int_equal(units_read_rate("30/s", &v, &why), 0);
    assert_int_equal(units_read_rate("30 Hz", &v, &why), BEZEL_EINVAL);
    assert_int_equal(units_read_rate("nan", &v, &why), BEZEL_EINVAL);
    assert_int_equal(units_read_rate("1000000001", &v, &why), BEZEL_EINVAL);

    assert_int_equal(units_read_number("2147483648.5", &v, &why), 0);
    assert_true(v == 2147483648.5);
    assert_int_equal(units_read_number("9007199254740991", &v, &why), 0);
    assert_true(v == 9007199254740991.0);
    assert_int_equal(units_read_number("9007199254740992", &v, &why), BEZEL_EINVAL);
    assert_int_equal(units_read_number("9007199254740.25", &v, &why), 0);
    assert_int_equal(units_read_number("900719925474099.25", &v, &why), BEZEL_EINVAL);
    assert_int_equal(units_read_number("30 /s", &v, &why), BEZEL_EINVAL);
}

TEST(what_is_written_exactly_reads_back)
{
    uint64_t seed = seed_start();
    const char *why;
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(seed_next(&seed) >> (1 + seed_next(&seed) % 63)), ns_back = -1;
        if (i % 2) /* round ones too: they take the larger units */
            ns = ns % 100000 * (int64_t[]){CLOCK_US, CLOCK_MS, CLOCK_S, 60 * CLOCK_S, 3600 * CLOCK_S}[i / 2 % 5];
        assert_int_equal(units_read_duration(units_exact_duration(ns).s, &ns_back, &why), 0);
        assert_int_equal(ns_back, ns);

        uint64_t bytes = seed_next(&seed) >> (1 + seed_next(&seed) % 63), bytes_back = 1;
        assert_int_equal(units_read_size(units_exact_size(bytes).s, &bytes_back, &why), 0);
        assert_int_equal(bytes_back, bytes);

        char text[40];
        double rate, rate_back = -1;
        snprintf(text, sizeof text, "%u.%0*u", (unsigned)(seed_next(&seed) % 1000000000u), (int)(i % 6 + 1),
                 (unsigned)(seed_next(&seed) % 10));
        assert_int_equal(units_read_rate(text, &rate, &why), 0);
        assert_int_equal(units_read_rate(units_exact_number(rate).s, &rate_back, &why), 0);
        assert_true(rate_back == rate);

        double number = (double)(seed_next(&seed) >> (11 + seed_next(&seed) % 53)), number_back = -1;
        assert_int_equal(units_read_number(units_exact_number(number).s, &number_back, &why), 0);
        assert_true(number_back == number);
    }
}

TEST(exact_texts_are_short)
{
    assert_string_equal(units_exact_duration(0).s, "0 s");
    assert_string_equal(units_exact_duration(1500 * CLOCK_US).s, "1500 us");
    assert_string_equal(units_exact_duration(100 * CLOCK_MS).s, "100 ms");
    assert_string_equal(units_exact_duration(100 * CLOCK_S).s, "100 s");
    assert_string_equal(units_exact_duration(7200 * CLOCK_S).s, "2 h");
    assert_string_equal(units_brief_duration(CLOCK_MS).s, "1 ms");
    assert_string_equal(units_brief_duration(19818 * CLOCK_US).s, "19818 us");
    assert_string_equal(units_brief_duration(7676926).s, "7.68 ms");
    assert_string_equal(units_exact_duration(INT64_MAX).s, "9223372036854775807 ns");
    assert_string_equal(units_exact_size(0).s, "0 B");
    assert_string_equal(units_exact_size(16 << 20).s, "16 MiB");
    assert_string_equal(units_exact_size(1000).s, "1000 B");
    assert_string_equal(units_exact_number(0).s, "0");
    assert_string_equal(units_exact_number(10).s, "10");
    assert_string_equal(units_exact_number(29.97).s, "29.97");
    assert_string_equal(units_exact_number(1e9).s, "1000000000");
}

TEST(people_see_three_digits)
{
    static const struct {
        int64_t ns;
        const char *text;
    } durations[] = {{0, "0 s"},
                     {999, "999 ns"},
                     {1000, "1.00 us"},
                     {1234567, "1.23 ms"},
                     {9994999, "9.99 ms"},
                     {9995001, "10.0 ms"},
                     {99949999, "99.9 ms"},
                     {99950001, "100 ms"},
                     {999499999, "999 ms"},
                     {999500000, "1.00 s"},
                     {45600 * CLOCK_MS, "45.6 s"},
                     {59499 * CLOCK_MS, "59.5 s"},
                     {59500 * CLOCK_MS, "1 min 00 s"},
                     {125 * CLOCK_S, "2 min 05 s"},
                     {3599500 * CLOCK_MS, "1 h 00 min"},
                     {12000 * CLOCK_S, "3 h 20 min"},
                     {-1234567, "-1.23 ms"},
                     {-5, "-5 ns"},
                     {INT64_MIN, "-2562047 h 47 min"}};
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {16 << 20, "16.0 MiB"},
                 {1048063, "1023 KiB"},
                 {1048064, "1.00 MiB"},
                 {UINT64_MAX, "17179869184 GiB"}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)
        assert_string_equal(units_duration(durations[i].ns).s, durations[i].text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_string_equal(units_bytes(sizes[i].bytes).s, sizes[i].text);
    assert_string_equal(units_count(0).s, "0");
    assert_string_equal(units_count(999).s, "999");
    assert_string_equal(units_count(1000).s, "1,000");
    assert_string_equal(units_count(12345678).s, "12,345,678");
    assert_string_equal(units_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
}
