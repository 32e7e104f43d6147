// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The gap between two looks of a reader that nobody gave a period, with a virtual clock. Polling by default: whatever
 * flowed before, a ring loses nothing when 1,000,000 records a second set in, even if polls are late by what the period
 * leaves. Spinning: it stays out of the writer's way, and no ring runs full by that.
 */
#include "resmgr/pace/gap.h"
#include "base/clock.h"
#include "config/experiment.h"
#include "sensor/shm/ring_reader.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { CASES = 400, POLLS = 200, SETTLED = 40 };

static uint64_t seed;

/* A ring, what flows into it, slots a second, and its reader. */
struct world {
    uint32_t slots;
    double flow, waiting;
    int64_t now, gap, shortest, longest;
    uint32_t fullest; /* of all looks */
};

static uint32_t below(uint32_t n)
{
    return (uint32_t)(seed_next(&seed) % n);
}

/* Time passes. */
static void flow(struct world *w, int64_t ns)
{
    w->now += ns;
    w->waiting += w->flow * (double)ns / 1e9;
}

static void look(struct world *w)
{
    uint32_t waiting = (uint32_t)w->waiting, fits = waiting < w->slots ? waiting : w->slots;
    uint32_t fill = gap_fill(fits * RING_SLOT_BYTES, w->slots * RING_SLOT_BYTES);
    w->fullest = fill > w->fullest ? fill : w->fullest;
    w->waiting -= waiting;
    w->gap = gap_next(w->gap, fill, w->shortest, w->longest);
    assert_in_range(w->gap, w->shortest, w->longest);
}

/* ---- Polling by default ------------------------------------------------------------------------------------------ */

static struct world polling(void)
{
    struct world w = {.slots = 2048U << below(10), .shortest = CLOCK_MS};
    w.longest = experiment_quiet_period(w.slots);
    w.gap = w.shortest;
    return w;
}

/* By how much a poll may be late at most: a ring is full that long after its longest period. */
static int64_t late(const struct world *w)
{
    int64_t room = w->slots * CLOCK_US - w->longest;
    return (int64_t)(seed_unit(&seed) * (double)(room < 20 * CLOCK_MS ? room : 20 * CLOCK_MS));
}

TEST(a_million_records_a_second_after_silence_are_all_taken)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = polling();
        w.flow = below(2) ? 0 : seed_between(&seed, 10, 1e6);
        for (int k = 0; k < POLLS; k++) {
            flow(&w, w.gap + late(&w));
            look(&w);
        }
        int64_t before = (int64_t)(seed_unit(&seed) * (double)w.gap), after = w.gap - before + late(&w);
        flow(&w, before);
        w.flow = 1e6;
        for (int k = 0; k < POLLS; k++, after = w.gap + late(&w)) {
            flow(&w, after);
            assert_true(w.waiting <= w.slots);
            look(&w);
        }
    }
}

TEST(silence_lengthens_the_period_and_a_flood_makes_it_the_shortest_at_once)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = polling();
        for (int k = 0; k < 3; k++)
            look(&w);
        assert_int_equal(w.gap, w.longest);
        w.waiting = w.slots / 2 + below(w.slots / 2);
        look(&w);
        assert_int_equal(w.gap, w.shortest);
    }
}

/* Which is what `sensing.poll.period: 1 ms` allowed, too. */
TEST(what_a_ring_holds_for_the_shortest_period_is_taken_once_it_flows)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = polling();
        double most = (double)w.slots / ((double)w.shortest / 1e9);
        for (w.flow = 1e5; w.flow < 0.9 * most; w.flow *= 1.05)
            for (int k = 0; k < 4; k++) {
                flow(&w, w.gap);
                assert_true(w.waiting <= w.slots);
                look(&w);
            }
    }
}

/* ---- Spinning ---------------------------------------------------------------------------------------------------- */

TEST(a_reader_that_spins_waits_no_longer_than_a_part_of_the_latency)
{
    assert_int_equal(gap_spin_longest(0), gap_spin_longest(CLOCK_S));
    assert_true(gap_spin_longest(0) <= 10 * CLOCK_US);
    for (int i = 0; i < CASES; i++) {
        int64_t latency = (int64_t)seed_between(&seed, 1, 1e9);
        assert_in_range(gap_spin_longest(latency), 0, latency / 10);
        assert_true(gap_spin_longest(latency) <= gap_spin_longest(0));
    }
}

/* A look takes a time of its own, in which records flow as well. */
TEST(it_leaves_a_writer_alone_and_no_ring_fills_up)
{
    for (int i = 0; i < CASES; i++) {
        struct world w = {.slots = 64U << below(15), .longest = gap_spin_longest(0)};
        int64_t takes = 200 + below(800), looks = 0, begun = 0;
        double most = (double)w.slots / 16 / (double)takes * 1e9; /* which an endless loop of looks can just follow */
        w.flow = seed_between(&seed, 1, most < 100e6 ? most : 100e6);
        for (int k = 0; k < POLLS; k++) {
            flow(&w, takes);
            look(&w);
            flow(&w, w.gap);
            looks += k >= SETTLED;
            begun = k == SETTLED ? w.now : begun;
            assert_true(w.fullest <= GAP_FULL / 4);
        }
        /* half of the longest pause on average, or as long as a 32nd of the ring takes */
        double apart = (double)(w.now - begun) / (double)looks, fills = (double)w.slots / 32 / w.flow * 1e9;
        double wanted = (double)w.longest / 2 < fills ? (double)w.longest / 2 : fills;
        assert_true(apart >= wanted * 0.9 || wanted < 2 * CLOCK_US);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
