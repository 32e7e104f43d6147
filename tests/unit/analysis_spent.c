// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The metrics of a run's elements are those that are printed of a run of the simplex method on three machines (IPS,
 * 1987), where its tables agree with themselves; and the sums of any window are those that counting tick by tick gives.
 */
#include "analysis/spent.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

#define MS INT64_C(1000000)

static uint64_t seed;

/* A thread that from `begin` on runs, is ready and waits for so many ms, in ten turns. */
static uint32_t add_thread(struct activity *a, int64_t node, int64_t process, int64_t begin, int64_t cpu, int64_t ready,
                           int64_t waits)
{
    struct activity_thread is = {.node_row = node, .process_row = process, .id = (uint32_t)process};
    uint32_t t = activity_add_thread(a, &is);
    int64_t at = begin * MS;
    for (int i = 0; i < 10; i++) {
        int64_t off = (ready + waits) * MS / 10, on = cpu * MS / 10;
        assert_true(activity_add_interval(a, t,
                                          (struct activity_interval){.begin = at + off,
                                                                     .end = at + off + on,
                                                                     .off = off,
                                                                     .ready_least = ready * MS / 10,
                                                                     .ready_most = ready * MS / 10}));
        at += off + on;
    }
    return t;
}

static void check_near(double is, double wanted)
{
    assert_true(fabs(is - wanted) < 0.0051);
}

static const struct spent_sums *of(const struct spent *l, enum spent_level level, int64_t row)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct spent_element *e = &l->elements[i];
        const struct activity_thread *t = &l->a->threads[e->thread];
        if (e->level == level && (level == SPENT_NODE ? t->node_row : t->process_row) == row)
            return &e->sums;
    }
    fail();
    return NULL;
}

/* Processes of the table, and of the machines what it leaves of them. */
static void draw_simplex(struct activity *a)
{
    assert_int_equal(activity_init(a, NULL, 0), 0);
    uint32_t control = add_thread(a, 1, 3, 0, 9988, 5022, 12230);
    uint32_t worker = add_thread(a, 1, 4, 0, 3187, 1254, 22911);
    (void)add_thread(a, 1, 5, 0, 3058, 997, 23366);
    (void)add_thread(a, 2, 6, 0, 2589, 611, 23996);
    (void)add_thread(a, 2, 7, 0, 2661, 211, 24455);
    (void)add_thread(a, 2, 8, 0, 2661, 212, 24460);
    (void)add_thread(a, 3, 9, 0, 2575, 457, 24125);
    (void)add_thread(a, 3, 10, 0, 2575, 457, 24125);
    (void)add_thread(a, 3, 11, 0, 2576, 458, 24126);
    for (int i = 0; i < 43; i++) {
        struct activity_event e = {.at = i * 600 * MS, .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT, .bytes = 3200};
        assert_true(activity_add_event(a, control, e));
        e = (struct activity_event){
            .at = e.at + MS, .from = e.at, .peer = control, .kind = ACTIVITY_RECEIVED, .bytes = i == 42 ? 5096 : 3200};
        assert_true(activity_add_event(a, worker, e));
    }
    assert_int_equal(activity_settle(a), 0);
}

TEST(test_simplex)
{
    struct activity a;
    struct spent l;
    draw_simplex(&a);
    assert_int_equal(spent_init(&l, &a), 0);
    assert_int_equal(spent_window(&l, INT64_MIN, INT64_MAX), 0);
    const struct spent_sums *run = of(&l, SPENT_RUN, 3), *control = of(&l, SPENT_PROCESS, 3);
    assert_int_equal(run->cpu, 31870 * MS);
    assert_int_equal(run->ready_most, 9679 * MS);
    assert_int_equal(run->off - run->ready_most, 203794 * MS);
    assert_int_equal(run->threads, 9);
    assert_int_equal(run->nodes, 3);
    assert_int_equal(spent_unknown(run), 0);
    check_near(spent_factor(run), 1.30);
    check_near(spent_parallelism(run), 31870. / 27421);
    check_near(spent_utilisation(run), 31870. / 27421 / 3);
    assert_int_equal(of(&l, SPENT_NODE, 1)->cpu, 16233 * MS);
    check_near(spent_factor(of(&l, SPENT_NODE, 1)), 1.45);
    check_near(spent_factor(of(&l, SPENT_NODE, 2)), 1.13);
    check_near(spent_factor(of(&l, SPENT_NODE, 3)), 1.18);
    check_near(spent_factor(control), 1.50);
    check_near(spent_factor(of(&l, SPENT_PROCESS, 4)), 1.39);
    check_near(spent_factor(of(&l, SPENT_PROCESS, 5)), 1.33);
    check_near(spent_factor(of(&l, SPENT_PROCESS, 6)), 1.24); /* printed is that of process 5 */
    check_near(spent_response(control), 2.73);
    check_near(spent_response(of(&l, SPENT_PROCESS, 4)), 8.58);
    check_near(spent_response(of(&l, SPENT_PROCESS, 5)), 8.97);
    check_near(spent_response(of(&l, SPENT_PROCESS, 6)), 10.505);
    assert_int_equal(control->elapsed, 27240 * MS);
    assert_int_equal(l.pair_count, 1);
    assert_int_equal(l.pairs[0].messages, 43);
    assert_int_equal(l.pairs[0].bytes, 139496);
    assert_int_equal(of(&l, SPENT_PROCESS, 4)->received, 43);
    assert_int_equal(of(&l, SPENT_PROCESS, 4)->received_bytes, 139496);
    assert_int_equal(control->sent, 43);
    spent_fini(&l);
    activity_fini(&a);
}

/*
 * A loop of 1 kHz, of whose 8,000 turns of 20 us each 11 us are the way from the wake to the CPU: the kernel counts 245
 * ms of CPU time and 4.9 ms in the queue. Both are within the bounds, and no ratio is said of what is so open.
 */
TEST(test_the_kernels_sums_are_within_the_bounds)
{
    enum { TURNS = 8000, US = 1000 };
    struct activity a;
    struct spent l;
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    uint32_t t = activity_add_thread(&a, &(struct activity_thread){.node_row = 1, .process_row = 1, .id = 1});
    for (int64_t i = 1; i <= TURNS; i++)
        assert_true(activity_add_interval(&a, t,
                                          (struct activity_interval){.begin = i * MS,
                                                                     .end = i * MS + 20 * US,
                                                                     .off = MS - 20 * US,
                                                                     .ready_least = i % 10 ? 0 : US / 2,
                                                                     .ready_most = 11 * US}));
    assert_int_equal(activity_settle(&a), 0);
    assert_int_equal(spent_init(&l, &a), 0);
    assert_int_equal(spent_window(&l, INT64_MIN, INT64_MAX), 0);
    const struct spent_sums *s = of(&l, SPENT_PROCESS, 1);
    assert_int_equal(s->cpu, TURNS * 20 * US);
    assert_true(s->cpu < 245 * MS && 245 * MS < spent_cpu_most(s));
    assert_true(s->ready_least < 5 * MS && 5 * MS < s->ready_most);
    assert_true(isnan(spent_factor(s)) && isnan(spent_response(s)) && isnan(spent_parallelism(s)));
    spent_fini(&l);
    activity_fini(&a);
}

enum { TICKS = 200, OFF = 0, WAITS, MAY_BE_READY, READY, RUNS, UNKNOWN };

/* A random thread, and what it does at each tick. */
static size_t draw_thread(struct activity *a, int64_t process, unsigned char does[TICKS])
{
    uint32_t t = activity_add_thread(
        a, &(struct activity_thread){.node_row = process % 2, .process_row = process, .id = (uint32_t)process});
    int64_t at = 0;
    memset(does, OFF, TICKS);
    for (bool first = true; at < TICKS - 40; first = false) {
        int64_t off = (int64_t)(seed_next(&seed) % 16), most = (int64_t)(seed_next(&seed) % (uint64_t)(off + 1));
        int64_t least = (int64_t)(seed_next(&seed) % (uint64_t)(most + 1)), on = 1 + (int64_t)(seed_next(&seed) % 9);
        bool unknown = seed_next(&seed) % 8 == 0;
        for (int64_t i = 0; i < off; i++)
            does[at + i] = unknown || first   ? UNKNOWN
                           : off - i <= least ? READY
                           : off - i <= most  ? MAY_BE_READY
                                              : WAITS;
        memset(does + at + off, RUNS, (size_t)on);
        if (first)
            memset(does, OFF, (size_t)off);
        assert_true(activity_add_interval(a, t,
                                          (struct activity_interval){.begin = (at + off) * MS,
                                                                     .end = (at + off + on) * MS,
                                                                     .off = unknown || first ? -1 : off * MS,
                                                                     .ready_least = least * MS,
                                                                     .ready_most = most * MS}));
        at += off + on;
    }
    return t;
}

static int64_t count(const unsigned char does[TICKS], int64_t from, int64_t until, unsigned least, unsigned most)
{
    int64_t n = 0;
    for (int64_t i = from; i < until; i++)
        n += does[i] >= least && does[i] <= most;
    return n * MS;
}

TEST(test_windows)
{
    static unsigned char does[5][TICKS];
    for (int round = 0; round < 200; round++) {
        struct activity a;
        struct spent l;
        int64_t from = (int64_t)(seed_next(&seed) % 100), until = from + 1 + (int64_t)(seed_next(&seed) % 90);
        int64_t cpu = 0, unknown = 0;
        assert_int_equal(activity_init(&a, NULL, 0), 0);
        for (int64_t i = 0; i < 5; i++)
            (void)draw_thread(&a, i, does[i]);
        assert_int_equal(activity_settle(&a), 0);
        assert_int_equal(spent_init(&l, &a), 0);
        assert_int_equal(spent_window(&l, 0, INT64_MAX), 0);
        assert_int_equal(spent_window(&l, from * MS, until * MS), 0);
        for (int64_t i = 0; i < 5; i++) {
            const struct spent_sums *s = of(&l, SPENT_PROCESS, i);
            assert_int_equal(s->cpu, count(does[i], from, until, RUNS, RUNS));
            assert_int_equal(s->off, count(does[i], from, until, WAITS, READY));
            assert_int_equal(s->ready_least, count(does[i], from, until, READY, READY));
            assert_int_equal(s->ready_most, count(does[i], from, until, MAY_BE_READY, READY));
            assert_int_equal(spent_unknown(s), count(does[i], from, until, UNKNOWN, UNKNOWN));
            cpu += s->cpu;
            unknown += spent_unknown(s);
        }
        assert_int_equal(of(&l, SPENT_RUN, 0)->cpu, cpu);
        assert_int_equal(of(&l, SPENT_NODE, 0)->cpu + of(&l, SPENT_NODE, 1)->cpu, cpu);
        const struct spent_sums *run = of(&l, SPENT_RUN, 0);
        int64_t open = unknown + run->ready_most - run->ready_least;
        assert_int_equal(spent_cpu_most(run), cpu + open);
        assert_true(isnan(spent_parallelism(run)) == (open > cpu / 50 || run->elapsed == 0));
        spent_fini(&l);
        activity_fini(&a);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
