// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/backoff.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { FIRST = 100, LAST = 5000 };

TEST(pauses_double_up_to_the_longest_and_stay_there)
{
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

TEST(the_same_seed_draws_the_same_pauses_and_neighbours_differ)
{
    struct backoff a = backoff_make(7, FIRST, LAST), same = a, next = backoff_make(8, FIRST, LAST);
    int differ = 0;
    for (int i = 0; i < 100; i++) {
        int64_t pause = backoff_next(&a);
        assert_int_equal(pause, backoff_next(&same));
        differ += pause != backoff_next(&next);
    }
    assert_true(differ > 90);
}

TEST(pauses_spread_over_their_range)
{
    struct backoff b = backoff_make(1, 1 << 20, 1 << 20);
    int64_t sum = 0;
    enum { DRAWS = 10000 };
    for (int i = 0; i < DRAWS; i++)
        sum += backoff_next(&b);
    assert_in_range(sum / DRAWS, (1 << 20) * 74LL / 100, (1 << 20) * 76LL / 100);
}

TEST(even_the_shortest_and_the_longest_pauses_fit)
{
    struct backoff shortest = backoff_make(1, 1, 1), longest = backoff_make(1, INT64_MAX / 2, INT64_MAX);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(backoff_next(&shortest), 1);
        assert_true(backoff_next(&longest) >= INT64_MAX / 4);
    }
}
