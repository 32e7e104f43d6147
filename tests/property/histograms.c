// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a histogram says of any numbers is within its bound of the exact quantile, which sorting finds; adding,
 * subtracting and packing lose nothing. Latencies, which are whole numbers in a histogram, hold a bound of a 32nd, also
 * in the blobs of earlier runs.
 */
#include "base/bytes.h"
#include "run/model/latency.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { N = 500 };

static uint64_t seed;

/* ---- Numbers of any size and sign -------------------------------------------------------------------------------- */

static double any_number(int turn)
{
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN, DBL_TRUE_MIN, 256};
    switch (turn % 4) {
    case 0:
        return (double)(seed_next(&seed) % 255) - 127;
    case 1:
        return seed_between(&seed, 1e-6, 1e6) * (seed_next(&seed) % 2 ? 1 : -1);
    case 2:
        return odd[seed_next(&seed) % (sizeof odd / sizeof *odd)];
    default:
        for (;;) {
            double value = histogram_number((int64_t)seed_next(&seed));
            if (!isnan(value))
                return value;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_within(double said, double exact, double part)
{
    return said == exact || (said >= exact - 1e-309 && said <= exact + fabs(exact) / part + 1e-309);
}

static void assert_right(const struct histogram *h, const double *sorted, int n, int turn)
{
    double part = h->coarser ? 32 : 128;
    for (int rank = 1; rank <= n; rank += 1 + (int)(seed_next(&seed) % 9)) {
        double said = histogram_quantile(h, (rank - 0.5) / n), exact = sorted[rank - 1];
        if (!is_within(said, exact, part) || (said == 0 && signbit(said)))
            fail_msg("turn %d: number %d of %d is %.17g, not %.17g", turn, rank, n, exact, said);
        if (exact == 0 || (fabs(exact) < 2 * part && exact == floor(exact)))
            assert_true(floor(said) == exact);
    }
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
    assert_int_equal(histogram_pack(a, NULL), histogram_pack(b, NULL));
    for (int i = 0; i <= 20; i++)
        assert_true(histogram_quantile(a, i / 20.0) == histogram_quantile(b, i / 20.0));
}

TEST(quantiles_are_never_below_the_true_ones_and_within_the_bound)
{
    static double values[2 * N];
    static uint8_t packed[2 * N * HISTOGRAM_PACKED];
    seed = seed_start();
    for (int turn = 0; turn < (getenv("BEZEL_TEST_LIGHT") ? 24 : 100); turn++) {
        struct histogram h = {.coarser = turn % 8 < 4 ? 0 : HISTOGRAM_COARSE}, other = h, first = h, back = h;
        struct histogram_cursor cursor = HISTOGRAM_CURSOR;
        size_t memory = 16 << 20, all = memory;
        for (int i = 0; i < 2 * N; i++) {
            values[i] = any_number(turn);
            assert_true(histogram_add(&h, &cursor, values[i], &memory));
            assert_true(i < N || histogram_add_many(&other, values[i], 1, &memory));
            assert_true(i >= N || histogram_add_many(&first, values[i], 1, &memory));
        }
        histogram_end(&cursor);
        size_t n = histogram_pack(&h, packed);
        assert_int_equal(n, histogram_pack(&h, NULL));
        assert_int_equal(histogram_unpack(&back, packed, n, &memory), 0);
        assert_same(&h, &back);
        qsort(values, N, sizeof *values, ascending);
        assert_right(&first, values, N, turn);
        qsort(values + N, N, sizeof *values, ascending);
        assert_right(&other, values + N, N, turn);
        n = histogram_pack(&first, packed);
        assert_int_equal(histogram_unpack(&other, packed, n, &memory), 0);
        assert_same(&back, &other);
        histogram_free(&h, &memory);
        histogram_free(&other, &memory);
        histogram_free(&first, &memory);
        histogram_free(&back, &memory);
        assert_int_equal(memory, all);
    }
}

TEST(without_memory_nothing_is_counted)
{
    struct histogram h = {0};
    size_t memory = 0;
    assert_false(histogram_add_many(&h, 1, 1, &memory));
    histogram_free(&h, &memory);
}

TEST(what_is_no_histogram_is_malformed)
{
    uint8_t packed[HISTOGRAM_PACKED] = {0};
    struct histogram h = {0};
    assert_int_equal(histogram_unpack(&h, packed, sizeof packed - 1, NULL), BEZEL_EMALFORMED);
    for (uint64_t number = 1; number <= UINT32_MAX; number *= 2) {
        bytes_put_u32(packed, (uint32_t)number);
        assert_int_equal(histogram_unpack(&h, packed, sizeof packed, NULL), number >> 19 ? BEZEL_EMALFORMED : 0);
    }
    bytes_put_u32(packed, 0x7ff << 7 | 1); /* not a number */
    assert_int_equal(histogram_unpack(&h, packed, sizeof packed, NULL), BEZEL_EMALFORMED);
    histogram_free(&h, NULL);
}

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

TEST(a_share_out_of_range_is_taken_as_its_nearest_bound)
{
    struct latency l = {0};
    assert_int_equal(latency_quantile(&l, 0), 0);
    latency_add(&l, 3, 1);
    latency_add(&l, 9, 1);
    assert_int_equal(latency_quantile(&l, -1), 3);
    assert_int_equal(latency_quantile(&l, (double)NAN), 3);
    assert_int_equal(latency_quantile(&l, 7), 9);
    latency_free(&l);
}

TEST(a_rank_is_the_share_rounded_up_as_people_count)
{
    for (uint64_t percent = 1; percent <= 100; percent++) {
        assert_int_equal(histogram_rank(100, (double)percent / 100), percent);
        assert_int_equal(histogram_rank(1000000, (double)percent / 100), percent * 10000);
        assert_int_equal(histogram_rank(10, (double)percent / 100), (percent + 9) / 10);
    }
}

/* ---- Latencies --------------------------------------------------------------------------------------------------- */

/* Values of all magnitudes: as many of 2^k as of 2^(k+1); some negative. */
static int64_t any_latency(void)
{
    int64_t value = (int64_t)(seed_next(&seed) >> (1 + seed_next(&seed) % 63));
    return seed_next(&seed) % 50 ? value : -value;
}

static int ascending_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

TEST(latencies_are_never_below_the_true_ones_and_at_most_a_32nd_above)
{
    static int64_t values[N];
    static uint8_t blob[LATENCY_PACKED_MAX];
    seed = seed_start();
    for (int turn = 0; turn < 40; turn++) {
        struct latency l = {0}, back = {0};
        for (int i = 0; i < N; i++) {
            int64_t v = any_latency();
            latency_add(&l, v, 1);
            values[i] = v > 0 ? v : 0;
        }
        qsort(values, N, sizeof *values, ascending_ns);
        assert_int_equal(l.count, N);
        assert_int_equal(l.max, values[N - 1]);
        size_t n = latency_pack(&l, blob);
        assert_in_range(n, 8, sizeof blob);
        assert_int_equal(latency_unpack(&back, blob, n), 0);
        assert_true(back.count == N && back.max == l.max);
        for (int rank = 1; rank <= N; rank++) {
            int64_t exact = values[rank - 1], said = latency_quantile(&l, (rank - 0.5) / N);
            assert_true(said >= exact && said - exact <= exact / 32);
            assert_int_equal(latency_quantile(&back, (rank - 0.5) / N), said);
        }
        assert_int_equal(latency_unpack(&back, blob, n - 1), BEZEL_EMALFORMED);
        latency_free(&l);
        latency_free(&back);
    }
}

/* One below the start of a bucket lies in another; the start, and what is between, do not. */
TEST(a_bucket_starts_where_it_says)
{
    seed = seed_start();
    int64_t below = (INT64_C(1) << 60) - 1; /* as a double it is 2^60, of the next bucket */
    assert_true(latency_bucket_start(below) <= below);
    for (int i = 0; i < 10000; i++) {
        int64_t v = any_latency(), start = latency_bucket_start(v);
        assert_true(v <= 0 ? start == INT64_MIN : start <= v && start > 0);
        if (v <= 0 || v >= INT64_C(1) << 53)
            continue;
        const struct histogram coarse = {.coarser = HISTOGRAM_COARSE};
        int64_t bucket = histogram_bucket(&coarse, (double)v);
        assert_int_equal(histogram_bucket(&coarse, (double)start), bucket);
        assert_true(histogram_bucket(&coarse, (double)(start - 1)) < bucket);
    }
}

/* Value 5 was number 5; number 64 + 32 * 4 + 7, those from (32 + 7) * 2^5 on. */
TEST(latencies_of_earlier_runs_are_read)
{
    uint8_t blob[8 + 2 * HISTOGRAM_PACKED];
    struct latency l = {0};
    bytes_put_u64(blob, 1270);
    bytes_put_u32(blob + 8, 5);
    bytes_put_u64(blob + 12, 3);
    bytes_put_u32(blob + 20, 64 + 32 * 4 + 7);
    bytes_put_u64(blob + 24, 2);
    assert_int_equal(latency_unpack(&l, blob, sizeof blob), 0);
    assert_true(l.count == 5 && l.max == 1270);
    assert_int_equal(latency_quantile(&l, 0.5), 5);
    assert_int_equal(latency_bucket_start(1270), 39 << 5);
    assert_int_equal(latency_quantile(&l, 1), 1270);
    latency_free(&l);
    bytes_put_u32(blob + 8, UINT32_MAX);
    assert_int_equal(latency_unpack(&l, blob, sizeof blob), BEZEL_EMALFORMED);
    latency_free(&l);
}
