// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A look in place of a poll: it says *still* only where a poll would find nothing, whatever was done with the external
 * sensor before. Time is the tests' own, but for the clock's pairs.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <pthread.h>

BEZEL_ASPECT(seen, (int64, a, "1"));

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

static struct fixture f;
static int64_t now;

static uint32_t poll_now(void)
{
    return external_poll(f.external, now += CLOCK_US);
}

static bool is_still(void)
{
    return external_is_still(f.external, now += CLOCK_US);
}

/* Polls until nothing waits and nothing is new; then looks are still. */
static void rest(void)
{
    while (poll_now() > 0)
        ;
    for (int i = 0; i < 3 && !is_still(); i++)
        poll_now();
    assert_true(is_still() && is_still());
}

/* The counter's clock has pairs when it is due by the machine's time: never, unless a test says so. */
static void keep_clock_from_being_due(void)
{
    f.external->counter.due_ns = INT64_MAX;
}

static int begin(void **unused)
{
    (void)unused;
    f.options = (struct external_options){.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN};
    fixture_open(&f);
    bezel_thread_init(0);
    now = clock_now();
    poll_now(); /* finds this process */
    keep_clock_from_being_due();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    fixture_discard(&f);
    return 0;
}

TEST(a_record_ends_it_and_is_taken_by_the_poll)
{
    rest();
    bezel_record(seen, 1);
    assert_false(is_still());
    assert_false(is_still());
    assert_int_equal(poll_now(), 1);
    assert_true(external_took_sut(f.external));
    assert_int_equal(poll_now(), 0);
    assert_true(is_still());
    assert_false(external_took_sut(f.external));
}

TEST(so_it_does_behind_all_else_that_is_done)
{
    for (int what = 0; what < 5; what++) {
        rest();
        if (what == 0)
            external_housekeep(f.external, now);
        if (what == 1)
            (void)external_flush(f.external, now);
        if (what == 2)
            (void)external_snapshot(f.external, now);
        if (what == 3)
            external_set_rules(f.external);
        bezel_record(seen, what);
        if (what == 4) /* takes it */
            assert_int_equal(external_flush(f.external, now), 1);
        assert_true(is_still() == (what == 4));
        assert_int_equal(poll_now(), what == 4 ? 0 : 1);
    }
}

static void *record_once(void *unused)
{
    bezel_thread_init(0);
    bezel_record(seen, 2);
    return unused;
}

/* Whose ring is not on the list. */
TEST(a_new_thread_ends_it)
{
    pthread_t thread;
    rest();
    assert_int_equal(pthread_create(&thread, NULL, record_once, NULL), 0);
    pthread_join(thread, NULL);
    assert_false(is_still());
    assert_int_equal(poll_now(), 1);
}

TEST(an_arrival_ends_it_and_so_does_a_wake_bit)
{
    rest();
    atomic_fetch_add(&f.external->doorbell->arrivals, 1);
    assert_false(is_still());
    rest();
    atomic_fetch_or(&f.external->doorbell->wake_bits[0], 1); /* only words that processes may have are read */
    assert_false(is_still());
    rest();
}

TEST(a_clock_that_is_due_ends_it)
{
    rest();
    f.external->counter.due_ns = now + 2 * CLOCK_US;
    assert_true(is_still());
    assert_false(is_still());
    keep_clock_from_being_due();
    rest();
}

TEST(with_collection_off_there_is_none)
{
    rest();
    external_collect(f.external, false);
    assert_false(is_still());
    external_collect(f.external, true);
    rest();
}

/* So that the next gap can be chosen. */
TEST(a_poll_says_how_full_the_fullest_ring_was)
{
    rest();
    assert_int_equal(external_fill(f.external), 0);
    assert_int_equal(external_least_slots(f.external), RING_SLOTS_DEFAULT);
    for (uint32_t i = 0; i < RING_SLOTS_DEFAULT / 4; i++)
        bezel_record(seen, i);
    assert_int_equal(poll_now(), RING_SLOTS_DEFAULT / 4);
    assert_int_equal(external_fill(f.external), 64);
    assert_int_equal(poll_now(), 0);
    assert_int_equal(external_fill(f.external), 0);
}

int main(void)
{
    return test_run(begin, end);
}
