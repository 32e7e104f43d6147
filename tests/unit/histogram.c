// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/histogram.h"
#include "tests/lib/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct histogram empty, h, other;

static void clear(void)
{
    h = other = empty;
}

static void an_empty_histogram_has_quantile_0(void **state)
{
    (void)state;
    clear();
    assert_int_equal(histogram_quantile(&h, 0), 0);
    assert_int_equal(histogram_quantile(&h, 1), 0);
}

static void values_below_64_are_exact_and_negative_ones_count_as_0(void **state)
{
    (void)state;
    clear();
    for (int64_t v = 0; v < 64; v++)
        histogram_add(&h, v);
    for (int64_t v = 0; v < 64; v++)
        assert_int_equal(histogram_quantile(&h, (double)(v + 1) / 64), v);
    clear();
    histogram_add(&h, -1);
    histogram_add(&h, INT64_MIN);
    assert_int_equal(h.count, 2);
    assert_int_equal(histogram_quantile(&h, 1), 0);
}

static void the_largest_value_has_a_bucket_and_is_the_maximum(void **state)
{
    (void)state;
    clear();
    histogram_add(&h, INT64_MAX);
    assert_int_equal(h.buckets[HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(histogram_quantile(&h, 1), INT64_MAX);
    histogram_add(&h, 1);
    assert_int_equal(histogram_quantile(&h, 0.5), 1);
    assert_int_equal(histogram_quantile(&h, 0.51), INT64_MAX);
}

static void a_share_out_of_range_is_taken_as_its_nearest_bound(void **state)
{
    (void)state;
    clear();
    histogram_add(&h, 3);
    histogram_add(&h, 9);
    assert_int_equal(histogram_quantile(&h, -1), 3);
    assert_int_equal(histogram_quantile(&h, (double)NAN), 3);
    assert_int_equal(histogram_quantile(&h, 7), 9);
}

static void a_rank_is_the_share_rounded_up_as_people_count(void **state)
{
    (void)state;
    for (uint64_t percent = 1; percent <= 100; percent++) {
        assert_int_equal(histogram_rank(100, (double)percent / 100), percent);
        assert_int_equal(histogram_rank(1000000, (double)percent / 100), percent * 10000);
        assert_int_equal(histogram_rank(10, (double)percent / 100), (percent + 9) / 10);
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Values of all magnitudes: as many of 2^k as of 2^(k+1). */
static int64_t any_value(uint64_t *seed)
{
    return (int64_t)(seed_next(seed) >> (1 + seed_next(seed) % 63));
}

static void quantiles_are_never_below_the_true_ones_and_at_most_a_32nd_above(void **state)
{
    (void)state;
    enum { N = 500 };
    static int64_t values[N];
    uint64_t seed = seed_start();
    for (int turn = 0; turn < 200; turn++) {
        clear();
        for (int i = 0; i < N; i++) {
            values[i] = any_value(&seed);
            histogram_add(&h, values[i]);
        }
        qsort(values, N, sizeof values[0], ascending);
        for (int rank = 1; rank <= N; rank++) {
            int64_t truth = values[rank - 1], seen = histogram_quantile(&h, (rank - 0.5) / N);
            assert_true(seen >= truth);
            assert_true(seen - truth <= truth / 32);
        }
        assert_int_equal(histogram_quantile(&h, 1), values[N - 1]);
    }
}

static void merging_equals_adding_to_one(void **state)
{
    (void)state;
    uint64_t seed = seed_start();
    static struct histogram whole;
    clear();
    whole = empty;
    for (int i = 0; i < 10000; i++) {
        int64_t v = any_value(&seed);
        histogram_add(&whole, v);
        histogram_add(seed_next(&seed) % 3 ? &h : &other, v);
    }
    histogram_merge(&h, &other);
    assert_memory_equal(&h, &whole, sizeof h);
}

/* One below the start of a bucket lies in another; the start, and what is between, do not. */
static void a_bucket_starts_where_it_says(void **state)
{
    (void)state;
    uint64_t seed = seed_start();
    for (int i = 0; i < 10000; i++) {
        int64_t v = any_value(&seed), start = histogram_bucket_start(v);
        clear();
        other = empty;
        histogram_add_many(&h, v, 3);
        histogram_add(&other, v);
        histogram_add(&other, start);
        histogram_add(&other,
                      start + (int64_t)((double)seed_unit(&seed) * (double)((uint64_t)v - (uint64_t)start) / 2));
        assert_memory_equal(&h, &other, sizeof h);
        if (start == INT64_MIN)
            continue;
        other = empty;
        histogram_add_many(&other, start - 1, 3);
        assert_memory_not_equal(h.buckets, other.buckets, sizeof h.buckets);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_has_quantile_0),
        cmocka_unit_test(values_below_64_are_exact_and_negative_ones_count_as_0),
        cmocka_unit_test(the_largest_value_has_a_bucket_and_is_the_maximum),
        cmocka_unit_test(a_share_out_of_range_is_taken_as_its_nearest_bound),
        cmocka_unit_test(a_rank_is_the_share_rounded_up_as_people_count),
        cmocka_unit_test(quantiles_are_never_below_the_true_ones_and_at_most_a_32nd_above),
        cmocka_unit_test(merging_equals_adding_to_one),
        cmocka_unit_test(a_bucket_starts_where_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
