// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The ratio and the difference of two metrics, whatever their values and errors: every quotient and difference of
 * numbers within the errors lies within that of the result, and a ratio is known where no such divisor is 0.
 */
#include "metric/evaluator.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { ROUNDS = 20000, SAMPLES = 20 };

static uint64_t seed;

static struct evaluator draw(const struct experiment_metric *m)
{
    double sign = seed_next(&seed) % 2 ? 1 : -1;
    bool exact = seed_next(&seed) % 2, is_zero = seed_next(&seed) % 10 == 0;
    double value = is_zero ? 0 : sign * seed_between(&seed, 0.01, 1e4);
    return (struct evaluator){.metric = seed_next(&seed) % 20 ? m : NULL,
                              .known = seed_next(&seed) % 10 != 0,
                              .value = value,
                              .joint = value,
                              .resolution = exact ? 0 : seed_between(&seed, 0.01, 10),
                              .at = (int64_t)(seed_next(&seed) % 1000)};
}

static double within(const struct evaluator *e)
{
    return e->value + (2 * seed_unit(&seed) - 1) * e->resolution;
}

TEST(every_result_within_the_errors_is_within_that_of_the_metric)
{
    const struct experiment_metric rate = {.kind = METRIC_RATE};
    for (int round = 0; round < ROUNDS; round++) {
        bool is_ratio = seed_next(&seed) % 2;
        const struct experiment_metric m = {.kind = is_ratio ? METRIC_RATIO : METRIC_DIFFERENCE};
        struct evaluator a = draw(&rate), b = draw(&rate), e = {0};
        evaluator_combine(&e, &m, &a, &b);
        bool may_be_0 = is_ratio && fabs(b.value) <= b.resolution;
        assert_int_equal(e.known, a.metric && b.metric && a.known && b.known && !may_be_0);
        if (!e.known)
            continue;
        assert_true(e.at == (a.at < b.at ? a.at : b.at));
        assert_true(e.value == (is_ratio ? a.value / b.value : a.value - b.value));
        assert_true(a.resolution > 0 || b.resolution > 0 || e.resolution == 0);
        for (int i = 0; i < SAMPLES; i++) {
            double x = within(&a), y = within(&b), result = is_ratio ? x / y : x - y;
            if (!(fabs(result - e.value) <= e.resolution + 1e-9 * fabs(e.value) + 1e-9))
                fail_msg("%g and %g give %g, and the metric is %g +- %g", x, y, result, e.value, e.resolution);
        }
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
