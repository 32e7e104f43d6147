// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A node's clock and the time of the run, against the truth: drawn clocks and networks (tests/lib/virtual_hosts.h), the
 * exchanges of times that a collector receives, and what it then says of any time.
 */
#include "run/model/run_clock.h"

#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/virtual_hosts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define AHEAD INT64_C(1700000000000000000)

enum { READS = 200 };

static struct virtual_hosts hosts;
static struct run_clock c;
static int64_t first; /* when the first exchange began, true time */

static int rounds(int full)
{
    return getenv("BEZEL_TEST_LIGHT") ? full / 10 : full;
}

static int64_t truth(int64_t at)
{
    return virtual_clock_at(&hosts.peer, at) + AHEAD;
}

/* Exchanges `every` ns until true time `until`. Returns when the last answer that makes sense came. */
static int64_t exchange(int64_t every, int64_t until)
{
    int64_t end, last = 0;
    first = -1;
    for (int64_t at = 0; at < until; at = end + every) {
        struct clock_exchange x;
        if (virtual_hosts_exchange(&hosts, at, &x, &end)) {
            uint64_t before = c.exchanges;
            run_clock_add(&c, &x, AHEAD);
            bool makes_sense = c.exchanges > before; /* its round trip is not too long */
            first = makes_sense && first < 0 ? at : first;
            last = makes_sense ? end : last;
        } else {
            end = at;
        }
    }
    return last;
}

static void expect(int64_t at)
{
    struct clock_reading r = run_clock_at(&c, virtual_clock_at(&hosts.own, at));
    if (llabs(r.ns - truth(at)) > r.bound)
        fail_msg("at %" PRId64 " of %" PRId64 ": %" PRId64 " ns wrong, stated %" PRId64 "; %zu pieces", at,
                 hosts.length, r.ns - truth(at), r.bound, c.count);
}

static void expect_all(uint64_t *seed, int64_t until)
{
    for (int i = 0; i < READS; i++)
        expect((int64_t)(seed_unit(seed) * (double)until));
}

TEST(a_time_is_wrong_by_no_more_than_its_bound)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(300); i++) {
        virtual_hosts_draw(&hosts, &seed, i % 2);
        run_clock_init(&c, RUN_CLOCK_WALL, 5);
        (void)exchange(CLOCK_S, hosts.length);
        assert_int_equal(c.kind,
                         c.exchanges ? RUN_CLOCK_EXCHANGES : RUN_CLOCK_WALL); /* in some draws no answer comes */
        assert_true(c.exchanges == 0 || c.round_trip >= hosts.round_trip / 2);
        expect_all(&seed, hosts.length);
        run_clock_free(&c);
    }
}

TEST(one_offset_holds_for_the_run_and_a_second_around_it)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(300); i++) {
        virtual_hosts_draw(&hosts, &seed, i % 2);
        run_clock_init(&c, RUN_CLOCK_WALL, 5);
        int64_t last = exchange(CLOCK_S, hosts.length);
        struct run_clock_line line = run_clock_line(&c);
        int64_t worst = run_clock_worst(&c);
        assert_true(c.exchanges ? line.bound >= worst && worst > 0 : worst == -1 && line.bound == -1);
        for (int k = 0; k < READS && c.exchanges; k++) {
            int64_t at = first + (int64_t)(seed_unit(&seed) * (double)(last - first));
            int64_t error = llabs(virtual_clock_at(&hosts.own, at) + line.offset - truth(at));
            if (error > line.bound)
                fail_msg("at %" PRId64 ": %" PRId64 " ns wrong, stated %" PRId64, at, error, line.bound);
        }
        run_clock_free(&c);
    }
}

/* Exchanges with a peer whose clock is `step` ahead of what it was, from true time `at` on: until the jump is known. */
static void exchange_behind_jump(int64_t at, int64_t step)
{
    struct clock_exchange x;
    for (uint64_t jumps = c.relation.jumps; c.relation.jumps == jumps;) {
        bool answered = virtual_hosts_exchange(&hosts, at, &x, &at);
        at += CLOCK_S / 8;
        assert_true(at < hosts.length);
        x.arrived += step;
        x.answered += step;
        if (answered)
            run_clock_add(&c, &x, AHEAD);
    }
}

/* What was recorded before the jump is placed rightly, and the bound covers also what comes behind it. */
TEST(the_one_offset_is_that_before_a_jump)
{
    uint64_t seed = seed_start();
    for (int i = 0, jumped = 0; jumped < rounds(100); i++) {
        const int64_t step = i % 3 ? 60 * CLOCK_S : -5 * CLOCK_S;
        virtual_hosts_draw(&hosts, &seed, i % 2);
        int64_t at = hosts.length / 2;
        run_clock_init(&c, RUN_CLOCK_WALL, 5);
        int64_t last = exchange(CLOCK_S, at);
        struct run_clock_line before = run_clock_line(&c);
        if (c.exchanges > 1 && hosts.length - at > 60 * CLOCK_S) {
            jumped++;
            exchange_behind_jump(at, step);
            struct run_clock_line line = run_clock_line(&c);
            int64_t there = virtual_clock_at(&hosts.own, at), here = virtual_clock_at(&hosts.own, last);
            assert_true(llabs(line.offset - before.offset) <= before.bound);
            assert_true(llabs(here + line.offset - truth(last)) <= before.bound);
            assert_true(llabs(there + line.offset - (truth(at) + step)) <= line.bound);
            assert_in_range(line.bound, llabs(step) - before.bound, 4 * llabs(step) + 8 * before.bound);
        }
        run_clock_free(&c);
    }
}

/* Of a long run, neighbours are joined: memory is bounded, the bounds still hold, and are not much wider. */
TEST(joined_pieces_hold_too)
{
    uint64_t seed = seed_start();
    do
        virtual_hosts_draw(&hosts, &seed, true);
    while (hosts.round_trip > CLOCK_MS || hosts.length < 300 * CLOCK_S);
    run_clock_init(&c, RUN_CLOCK_WALL, 5);
    int64_t last = exchange(CLOCK_MS, hosts.length);
    assert_true(c.exchanges > 4 * RUN_CLOCK_PIECES);
    assert_in_range(c.count, RUN_CLOCK_PIECES / 2, RUN_CLOCK_PIECES);
    expect_all(&seed, last);
    assert_true(run_clock_worst(&c) < 2 * hosts.round_trip + 20 * CLOCK_US);
    run_clock_free(&c);
}

TEST(the_drift_is_that_of_the_clocks)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(100); i++) {
        virtual_hosts_draw(&hosts, &seed, true);
        run_clock_init(&c, RUN_CLOCK_WALL, 5);
        assert_true(isnan(run_clock_drift(&c)));
        int64_t last = exchange(CLOCK_S, hosts.length);
        double own = (double)(virtual_clock_at(&hosts.own, last) - virtual_clock_at(&hosts.own, 0));
        double drift = own / (double)(truth(last) - truth(0)) - 1;
        bool shown = !isnan(run_clock_drift(&c));
        assert_true(shown || 3 * (double)hosts.round_trip / (double)last > 20e-6);
        assert_true(!shown || fabs(run_clock_drift(&c) - drift) < 4 * (double)hosts.round_trip / (double)last + 1e-7);
        run_clock_free(&c);
    }
}

static void expect_same(struct clock_stretch *near, int64_t own)
{
    struct clock_reading r = run_clock_at(&c, own), fast = run_clock_at_near(&c, near, own);
    if (r.ns != fast.ns || r.bound != fast.bound)
        fail_msg("%" PRId64 ": %" PRId64 " +- %" PRId64 ", not %" PRId64 " +- %" PRId64, own, fast.ns, fast.bound, r.ns,
                 r.bound);
}

/* Reads times that lie near each other, from before the first exchange to long after the last one. */
static void expect_near(uint64_t *seed, uint64_t *read, uint64_t *kept)
{
    struct clock_stretch near = {0};
    int64_t end = virtual_clock_at(&hosts.own, hosts.length) + 100 * CLOCK_S;
    for (int64_t own = virtual_clock_at(&hosts.own, 0) - 10 * CLOCK_S; own < end;) {
        *read += c.exchanges > 0;
        *kept += c.exchanges > 0 && own >= near.from && own < near.until;
        expect_same(&near, own);
        own += 1 + (int64_t)(seed_unit(seed) * (seed_unit(seed) < 0.01 ? 3e9 : 2e7)); /* now and then a few back */
        own -= seed_unit(seed) < 0.1 ? (int64_t)(seed_unit(seed) * 5e7) : 0;
    }
    for (int64_t back = CLOCK_S; c.count > 0 && back > 0; back /= 2) { /* to where the last piece counts */
        int64_t until = c.pieces[c.count - 1].until;
        expect_same(&near, until + CLOCK_S);
        expect_same(&near, until + back);
    }
}

TEST(times_near_each_other_are_read_as_any)
{
    uint64_t seed = seed_start(), read = 0, kept = 0;
    for (int i = 0; i < rounds(40); i++) {
        virtual_hosts_draw(&hosts, &seed, i % 2);
        run_clock_init(&c, RUN_CLOCK_WALL, 5);
        int64_t at = hosts.length / 2;
        if (i % 4 == 0 && hosts.length > 120 * CLOCK_S && exchange(CLOCK_S, at) > 0 && c.exchanges > 1)
            exchange_behind_jump(at, 60 * CLOCK_S);
        else
            (void)exchange(CLOCK_S / (1 + i % 3), hosts.length);
        expect_near(&seed, &read, &kept);
        run_clock_free(&c);
    }
    assert_true(kept > read / 4 * 3); /* 0.95 as a rule; 0.88 was seen in few rounds */
}

TEST(without_exchanges_it_is_the_same_clock_or_unknown)
{
    const struct clock_exchange x = {.sent = 1000, .arrived = 5000, .answered = 5000, .received = 2000};
    run_clock_init(&c, RUN_CLOCK_SAME, 7);
    run_clock_add(&c, &x, 9);
    assert_int_equal(c.kind, RUN_CLOCK_SAME);
    struct clock_reading r = run_clock_at(&c, 100);
    assert_int_equal(r.ns, 107);
    assert_int_equal(r.bound, 0);
    assert_int_equal(run_clock_line(&c).offset, 7);
    assert_int_equal(run_clock_line(&c).bound, 0);
    assert_int_equal(run_clock_worst(&c), 0);
    run_clock_init(&c, RUN_CLOCK_WALL, -7);
    r = run_clock_at(&c, 100);
    assert_int_equal(r.ns, 93);
    assert_int_equal(r.bound, INT64_MAX);
    assert_int_equal(run_clock_line(&c).offset, -7);
    assert_int_equal(run_clock_line(&c).bound, -1);
    assert_int_equal(run_clock_worst(&c), -1);
    assert_int_equal(run_clock_at(&c, INT64_MIN).ns, INT64_MIN);
    run_clock_init(&c, RUN_CLOCK_WALL, 7);
    assert_int_equal(run_clock_at(&c, INT64_MAX).ns, INT64_MAX);
}
