// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/statistic.h"
#include "base/clock.h"
#include "metric/ratio.h"
#include "tests/lib/one_record.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

static struct statistic *fresh(enum statistic_kind kind, double share)
{
    struct statistic *f;
    assert_int_equal(statistic_new(kind, share, CLOCK_S, &f), 0);
    return f;
}

static void figure_add(struct statistic *f, int64_t timestamp, int64_t now, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    statistic_records(f, ONE_RECORD(timestamp, 1, &bits),
                      &(struct statistic_field){.at = 0, .scale = 1, .is_float = true}, now);
}

static double value_of(struct statistic *f, int64_t now)
{
    double value = NAN;
    (void)statistic_value(f, now, &value, NULL);
    return value;
}

TEST(each_kind_says_what_it_is_called)
{
    static const struct {
        enum statistic_kind kind;
        double share, value;
    } cases[] = {{STATISTIC_MEAN, 0, 3.4},   {STATISTIC_MIN, 0, -1},       {STATISTIC_MAX, 0, 9},
                 {STATISTIC_LAST, 0, 2},     {STATISTIC_QUANTILE, 0.5, 3}, {STATISTIC_QUANTILE, 0, -1},
                 {STATISTIC_QUANTILE, 1, 9}, {STATISTIC_QUANTILE, 0.8, 4}, {STATISTIC_QUANTILE, 0.81, 9}};
    static const double values[] = {4, 9, -1, 3, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct statistic *f = fresh(cases[i].kind, cases[i].share);
        for (int k = 0; k < 5; k++)
            figure_add(f, (10 + k) * CLOCK_MS, 20 * CLOCK_MS, values[k]);
        assert_float_equal(value_of(f, 20 * CLOCK_MS), cases[i].value, 1e-12);
        statistic_free(f);
    }
}

TEST(what_is_older_than_the_window_is_gone_and_an_empty_window_is_unknown)
{
    for (int kind = STATISTIC_MEAN; kind <= STATISTIC_QUANTILE; kind++) {
        struct statistic *f = fresh((enum statistic_kind)kind, 0.5);
        assert_true(isnan(value_of(f, 0)));
        figure_add(f, 10 * CLOCK_S, 10 * CLOCK_S, 7);
        int64_t newest = 0;
        double value;
        assert_true(statistic_value(f, 10 * CLOCK_S + CLOCK_S / 2, &value, &newest));
        assert_true(value == 7 && newest == 10 * CLOCK_S);
        assert_true(isnan(value_of(f, 11 * CLOCK_S)));
        figure_add(f, 11 * CLOCK_S, 11 * CLOCK_S, 1);
        figure_add(f, 9 * CLOCK_S, 11 * CLOCK_S, 100); /* too old when it comes */
        assert_true(value_of(f, 11 * CLOCK_S) == 1);
        statistic_reset(f);
        assert_true(isnan(value_of(f, 11 * CLOCK_S)));
        statistic_free(f);
    }
}

TEST(numbers_that_are_none_and_times_from_the_future_do_no_harm)
{
    for (int kind = STATISTIC_MEAN; kind <= STATISTIC_QUANTILE; kind++) {
        struct statistic *f = fresh((enum statistic_kind)kind, 0.5);
        figure_add(f, 5, 5, NAN);
        figure_add(f, 5, 5, INFINITY);
        figure_add(f, 5, 5, -INFINITY);
        assert_true(isnan(value_of(f, 5)));
        figure_add(f, INT64_MAX, 6, 3); /* counts as of now */
        figure_add(f, 7, 7, 3);
        assert_true(value_of(f, 7) == 3);
        assert_true(isnan(value_of(f, 7 + CLOCK_S)));
        statistic_free(f);
    }
}

TEST(the_window_moves_with_time_in_any_order_of_arrival)
{
    uint64_t seed = seed_start();
    struct statistic *least = fresh(STATISTIC_MIN, 0), *most = fresh(STATISTIC_MAX, 0),
                     *mean = fresh(STATISTIC_MEAN, 0);
    enum { VALUES = 4000 };
    static int64_t times[VALUES];
    static double values[VALUES];
    int64_t now = 100 * CLOCK_S;
    for (int i = 0; i < VALUES; i++) {
        now += (int64_t)(seed_next(&seed) % (2 * CLOCK_MS));
        times[i] = now - (int64_t)(seed_next(&seed) % (100 * CLOCK_MS));
        values[i] = seed_unit(&seed) * 100 - 50;
        figure_add(least, times[i], now, values[i]);
        figure_add(most, times[i], now, values[i]);
        figure_add(mean, times[i], now, values[i]);
        if (i % 100 != 99)
            continue;
        int64_t end = now / (CLOCK_S / STATISTIC_GRAINS),
                start = (end - STATISTIC_GRAINS + 1) * (CLOCK_S / STATISTIC_GRAINS);
        double low = INFINITY, high = -INFINITY, sum = 0, n = 0;
        for (int k = 0; k <= i; k++) {
            if (times[k] < start)
                continue;
            low = fmin(low, values[k]);
            high = fmax(high, values[k]);
            sum += values[k];
            n++;
        }
        assert_true(value_of(least, now) == low && value_of(most, now) == high);
        assert_float_equal(value_of(mean, now), sum / n, 1e-9);
    }
    statistic_free(least);
    statistic_free(most);
    statistic_free(mean);
}

/* Streams that repeat are what a sample misjudges; more of them, and the error against sorting, in property/quantiles.
 */
TEST(a_quantile_of_numbers_that_take_turns_is_exact)
{
    static const double shares[] = {0.25, 0.49, 0.51, 0.75, 0.99};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct statistic *f = fresh(STATISTIC_QUANTILE, shares[i]);
        int64_t now = 0;
        for (int k = 0; k < 24000; k++, now += CLOCK_S / 3000) {
            figure_add(f, now, now, k % 2 ? 1000 : 1);
            if (k % 1000 == 999)
                assert_true(value_of(f, now) == (shares[i] > 0.5 ? 1000 : 1));
        }
        for (int k = 0; k < 20; k++, now += 100 * CLOCK_MS) /* few again */
            figure_add(f, now, now, k < 10 ? 0 : 2);
        assert_true(value_of(f, now - 100 * CLOCK_MS) == 2);
        statistic_free(f);
    }
}

/* 1500 and 1503 are in one bucket, which is never empty. */
TEST(a_larger_number_of_the_same_bucket_is_forgotten)
{
    struct statistic *f = fresh(STATISTIC_QUANTILE, 0.99);
    for (int64_t now = 0; now < 5 * CLOCK_S; now += CLOCK_MS) {
        figure_add(f, now, now, now == CLOCK_S ? 1503 : 1500);
        double value = value_of(f, now);
        assert_true(value == 1500 || (value == 1503 && now >= CLOCK_S && now < 3 * CLOCK_S));
    }
    statistic_free(f);
}

TEST(the_ends_of_what_there_is_have_a_quantile)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct statistic *f = fresh(STATISTIC_QUANTILE, 0.5);
        statistic_records(f, ONE_RECORD(5, 1, &(uint64_t){(uint64_t)ends[i]}), &(struct statistic_field){.scale = 1},
                          5);
        assert_true(value_of(f, 5) == (double)ends[i]);
        statistic_free(f);
    }
}

TEST(many_at_once_weigh_as_many)
{
    struct statistic *mean = fresh(STATISTIC_MEAN, 0), *most = fresh(STATISTIC_MAX, 0);
    statistic_add_many(mean, 5, 99, 1, 0, 2);
    statistic_add_many(mean, 6, 1, 101, 101, 101);
    statistic_add_many(mean, 6, 0, 1e9, 1e9, 1e9);
    statistic_add_many(most, 5, 99, 1, 0, 2);
    assert_float_equal(value_of(mean, 6), 2, 1e-12);
    assert_true(value_of(most, 6) == 2);
    statistic_free(mean);
    statistic_free(most);
}

TEST(shares_are_those_of_the_window)
{
    struct ratio s;
    double percent = -1;
    ratio_start(&s, CLOCK_S);
    assert_false(ratio_value(&s, &percent) || ratio_level(&s, 1, &percent));
    for (int64_t i = 0; i <= 30; i++) /* 10 a step, and from the 20th on half of them lost */
        ratio_read(&s, i * 100 * CLOCK_MS, (uint64_t)(10 * i), i > 20 ? (uint64_t)(5 * (i - 20)) : 0);
    assert_true(ratio_value(&s, &percent));
    assert_float_equal(percent, 50, 1e-9);
    assert_true(ratio_level(&s, 25, &percent));
    assert_float_equal(percent, 25, 1e-9);
    assert_true(ratio_level(&s, 1000, &percent) && percent == 100);
    ratio_read(&s, 5 * CLOCK_S, 310, 55); /* 10 in two seconds, 5 of them lost; the window begins at 3 s */
    assert_true(ratio_value(&s, &percent));
    assert_float_equal(percent, 50, 1e-9);
    ratio_read(&s, 7 * CLOCK_S, 310, 55);
    assert_false(ratio_value(&s, &percent)); /* of nothing there is no share */
    assert_true(ratio_level(&s, 0, &percent) && percent == 0);
    ratio_read(&s, 8 * CLOCK_S, 5, 0); /* another daemon's counters */
    assert_false(ratio_value(&s, &percent));
}

TEST(shares_keep_to_their_window_however_often_they_are_read)
{
    struct ratio s;
    ratio_start(&s, CLOCK_S);
    for (int64_t now = 0; now < 5 * CLOCK_S; now += CLOCK_MS) { /* a record a millisecond, lost in the 4th second */
        uint64_t lost = now < 3 * CLOCK_S ? 0 : now < 4 * CLOCK_S ? (uint64_t)((now - 3 * CLOCK_S) / CLOCK_MS) : 1000;
        double percent = 0;
        ratio_read(&s, now, (uint64_t)(now / CLOCK_MS), lost);
        bool known = ratio_value(&s, &percent);
        assert_true(known == (now >= CLOCK_S));
        double expected = now < 3 * CLOCK_S   ? 0
                          : now < 4 * CLOCK_S ? (double)(now - 3 * CLOCK_S) / 1e7
                                              : (double)(5 * CLOCK_S - now) / 1e7;
        assert_float_equal(percent, expected, 2);
    }
}
