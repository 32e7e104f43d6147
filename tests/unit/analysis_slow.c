// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Which instances are slow and which are usual is what a list of all of them says, sorted; and the terms by which their
 * paths differ sum to the difference.
 */
#include "analysis/slow.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 20000 };

static uint64_t seed;
static struct slow_instance all[MOST];

static int64_t took(const struct slow_instance *i)
{
    return i->until - i->from;
}

static int by_length(const void *x, const void *y)
{
    int64_t a = took(x), b = took(y);
    return (a < b) - (a > b);
}

static void draw(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t at = (int64_t)(i * 1000),
                length = (int64_t)(seed_next(&seed) % (seed_next(&seed) % 100 ? 5000 : 50000));
        all[i] = (struct slow_instance){at - length, at, 1, (uint32_t)(i % 3), false, false};
    }
}

static bool is_covered(const struct slow_choice *c, const struct slow_instance *i)
{
    for (size_t w = 0; w < c->window_count; w++)
        if (c->windows[w].from <= i->from && i->until <= c->windows[w].until)
            return true;
    return false;
}

static void check(size_t count, double share, int64_t beyond)
{
    struct slow_choice c = {.share = share, .beyond = beyond};
    size_t over = 0;
    draw(count);
    for (size_t i = 0; i < count; i++) {
        assert_true(slow_add(&c, &all[i]));
        over += beyond > 0 && took(&all[i]) > beyond;
    }
    assert_int_equal(slow_settle(&c), 0);
    qsort(all, count, sizeof *all, by_length);
    size_t wanted = over ? over : (size_t)ceil(share * (double)count);
    assert_int_equal(c.count, count);
    assert_int_equal(c.over, over);
    if (beyond > 0 && over == 0) { /* those that are none stand for nothing */
        assert_int_equal(c.slow_count + c.usual_count + c.window_count, 0);
        slow_free(&c);
        return;
    }
    assert_int_equal(c.slow_count, wanted < SLOW_MOST ? wanted : SLOW_MOST);
    for (size_t i = 0; i < c.slow_count; i++) {
        assert_int_equal(took(&c.slow[i]), took(&all[i]));
        assert_true(is_covered(&c, &c.slow[i]));
    }
    for (size_t i = 0; i < c.usual_count; i++) {
        assert_true(took(&c.usual[i]) <= took(&c.slow[c.slow_count - 1]));
        assert_true(is_covered(&c, &c.usual[i]));
        if (count <= SLOW_DRAWN)
            assert_true(took(&c.usual[i]) <= took(&all[count / 4]) &&
                        took(&c.usual[i]) >= took(&all[count - 1 - count / 4]));
    }
    if (count - count / 4 * 2 <= 500 && 4 * wanted <= count) /* they are as many as are compared */
        assert_int_equal(c.usual_count, count - count / 4 * 2);
    assert_true(c.usual_count > 0 || 4 * wanted >= 2 * count || count < 4);
    for (size_t w = 1; w < c.window_count; w++)
        assert_true(c.windows[w - 1].until < c.windows[w].from);
    slow_free(&c);
}

TEST(test_the_choice)
{
    check(1000, 0.01, 0);
    check(1000, 0.01, INT64_MAX);
    for (size_t i = 0; i < 100; i++)
        check(1 + seed_next(&seed) % (i % 10 ? 3000 : MOST), i % 7 ? 0.01 : 1, i % 3 ? 0 : 6000);
}

TEST(test_without_instances)
{
    struct slow_choice c = {.share = 0.01};
    assert_true(slow_add(&c, &(struct slow_instance){10, 9, 1, 1, false, false})); /* ends before it begins */
    assert_int_equal(slow_settle(&c), 0);
    assert_int_equal(c.slow_count + c.usual_count + c.window_count, 0);
    slow_free(&c);
}

/* A thread runs for 10 in each of 40 instances; in two of them it is ready for 30 and 50 first, as another one runs. */
TEST(test_the_terms)
{
    struct activity a;
    struct slow_choice c = {.share = 0.05};
    struct slow_terms t;
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    struct activity_thread is = {.process = "p", .process_row = 7, .id = 70};
    assert_int_equal(activity_add_thread(&a, &is), 0);
    for (int64_t i = 0; i < 40; i++) {
        int64_t ready = i == 10 ? 30 : i == 20 ? 50 : 0, at = i * 1000;
        assert_true(
            activity_add_interval(&a, 0, (struct activity_interval){at - 100, at, -1, -1, -1, ACTIVITY_PREEMPTED}));
        assert_true(activity_add_interval(
            &a, 0, (struct activity_interval){at + ready, at + ready + 10, ready, ready, ready, ACTIVITY_WAITED}));
        if (i == 10) /* in a span, which it ends, it sends a message */
            assert_true(activity_add_span(&a, 0, (struct activity_span){at + 32, at + 38, activity_name(&a, "s"), 0}) &&
                        activity_add_event(&a, 0, (struct activity_event){.at = at + 35, .peer = ACTIVITY_NONE}));
        assert_true(slow_add(&c, &(struct slow_instance){at, at + ready + 10, 7, 70, false, false}));
    }
    assert_true(
        slow_add(&c, &(struct slow_instance){50000, 50010, 8, 80, false, false})); /* of a thread that is not known */
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(slow_settle(&c), 0);
    assert_int_equal(slow_compare(&a, &c, &t), 0);
    assert_int_equal(c.slow_count, 3);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.terms[0].is, PATH_READY);
    assert_int_equal(t.terms[0].slow_most, 50);
    assert_int_equal(t.terms[1].is, PATH_RUNNING);
    assert_int_equal(t.terms[1].slow_most, 6); /* in the span */
    double more = 0;
    for (size_t i = 0; i < t.count; i++)
        more += t.terms[i].slow - t.terms[i].usual;
    assert_true(fabs(t.slow - t.usual - more) < 1e-9);
    assert_true(t.terms[0].usual == 0);
    assert_true(fabs(t.of_slow.least - 2. * SLOW_RECORD_LEAST / 3) < 1e-9); /* of one of three */
    assert_true(fabs(t.of_slow.most - 3. * SLOW_RECORD_MOST / 3) < 1e-9 && t.of_usual.most == 0);
    assert_true(slow_may_be_recording(&t));
    t.slow += 3 * SLOW_RECORD_MOST;
    assert_false(slow_may_be_recording(&t));
    slow_terms_free(&t);
    slow_free(&c);
    activity_fini(&a);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
