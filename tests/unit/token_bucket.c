// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The token bucket: how far a peer is beyond its rate. */
#include "base/token_bucket.h"

#include "base/clock.h"
#include "tests/lib/test.h"

TEST(a_second_s_worth_may_come_at_once)
{
    struct token_bucket b = {0};
    int64_t now = 1000 * CLOCK_S;
    token_bucket_take(&b, 1000, 1000, now);
    assert_int_equal(token_bucket_overdrawn(&b, 1000, now), 0);
    token_bucket_take(&b, 1000, 1, now);
    assert_in_range(token_bucket_overdrawn(&b, 1000, now), 1, 2);
}

TEST(time_makes_up_for_what_was_too_much)
{
    struct token_bucket b = {0};
    token_bucket_take(&b, 1000, 11000, CLOCK_S);
    assert_in_range(token_bucket_overdrawn(&b, 1000, CLOCK_S), 10000, 10001);
    assert_in_range(token_bucket_overdrawn(&b, 1000, 5 * CLOCK_S), 6000, 6001);
    assert_int_equal(token_bucket_overdrawn(&b, 1000, 11 * CLOCK_S), 0);
    /* What was not used is not saved up: after a long silence there is one second's worth. */
    token_bucket_take(&b, 1000, 2001, 3600 * CLOCK_S);
    assert_in_range(token_bucket_overdrawn(&b, 1000, 3600 * CLOCK_S), 1001, 1002);
}

TEST(in_the_long_run_it_is_the_rate)
{
    struct token_bucket b = {0};
    uint64_t taken = 0;
    int64_t now = 0;
    for (; now < 100 * CLOCK_S; now += CLOCK_MS)
        if (!token_bucket_overdrawn(&b, 5000, now)) {
            token_bucket_take(&b, 5000, 777, now);
            taken += 777;
        }
    assert_in_range(taken, 100 * 5000, 101 * 5000 + 777 + 5);
}

TEST(without_a_rate_nothing_is_too_much)
{
    struct token_bucket b = {0};
    for (int i = 0; i < 100; i++)
        token_bucket_take(&b, 0, (size_t)1 << 30, CLOCK_S);
    assert_int_equal(token_bucket_overdrawn(&b, 0, CLOCK_S), 0);
}
