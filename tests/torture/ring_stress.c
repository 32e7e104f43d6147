// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A ring alone, one thread writing and one reading, with random sizes and stalls, where its 32-bit counts overflow:
 * what is read is what was written, in order, whole; what is missing was counted. Under ThreadSanitizer, also that
 * nothing but the ring's own atomics orders the two.
 */
#include "sensor/shm/ring_reader.h"
#include "sensor/shm/ring_writer.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <sched.h>

enum { SLOTS = RING_SLOTS_MIN, ASPECTS = 3, BEFORE_OVERFLOW = 200 * RING_SLOT_BYTES, FIRST_ORDINALS = 17 };

struct shared {
    struct bezel_ring ring;
    struct bezel_slot slots[SLOTS];
};

struct stress {
    struct shared shared;
    uint64_t seed;
    uint32_t records;
    bool overwrite;
    uint32_t ended; /* set by the writer */
    /* the reader's */
    uint64_t next, taken, snapshots;
};

static struct stress stress;

/* Mostly nothing, at times a moment, now and then a while. */
static void stall(uint64_t *seed)
{
    uint64_t r = seed_next(seed);
    if (r % 16 == 0)
        sched_yield();
    for (volatile uint32_t n = (uint32_t)(r >> 8) % (r % 64 ? 4 : 2000); n > 0; n--)
        ;
}

/* ---- Writer ------------------------------------------------------------------------------------------------------ */

static uint32_t aspect_of(uint64_t ordinal)
{
    return 1 + (uint32_t)(ordinal * 7 % ASPECTS);
}

static uint32_t count_of(uint64_t ordinal)
{
    uint64_t seed = ordinal;
    uint64_t r = seed_next(&seed);
    return (uint32_t)(r % 3 ? r % 3 : (r >> 8) % (RING_VALUES_MAX + 1));
}

static uint64_t value_of(uint64_t ordinal, uint32_t i)
{
    return ordinal * UINT64_C(0x100000001b3) + i;
}

/* As libbezel writes a record: inline where that goes, else out of line. */
static void write_record(struct bezel_writer *w, uint64_t ordinal)
{
    uint64_t values[RING_VALUES_MAX] = {0};
    uint32_t id = aspect_of(ordinal), count = count_of(ordinal);
    for (uint32_t i = 0; i < count; i++)
        values[i] = value_of(ordinal, i);
    if (count <= BEZEL_INLINE_VALUES && bezel_put_inline(w, id, BEZEL_TIME_GIVEN, ordinal, count, values[0], values[1]))
        return;
    if (stress.overwrite)
        writer_put_over(w, id, ordinal, values, count);
    else if (writer_has_room(w, writer_bytes(count)))
        writer_put(w, id, ordinal, values, count);
    else
        writer_drop(w, id, w->ring->full);
}

static void *writer_thread(void *unused)
{
    (void)unused;
    struct bezel_writer w = {0};
    uint64_t seed = stress.seed;
    writer_hold(&w, &stress.shared.ring, SLOTS, 5, !stress.overwrite);
    for (uint64_t n = 0; n < stress.records; n++) {
        write_record(&w, FIRST_ORDINALS + n);
        stall(&seed);
    }
    __atomic_store_n(&stress.ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- Reader ------------------------------------------------------------------------------------------------------ */

static void check_record(const struct ring_record *r, uint64_t ordinal)
{
    assert_int_equal(r->ordinal_low, ordinal);
    assert_int_equal(r->generation_low, 5);
    assert_int_equal(r->aspect, aspect_of(ordinal));
    assert_int_equal(r->count, count_of(ordinal));
    assert_int_equal(r->ticks, ordinal);
    for (uint32_t i = 0; i < r->count; i++)
        assert_int_equal(r->values[i], value_of(ordinal, i));
}

/* Takes one record; the stress goes on behind it. */
static void take(struct ring_reader *r, uint32_t waiting)
{
    struct ring_record record;
    assert_true(ring_take(r, waiting, &record) > 0);
    assert_true(ring_ordinals_ahead(stress.next, record.ordinal_low) >= 0);
    check_record(&record, record.ordinal_low);
    stress.next = record.ordinal_low + 1;
    stress.taken++;
}

/* The counters are never behind the records. */
static void check_counters(const struct bezel_ring *ring)
{
    uint64_t full = 0;
    for (uint32_t id = 1; id <= ASPECTS; id++)
        full += bezel_tally_get(&ring->full[id]);
    assert_true(bezel_ring_attempts(ring) >= stress.next);
    assert_true(stress.overwrite || full + FIRST_ORDINALS + stress.taken >= stress.next);
}

static void read_what_waits(struct ring_reader *r, uint64_t *seed)
{
    uint32_t waiting = ring_waiting(r), head = r->tail + waiting;
    assert_true(ring_may_wait(r, waiting));
    while (r->tail != head) {
        take(r, head - r->tail);
        if (seed_next(seed) % 4 == 0) {
            ring_release(r);
            stall(seed);
        }
    }
    ring_release(r);
    check_counters(r->ring);
}

/* A snapshot holds consecutive records; what the one before held is skipped. ring_skip() stores into no slot. */
static void read_snapshot(struct ring_reader *r, struct ring_reader *copy)
{
    struct ring_record record;
    uint64_t ordinal = 0;
    ring_skip(r);
    assert_true(ring_copy(r, copy));
    for (uint32_t waiting; (waiting = ring_waiting(copy)) > 0; ordinal++) {
        assert_true(ring_may_wait(copy, waiting));
        assert_true(ring_take(copy, waiting, &record) > 0);
        assert_true(ordinal == 0 || record.ordinal_low == ordinal);
        ordinal = record.ordinal_low;
        check_record(&record, ordinal);
        stress.taken += ordinal >= stress.next;
    }
    stress.next = ordinal > stress.next ? ordinal : stress.next;
    stress.snapshots++;
    check_counters(r->ring);
}

static void read_all(uint64_t seed)
{
    static struct shared copied;
    struct ring_reader r = ring_reader(&stress.shared.ring, SLOTS), copy = ring_reader(&copied.ring, SLOTS);
    bool ended;
    do {
        ended = __atomic_load_n(&stress.ended, __ATOMIC_ACQUIRE);
        if (stress.overwrite)
            read_snapshot(&r, &copy);
        else
            read_what_waits(&r, &seed);
        stall(&seed);
    } while (!ended);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static uint64_t run(bool overwrite)
{
    pthread_t writer;
    uint64_t seed = seed_start();
    stress = (struct stress){.seed = seed_next(&seed),
                             .records = getenv("BEZEL_TEST_LIGHT") ? 30000 : 300000,
                             .overwrite = overwrite,
                             .next = FIRST_ORDINALS};
    struct bezel_ring *ring = &stress.shared.ring;
    ring->head = ring->tail = ring->oldest = -(uint32_t)BEFORE_OVERFLOW;
    ring->attempts[1] = FIRST_ORDINALS;
    assert_int_equal(pthread_create(&writer, NULL, writer_thread, NULL), 0);
    read_all(seed_next(&seed));
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_true(ring->head < (uint32_t)-BEFORE_OVERFLOW);
    assert_int_equal(bezel_ring_attempts(ring), FIRST_ORDINALS + stress.records);
    return stress.records - stress.taken;
}

TEST(what_is_read_was_written_and_what_is_missing_was_counted)
{
    uint64_t missing = run(false), full = 0;
    for (uint32_t id = 1; id <= ASPECTS; id++)
        full += stress.shared.ring.full[id];
    assert_int_equal(missing, full);
    printf("%u attempts, %llu dropped\n", stress.records, (unsigned long long)full);
}

TEST(a_snapshot_of_an_overwriting_ring_is_whole_consecutive_records)
{
    uint64_t missing = run(true);
    assert_int_equal(stress.next, FIRST_ORDINALS + stress.records); /* the last one holds the last record */
    printf("%u records, %llu snapshots, %llu records in none\n", stress.records, (unsigned long long)stress.snapshots,
           (unsigned long long)missing);
}
