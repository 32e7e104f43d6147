// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a thread did as a picture has it: no more pieces than there is room for, and the times of each state as they
 * are. */
#include "views/picture/strip.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

static struct strip strip;

static void add(int64_t begin, int64_t end, int64_t off, int64_t least, int64_t most)
{
    strip_add(&strip, (struct activity_interval){
                          .begin = begin, .end = end, .off = off, .ready_least = least, .ready_most = most});
}

static void is_piece(size_t i, int64_t from, int64_t until, enum strip_state state)
{
    assert_true(i < strip.count);
    assert_int_equal(strip.pieces[i].from, from);
    assert_int_equal(strip.pieces[i].until, until);
    assert_int_equal(strip.pieces[i].ns[state], until - from);
    assert_int_equal(strip_most(&strip.pieces[i]), state);
}

/* The first interval says nothing of the time before it; the next one waited, was perhaps ready, and was ready. */
TEST(wide_intervals_are_pieces)
{
    assert_int_equal(strip_init(&strip, 0, 10000, 1000), 0);
    add(1000, 2000, -1, -1, -1);
    add(5000, 6000, 3000, 500, 1000);
    add(6000, 7000, 0, 0, 0);
    add(8000, 9000, 1000, -1, -1); /* what the kernel does not say is either */
    assert_int_equal(strip.count, 7);
    is_piece(0, 1000, 2000, STRIP_RUNNING);
    is_piece(1, 2000, 4000, STRIP_WAITING);
    is_piece(2, 4000, 4500, STRIP_EITHER);
    is_piece(3, 4500, 5000, STRIP_READY);
    is_piece(4, 5000, 7000, STRIP_RUNNING);
    is_piece(5, 7000, 8000, STRIP_EITHER);
    is_piece(6, 8000, 9000, STRIP_RUNNING);
    strip_fini(&strip);
}

/* What began before the window, or ends behind it, is cut at its ends; what overlaps is cut at what came first. */
TEST(what_does_not_fit_is_cut)
{
    assert_int_equal(strip_init(&strip, 1000, 2000, 10), 0);
    add(100, 200, -1, -1, -1);
    add(900, 1500, 700, 700, 700);
    add(1400, 1600, 500, 500, 500);
    add(5000, 6000, 3400, 0, 0);
    assert_int_equal(strip.count, 2);
    is_piece(0, 1000, 1600, STRIP_RUNNING);
    is_piece(1, 1600, 2000, STRIP_WAITING);
    strip_fini(&strip);
    assert_int_equal(strip_init(&strip, INT64_MIN, INT64_MAX, 1), 0);
    add(INT64_MAX / 4, INT64_MAX / 4 + 1, INT64_MAX / 4, INT64_MAX, INT64_MAX);
    assert_true(strip.count <= strip.capacity);
    strip_fini(&strip);
    assert_int_equal(strip_init(&strip, 5, 5, 0), 0);
    add(1, 9, 1, 1, 1);
    assert_int_equal(strip.count, 0);
    strip_fini(&strip);
}

/* A wait that has not ended is told by itself. What intervals tell of its time stays. */
TEST(a_wait_without_an_interval_behind_it_is_a_piece)
{
    assert_int_equal(strip_init(&strip, 0, 10000, 1000), 0);
    add(1000, 2000, -1, -1, -1);
    strip_add_wait(&strip, 500, 900);
    strip_add_wait(&strip, 1500, 3000);
    strip_add_wait(&strip, 4000, 20000);
    assert_int_equal(strip.count, 3);
    is_piece(0, 1000, 2000, STRIP_RUNNING);
    is_piece(1, 2000, 3000, STRIP_WAITING);
    is_piece(2, 4000, 10000, STRIP_WAITING);
    strip_fini(&strip);
}

/* A piece of which nothing is known for the most part has no state. */
TEST(most_of_a_piece_may_be_unknown)
{
    assert_int_equal(strip_init(&strip, 0, 1000, 1), 0);
    add(0, 100, -1, -1, -1);
    add(900, 950, -1, -1, -1);
    assert_int_equal(strip.count, 1);
    assert_int_equal(strip_most(&strip.pieces[0]), STRIP_STATES);
    strip_fini(&strip);
}

enum { INTERVALS = 100000, PARTS = 64 };

/* Of intervals of any lengths the pieces are few, and have the sums of the whole. */
TEST(pieces_are_few_and_lose_nothing)
{
    int64_t sums[STRIP_STATES] = {0}, is[STRIP_STATES] = {0}, now = 1;
    uint64_t seed = seed_start();
    assert_int_equal(strip_init(&strip, 0, 5 * INTERVALS, PARTS), 0);
    for (int i = 0; i < INTERVALS; i++) {
        int64_t most = i % 1000 == 0 ? 4000 : 4, off = (int64_t)(seed_next(&seed) % (uint64_t)most);
        int64_t ready = (int64_t)(seed_next(&seed) % (uint64_t)(off + 1)), ran = 1 + (int64_t)(seed_next(&seed) % 4);
        add(now + off, now + off + ran, off, ready, ready);
        const struct {
            enum strip_state state;
            int64_t from, until;
        } parts[] = {{STRIP_WAITING, now, now + off - ready},
                     {STRIP_READY, now + off - ready, now + off},
                     {STRIP_RUNNING, now + off, now + off + ran}};
        for (int k = 0; k < 3; k++) {
            int64_t until = parts[k].until < strip.until ? parts[k].until : strip.until;
            sums[parts[k].state] += until > parts[k].from ? until - parts[k].from : 0;
        }
        now += off + ran;
    }
    assert_true(strip.count > PARTS / 2 && strip.count <= 2 * PARTS + 4);
    for (size_t i = 0; i < strip.count; i++) {
        assert_true(strip.pieces[i].from < strip.pieces[i].until);
        assert_true(i == 0 || strip.pieces[i - 1].until <= strip.pieces[i].from);
        for (int k = 0; k < STRIP_STATES; k++)
            is[k] += strip.pieces[i].ns[k];
    }
    assert_memory_equal(is, sums, sizeof is);
    strip_fini(&strip);
}
