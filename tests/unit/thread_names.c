// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Which name a thread had at a time. */
#include "run/model/thread_names.h"
#include "tests/lib/test.h"

#include <string.h>

static void add(struct thread_names *n, uint32_t thread, int64_t at, const char *name)
{
    assert_int_equal(thread_names_add(n, thread, at, name), 0);
}

TEST(a_name_counts_until_the_next_one)
{
    struct thread_names n = {0};
    add(&n, 7, 100, "first");
    add(&n, 7, 200, "second");
    assert_string_equal(thread_names_at(&n, 7, 100), "first");
    assert_string_equal(thread_names_at(&n, 7, 199), "first");
    assert_string_equal(thread_names_at(&n, 7, 200), "second");
    assert_string_equal(thread_names_at(&n, 7, INT64_MAX), "second");
    thread_names_fini(&n);
}

TEST(the_first_name_counts_before_it_was_found)
{
    struct thread_names n = {0};
    add(&n, 3, 500, "other");
    add(&n, 7, 100, "first");
    assert_string_equal(thread_names_at(&n, 7, 0), "first");
    assert_string_equal(thread_names_at(&n, 7, INT64_MIN), "first");
    thread_names_fini(&n);
}

TEST(a_thread_without_a_name_has_none)
{
    struct thread_names n = {0};
    assert_null(thread_names_at(&n, 7, 0));
    add(&n, 3, 500, "third");
    add(&n, 7, 100, "first");
    add(&n, 7, 200, ""); /* one beyond the bounds */
    add(&n, 7, 300, "again");
    add(&n, 9, 0, "ninth");
    for (uint32_t thread = 0; thread < 12; thread++)
        if (thread != 3 && thread != 7 && thread != 9)
            assert_null(thread_names_at(&n, thread, 250));
    assert_null(thread_names_at(&n, 7, 250));
    assert_string_equal(thread_names_at(&n, 7, 300), "again");
    thread_names_fini(&n);
}

/* A thread whose id another one had before it, which only the time tells apart. */
TEST(a_reused_id_has_the_name_of_its_time)
{
    struct thread_names n = {0};
    for (int64_t i = 0; i < 1000; i++)
        add(&n, 7, i * 10, i % 2 ? "odd" : "even");
    for (int64_t i = 0; i < 1000; i++)
        assert_string_equal(thread_names_at(&n, 7, i * 10 + 5), i % 2 ? "odd" : "even");
    thread_names_fini(&n);
}

TEST(what_is_out_of_order_is_refused)
{
    struct thread_names n = {0};
    add(&n, 7, 100, "first");
    assert_int_equal(thread_names_add(&n, 7, 99, "earlier"), BEZEL_EMALFORMED);
    assert_int_equal(thread_names_add(&n, 6, 200, "lower"), BEZEL_EMALFORMED);
    char longest[THREAD_NAME_MAX + 10];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    add(&n, 7, 100, longest);
    assert_int_equal(strlen(thread_names_at(&n, 7, 100)), THREAD_NAME_MAX);
    thread_names_fini(&n);
}
