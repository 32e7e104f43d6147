// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What each node may take of a collector, in a time that the test makes. */
#include "mdr/link/shares.h"

#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct shares *make(uint64_t most)
{
    struct shares *s = shares_new((const uint64_t[SHARE_KINDS]){[SHARE_PLACES] = most, [SHARE_PROCESSES] = most});
    assert_non_null(s);
    return s;
}

/* Takes as many as the node may. */
static uint64_t take_all(struct shares *s, struct share *of)
{
    uint64_t n = 0;
    for (; shares_may(s, of, SHARE_PLACES); n++)
        shares_take(s, of, SHARE_PLACES);
    return n;
}

TEST(who_is_alone_may_take_all)
{
    struct shares *s = make(256);
    struct share *one = shares_of(s, "desk");
    assert_int_equal(take_all(s, one), 256);
    assert_true(shares_may(s, one, SHARE_PROCESSES)); /* each kind by itself */
    shares_give(s, one, SHARE_PLACES);
    assert_int_equal(take_all(s, one), 1);
    shares_free(s);
}

TEST(what_is_a_known_nodes_own_stays_free_for_it)
{
    static const char *const names[] = {"evil", "a", "b", "c", "d"};
    struct shares *s = make(256);
    for (int i = 0; i < 5; i++)
        assert_string_equal(shares_of(s, names[i])->node, names[i]);
    uint64_t own = 256 / SHARES_OWN / 5, got = take_all(s, shares_of(s, "evil"));
    assert_int_equal(got, 256 - 4 * own);
    for (int i = 1; i < 5; i++)
        assert_int_equal(take_all(s, shares_of(s, names[i])), own);
    assert_false(shares_may(s, shares_of(s, "new"), SHARE_PLACES)); /* a new name finds none that is free */
    shares_free(s);
}

TEST(with_more_nodes_than_places_each_may_have_one)
{
    struct shares *s = make(4);
    char name[16];
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "n%d", i);
        (void)shares_of(s, name);
    }
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(take_all(s, shares_of(s, name)), i < 4);
    }
    shares_free(s);
}

/* Whatever nodes take and give back, one that has less than its own part is never refused for want of room. */
TEST(no_order_of_events_takes_a_nodes_own_part)
{
    enum { NODES = 7, LIMIT = 600, OWN = LIMIT / SHARES_OWN / NODES };
    uint64_t seed = seed_start(), used = 0;
    struct shares *s = make(LIMIT);
    struct share *of[NODES];
    for (int i = 0; i < NODES; i++)
        of[i] = shares_of(s, (const char[]){(char)('a' + i), 0});
    for (int step = 0; step < 20000; step++) {
        struct share *it = of[seed_next(&seed) % NODES];
        if (seed_next(&seed) % 4 == 0 && it->used[SHARE_PLACES] > 0) {
            shares_give(s, it, SHARE_PLACES);
            used--;
        } else if (shares_may(s, it, SHARE_PLACES)) {
            shares_take(s, it, SHARE_PLACES);
            used++;
        }
        assert_true(used <= LIMIT);
        for (int i = 0; i < NODES; i++)
            assert_true(of[i]->used[SHARE_PLACES] >= OWN || shares_may(s, of[i], SHARE_PLACES));
    }
    shares_free(s);
}

TEST(a_newcomer_does_not_take_the_place_of_who_is_away)
{
    struct shares *s = make(2); /* as many as there are nodes */
    struct share *a = shares_of(s, "a"), *b = shares_of(s, "b"), *evil;
    assert_int_equal(take_all(s, a), 1);
    assert_int_equal(take_all(s, b), 1);
    shares_give(s, a, SHARE_PLACES); /* it is silent */
    shares_give(s, b, SHARE_PLACES);
    evil = shares_of(s, "evil");
    assert_false(shares_may(s, evil, SHARE_PLACES));
    assert_int_equal(take_all(s, b), 1);
    assert_false(shares_may(s, evil, SHARE_PLACES));
    a->left = true; /* it has said BYE: somebody else may have its place */
    assert_int_equal(take_all(s, evil), 1);
    shares_give(s, evil, SHARE_PLACES);
    assert_int_equal(take_all(s, a), 1); /* it comes again all the same */
    assert_false(shares_may(s, evil, SHARE_PLACES));
    shares_free(s);
}

static unsigned hellos(struct share *of, unsigned tries, int64_t now)
{
    unsigned within = 0;
    for (unsigned i = 0; i < tries; i++)
        within += share_hello(of, now);
    return within;
}

TEST(hellos_have_a_rate_and_those_beyond_do_not_lengthen_it)
{
    struct share of = {.node = "evil"};
    int64_t now = CLOCK_S;
    unsigned first = hellos(&of, 100000, now);
    assert_in_range(first, SHARE_HELLOS_BURST, SHARE_HELLOS_BURST + SHARE_HELLOS + 1);
    for (int i = 0; i < 10; i++) {
        now += CLOCK_S;
        assert_in_range(hellos(&of, 100000, now), SHARE_HELLOS - 1, SHARE_HELLOS + 1);
    }
    now += 60 * CLOCK_S;
    assert_int_equal(hellos(&of, 100000, now), first); /* a minute later nothing of it is left */
}

static uint64_t messages(struct share *of, uint64_t tries, size_t bytes, int64_t now)
{
    uint64_t within = 0;
    for (uint64_t i = 0; i < tries; i++)
        within += share_message(of, bytes, now);
    return within;
}

TEST(messages_have_a_rate_by_number_and_size)
{
    struct share of = {.node = "evil"}, large = {.node = "evil"};
    assert_in_range(messages(&of, 1000000, 100, CLOCK_S), SHARE_MESSAGES_BURST,
                    SHARE_MESSAGES_BURST + SHARE_MESSAGES + 1);
    for (int i = 2; i < 12; i++)
        assert_in_range(messages(&of, 100000, 100, i * CLOCK_S), SHARE_MESSAGES - 1, SHARE_MESSAGES + 1);
    (void)messages(&large, 1000000, 1 << 20, CLOCK_S);
    assert_in_range(messages(&large, 100000, 1 << 20, 2 * CLOCK_S), SHARE_MESSAGES / 257 - 1, SHARE_MESSAGES / 257 + 1);
    assert_true(share_hello(&of, 12 * CLOCK_S)); /* which has a share of its own */
}

/* As many processes as a run takes by default, all on a new connection, and then their books each second. */
TEST(a_bezeld_of_many_processes_is_within_its_share)
{
    struct share of = {.node = "desk"};
    assert_int_equal(messages(&of, 2 * 65536, 2000, CLOCK_S), 2 * 65536);
    for (int i = 2; i < 60; i++)
        assert_int_equal(messages(&of, 8192, 2000, i * CLOCK_S), 8192);
}

TEST(a_bezeld_that_looks_for_its_collector_is_within_its_share)
{
    struct share of = {.node = "desk"};
    for (int64_t now = CLOCK_S; now < 3600 * CLOCK_S; now += 200 * CLOCK_MS)
        assert_true(share_hello(&of, now));
}

TEST(the_table_of_names_is_bounded)
{
    struct shares *s = make(1);
    char name[16];
    struct share *last = NULL;
    for (int i = 0; i < SHARES_MAX + 10; i++) {
        snprintf(name, sizeof name, "n%d", i);
        last = shares_of(s, name);
        assert_non_null(last);
        assert_int_equal(strcmp(last->node, name) == 0, i < SHARES_MAX);
    }
    assert_ptr_equal(shares_of(s, "another"), last);
    assert_string_equal(shares_of(s, "n17")->node, "n17");
    shares_free(s);
}
