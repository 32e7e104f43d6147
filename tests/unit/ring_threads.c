// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * How many threads of a process record at once: up to 1,024, as its environment says. Each record is there or counted,
 * rings that nobody uses take no memory, and a head that claims other rings than its file has is refused.
 */
#include "base/clock.h"
#include "base/sigbus_guard.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/external/attach.h"
#include "sensor/shm/segment_create.h"
#include "tests/lib/attach_scratch.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

BEZEL_ASPECT(work, (int64, thread, "1"), (int64, number, "1"));

enum { RECORDS = 3, LATE = SEGMENT_RINGS_MAX + 1, THREADS_MAX = SEGMENT_RINGS_MAX + 2 };

/* ---- A process of many threads ----------------------------------------------------------------------------------- */

static pthread_barrier_t all_have_recorded, may_end;

static void record(long thread)
{
    for (int i = 0; i < RECORDS; i++)
        bezel_record(work, thread, i);
}

static void *record_beside_others(void *thread)
{
    record((long)thread);
    pthread_barrier_wait(&all_have_recorded);
    pthread_barrier_wait(&may_end);
    return NULL;
}

static void *record_alone(void *thread)
{
    record((long)thread);
    return NULL;
}

static pthread_t begin(void *(*body)(void *), long thread)
{
    pthread_t t;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN + 65536);
    if (pthread_create(&t, &small, body, (void *)thread) != 0) /* NOLINT: a number is all that it needs */
        _exit(1);
    pthread_attr_destroy(&small);
    return t;
}

static void end_all(pthread_t *threads, int count)
{
    pthread_barrier_wait(&may_end);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* `count` threads record, each beside all the others, and live on until end_all(). */
static void begin_all(pthread_t *threads, int count)
{
    pthread_barrier_init(&all_have_recorded, NULL, (unsigned)count + 1);
    pthread_barrier_init(&may_end, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++)
        threads[i] = begin(record_beside_others, i);
    pthread_barrier_wait(&all_have_recorded);
}

/* Waits until all that was recorded was read, while its threads live; ten seconds at most. */
static void await_drained(uint32_t rings)
{
    const struct segment *s = fixture_own_segment();
    int64_t deadline = clock_now() + PATIENCE;
    for (uint32_t i = 0; i < rings; i++) {
        const struct bezel_ring *ring = (const void *)((const char *)s + s->ring_offset + i * s->ring_stride);
        while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) != __atomic_load_n(&ring->head, __ATOMIC_RELAXED)) {
            if (clock_now() > deadline)
                _exit(1);
            usleep(1000);
        }
    }
}

/* ---- What is there of it ----------------------------------------------------------------------------------------- */

static struct {
    int64_t numbers; /* so many of its records came */
    uint32_t ring;
} of[THREADS_MAX];

static struct fixture f;

static void take(struct fixture *in, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    (void)in;
    assert_string_equal(aspect, "work");
    uint64_t thread = packet_value(r, 0);
    assert_true(thread < THREADS_MAX);
    assert_int_equal(packet_value(r, 1), of[thread].numbers);
    assert_true(of[thread].numbers == 0 || h->ring == of[thread].ring);
    of[thread].numbers++;
    of[thread].ring = h->ring;
}

/* Runs `body` as a process that has `rings` of them, and returns its books. */
static struct message_books_row observe(void (*body)(void *), const char *rings)
{
    static struct message_books books;
    memset(of, 0, sizeof of);
    f = (struct fixture){.record = take};
    setenv("BEZEL_RING_RECORDS", "64", 1);
    setenv("BEZEL_RING_THREADS", rings, 1);
    fixture_observe(&f, body);
    unsetenv("BEZEL_RING_RECORDS");
    unsetenv("BEZEL_RING_THREADS");
    external_books(external_process(f.external, 0), clock_now(), &books);
    assert_int_equal(books.unfinished, 0);
    assert_int_equal(books.row_count, 1);
    return books.rows[0];
}

static void be_a_thousand(void *unused)
{
    static pthread_t threads[1000];
    (void)unused;
    begin_all(threads, 1000);
    await_drained(1000);
    end_all(threads, 1000);
}

TEST(a_thousand_threads_have_a_ring_each_and_every_record_is_there)
{
    struct message_books_row row = observe(be_a_thousand, "1000");
    bool taken[1000] = {false};
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(of[i].numbers, RECORDS);
        assert_true(of[i].ring < 1000 && !taken[of[i].ring]);
        taken[of[i].ring] = true;
    }
    assert_int_equal(f.stream_count, 1000);
    assert_int_equal(row.attempts, 1000 * RECORDS);
    assert_int_equal(row.full + row.off + row.no_ring + row.window + row.spool, 0);
    assert_false(fixture_is_noted(&f, "BEZEL-RINGS-TAKEN"));
    fixture_end(&f);
}

/* One more than can have a ring. Once they have ended, another one has the ring of one of them. */
static void be_one_too_many(void *unused)
{
    static pthread_t threads[SEGMENT_RINGS_MAX + 1];
    (void)unused;
    begin_all(threads, SEGMENT_RINGS_MAX + 1);
    end_all(threads, SEGMENT_RINGS_MAX + 1);
    pthread_join(begin(record_alone, LATE), NULL);
}

TEST(the_thread_beyond_the_last_ring_is_counted)
{
    struct message_books_row row = observe(be_one_too_many, "1024");
    int without = 0;
    for (int i = 0; i <= SEGMENT_RINGS_MAX; i++) {
        assert_true(of[i].numbers == RECORDS || of[i].numbers == 0);
        without += of[i].numbers == 0;
    }
    assert_int_equal(without, 1);
    assert_int_equal(of[LATE].numbers, RECORDS);
    assert_int_equal(f.stream_count, SEGMENT_RINGS_MAX);
    assert_int_equal(row.attempts, (SEGMENT_RINGS_MAX + 2) * RECORDS);
    assert_int_equal(row.no_ring, RECORDS);
    assert_int_equal(row.full + row.off + row.window + row.spool, 0);
    assert_int_equal(external_note_count(f.external), 1);
    assert_string_equal(external_note(f.external, 0)->code, "BEZEL-RINGS-TAKEN");
    assert_non_null(strstr(external_note(f.external, 0)->text, "all rings are taken (1024)"));
    assert_non_null(strstr(external_note(f.external, 0)->text, "BEZEL_RING_THREADS"));
    fixture_end(&f);
}

static void be_two_of_one_ring(void *unused)
{
    pthread_t first;
    (void)unused;
    begin_all(&first, 1);
    pthread_join(begin(record_alone, 1), NULL); /* without a ring */
    end_all(&first, 1);
    pthread_join(begin(record_alone, 2), NULL);
}

TEST(a_single_ring_goes_from_thread_to_thread)
{
    struct message_books_row row = observe(be_two_of_one_ring, "1");
    assert_int_equal(of[0].numbers, RECORDS);
    assert_int_equal(of[1].numbers, 0);
    assert_int_equal(of[2].numbers, RECORDS);
    assert_int_equal(f.stream_count, 1);
    assert_int_equal(row.attempts, 3 * RECORDS);
    assert_int_equal(row.no_ring, RECORDS);
    fixture_end(&f);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Exits with 1 where the rings that were not used have memory, too. */
static void take_four_rings(void *unused)
{
    static pthread_t threads[4];
    struct stat st;
    (void)unused;
    begin_all(threads, 4);
    const struct segment *s = fixture_own_segment();
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%016llx" SEGMENT_SUFFIX, getenv("BEZEL_DIR"), (unsigned long long)s->instance);
    if (stat(path, &st) != 0 || (uint64_t)st.st_size != segment_bytes(64, SEGMENT_RINGS_MAX) ||
        (uint64_t)st.st_blocks * 512 > segment_bytes(64, 64)) /* 4, but for the kernel's large pages */
        _exit(1);
    end_all(threads, 4);
}

TEST(rings_that_nobody_had_take_no_memory)
{
    struct message_books_row row = observe(take_four_rings, "1024");
    assert_int_equal(row.attempts, 4 * RECORDS);
    assert_int_equal(f.stream_count, 4);
    fixture_end(&f);
}

/* ---- What is asked for, and what is claimed ---------------------------------------------------------------------- */

static uint32_t rings_by(const char *value, const char **code)
{
    static struct attached_notice n;
    struct segment_owned own = {.fd = -1};
    if (value)
        setenv("BEZEL_RING_THREADS", value, 1);
    assert_true(segment_create(&own, scratch_dir));
    unsetenv("BEZEL_RING_THREADS");
    struct attached *a = attach_scratch();
    *code = segment_next_notice(a, &n) ? n.code : NULL;
    uint32_t rings = a->ring_max;
    assert_int_equal(rings, own.ring_max);
    assert_int_equal(a->mapped, segment_bytes(a->ring_slots, rings));
    segment_detach(a, true);
    segment_forget(&own);
    return rings;
}

static int scratch_and_guard(void **state)
{
    sigbus_guard_init();
    return scratch_begin(state);
}

TEST_WITH(scratch_and_guard, scratch_end, the_environment_sets_how_many_rings_there_are)
{
    static const struct {
        const char *value;
        uint32_t rings;
    } good[] = {{NULL, 128}, {"1", 1}, {"300", 300}, {"0001000", 1000}, {"1024", 1024}};
    static const char *const bad[] = {
        "", "0", "1025", "-1", "+7", " 7", "7 ", "1e3", "0x10", "4294967424", "18446744073709551617"};
    const char *code;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(rings_by(good[i].value, &code), good[i].rings);
        assert_null(code);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rings_by(bad[i], &code), SEGMENT_RINGS_DEFAULT);
        assert_non_null(code);
        assert_string_equal(code, "BEZEL-RING-THREADS");
    }
}

/* Attaches to the segment with so many rings in its head, and room for `room`. *seen: the number behind its last live
 * ring. */
static int attach_with(const struct segment_owned *own, uint32_t rings, uint64_t room, uint32_t *seen)
{
    struct attached *a;
    own->segment->ring_max = rings;
    assert_int_equal(ftruncate(own->fd, (off_t)room), 0);
    int err = segment_attach(&scratch_folder, strrchr(own->path, '/') + 1, &a);
    if (err)
        return err;
    *seen = a->live_count ? a->live[a->live_count - 1] + 1 : 0;
    segment_detach(a, false);
    return 0;
}

TEST_WITH(scratch_and_guard, scratch_end, a_head_that_claims_other_rings_than_it_has_is_refused)
{
    static const uint32_t claims[] = {0, 1, 127, 129, 1024, 1025, 65536, UINT32_MAX / 2 + 1, UINT32_MAX};
    struct segment_owned own = {.fd = -1};
    uint32_t seen;
    assert_true(segment_create(&own, scratch_dir));
    uint64_t honest = own.bytes;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        assert_int_equal(attach_with(&own, claims[i], honest, &seen), BEZEL_EMALFORMED);
    /* Neither where the file is as large as the head says. */
    uint64_t beyond[] = {0, SEGMENT_RINGS_MAX + 1, 1 << 20};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        assert_int_equal(
            attach_with(&own, (uint32_t)beyond[i], segment_bytes(own.ring_slots, (uint32_t)beyond[i]), &seen),
            BEZEL_EMALFORMED);
    atomic_store(&own.segment->ring_state[SEGMENT_RINGS_MAX - 1], SEGMENT_RING_OWNED);
    assert_int_equal(attach_with(&own, SEGMENT_RINGS_DEFAULT, honest, &seen), 0);
    assert_int_equal(seen, 0); /* a state behind the last ring is of none */
    assert_int_equal(attach_with(&own, SEGMENT_RINGS_MAX, segment_bytes(own.ring_slots, SEGMENT_RINGS_MAX), &seen), 0);
    assert_int_equal(seen, SEGMENT_RINGS_MAX);
    own.segment->version--;
    assert_int_equal(attach_with(&own, SEGMENT_RINGS_DEFAULT, honest, &seen), BEZEL_EVERSION);
    segment_forget(&own);
}
