// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Records that accumulate, and what ends their wait besides their number and the time (tests/property/accumulate.c):
 * snapshots, ends of processes, a full window, a clock that is not known yet. Time is the tests' own.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <stdlib.h>

enum { ENOUGH = 100 };

BEZEL_ASPECT(narrow, (int64, a, "1"));
BEZEL_ASPECT(wide, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"));

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

static struct fixture f;
static int64_t now;

static uint32_t poll_now(void)
{
    return external_poll(f.external, now += CLOCK_MS);
}

static void write_records(int n)
{
    for (int i = 0; i < n; i++)
        bezel_record(narrow, i);
}

/* The only folder of this process, which has its ring there. */
static int begin(void **unused)
{
    (void)unused;
    setenv("BEZEL_RING_RECORDS", "65536", 1);
    f.options = (struct external_options){.batch = true,
                                          .take_all = true,
                                          .doorbell = true,
                                          .sleeps_beside_idle = true,
                                          .window_bytes = WINDOW_BYTES_MIN,
                                          .accumulate = ENOUGH,
                                          .accumulate_longest = 50 * CLOCK_MS};
    fixture_open(&f);
    bezel_thread_init(0);
    now = clock_now();
    poll_now(); /* finds it */
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    fixture_discard(&f);
    return 0;
}

static int begin_each(void **unused)
{
    (void)unused;
    now += CLOCK_S;
    (void)external_flush(f.external, now);
    fixture_acknowledge(&f);
    assert_int_equal(poll_now(), 0);
    return 0;
}

TEST_WITH(begin_each, NULL, a_poll_takes_when_there_are_enough)
{
    write_records(ENOUGH - 1);
    assert_int_equal(poll_now(), 0);
    write_records(1);
    assert_int_equal(poll_now(), ENOUGH);
    write_records(1);
    assert_int_equal(poll_now(), 0);
}

TEST_WITH(begin_each, NULL, or_when_one_has_waited)
{
    write_records(1);
    for (int i = 1; i < 50; i++)
        assert_int_equal(poll_now(), 0);
    write_records(1);
    assert_int_equal(poll_now(), 2);
    write_records(1);
    assert_int_equal(poll_now(), 0); /* the time of the next ones begins */
}

TEST_WITH(begin_each, NULL, records_are_counted_not_their_slots)
{
    for (int i = 1; i < ENOUGH; i++) {
        bezel_record(wide, 1, 2, 3);
        if (i % 30 == 0)
            assert_int_equal(poll_now(), 0);
    }
    assert_int_equal(poll_now(), 0);
    bezel_record(wide, 1, 2, 3);
    assert_int_equal(poll_now(), ENOUGH);
}

/* The rest of what there was when the first of them took; not what came later. */
TEST_WITH(begin_each, NULL, limited_polls_go_on_with_the_rest)
{
    external_batch(f.external, true, 60);
    write_records(ENOUGH);
    assert_int_equal(poll_now(), 60);
    assert_int_equal(poll_now(), 40);
    write_records(ENOUGH);
    external_batch(f.external, true, ENOUGH);
    assert_int_equal(poll_now(), ENOUGH);
    write_records(1);
    assert_int_equal(poll_now(), 0);
    external_batch(f.external, true, 0);
}

TEST_WITH(begin_each, NULL, nothing_waits_at_a_snapshot)
{
    write_records(3);
    assert_int_equal(poll_now(), 0);
    assert_int_equal(external_snapshot(f.external, now), 0); /* there is no flight recorder */
    assert_int_equal(poll_now(), 3);
    write_records(3);
    assert_int_equal(poll_now(), 0);
}

TEST_WITH(begin_each, NULL, what_finds_no_room_is_taken_as_soon_as_there_is_room)
{
    uint32_t taken = 0;
    f.external->accumulate.records = 1000000; /* but the ring is more than half full */
    write_records(60000);                     /* 1.2 MB in a window of 1 MiB */
    taken = poll_now();
    assert_in_range(taken, 1, 59999);
    for (int i = 0; i < 20 && taken < 60000; i++) {
        fixture_acknowledge(&f);
        taken += poll_now();
    }
    assert_int_equal(taken, 60000);
    f.external->accumulate.records = ENOUGH;
    fixture_acknowledge(&f);
    write_records(3);
    assert_int_equal(poll_now(), 0);
}

/* Each poll tries again. */
TEST_WITH(begin_each, NULL, what_has_no_time_yet_is_taken_as_soon_as_it_has)
{
    static struct timebase unknown;
    struct external_process *p = external_process(f.external, 0);
    struct timebase *known = p->timebase;
    timebase_init(&unknown, 0);
    write_records(1);
    assert_int_equal(poll_now(), 0);
    p->timebase = &unknown;
    now += 50 * CLOCK_MS;
    for (int i = 0; i < 3; i++)
        assert_int_equal(poll_now(), 0);
    p->timebase = known;
    write_records(1);
    assert_int_equal(poll_now(), 2);
}

TEST_WITH(begin_each, NULL, a_process_whose_records_wait_is_not_idle)
{
    f.external->accumulate.longest = 10 * CLOCK_S;
    write_records(1);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(poll_now(), 0);
        external_housekeep(f.external, now += 100 * CLOCK_MS);
        assert_int_equal(external_next(f.external, 0), 0);
        assert_false(external_sleep(f.external));
    }
    now += 5 * CLOCK_S;
    assert_int_equal(poll_now(), 1);
    f.external->accumulate.longest = 50 * CLOCK_MS;
}

static void record_three(void *unused)
{
    (void)unused;
    write_records(3);
}

TEST_WITH(begin_each, NULL, an_ended_process_is_drained)
{
    uint64_t before = external_counts(f.external)->records;
    int64_t deadline = clock_now() + PATIENCE;
    assert_int_equal(fixture_wait(fixture_spawn(record_three, NULL)), 0);
    while (external_counts(f.external)->records < before + 3) {
        assert_true(clock_now() < deadline);
        external_housekeep(f.external, now);
    }
    assert_int_equal(external_counts(f.external)->records, before + 3);
}

int main(void)
{
    return test_run(begin, end);
}
