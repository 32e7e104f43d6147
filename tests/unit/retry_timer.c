// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/retry_timer.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { FIRST = 30, LONGEST = 320, SHORTEST = 10 };

TEST(a_new_one_is_due)
{
    struct retry_timer t = {0};
    assert_true(retry_timer_is_due(&t));
    retry_timer_pass(&t, 5);
    assert_true(retry_timer_is_due(&t));
}

TEST(each_failure_in_a_row_doubles_the_pause_up_to_the_longest)
{
    static const int64_t pauses[] = {30, 60, 120, 240, 320, 320, 320};
    struct retry_timer t = {0};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        retry_timer_fail(&t, true, FIRST, LONGEST);
        assert_int_equal(t.pause, pauses[i]);
        retry_timer_pass(&t, pauses[i] - 1);
        assert_false(retry_timer_is_due(&t));
        retry_timer_pass(&t, 1);
        assert_true(retry_timer_is_due(&t));
    }
}

TEST(a_failure_of_something_new_waits_as_long_as_the_last_one)
{
    struct retry_timer t = {0};
    retry_timer_fail(&t, false, FIRST, LONGEST);
    assert_int_equal(t.pause, FIRST);
    retry_timer_fail(&t, true, FIRST, LONGEST);
    retry_timer_pass(&t, 7);
    retry_timer_fail(&t, false, FIRST, LONGEST);
    assert_int_equal(t.pause, 2 * FIRST);
    assert_int_equal(t.waited, 0);
}

TEST(each_success_halves_the_pause_down_to_the_shortest)
{
    static const int64_t pauses[] = {35, 17, 10, 10};
    struct retry_timer t = {.pause = 70};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        retry_timer_ease(&t, SHORTEST);
        assert_int_equal(t.pause, pauses[i]);
    }
}

TEST(no_time_is_too_long_to_count)
{
    struct retry_timer t = {.pause = INT64_MAX};
    for (int i = 0; i < 3; i++)
        retry_timer_pass(&t, INT64_MAX - 1);
    assert_int_equal(t.waited, INT64_MAX);
    assert_true(retry_timer_is_due(&t));
    t.pause = INT64_MAX - 1;
    retry_timer_fail(&t, true, 1, INT64_MAX);
    assert_int_equal(t.pause, INT64_MAX);
}

/* The same from a list of all that happened: a pause is FIRST, doubled and halved since the first failure. */
struct oracle {
    char what[512]; /* 'a' failed again, 'n' failed anew, 'e' eased */
    size_t count;
    int64_t waited;
};

static int64_t oracle_pause(const struct oracle *o, int64_t first, int64_t longest, int64_t shortest)
{
    int64_t pause = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (o->what[i] == 'e')
            pause = pause / 2 < shortest ? shortest : pause / 2;
        else if (pause == 0)
            pause = first;
        else if (o->what[i] == 'a')
            pause = pause * 2 > longest ? longest : pause * 2;
    }
    return pause;
}

TEST(whatever_happens_it_is_as_the_list_says)
{
    uint64_t seed = seed_start();
    for (int round = 0; round < 300; round++) {
        struct retry_timer t = {0};
        struct oracle o = {.count = 0};
        int64_t first = 2 + (int64_t)(seed_next(&seed) % 1000),
                longest = first + 2 * (int64_t)(seed_next(&seed) % 50000);
        int64_t shortest = 1 + (int64_t)(seed_next(&seed) % (uint64_t)first);
        longest -= longest % 2;
        while (o.count < sizeof o.what) {
            int64_t elapsed = (int64_t)(seed_next(&seed) % 5000);
            char what = "aanep"[seed_next(&seed) % 5];
            if (what == 'p') {
                retry_timer_pass(&t, elapsed);
                o.waited += elapsed;
            } else if (what == 'e') {
                retry_timer_ease(&t, shortest);
            } else {
                retry_timer_fail(&t, what == 'a', first, longest);
                o.waited = 0;
            }
            if (what != 'p')
                o.what[o.count++] = what;
            int64_t pause = oracle_pause(&o, first, longest, shortest);
            assert_int_equal(t.pause, pause);
            assert_int_equal(t.waited, o.waited);
            assert_int_equal(retry_timer_is_due(&t), o.waited >= pause);
        }
    }
}
