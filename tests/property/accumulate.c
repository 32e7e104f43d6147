// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Records that accumulate, against a model of what waits: which poll takes, and how many. Four threads write records of
 * one and of four slots, few and in bursts of up to half a ring between two polls. No record waits longer than the
 * longest wait and a period, and none is lost. Time is the test's own.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { RINGS = 4, SLOTS = 256, EPOCHS = 60, POLLS = 200 };

BEZEL_ASPECT(narrow, (int64, a, "1"));
BEZEL_ASPECT(wide, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
             (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"), (int64, l, "1"));

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

static uint64_t seed;
static struct fixture f;

static struct writer { /* each has a ring */
    pthread_t thread;
    sem_t go, done;
    uint32_t records; /* to write now; UINT32_MAX: end */
    bool is_wide;
} writers[RINGS];

static struct {
    uint32_t records, batch; /* to wait for; that a poll takes at most, 0: all */
    int64_t longest, period;
    int64_t now, since; /* since: of the last poll that left nothing */
    bool taking;
    uint32_t waiting;
} model;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(seed_next(&seed) % n);
}

static void *run_writer(void *context)
{
    struct writer *w = context;
    bezel_thread_init(0);
    sem_post(&w->done);
    for (;;) {
        sem_wait(&w->go);
        if (w->records == UINT32_MAX)
            return NULL;
        for (uint32_t i = 0; i < w->records; i++)
            if (w->is_wide)
                bezel_record(wide, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
            else
                bezel_record(narrow, 1);
        sem_post(&w->done);
    }
}

static void write_records(struct writer *w, uint32_t records)
{
    w->is_wide = below(2);
    w->records = records;
    sem_post(&w->go);
    if (records == UINT32_MAX) {
        pthread_join(w->thread, NULL);
        return;
    }
    sem_wait(&w->done);
    model.waiting += records;
}

static int begin(void **unused)
{
    (void)unused;
    setenv("BEZEL_RING_RECORDS", "256", 1);
    f.options.batch = true;
    f.options.take_all = true;
    f.options.accumulate = 2;
    fixture_open(&f);
    for (int i = 0; i < RINGS; i++) {
        assert_true(sem_init(&writers[i].go, 0, 0) == 0 && sem_init(&writers[i].done, 0, 0) == 0);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]), 0);
        sem_wait(&writers[i].done);
        write_records(&writers[i], 1);
    }
    external_poll(f.external, clock_now());
    external_housekeep(f.external, clock_now());
    model.now = model.since = clock_now() + CLOCK_S;
    external_poll(f.external, model.now);
    model.waiting = 0;
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    for (int i = 0; i < RINGS; i++)
        write_records(&writers[i], UINT32_MAX);
    fixture_discard(&f);
    return 0;
}

static bool is_half_full(void)
{
    const struct external_process *p = external_process(f.external, 0);
    for (uint32_t i = 0; i < RINGS; i++)
        if (packetize_waiting(p, i) >= SLOTS / 2 * RING_SLOT_BYTES)
            return true;
    return false;
}

/* How many records the poll at model.now takes. */
static uint32_t expect(void)
{
    bool is_time = model.now - model.since >= model.longest;
    if (model.waiting == 0 || !(model.taking || model.waiting >= model.records || is_time || is_half_full()))
        return 0;
    return model.batch && model.batch < model.waiting ? model.batch : model.waiting;
}

static void take(uint32_t taken)
{
    model.waiting -= taken;
    model.taking = taken > 0 && model.waiting > 0;
    if (model.waiting == 0)
        model.since = model.now;
}

/* Every thread now and then writes a few; where polls are not limited, sometimes as much as half a ring holds. */
static void write_some(void)
{
    for (int i = 0; i < RINGS; i++)
        if (below(3) == 0)
            write_records(&writers[i], 1 + (model.batch || below(20) != 0 ? below(2) : below(SLOTS / 8)));
}

static void draw_settings(void)
{
    static const uint32_t numbers[] = {2, 7, 30, 100, 300, 1000000};
    model.records = numbers[below(sizeof numbers / sizeof *numbers)];
    model.period = CLOCK_US * (1 + below(2000));
    model.longest = CLOCK_US * (1 + below(200000));
    model.batch = below(2) ? 20 + below(100) : 0;
    f.external->accumulate.records = model.records;
    f.external->accumulate.longest = model.longest;
    external_batch(f.external, true, model.batch);
}

static void check_no_loss(void)
{
    struct attached *a = external_process(f.external, 0)->at;
    for (uint32_t id = 1; id <= a->dict->aspect_count; id++) {
        struct message_books_row row = segment_tally(a, id);
        assert_int_equal(row.full + row.window + row.spool + row.no_ring, 0);
    }
}

/* The oldest record that waits may have been written right after the poll at `oldest`. */
TEST(records_are_taken_when_there_are_enough_or_one_has_waited)
{
    uint32_t left = 0, limited = 0, taken;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int64_t oldest = model.now;
        draw_settings();
        for (int poll = 0; poll < POLLS; poll++) {
            oldest = model.waiting == 0 ? model.now : oldest;
            write_some();
            model.now += model.period;
            assert_int_equal(taken = external_poll(f.external, model.now), expect());
            assert_true(taken > 0 || model.waiting == 0 || model.now - oldest < model.longest);
            take(taken);
            left += model.waiting > 0 && taken == 0;
            limited += model.waiting > 0 && taken > 0;
            fixture_acknowledge(&f);
        }
    }
    check_no_loss();
    assert_true(left > 100 && limited > 10); /* or this shows nothing */
}

/* Whatever the settings are, and also while collection is off. */
TEST(a_flush_takes_all)
{
    for (int i = 0; i < 100; i++) {
        draw_settings();
        write_some();
        model.now += model.period;
        external_collect(f.external, below(2));
        assert_int_equal(external_flush(f.external, model.now), model.waiting);
        take(model.waiting);
        external_collect(f.external, true);
        fixture_acknowledge(&f);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(begin, end);
}
