// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The external sensor beside processes that damage their rings, counters and dictionaries: what cannot be is not
 * believed, and what is not known is said to be.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/shm/segment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

BEZEL_ASPECT(two, (int64, number, "1"), (float64, half, "1"));

static void lie_about_the_head(void *unused)
{
    (void)unused;
    bezel_record(two, 1, 1);
    struct segment *s = fixture_own_segment();
    struct bezel_ring *ring = (struct bezel_ring *)(void *)((char *)s + s->ring_offset);
    ring->head = 1u << 31;
}

/* A way to damage a ring and its counters. */
struct damage {
    void (*damage)(struct segment *s, struct bezel_ring *ring);
    _Atomic int *go; /* in shared memory; 0: wait */
};

#define DAMAGE(name, what)                                                                                             \
    static void name(struct segment *s, struct bezel_ring *ring)                                                       \
    {                                                                                                                  \
        (void)s, (void)ring, (void)(what);                                                                             \
    }

DAMAGE(of_attempts, memset(ring->attempts, 0xff, sizeof ring->attempts))
DAMAGE(of_no_attempts, memset(ring->attempts, 0, sizeof ring->attempts))
DAMAGE(of_an_attempt_at_nothing, ring->attempts[0] = 1)
DAMAGE(of_losses, memset(ring->full, 0x11, sizeof ring->full))
DAMAGE(of_losses_without_a_ring, memset((void *)s->unringed, 0x11, sizeof s->unringed))
DAMAGE(of_the_session, memset(s->base, 0x11, sizeof s->base))
DAMAGE(of_its_begin, ring->base_ordinal = UINT64_C(0xbd657a636f6c6f01))
DAMAGE(of_ordinals, *(uint64_t *)(void *)(ring + 1) += UINT64_C(1) << 62)
DAMAGE(of_the_dictionary, s->dict[7] = 9) /* the id of the first aspect */

static void record_and_damage(void *context)
{
    const struct damage *d = context;
    bezel_record(two, 1, 1);
    struct segment *s = fixture_own_segment();
    while (*d->go == 0)
        clock_sleep_until(clock_now() + CLOCK_MS);
    d->damage(s, (struct bezel_ring *)(void *)((char *)s + s->ring_offset));
    _exit(0);
}

static bool has_a_record(struct fixture *f)
{
    return f->records == 1;
}

/* No sum is more than can be, and what cannot be known is said to be unknown; `late`: the record is read before. */
static void try_damage(void (*damage)(struct segment *, struct bezel_ring *), bool late, const char *code)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
    struct damage d = {damage, mmap(NULL, sizeof *d.go, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    struct message_books books;
    assert_ptr_not_equal(d.go, MAP_FAILED);
    fixture_open(&f);
    pid_t pid = fixture_spawn(record_and_damage, &d);
    if (late)
        fixture_until(&f, has_a_record);
    *d.go = 1;
    assert_int_equal(fixture_wait(pid), 0);
    fixture_until(&f, fixture_all_gone);
    struct external_totals flow = external_totals(f.external);
    assert_in_range(flow.produced, 0, 1);
    assert_int_equal(flow.full + flow.off + flow.no_ring + flow.window + flow.overwritten, 0);
    external_books(external_process(f.external, 0), clock_now(), &books);
    assert_int_equal(books.unfinished, 0);
    assert_in_range(books.row_count, 0, 1);
    assert_int_equal(books.row_count ? books.rows[0].attempts : 1, 1);
    for (uint32_t i = 0; i < f.stream_count; i++)
        assert_int_equal(f.streams[i].discarded, 0);
    assert_int_equal(f.stream_count, 1);
    assert_false(fixture_is_known_to_its_end(&f));
    assert_true(fixture_is_noted(&f, code));
    fixture_end(&f);
}

TEST(counters_that_cannot_be_are_reported_and_their_process_is_unknown)
{
    static void (*const damages[])(struct segment *, struct bezel_ring *) = {
        of_attempts, of_no_attempts, of_an_attempt_at_nothing, of_losses, of_losses_without_a_ring, of_the_session};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        try_damage(damages[i], true, "BEZEL-COUNTERS");
    try_damage(of_its_begin, false, "BEZEL-COUNTERS");
    try_damage(of_ordinals, false, "BEZEL-RING-BROKEN");
}

/* Of what no dictionary explains there are counters all the same. */
TEST(what_a_broken_dictionary_does_not_explain_is_counted)
{
    try_damage(of_the_dictionary, false, "BEZEL-DICT-BROKEN");
}

enum { DEAF_THREADS = 4 };

static void *record_for_ever(void *unused)
{
    for (;;)
        bezel_record(two, 1, 1);
    return unused;
}

static void record_whatever_it_is_told(void *unused)
{
    pthread_t t;
    (void)unused;
    bezel_record(two, 1, 1);
    struct segment *s = fixture_own_segment();
    for (int i = 0; i < DEAF_THREADS; i++)
        if (pthread_create(&t, NULL, record_for_ever, NULL) != 0)
            _exit(5);
    for (;;)
        for (int i = 1; i < 8; i++)
            atomic_store(&s->enable[i], SEGMENT_RECORD);
}

TEST(who_records_on_when_it_is_to_stop_is_not_waited_for)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
    fixture_open(&f);
    pid_t pid = fixture_spawn(record_whatever_it_is_told, NULL);
    while (f.records < 10000)
        fixture_turn(&f);
    fixture_finish(&f); /* in time, on however many CPUs it goes on */
    kill(pid, SIGKILL);
    fixture_wait(pid);
    fixture_close(&f);
}

TEST(a_head_that_lies_breaks_its_ring_alone)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(lie_about_the_head, NULL)), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_counts(f.external)->broken_rings, 1);
    assert_int_equal(external_note_count(f.external), 1);
    assert_string_equal(external_note(f.external, 0)->code, "BEZEL-RING-BROKEN");
    assert_false(fixture_is_known_to_its_end(&f));
    fixture_end(&f);
}

static void *record_thrice(void *unused)
{
    for (int i = 0; i < 3; i++)
        bezel_record(two, i, 1);
    return unused;
}

static void lie_beside_a_thread_that_does_not(void *unused)
{
    pthread_t thread;
    lie_about_the_head(unused);
    if (pthread_create(&thread, NULL, record_thrice, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(5);
}

TEST(a_broken_ring_leaves_the_end_of_the_others_known)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(lie_beside_a_thread_that_does_not, NULL)), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_counts(f.external)->broken_rings, 1);
    assert_int_equal(f.stream_count, 2);
    for (uint32_t i = 0; i < f.stream_count; i++) {
        assert_int_equal(f.streams[i].closed, f.streams[i].ring == 1);
        assert_int_equal(f.streams[i].records, f.streams[i].ring == 1 ? 3 : 0);
    }
    fixture_end(&f);
}

enum { PLAIN = 6 };

/* Records in which those of `bits` are of aspect 0, which nobody can declare, and have no values. */
static void record_of_no_aspect(void *bits)
{
    for (int i = 0; i < PLAIN; i++)
        bezel_record(two, i, 1);
    struct segment *s = fixture_own_segment();
    uint64_t *slots = (uint64_t *)(void *)((struct bezel_ring *)(void *)((char *)s + s->ring_offset) + 1);
    for (int i = 0; i < PLAIN; i++)
        if (*(const unsigned *)bits >> i & 1)
            slots[i * BEZEL_SLOT_WORDS] &= ~(uint64_t)RING_SHAPE_MASK;
}

/* Its records are read up to that one, wherever it stands and however many are like it, and none from it on. */
TEST(a_record_of_no_aspect_breaks_its_ring_and_is_in_no_packet)
{
    static const unsigned which[] = {1, 2, 8, 6, 3, 63, 56, 32, 10};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
        unsigned bits = which[i], first = 0;
        while (!(bits >> first & 1))
            first++;
        fixture_open(&f);
        assert_int_equal(fixture_wait(fixture_spawn(record_of_no_aspect, &bits)), 0);
        fixture_until(&f, fixture_all_gone);
        assert_int_equal(f.records, first);
        assert_int_equal(external_counts(f.external)->records, first);
        assert_int_equal(external_counts(f.external)->broken_rings, 1);
        assert_string_equal(external_note(f.external, 0)->code, "BEZEL-RING-BROKEN");
        assert_false(fixture_is_known_to_its_end(&f));
        fixture_end(&f);
    }
}

/* ---- Times that cannot be ---------------------------------------------------------------------------------------- */

BEZEL_ASPECT(one, (int64, number, "1"));

enum { TIMED = 12, AHEAD = 4, BACK = 7 }; /* records, and which of them lie */

static bool mixed; /* aspects take turns; else all are alike */
static bool early; /* only the first lies: it says a time from before the run */

static void record_impossible_times(void *unused)
{
    (void)unused;
    for (int i = 0; i < TIMED; i++)
        if (mixed && i % 2)
            bezel_record(one, i);
        else
            bezel_record(two, i, 1);
    struct segment *s = fixture_own_segment();
    uint64_t *slots = (uint64_t *)(void *)((struct bezel_ring *)(void *)((char *)s + s->ring_offset) + 1);
    uint64_t second =
        slots[1] / (uint64_t)(clock_now() / CLOCK_S); /* in ticks, roughly: the clock began with the boot */
    if (early) {
        slots[1] = 1;
        return;
    }
    slots[AHEAD * BEZEL_SLOT_WORDS + 1] += 1000 * second;
    slots[BACK * BEZEL_SLOT_WORDS + 1] = 1;
}

static int64_t run_begun;

static void see_time(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                     const char *aspect)
{
    (void)h, (void)aspect;
    assert_int_equal(packet_value(r, 0), f->records - 1); /* each, in order */
    assert_true(r->timestamp + CLOCK_S >= (uint64_t)run_begun);
    assert_true((int64_t)r->timestamp <= clock_now() + CLOCK_S);
}

/* Each is stored, and counted as made to fit: neither from the future nor before the one before it. */
TEST(times_that_cannot_be_are_made_to_fit_and_counted)
{
    setenv("BEZEL_CLOCK", "monotonic", 1);
    for (int round = 0; round < 4; round++) {
        struct fixture f = {.options = {.batch = true, .take_all = true}, .record = see_time};
        mixed = round % 2 == 1;
        early = round >= 2;
        run_begun = clock_now();
        fixture_open(&f);
        assert_int_equal(fixture_wait(fixture_spawn(record_impossible_times, NULL)), 0);
        fixture_until(&f, fixture_all_gone);
        assert_int_equal(f.records, TIMED);
        /* the record that lies is moved to the time of the poll; those behind it are then too early, and moved as well
         */
        assert_int_equal(external_counts(f.external)->clamped, early ? TIMED : TIMED - AHEAD);
        assert_int_equal(external_process(f.external, 0)->clamped, early ? TIMED : TIMED - AHEAD);
        fixture_end(&f);
    }
    unsetenv("BEZEL_CLOCK");
}

static void record_true_times(void *unused)
{
    (void)unused;
    for (int i = 0; i < TIMED; i++)
        bezel_record(one, i);
}

/* Its bezeld is killed, and the next one is there later than a clock may be wrong. */
TEST(records_that_waited_for_the_next_bezeld_keep_their_times)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}, .record = see_time};
    run_begun = clock_now();
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(record_true_times, NULL)), 0);
    external_close(f.external, false);
    clock_sleep_until(clock_now() + 5 * CLOCK_S / 4);
    fixture_reopen(&f);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, TIMED);
    assert_int_equal(external_counts(f.external)->clamped, 0);
    fixture_end(&f);
}

static void take_the_nodes_number(void *dir)
{
    char from[128], to[128];
    bezel_record(two, 1, 1);
    struct segment *s = fixture_own_segment();
    snprintf(from, sizeof from, "%s/%016llx" SEGMENT_SUFFIX, (char *)dir, (unsigned long long)s->instance);
    snprintf(to, sizeof to, "%s/%016x" SEGMENT_SUFFIX, (char *)dir, 0);
    s->instance = 0;
    if (rename(from, to) != 0)
        _exit(1);
}

/* Books of instance 0 are the node's own: a process that had this number would speak for the node. */
TEST(no_process_has_the_number_of_the_node)
{
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    char path[128];
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(take_the_nodes_number, f.dir)), 0);
    fixture_turn(&f);
    assert_int_equal(external_counts(f.external)->processes_seen, 0);
    assert_int_equal(external_counts(f.external)->broken_segments, 1);
    assert_string_equal(external_note(f.external, 0)->code, "BEZEL-SEGMENT");
    snprintf(path, sizeof path, "%s/%016x" SEGMENT_SUFFIX, f.dir, 0);
    assert_int_equal(unlink(path), 0);
    fixture_end(&f);
}
