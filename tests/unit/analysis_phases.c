// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Phases of curves whose steps are known, alone and in noise; and the partition with the least squares is that which
 * trying all of them finds.
 */
#include "analysis/phases.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { N = 100 };

static uint64_t seed;
static double one[N], two[N];
static const struct phases_curve curves[] = {{one, 1}, {two, 1}};

static double uniform(void)
{
    return (double)(seed_next(&seed) >> 11) / 9007199254740992.0;
}

static double noise(double deviation)
{
    return deviation * sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* 0.2, then 0.9 from 30 on, 0.3 from 70 on; and 0.1, then 0.6 from 30 on. */
static void draw(double deviation)
{
    for (int i = 0; i < N; i++) {
        one[i] = (i < 30 ? 0.2 : i < 70 ? 0.9 : 0.3) + noise(deviation);
        two[i] = (i < 30 ? 0.1 : 0.6) + noise(deviation);
    }
}

static size_t found_within(size_t count, double threshold, bool least_squares)
{
    size_t at[N], found;
    int err = least_squares ? phases_split(curves, count, N, threshold, at, &found)
                            : phases_find(curves, count, N, threshold, at, &found);
    assert_int_equal(err, 0);
    for (size_t i = 0; i < found; i++)
        if (labs((long)at[i] - 30) > 2 && labs((long)at[i] - 70) > 2)
            return N; /* a boundary where there is none */
    return found;
}

TEST(test_steps_have_peaks)
{
    double b[N];
    draw(0);
    assert_int_equal(phases_changes(curves, 1, N, b), 0);
    assert_true(fabs(b[30] - 0.098) < 1e-9 && fabs(b[70] - 0.072) < 1e-9);
    assert_true(b[25] == 0 && b[26] > 0 && b[34] > 0 && b[35] == 0);
    assert_int_equal(phases_changes(curves, 2, N, b), 0);
    assert_true(fabs(b[30] - 0.148) < 1e-9 && fabs(b[70] - 0.072) < 1e-9);
    assert_int_equal(found_within(2, 0.1, false), 1);
    assert_int_equal(found_within(2, 0.05, false), 2);
    assert_int_equal(found_within(2, 0, false), 2);
    assert_int_equal(found_within(2, 0, true), 2);
}

TEST(test_steps_in_noise)
{
    int steep = 0, squares = 0, rounds = 1000;
    for (int i = 0; i < rounds; i++) {
        draw(0.05);
        steep += found_within(1, 0, false) == 2;
        squares += found_within(1, 0, true) == 2;
    }
    assert_true(steep >= rounds * 95 / 100);
    assert_true(squares >= rounds * 95 / 100);
}

TEST(test_noise_has_no_phases)
{
    int steep = 0, squares = 0, rounds = 300;
    size_t at[N], found;
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < N; k++)
            one[k] = 0.5 + noise(0.05);
        assert_int_equal(phases_find(curves, 1, N, 0, at, &found), 0);
        steep += found == 0;
        assert_int_equal(phases_split(curves, 1, N, 0, at, &found), 0);
        squares += found == 0;
    }
    assert_true(steep >= rounds * 95 / 100 && squares >= rounds * 95 / 100);
}

/* ---- all partitions ---------------------------------------------------------------------------------------------- */

enum { FEW = 9 };

static double squares_of(const double *v, size_t from, size_t until)
{
    double mean = 0, sum = 0;
    for (size_t i = from; i < until; i++)
        mean += v[i] / (double)(until - from);
    for (size_t i = from; i < until; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

/* Boundaries are bits of `set`. */
static double cost_of_set(unsigned set, double unit, double penalty)
{
    double cost = 0;
    size_t from = 0;
    for (size_t i = 1; i <= FEW; i++)
        if (i == FEW || set >> i & 1) {
            cost += squares_of(one, from, i) / unit + (i == FEW ? 0 : penalty);
            from = i;
        }
    return cost;
}

TEST(test_the_least_squares)
{
    const struct phases_curve curve = {one, 2500}; /* its noise is the least that is taken: 50 */
    for (int round = 0; round < 300; round++) {
        double penalty = 0.02 + 0.3 * uniform(), least = INFINITY;
        size_t at[FEW], found;
        unsigned set = 0;
        for (int i = 0; i < FEW; i++)
            one[i] = 20 * (double)(seed_next(&seed) % 2) + 3 * uniform();
        for (unsigned s = 0; s < 1u << FEW; s += 2)
            least = fmin(least, cost_of_set(s, 2500, penalty));
        assert_int_equal(phases_split(&curve, 1, FEW, penalty, at, &found), 0);
        for (size_t i = 0; i < found; i++)
            set |= 1u << at[i];
        assert_true(cost_of_set(set, 2500, penalty) <= least + 1e-9);
    }
}

TEST(test_too_few_values)
{
    size_t at[2], found = 7;
    assert_int_equal(phases_find(curves, 1, 0, 0, at, &found), 0);
    assert_int_equal(found, 0);
    assert_int_equal(phases_find(curves, 1, 1, 0, at, &found), 0);
    assert_int_equal(phases_split(curves, 1, 1, 0, at, &found), 0);
    assert_int_equal(phases_split(curves, 0, 2, 0, at, &found), 0);
    assert_int_equal(found, 0);
}

TEST(test_short_phases_are_joined)
{
    int64_t at[] = {50, 10, 90, 10, -5, 100, 93, 0};
    assert_int_equal(phases_join(at, 8, 0, 100, 8), 4);
    assert_true(at[0] == 10 && at[1] == 50 && at[2] == 90 && at[3] == 93);
    assert_int_equal(phases_join(at, 4, 0, 100, 3), 2); /* that of 3, then that of 7 */
    assert_true(at[0] == 10 && at[1] == 50);
    int64_t first[] = {1, 50};
    assert_int_equal(phases_join(first, 2, 0, 100, 2), 1);
    assert_int_equal(first[0], 50);
    assert_int_equal(phases_join(first, 1, 0, 100, 1), 0);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
