// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/backoff.h"

#include "tests/lib/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FIRST = 100, LAST = 5000 };

static void pauses_double_up_to_the_longest_and_stay_there(void **unused)
{
    (void)unused;
    uint64_t seed = seed_start();
    for (int round = 0; round < 1000; round++) {
        struct backoff b = backoff_make(seed_next(&seed), FIRST, LAST);
        for (int64_t longest = FIRST, i = 0; i < 12; i++, longest = longest * 2 < LAST ? longest * 2 : LAST) {
            int64_t pause = backoff_next(&b);
            assert_in_range(pause, longest / 2, longest);
        }
        backoff_reset(&b);
        assert_in_range(backoff_next(&b), FIRST / 2, FIRST);
    }
}

static void the_same_seed_draws_the_same_pauses_and_neighbours_differ(void **unused)
{
    (void)unused;
    struct backoff a = backoff_make(7, FIRST, LAST), same = a, next = backoff_make(8, FIRST, LAST);
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        int64_t pause = backoff_next(&a);
        assert_int_equal(pause, backoff_next(&same));
        differ += pause != backoff_next(&next);
    }
    assert_true(differ > 90);
}

static void pauses_spread_over_their_range(void **unused)
{
    (void)unused;
    struct backoff b = backoff_make(1, 1 << 20, 1 << 20);
    int64_t sum = 0;
    enum { DRAWS = 10000 };
    for (int i = 0; i < DRAWS; i++)
        sum += backoff_next(&b);
    assert_in_range(sum / DRAWS, (1 << 20) * 74LL / 100, (1 << 20) * 76LL / 100);
}

static void even_the_shortest_and_the_longest_pauses_fit(void **unused)
{
    (void)unused;
    struct backoff shortest = backoff_make(1, 1, 1), longest = backoff_make(1, INT64_MAX / 2, INT64_MAX);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(backoff_next(&shortest), 1);
        assert_true(backoff_next(&longest) >= INT64_MAX / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_longest_and_stay_there),
        cmocka_unit_test(the_same_seed_draws_the_same_pauses_and_neighbours_differ),
        cmocka_unit_test(pauses_spread_over_their_range),
        cmocka_unit_test(even_the_shortest_and_the_longest_pauses_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
