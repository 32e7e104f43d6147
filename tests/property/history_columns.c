// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Columns of a history against the values themselves, at random times: bursts, pauses, and many times its room. */
#include "run/history/history_columns.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { MOST = 40000, ROOM = 20000, COLUMNS = 4096 };

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
static size_t make_columns(size_t count, int64_t from, int64_t until, unsigned width, struct history_column *out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i].time >> width < from >> width || values[i].time >> width > until >> width)
            continue;
        if (n == 0 || out[n - 1].at >> width != values[i].time >> width)
            out[n++] = (struct history_column){.at = values[i].time, .min = INFINITY, .max = -INFINITY};
        struct history_column *c = &out[n - 1];
        c->count++;
        c->min = fmin(c->min, values[i].value);
        c->max = fmax(c->max, values[i].value);
        c->last = values[i].value;
    }
    return n;
}

static void expect_same(const struct history_columns *h, size_t count, int64_t from, int64_t until, unsigned width)
{
    static struct history_column made[MOST], right[MOST];
    size_t n = make_columns(count, from, until, width, right);
    size_t got =
        history_columns_take(h, from >> width << width, until | ((INT64_C(1) << width) - 1), width, made, ROOM);
    assert_int_equal(got, n < ROOM ? n : ROOM);
    for (size_t i = 0; i < got; i++) {
        assert_int_equal(made[i].at, right[i].at);
        assert_int_equal(made[i].count, right[i].count);
        assert_true(made[i].min == right[i].min && made[i].max == right[i].max && made[i].last == right[i].last);
    }
}

TEST(columns_are_those_of_the_values)
{
    seed = seed_start();
    for (int round = 0; round < 20; round++) {
        struct history_columns h = {0};
        size_t count = below(MOST) + 1;
        int64_t time = (int64_t)below(1000000000);
        unsigned pause = (unsigned)below(34);
        for (size_t i = 0; i < count; i++) {
            time += below(50) == 0 ? (int64_t)below(UINT64_C(1) << pause) : (int64_t)below(1000);
            values[i].time = time;
            values[i].value = (double)below(1000) - 500;
            assert_int_equal(history_columns_add(&h, COLUMNS, time, values[i].value, false), 0);
        }
        assert_true(h.count <= COLUMNS);
        expect_same(&h, count, 0, INT64_MAX, h.width);
        for (int i = 0; i < 20; i++) {
            int64_t from = (int64_t)below((uint64_t)time + 1), until = from + (int64_t)below((uint64_t)time + 1);
            expect_same(&h, count, from, until, h.width + (unsigned)below(20));
        }
        history_columns_fini(&h);
    }
}

/* As when a database was made anew from its files: columns of one width are the same. */
TEST(the_order_in_which_values_come_makes_no_difference)
{
    for (int round = 0; round < 20; round++) {
        struct history_columns right = {0}, other = {0};
        size_t count = below(20000) + 1;
        for (size_t i = 0; i < count; i++) {
            values[i].time = (int64_t)below(UINT64_C(1) << (20 + below(20)));
            values[i].value = (double)below(1000);
        }
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(history_columns_add(&other, 512, values[i].time, values[i].value, i == 7), 0);
            assert_int_equal(history_columns_add(&right, 512, values[count - 1 - i].time, values[count - 1 - i].value,
                                                 count - 1 - i == 7),
                             0);
        }
        static struct history_column made[2][512];
        unsigned width = other.width > right.width ? other.width : right.width;
        assert_true(other.count <= 512 && right.count <= 512);
        size_t n = history_columns_take(&other, 0, INT64_MAX, width, made[0], 512);
        assert_int_equal(history_columns_take(&right, 0, INT64_MAX, width, made[1], 512), n);
        for (size_t i = 0; i < n; i++) {
            const struct history_column *x = &made[0][i], *y = &made[1][i];
            assert_true(x->at == y->at && x->count == y->count && x->min == y->min && x->max == y->max);
            assert_true(x->violated == y->violated && x->known == x->count);
            assert_true(i == 0 || x->at >> width > made[0][i - 1].at >> width);
        }
        history_columns_fini(&right);
        history_columns_fini(&other);
    }
}
