// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Of workers that a master gives work to, how much of the longest one's is there since the others have less: by hand,
 * and where intervals are missing no more than is known.
 */
#include "analysis/imbalance.h"

#include "tests/lib/activity_scene.h"
#include "tests/lib/seed.h"

#include <math.h>

enum { WORKERS = 4, ROUNDS = 10, MS = 1000000, ROUND = 100 * MS };

static uint64_t seed;
static struct activity a;
static struct slow_terms terms;
static struct imbalance is;
static struct slow_instance rounds[ROUNDS];
static uint32_t master, workers[WORKERS], work;

static uint32_t add_thread(const char *process)
{
    uint32_t n = scene_thread(&a, 1, process);
    scene_run(&a, n, 0, 1000, 0);
    return n;
}

/*
 * In each round all begin 1 ms behind its begin, the first worker is ready for 1 ms of its time before it runs, and the
 * master goes on when that one has answered.
 */
static void draw_round(int64_t begin, const int64_t ns[WORKERS])
{
    scene_run(&a, master, begin, begin + MS, 0);
    scene_send(&a, master, begin + MS);
    for (int i = 0; i < WORKERS; i++) {
        int64_t from = begin + 2 * MS, until = from + ns[i];
        scene_span(&a, workers[i], "work", from, until);
        scene_run(&a, workers[i], from + (i ? 0 : MS), until, i ? 0 : MS);
        scene_receive(&a, workers[i], from, master, begin + MS);
        scene_send(&a, workers[i], until);
    }
    int64_t back = begin + 3 * MS + ns[0];
    scene_run(&a, master, back, back + MS, 0);
    scene_receive(&a, master, back, workers[0], back - MS);
}

static void begin(void)
{
    is = (struct imbalance){0};
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    work = activity_name(&a, "work");
    master = add_thread("master");
    for (int i = 0; i < WORKERS; i++)
        workers[i] = add_thread("worker");
}

static void compare(void)
{
    struct slow_choice c = {.slow_count = ROUNDS, .slow = rounds};
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(slow_compare(&a, &c, &terms), 0);
    imbalance_find(&a, &c, &terms, &is);
}

static void end(void)
{
    slow_terms_free(&terms);
    activity_fini(&a);
}

/* The first worker has the most of all. */
static void draw_rounds(double *longest, double *mean)
{
    begin();
    *longest = *mean = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t at = (int64_t)(i + 1) * ROUND, ns[WORKERS] = {(40 + (int64_t)(seed_next(&seed) % 20)) * MS};
        for (int k = 1; k < WORKERS; k++)
            ns[k] = (1 + (int64_t)(seed_next(&seed) % 30)) * MS;
        draw_round(at, ns);
        rounds[i] = (struct slow_instance){at, at + 4 * MS + ns[0], master, master, false, false};
        *longest += (double)(ns[0] - MS) / ROUNDS;
        *mean -= (double)MS / ROUNDS / WORKERS;
        for (int k = 0; k < WORKERS; k++)
            *mean += (double)ns[k] / ROUNDS / WORKERS;
    }
}

TEST(test_uneven_work)
{
    for (int i = 0; i < 100; i++) {
        double longest, mean;
        draw_rounds(&longest, &mean);
        compare();
        assert_int_equal(is.count, 1);
        assert_int_equal(is.spans[0].name, work);
        assert_int_equal(is.spans[0].threads, WORKERS);
        assert_true(fabs(is.spans[0].path - longest) < 1);
        assert_true(fabs(is.spans[0].mean - mean) < 1);
        assert_true(fabs(is.spans[0].least - (longest - mean)) < 2);
        end();
    }
}

TEST(test_even_work)
{
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        int64_t at = (int64_t)(i + 1) * ROUND;
        draw_round(at, (const int64_t[]){50 * MS, 50 * MS, 50 * MS, 50 * MS});
        rounds[i] = (struct slow_instance){at, at + 54 * MS, master, master, false, false};
    }
    compare();
    assert_int_equal(is.count, 1);
    assert_true(fabs(is.spans[0].least) < 1);
    end();
}

/* Work of a thread of which no interval is known counts as if it had run all the time. */
TEST(test_unknown_intervals)
{
    double longest, mean;
    draw_rounds(&longest, &mean);
    uint32_t lost = add_thread("worker");
    for (int i = 0; i < ROUNDS; i++) {
        scene_span(&a, lost, "work", rounds[i].from + 2 * MS, rounds[i].from + 32 * MS);
    }
    compare();
    assert_int_equal(is.spans[0].threads, WORKERS + 1);
    assert_true(fabs(is.spans[0].mean - (mean * WORKERS + 30 * MS) / (WORKERS + 1)) < 1);
    end();
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
