// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Sequences that paths go through again and again: made by hand, and drawn, beside what counting each by each finds. */
#include "analysis/sequence.h"
#include "tests/lib/activity_scene.h"
#include "tests/lib/seed.h"

enum { TURNS = 10, DRAWN = 60, LETTERS = 6, ROUNDS = 200 };
#define MS INT64_C(1000000)

static struct activity a;

static void run(uint32_t t, int64_t from, int64_t until, const char *span)
{
    scene_run(&a, t, from * MS, until * MS, 0);
    scene_span(&a, t, span, from * MS, until * MS);
}

static void message(uint32_t from, uint32_t to, int64_t at)
{
    scene_send(&a, from, at * MS);
    scene_receive(&a, to, at * MS, from, at * MS);
}

/* In each turn of 6 ms a client asks for 2, a server serves for 3, and the client checks for 1. */
TEST(what_a_client_and_its_server_do_in_turn_is_one_sequence)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    uint32_t client = scene_thread(&a, 1, "client"), server = scene_thread(&a, 1, "server");
    scene_run(&a, client, 0, 1000, 0);
    scene_run(&a, server, 0, 1000, 0);
    for (int64_t at = 100; at < 100 + 6 * TURNS; at += 6) {
        run(client, at, at + 2, "ask");
        message(client, server, at + 2);
        run(server, at + 2, at + 5, "serve");
        message(server, client, at + 5);
        run(client, at + 5, at + 6, "check");
    }
    assert_int_equal(activity_settle(&a), 0);
    struct slow_instance slow = {100 * MS, (100 + 6 * TURNS) * MS, (int64_t)client, client, false, false};
    struct slow_choice c = {.slow_count = 1, .slow = &slow};
    struct sequences s;
    assert_int_equal(sequence_find(&a, &c, &s), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.left_out, 0);
    assert_int_equal(s.list[0].count, 3);
    assert_int_equal(s.list[0].times, TURNS);
    assert_int_equal((int64_t)s.list[0].ns, 6 * TURNS * MS);
    static const char *const spans[] = {"ask", "serve", "check"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(a.names[s.list[0].steps[i].span], spans[i]);
        assert_int_equal(s.list[0].steps[i].thread, i == 1 ? server : client);
    }
    activity_fini(&a);
}

struct drawn {
    size_t count;
    int letter[DRAWN], ms[DRAWN];
};

/* How often the `n` letters from `at` on are there, without overlap, and for how long in all, ms. */
static int count(const struct drawn *d, size_t at, size_t n, int *ms)
{
    int times = 0;
    *ms = 0;
    for (size_t i = 0; i + n <= d->count; i++) {
        if (memcmp(&d->letter[i], &d->letter[at], n * sizeof d->letter[0]) != 0)
            continue;
        for (size_t k = 0; k < n; k++)
            *ms += d->ms[i + k];
        times++;
        i += n - 1;
    }
    return times;
}

static bool is_simple(const struct drawn *d, size_t at, size_t n)
{
    unsigned seen = 0;
    for (size_t k = 0; k < n; k++)
        seen |= 1u << d->letter[at + k];
    return __builtin_popcount(seen) == (int)n;
}

/* What the sequence takes that takes most of those that are there twice; 0: none is. */
static int most(const struct drawn *d)
{
    int best = 0, ms;
    for (size_t at = 0; at < d->count; at++)
        for (size_t n = 2; n <= SEQUENCE_STEPS && at + n <= d->count && is_simple(d, at, n); n++)
            if (count(d, at, n, &ms) > 1 && ms > best)
                best = ms;
    return best;
}

static void draw(struct drawn *d, uint64_t *seed)
{
    d->count = 1 + (size_t)(seed_next(seed) % DRAWN);
    for (size_t i = 0; i < d->count; i++) {
        do
            d->letter[i] = (int)(seed_next(seed) % LETTERS);
        while (i > 0 && d->letter[i] == d->letter[i - 1]);
        d->ms[i] = 1 + (int)(seed_next(seed) % 9);
    }
}

static void assert_is_in(const struct drawn *d, const struct sequence *s)
{
    for (size_t at = 0; at + s->count <= d->count; at++) {
        size_t k = 0;
        while (k < s->count && a.names[s->steps[k].span][0] == 'A' + d->letter[at + k])
            k++;
        int ms, times = k == s->count ? count(d, at, s->count, &ms) : 0;
        if (times == 0)
            continue;
        assert_int_equal(s->times, times);
        assert_int_equal((int64_t)s->ns, ms * MS);
        return;
    }
    fail_msg("a sequence that is not there");
}

TEST(drawn_paths_have_what_counting_each_by_each_finds)
{
    uint64_t seed = seed_start();
    for (int round = 0; round < ROUNDS; round++) {
        struct drawn d;
        int64_t at = 100;
        draw(&d, &seed);
        assert_int_equal(activity_init(&a, NULL, 0), 0);
        uint32_t t = scene_thread(&a, 1, "one");
        scene_run(&a, t, 0, 1000, 0);
        for (size_t i = 0; i < d.count; at += d.ms[i++])
            run(t, at, at + d.ms[i], (char[]){(char)('A' + d.letter[i]), '\0'});
        assert_int_equal(activity_settle(&a), 0);
        struct slow_instance slow = {100 * MS, at * MS, (int64_t)t, t, false, false};
        struct slow_choice c = {.slow_count = 1, .slow = &slow};
        struct sequences s;
        assert_int_equal(sequence_find(&a, &c, &s), 0);
        assert_int_equal(s.count ? (int64_t)s.list[0].ns : 0, most(&d) * MS);
        for (size_t i = 0; i < s.count; i++)
            assert_is_in(&d, &s.list[i]);
        activity_fini(&a);
    }
}
