// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What records of spans, counters and gauges come to, record by record. */
#include "collector/model/kind_statistics.h"

#include "base/bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A record of one value at time `at`. */
static void add(struct kind_statistics *v, enum dict_kind kind, uint64_t at, uint64_t value)
{
    uint8_t bytes[8];
    bytes_put_u64(bytes, value);
    struct packet_record r = {.aspect = 1, .timestamp = at, .value_count = 1, .values = bytes};
    kind_statistics_add(v, kind, &r);
}

static void add_level(struct kind_statistics *v, uint64_t at, double level)
{
    uint64_t bits;
    memcpy(&bits, &level, sizeof bits);
    add(v, DICT_GAUGE, at, bits);
}

static void only_spans_counters_and_gauges_have_values(void **state)
{
    (void)state;
    assert_null(kind_statistics_new(DICT_EVENT));
    assert_null(kind_statistics_new(DICT_SENT));
    assert_null(kind_statistics_new(DICT_RECEIVED));
    assert_null(kind_statistics_new((enum dict_kind)(DICT_RECEIVED + 1)));
    kind_statistics_free(NULL);
}

static void durations_of_spans_sum_up_but_for_unknown_ones(void **state)
{
    (void)state;
    struct kind_statistics *v = kind_statistics_new(DICT_SPAN);
    for (uint64_t ns = 0; ns <= 60; ns++)
        add(v, DICT_SPAN, ns, ns);
    add(v, DICT_SPAN, 100, (uint64_t)-1);
    assert_int_equal(v->total, 60 * 61 / 2);
    assert_int_equal(v->durations->count, 61);
    assert_int_equal(histogram_quantile(v->durations, 0.5), 30);
    assert_int_equal(v->durations->max, 60);
    kind_statistics_free(v);
}

static void counts_sum_up_and_stay_at_the_ends_of_their_range(void **state)
{
    (void)state;
    struct kind_statistics *v = kind_statistics_new(DICT_COUNTER);
    add(v, DICT_COUNTER, 1, 5);
    add(v, DICT_COUNTER, 2, (uint64_t)-7);
    assert_int_equal(v->total, -2);
    assert_null(v->durations);
    add(v, DICT_COUNTER, 3, INT64_MAX);
    add(v, DICT_COUNTER, 4, INT64_MAX);
    assert_true(v->total == INT64_MAX);
    add(v, DICT_COUNTER, 5, (uint64_t)INT64_MIN);
    add(v, DICT_COUNTER, 6, (uint64_t)INT64_MIN);
    assert_true(v->total == INT64_MIN);
    kind_statistics_free(v);
}

/* Rings come in any order: the last level is that of the latest time. */
static void a_gauge_has_its_last_least_and_greatest_level(void **state)
{
    (void)state;
    struct kind_statistics *v = kind_statistics_new(DICT_GAUGE);
    assert_true(isnan(v->last) && isnan(v->min) && isnan(v->max));
    add_level(v, 10, 3.5);
    add_level(v, 30, -1);
    add_level(v, 20, 99);
    assert_true(v->last == -1 && v->min == -1 && v->max == 99);
    add_level(v, 30, 4);
    assert_true(v->last == 4);
    add_level(v, 40, NAN);
    assert_true(isnan(v->last) && v->min == -1 && v->max == 99);
    assert_int_equal(v->total, 0);
    kind_statistics_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_spans_counters_and_gauges_have_values),
        cmocka_unit_test(durations_of_spans_sum_up_but_for_unknown_ones),
        cmocka_unit_test(counts_sum_up_and_stay_at_the_ends_of_their_range),
        cmocka_unit_test(a_gauge_has_its_last_least_and_greatest_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
