// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A ring that floods starves nobody. One thread fills its ring before every poll, others record now and then; packets
 * are acknowledged at random, or not at all for a while. Batch-and-forward: what a quiet ring held before a poll is
 * taken by that poll, whether the window is empty or as full as a flood can make it. Collect-and-forward: of R rings
 * each with something in it loses a record within R polls. Records of a ring come in their order.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { QUIET = 12, RINGS = QUIET + 1, EPOCHS = 20, POLLS = 60, FLOOD = 3000 };

BEZEL_ASPECT(said, (int64, number, "1"), (int64, more, "1"));

static uint64_t seed;
static struct fixture f;

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

/* Thread 0 floods. Each has a ring, number i of its process. */
static struct talker {
    pthread_t thread;
    sem_t go, done;
    uint32_t records; /* to make now; UINT32_MAX: end */
} talkers[RINGS];

static void *talk(void *context)
{
    struct talker *t = context;
    bezel_thread_init(0);
    sem_post(&t->done);
    for (int64_t n = 0;;) {
        sem_wait(&t->go);
        if (t->records == UINT32_MAX)
            return NULL;
        for (uint32_t i = 0; i < t->records; i++)
            bezel_record(said, n++, 0);
        sem_post(&t->done);
    }
}

static void say(struct talker *t, uint32_t records)
{
    t->records = records;
    sem_post(&t->go);
    if (records == UINT32_MAX)
        pthread_join(t->thread, NULL);
    else
        sem_wait(&t->done);
}

static const struct attached_ring *ring(uint32_t i)
{
    const struct external_process *p = external_process(f.external, 0);
    assert_non_null(p);
    assert_true(i < p->at->ring_count);
    return &p->at->rings[i];
}

static uint32_t waiting(uint32_t i)
{
    return ring_waiting(&ring(i)->reader) / RING_SLOT_BYTES;
}

/* Acknowledges all packets, or from the oldest on as many as chance will have it; they come in the order of each ring.
 */
static void acknowledge(bool all)
{
    struct window *w = external_window(f.external);
    uint64_t at = window_oldest(w);
    uint32_t wanted = (uint32_t)(seed_next(&seed) % 8);
    for (struct window_packet *p; (all || wanted-- > 0) && (p = window_next(w, &at)) != NULL;) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p->data, p->bytes, &h), 0);
        struct fixture_stream *s = &f.streams[h.ring];
        assert_int_equal(h.seq, s->next_seq);
        assert_int_equal(h.first_ordinal, h.seq == 0 ? h.first_ordinal : s->next_ordinal);
        s->next_seq = h.seq + 1;
        s->next_ordinal = h.first_ordinal + h.records + (h.discarded - s->discarded);
        s->discarded = h.discarded;
        window_acknowledge(w, p->stream, h.seq + 1);
    }
    window_free_each(w, NULL, NULL);
}

static int begin(void **unused)
{
    (void)unused;
    setenv("BEZEL_RING_RECORDS", "4096", 1);
    f.options.batch = true;
    f.options.take_all = true;
    f.options.window_bytes = WINDOW_BYTES_MIN;
    fixture_open(&f);
    for (int i = 0; i < RINGS; i++) {
        assert_true(sem_init(&talkers[i].go, 0, 0) == 0 && sem_init(&talkers[i].done, 0, 0) == 0);
        assert_int_equal(pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]), 0);
        sem_wait(&talkers[i].done); /* it has ring i now */
        say(&talkers[i], 1);
    }
    external_poll(f.external, clock_now());
    external_housekeep(f.external, clock_now());
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    for (int i = 0; i < RINGS; i++)
        say(&talkers[i], UINT32_MAX);
    fixture_discard(&f);
    return 0;
}

/* What quiet rings do in between. */
static void murmur(void)
{
    for (int i = 1; i < RINGS; i++)
        if (seed_next(&seed) % 4 == 0)
            say(&talkers[i], (uint32_t)(1 + seed_next(&seed) % 3));
}

TEST(quiet_rings_are_taken_by_the_next_poll)
{
    bool was_full = false;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        bool never = seed_next(&seed) % 2;
        for (int poll = 0; poll < POLLS; poll++) {
            say(&talkers[0], FLOOD);
            murmur();
            external_poll(f.external, clock_now());
            was_full = was_full || waiting(0) > 0;
            for (uint32_t i = 1; i < RINGS; i++)
                assert_int_equal(waiting(i), 0);
            if (!never)
                acknowledge(false);
        }
        acknowledge(true);
    }
    assert_true(was_full); /* or this shows nothing */
}

/* In the next life of the external sensor, too. */
TEST(of_single_records_every_ring_has_its_turn)
{
    uint32_t before[RINGS];
    external_close(f.external, false);
    f.options.batch = false;
    fixture_reopen(&f);
    for (int round = 0; round < EPOCHS * POLLS; round++) {
        say(&talkers[0], FLOOD / 10);
        murmur();
        for (uint32_t i = 0; i < RINGS; i++)
            before[i] = waiting(i);
        for (int poll = 0; poll < RINGS; poll++) {
            assert_true(external_poll(f.external, clock_now()) <= 1);
            acknowledge(seed_next(&seed) % 2);
        }
        for (uint32_t i = 0; i < RINGS; i++)
            assert_true(before[i] == 0 || waiting(i) < before[i]);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(begin, end);
}
