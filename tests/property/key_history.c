// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Columns of a history against the values themselves, at random times: bursts, pauses, and many times its room. */
#include "views/page/key_history.h"
#include "tests/lib/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 40000, ROOM = 20000 };

static struct {
    int64_t time;
    double value;
} values[MOST];

static uint64_t seed;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

/* The columns that the values make. */
static size_t make_columns(size_t count, int64_t from, int64_t until, unsigned width, struct levels_column *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i].time >> width < from >> width || values[i].time >> width > until >> width)
            continue;
        int64_t begin = values[i].time >> width << width;
        if (n == 0 || out[n - 1].begin != begin)
            out[n++] = (struct levels_column){.begin = begin, .min = INFINITY, .max = -INFINITY};
        struct levels_column *c = &out[n - 1];
        c->count++;
        c->min = fmin(c->min, values[i].value);
        c->max = fmax(c->max, values[i].value);
        c->last = values[i].value;
    }
    return n;
}

static void expect_same(const struct key_history *h, size_t count, int64_t from, int64_t until, unsigned width)
{
    static struct levels_column made[MOST], right[MOST];
    size_t n = make_columns(count, from, until, width, right);
    size_t got = key_history_columns(h, from, until, width, made, ROOM);
    assert_int_equal(got, n < ROOM ? n : ROOM);
    for (size_t i = 0; i < got; i++) {
        assert_int_equal(made[i].begin, right[i].begin);
        assert_int_equal(made[i].count, right[i].count);
        assert_true(made[i].min == right[i].min && made[i].max == right[i].max && made[i].last == right[i].last);
    }
}

static void columns_are_those_of_the_values(void **unused)
{
    (void)unused;
    seed = seed_start();
    for (int round = 0; round < 20; round++) {
        struct key_history h = {0};
        size_t count = below(MOST) + 1;
        int64_t time = (int64_t)below(1000000000);
        unsigned pause = (unsigned)below(34);
        for (size_t i = 0; i < count; i++) {
            time += below(50) == 0 ? (int64_t)below(UINT64_C(1) << pause) : (int64_t)below(1000);
            values[i].time = time;
            values[i].value = (double)below(1000) - 500;
            assert_int_equal(key_history_add(&h, time, values[i].value), 0);
        }
        assert_true(h.count <= KEY_HISTORY_COLUMNS);
        expect_same(&h, count, 0, INT64_MAX, h.width);
        for (int i = 0; i < 20; i++) {
            int64_t from = (int64_t)below((uint64_t)time + 1), until = from + (int64_t)below((uint64_t)time + 1);
            expect_same(&h, count, from, until, h.width + (unsigned)below(20));
        }
        key_history_fini(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
