// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A knob that is steered, in virtual plants: what holds whatever is observed, and where it comes to rest. */
#include "resmgr/control/knob_search.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

enum { CASES = 200, STEPS = 4000, DELAY = 6 };

#define EVERY  (100 * CLOCK_MS)
#define SETTLE ((DELAY + 2) * EVERY)

static uint64_t seed;
static struct knob_search knob_search;
static struct experiment_knob file;
static struct knob_search_seen seen;

/*
 * A program whose quality falls with its load, and rises with the effort up to what it can show; what is observed is
 * DELAY steps old, with some noise.
 */
struct plant {
    double load, gain, noise;
    double history[DELAY];
    uint64_t step;
};

static double uniform(double least, double most)
{
    return least + seed_unit(&seed) * (most - least);
}

static int32_t whole(int32_t least, int32_t most)
{
    return (int32_t)(least + (int64_t)(seed_next(&seed) % (uint64_t)((int64_t)most - least + 1)));
}

static int64_t effort_at(int32_t value)
{
    return file.helps == HELPS_MORE ? (int64_t)value - seen.baseline : (int64_t)seen.baseline - value;
}

static int64_t most_effort(void)
{
    return effort_at(file.helps == HELPS_MORE ? seen.max : seen.min);
}

/* A knob with room in the direction that helps. */
static void begin(void)
{
    knob_search = (struct knob_search){0};
    seen = (struct knob_search_seen){.present = true, .min = whole(-1000, 0), .max = whole(100, 1000)};
    file = (struct experiment_knob){.process = -1, .min = INT32_MIN, .max = INT32_MAX, .helps = HELPS_LESS};
    if (seed_next(&seed) % 2)
        file.helps = HELPS_MORE;
    seen.baseline = file.helps == HELPS_MORE ? whole(seen.min, 20) : whole(80, seen.max);
    seen.value = seen.baseline;
}

static int64_t least_step(void)
{
    return ((int64_t)seen.max - seen.min) / KNOB_SEARCH_STEPS;
}

static double true_margin(const struct plant *p)
{
    return fmin(0.04, p->gain * (double)effort_at(knob_search.started ? knob_search.value : seen.baseline) - p->load);
}

/* One instant of a program in `p`; the program does as it is told. */
static enum knob_search_move step(struct plant *p)
{
    double *place = &p->history[p->step++ % DELAY], margin = *place + p->noise * uniform(-1, 1);
    *place = true_margin(p);
    struct knob_search_limit limit = {.state = margin < 0 ? LIMIT_VIOLATED : LIMIT_HELD,
                                      .margin = margin,
                                      .helps = true,
                                      .returns = true,
                                      .elapsed = EVERY};
    enum knob_search_move move = knob_search_step(&knob_search, &file, SETTLE, &seen, &limit);
    seen.value = knob_search.value;
    assert_in_range(knob_search.value - (int64_t)seen.min, 0, (int64_t)seen.max - seen.min);
    return move;
}

/* A plant in which `needed` of the whole effort is just enough. */
static struct plant make_plant(double needed)
{
    struct plant p = {.load = uniform(0.05, 0.8)};
    p.gain = p.load / (needed * (double)most_effort());
    return p;
}

TEST(whatever_is_observed_the_value_stays_in_both_bounds)
{
    static const double margins[] = {0, -0.1, 0.1, -1e300, 1e300, -1e-300, -50, 3};
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -7, -1, 0, 1, 5, 100, INT32_MAX - 1, INT32_MAX};
    for (int i = 0; i < CASES; i++) {
        begin();
        file.step = seed_next(&seed) % 2 ? (uint32_t)whole(1, INT32_MAX) : 0;
        for (int k = 0; k < 300; k++) {
            if (seed_next(&seed) % 40 == 0) {
                int32_t a = ends[seed_next(&seed) % 10], b = ends[seed_next(&seed) % 10];
                bool of_file = seed_next(&seed) % 2;
                *(of_file ? &file.min : &seen.min) = a < b ? a : b;
                *(of_file ? &file.max : &seen.max) = a < b ? b : a;
                seen.baseline = ends[seed_next(&seed) % 10];
                seen.overrides += seed_next(&seed) % 2;
                seen.present = seed_next(&seed) % 4 != 0;
            }
            seen.value = seed_next(&seed) % 3 ? knob_search.value : ends[seed_next(&seed) % 10];
            double margin = seed_next(&seed) % 10 ? margins[seed_next(&seed) % 8] : (double)NAN;
            struct knob_search_limit limit = {.state = (enum limit_state)(seed_next(&seed) % 3),
                                              .margin = seed_next(&seed) % 20 ? margin : (double)INFINITY,
                                              .helps = seed_next(&seed) % 4 != 0,
                                              .returns = seed_next(&seed) % 4 != 0,
                                              .elapsed = (int64_t)(seed_next(&seed) % 5) * SETTLE - SETTLE};
            int32_t before = knob_search.value;
            bool may = knob_search_is_possible(&file, &seen);
            enum knob_search_move move = knob_search_step(&knob_search, &file, SETTLE, &seen, &limit);
            if (!may) {
                assert_int_equal(move, KNOB_SEARCH_KEEP);
                assert_int_equal(knob_search.value, before);
                continue;
            }
            assert_true(knob_search.value >= file.min && knob_search.value <= file.max);
            assert_true(knob_search.value >= seen.min && knob_search.value <= seen.max);
            if (limit.state == LIMIT_UNKNOWN || isnan(margin))
                assert_true(move == KNOB_SEARCH_KEEP || move == KNOB_SEARCH_BOUND);
        }
    }
}

/*
 * Of what is enough, no more than a few steps too much; seldom changes; next to never broken. Of the plants one may be
 * otherwise, which few are: where noise breaks the limit once in hundreds of instants, half of what is left is added
 * each time.
 */
TEST(under_a_constant_load_it_comes_to_rest_next_to_the_least_that_is_enough)
{
    int restless = 0;
    for (int i = 0; i < CASES; i++) {
        begin();
        double needed = uniform(0.02, 0.95);
        struct plant p = make_plant(needed);
        p.noise = 0.005 * uniform(0, 1) * p.load;
        int broken = 0, moves = 0;
        for (int k = 0; k < STEPS; k++) {
            enum knob_search_move move = step(&p);
            if (k < STEPS / 2)
                continue;
            moves += move != KNOB_SEARCH_KEEP;
            broken += true_margin(&p) < 0;
        }
        double least = needed * (double)most_effort(), used = (double)effort_at(knob_search.value);
        restless += moves > 16 || used > least + 3.5 * (double)least_step() + 1;
        assert_true(moves <= 60);
        assert_true(broken <= STEPS / 2 / 20);
        assert_false(knob_search.saturated);
    }
    assert_in_range(restless, 0, 1);
}

TEST(what_is_broken_holds_after_a_few_settling_times)
{
    for (int i = 0; i < CASES; i++) {
        begin();
        struct plant p = make_plant(uniform(0.02, 0.95));
        int steps = 0;
        for (; steps == 0 || true_margin(&p) < 0; steps++)
            (void)step(&p);
        assert_in_range(steps, 1, 6 * (DELAY + 2));
    }
}

TEST(once_the_load_ends_it_returns_to_where_the_program_had_it)
{
    for (int i = 0; i < CASES; i++) {
        begin();
        struct plant p = make_plant(uniform(0.2, 0.95));
        for (int k = 0; k < 300; k++)
            (void)step(&p);
        assert_true(knob_search.value != seen.baseline);
        p.load = -0.04;
        for (int k = 0; k < 60 * (DELAY + 2); k++)
            assert_true(step(&p) != KNOB_SEARCH_HELP || k < DELAY);
        assert_int_equal(knob_search.value, seen.baseline);
    }
}

/* Where one of two is worse off, it is turned at least as far. */
TEST(the_worse_it_is_the_further_it_is_turned)
{
    for (int i = 0; i < CASES; i++) {
        begin();
        struct plant p = make_plant(uniform(0.3, 0.95));
        for (uint64_t k = 1 + seed_next(&seed) % 60; k > 0; k--)
            (void)step(&p);
        struct knob_search a = knob_search, b = knob_search;
        struct knob_search_limit limit = {.state = LIMIT_VIOLATED,
                                          .margin = -uniform(0.001, 1),
                                          .helps = true,
                                          .returns = true,
                                          .elapsed = 2 * SETTLE};
        (void)knob_search_step(&a, &file, SETTLE, &seen, &limit);
        limit.margin -= uniform(0, 1);
        (void)knob_search_step(&b, &file, SETTLE, &seen, &limit);
        if (!a.futile && !b.futile)
            assert_true(effort_at(b.value) >= effort_at(a.value));
        if (!knob_search.returning)
            assert_true(a.futile || effort_at(a.value) >= effort_at(knob_search.value));
    }
}

TEST(where_all_of_it_is_not_enough_it_stays_there_and_that_is_said)
{
    for (int i = 0; i < CASES; i++) {
        begin();
        struct plant p = make_plant(uniform(1.2, 2.5));
        for (int k = 0; k < 400; k++)
            (void)step(&p);
        for (int k = 0; k < 400; k++) {
            assert_int_equal(step(&p), KNOB_SEARCH_KEEP);
            assert_int_equal(effort_at(knob_search.value), most_effort());
            assert_true(knob_search.saturated);
        }
    }
}

TEST(what_does_not_help_is_given_back_and_seldom_tried_again)
{
    for (int i = 0; i < CASES / 4; i++) {
        begin();
        struct plant p = {.load = uniform(0.05, 0.8)};
        int away = 0;
        for (int k = 0; k < 10 * STEPS; k++) {
            (void)step(&p);
            away += k > 5 * STEPS && knob_search.value != seen.baseline;
        }
        assert_true(knob_search.saturated);
        assert_true(away < 5 * STEPS / 10);
    }
}

TEST(what_is_unknown_moves_nothing_and_the_time_does_not_count)
{
    begin();
    struct plant p = make_plant(0.5);
    struct knob_search_limit unknown = {
        .state = LIMIT_UNKNOWN, .helps = true, .returns = true, .elapsed = 100 * SETTLE};
    for (int k = 0; k < 300; k++)
        (void)step(&p);
    struct knob_search before = knob_search;
    for (int k = 0; k < 300; k++)
        assert_int_equal(knob_search_step(&knob_search, &file, SETTLE, &seen, &unknown), KNOB_SEARCH_KEEP);
    assert_memory_equal(&before, &knob_search, sizeof knob_search);
}

TEST(who_is_to_give_way_first_is_waited_for)
{
    begin();
    struct knob_search_limit limit = {
        .state = LIMIT_VIOLATED, .margin = -0.1, .helps = false, .returns = true, .elapsed = EVERY};
    for (int k = 0; k < 300; k++)
        assert_int_equal(knob_search_step(&knob_search, &file, SETTLE, &seen, &limit), KNOB_SEARCH_KEEP);
    limit.helps = true;
    assert_int_equal(knob_search_step(&knob_search, &file, SETTLE, &seen, &limit), KNOB_SEARCH_HELP);
    limit = (struct knob_search_limit){
        .state = LIMIT_HELD, .margin = 0.1, .helps = true, .returns = false, .elapsed = EVERY};
    for (int k = 0; k < 3000; k++)
        assert_int_equal(knob_search_step(&knob_search, &file, SETTLE, &seen, &limit), KNOB_SEARCH_KEEP);
    limit.returns = true;
    assert_int_equal(knob_search_step(&knob_search, &file, SETTLE, &seen, &limit), KNOB_SEARCH_RETURN);
}

TEST(what_an_operator_sets_is_where_it_begins_and_returns_to)
{
    for (int i = 0; i < CASES; i++) {
        begin();
        struct plant p = make_plant(0.5);
        for (int k = 0; k < 100; k++)
            (void)step(&p);
        seen.overrides++;
        seen.baseline = seen.value = whole(seen.min, seen.max);
        p.load = -0.04;
        for (int k = 0; k < 100; k++)
            (void)step(&p);
        assert_int_equal(knob_search.value, seen.baseline);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
