// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Guests whose counters are right, and guests whose counters lie: processors apart, jumps, other rates. What the proof
 * says is compared with what the guest is.
 */
#include "sensor/shm/counter_proof.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t seed;

static double any(double low, double high)
{
    return low + (high - low) * seed_unit(&seed);
}

static int64_t any_ns(int64_t most)
{
    return (int64_t)any(0, (double)most);
}

/* A guest: its counters tick at `rate` a ns, that of one processor is `ahead` ns ahead of the other's. */
struct guest {
    double rate, start;
    int64_t ahead;
};

/* A reading at `now` takes up to 2 * `width`; the truth lies anywhere within. */
static struct clock_pair read_pair(const struct guest *g, int64_t *now, int64_t width, bool there)
{
    int64_t half = any_ns(width), moment = *now + half + any_ns(2 * half) - half;
    struct clock_pair p = {.ns = *now + half, .uncertainty = half + 1};
    p.ticks = (uint64_t)(g->start + g->rate * (double)(moment + (there ? g->ahead : 0)));
    *now += 2 * half + any_ns(20000);
    return p;
}

static struct guest any_guest(void)
{
    return (struct guest){.rate = any(0.02, 5), .start = any(0, 1e15)};
}

TEST(a_visit_bounds_how_far_processors_are_apart)
{
    int agreed = 0, apart = 0;
    for (int i = 0; i < 200000; i++) {
        struct guest g = any_guest();
        int64_t now = any_ns(INT64_C(1) << 50), bound, width = any_ns(3000);
        g.ahead = (int64_t)(any(-1, 1) * (double)any_ns(i % 2 ? 100000 : 500));
        struct counter_visit v;
        v.before = read_pair(&g, &now, width, false);
        v.there = read_pair(&g, &now, width, true);
        v.after = read_pair(&g, &now, width, false);
        int64_t reading = v.before.uncertainty > v.after.uncertainty ? v.before.uncertainty : v.after.uncertainty;
        reading += v.there.uncertainty;
        int64_t tick = (int64_t)(1 / g.rate) + 1;
        int64_t double_ns =
            (int64_t)(g.start / 4503599627370496.0 / g.rate) + 2; /* how exact this test's doubles are */
        enum counter_verdict verdict = counter_proof_judge(&v, &bound);
        if (verdict == COUNTER_UNCLEAR) {
            assert_true(reading > COUNTER_PROOF_CLEAR_NS);
            continue;
        }
        if (verdict == COUNTER_AGREES && llabs(g.ahead) > bound + 2 * tick + double_ns)
            fail_msg("%" PRId64 " ns ahead, and at most %" PRId64 " by the visit", g.ahead, bound);
        if (llabs(g.ahead) > 2 * reading + COUNTER_PROOF_SLACK_NS + 2 * tick + double_ns)
            assert_int_equal(verdict, COUNTER_APART);
        if (g.ahead == 0 && 2 * tick + double_ns < COUNTER_PROOF_SLACK_NS)
            assert_int_equal(verdict, COUNTER_AGREES);
        agreed += verdict == COUNTER_AGREES;
        apart += verdict == COUNTER_APART;
    }
    assert_true(agreed > 1000 && apart > 1000);
}

TEST(readings_that_cannot_be_are_no_agreement)
{
    const uint64_t ticks[] = {0, 1, 1000, 2000, 3000, UINT64_MAX, UINT64_MAX / 2, UINT64_MAX - 1000};
    const int64_t times[] = {0, 1000, 2000, 3000, INT64_MAX / 2};
    for (int i = 0; i < 100000; i++) {
        struct clock_pair p[3];
        for (int k = 0; k < 3; k++)
            p[k] = (struct clock_pair){ticks[seed_next(&seed) % 8], times[seed_next(&seed) % 5], any_ns(100)};
        int64_t bound;
        struct counter_visit v = {p[0], p[1], p[2]};
        enum counter_verdict verdict = counter_proof_judge(&v, &bound);
        if (p[2].ticks == p[0].ticks || p[2].ns <= p[0].ns)
            assert_int_equal(verdict, COUNTER_APART);
        if (verdict == COUNTER_AGREES)
            assert_true(bound >= 0);
    }
}

/* A clock that is fed to a timebase as bezeld does it, its rate changed as a slewed kernel clock may. */
struct fed {
    struct timebase tb;
    double rate, mean, phase; /* ticks a ns; ticks at `now` */
    int64_t now;
};

static struct clock_pair pair_of(struct fed *f, int64_t step, int64_t width)
{
    f->phase += f->rate * (double)step;
    f->now += step;
    int64_t half = any_ns(width), off = any_ns(2 * half) - half;
    return (struct clock_pair){(uint64_t)(f->phase + f->rate * (double)off), f->now, half + 1};
}

static void begin_feeding(struct fed *f)
{
    timebase_init(&f->tb, 0);
    f->now = any_ns(INT64_C(1) << 45);
    f->mean = f->rate = any(0.02, 5);
    f->phase = 1e12;
}

static void feed(struct fed *f)
{
    int64_t step = timebase_due(&f->tb) > f->now ? timebase_due(&f->tb) - f->now + any_ns(100000) : 1000;
    struct clock_pair p = pair_of(f, step, 200);
    if (counter_proof_contradicts(&f->tb, &p))
        fail_msg("a right clock contradicts itself by %" PRId64 " ns", timebase_ns(&f->tb, p.ticks) - p.ns);
    (void)timebase_add(&f->tb, &p);
}

TEST(a_right_clock_never_contradicts_itself_and_a_jump_does)
{
    int rounds = getenv("BEZEL_TEST_LIGHT") ? 300 : 3000;
    for (int i = 0; i < rounds; i++) {
        struct fed f;
        begin_feeding(&f);
        int pairs = 20 + (int)(seed_next(&seed) % 80);
        for (int k = 0; k < pairs; k++) {
            if (k > 20 && seed_next(&seed) % 8 == 0)
                f.rate = f.mean * (1 + any(-250e-6, 250e-6));
            feed(&f);
        }
        int64_t step = timebase_due(&f.tb) - f.now, least = 5000 + step / 200; /* five times what a rate explains */
        int64_t jump = (int64_t)((seed_next(&seed) % 2 ? 1 : -1) * any((double)least, 1e11));
        f.phase += (double)jump * f.rate;
        struct clock_pair p = pair_of(&f, step, 200);
        if (f.phase > 0)
            assert_true(counter_proof_contradicts(&f.tb, &p));
    }
}

/* The machine on which this runs: whatever its clock source, a processor's visit is judged. */
TEST(this_machines_processors_can_be_visited)
{
    struct counter_visit v;
    int64_t apart;
    int err = counter_proof_visit(0, &v);
    if (err)
        skip(); /* this process may not run there */
    if (v.there.ticks == 0)
        skip(); /* it has no counter */
    printf("processor 0 is visited within %" PRId64 " ns: verdict %d\n", v.after.ns - v.before.ns,
           (int)counter_proof_judge(&v, &apart));
    assert_true(v.before.ns <= v.there.ns && v.there.ns <= v.after.ns);
    assert_int_equal(counter_proof_visit(8191, &v), BEZEL_EINVAL);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
