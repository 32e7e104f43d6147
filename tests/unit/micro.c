// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The sensor of a microcontroller, run here: the golden play comes to libbezel's packets wherever the ring's indices
 * stand, and every record is stored or counted, whatever interrupts what and whatever the clock does.
 */
#include "bezel/micro.h"
#include "base/file.h"
#include "mdr/packet.h"
#include "tests/lib/golden_ring.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

#define GOLDEN_FILE BEZEL_SOURCE_DIR "/tests/golden/ring.bin"

enum { SLOTS = 16 };

static uint32_t clock_now_low(void);

static struct bezel_micro micro;
static BEZEL_MICRO_RING(GOLDEN_SLOTS) memory;
static struct bezel_context context;
static uint8_t packet[GOLDEN_PACKET_BYTES], seen[GOLDEN_MAX_BYTES];
static size_t seen_bytes;
static void (*interrupt)(void); /* at the next look at the clock */

static uint32_t clock_now_low(void)
{
    void (*now)(void) = interrupt;
    interrupt = NULL;
    if (now)
        now();
    return (uint32_t)golden_now;
}

/* A context whose ring has already seen `bytes_before` bytes of records. */
static void make(uint32_t slots, uint32_t bytes_before)
{
    micro = (struct bezel_micro){.clock = clock_now_low,
                                 .instance = GOLDEN_INSTANCE,
                                 .dictionary = GOLDEN_DICTIONARY,
                                 .stream_id = GOLDEN_STREAM};
    memcpy(micro.uuid, golden_uuid, sizeof golden_uuid);
    memset(&memory, 0, sizeof memory);
    memset(&context, 0, sizeof context);
    memory.ring.head = memory.ring.tail = bytes_before / BEZEL_SLOT_BYTES * BEZEL_SLOT_BYTES;
    interrupt = NULL;
    bezel_micro_init(&context, &micro, &memory.ring, slots, 0, GOLDEN_THREAD);
}

/* ---- What comes out ---------------------------------------------------------------------------------------------- */

/* Of a stream so far, packet by packet. */
static struct {
    uint64_t next_seq, next_ordinal, discarded, last, records;
    bool closed;
} stream;

/* Of each attempt of a test, by its ordinal; count 0 of `attempt`: the test does not say. */
static struct {
    uint32_t count;
    struct {
        uint32_t number, fields; /* its values are golden_value(number, k) */
        uint64_t time;
    } of[20000];
} attempt;

static void check_records(const struct packet_header *h, const uint8_t *field_counts)
{
    struct packet_record r;
    size_t at = PACKET_HEADER_BYTES;
    for (uint64_t n = h->first_ordinal; packet_next_record(packet, h, field_counts, GOLDEN_ASPECTS, &at, &r) > 0; n++) {
        assert_true(n < attempt.count);
        assert_int_equal(r.aspect, attempt.of[n].fields + 1);
        assert_int_equal(r.value_count, attempt.of[n].fields);
        assert_int_equal(r.timestamp, attempt.of[n].time);
        for (uint32_t k = 0; k < r.value_count; k++)
            assert_int_equal(packet_value(&r, k), golden_value(attempt.of[n].number, k));
    }
}

static void check_packet(uint32_t n)
{
    static const uint8_t field_counts[GOLDEN_ASPECTS + 1] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct packet_header h;
    assert_int_equal(packet_get_header(packet, n, &h), 0);
    assert_int_equal(h.size_bytes, n);
    assert_int_equal(packet_check(packet, &h, field_counts, GOLDEN_ASPECTS, NULL), 0);
    assert_true(h.seq == stream.next_seq && h.first_ordinal == stream.next_ordinal && !stream.closed);
    if (attempt.count)
        check_records(&h, field_counts);
    assert_true((h.kind == PACKET_OPEN) == (h.seq == 0));
    assert_true(h.timestamp_begin >= stream.last && h.discarded >= stream.discarded);
    assert_true(h.discarded == stream.discarded || h.kind == PACKET_LOSS || h.kind == PACKET_CLOSE);
    stream.next_seq++;
    stream.next_ordinal += h.records + h.discarded - stream.discarded;
    stream.discarded = h.discarded;
    stream.last = h.timestamp_end;
    stream.records += h.records;
    stream.closed = h.kind == PACKET_CLOSE;
    assert_true(seen_bytes + n <= sizeof seen);
    memcpy(seen + seen_bytes, packet, n);
    seen_bytes += n;
}

static void drain(uint32_t room)
{
    for (uint32_t n; (n = bezel_micro_drain(&context, packet, room)) > 0;)
        check_packet(n);
}

static void close_stream(void)
{
    drain(sizeof packet);
    for (uint32_t n; (n = bezel_micro_close(&context, packet, sizeof packet)) > 0;)
        check_packet(n);
    assert_true(stream.closed);
}

static void begin(void)
{
    memset(&stream, 0, sizeof stream);
    memset(&attempt, 0, sizeof attempt);
    seen_bytes = 0;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void record(uint32_t aspect, const uint64_t *values, uint32_t count)
{
    bezel_micro_put(&context, aspect, values, count);
}

TEST(the_golden_play_comes_to_the_golden_packets_at_every_index)
{
    static const uint32_t before[] = {0, 32, 32 * GOLDEN_SLOTS - 32, UINT32_MAX / 2, UINT32_MAX - 4000, UINT32_MAX};
    char *bytes = NULL;
    size_t n = 0;
    assert_int_equal(file_read(GOLDEN_FILE, sizeof seen, &bytes, &n), 0);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        golden_now = GOLDEN_START;
        begin();
        make(GOLDEN_SLOTS, before[i]);
        for (uint32_t act = 0; act < GOLDEN_ACTS; act++) {
            golden_play(act, record);
            drain(sizeof packet);
        }
        close_stream();
        assert_int_equal(seen_bytes, n);
        assert_memory_equal(seen, bytes, n);
    }
    free(bytes);
}

TEST(small_packets_hold_the_same_records)
{
    golden_now = GOLDEN_START;
    begin();
    make(GOLDEN_SLOTS, 0);
    assert_int_equal(bezel_micro_drain(&context, packet, BEZEL_MICRO_PACKET_MIN), 0);
    for (uint32_t act = 0; act < GOLDEN_ACTS; act++) {
        golden_play(act, record);
        assert_int_equal(bezel_micro_drain(&context, packet, BEZEL_MICRO_PACKET_MIN - 1), 0);
        drain(BEZEL_MICRO_PACKET_MIN);
    }
    uint64_t records = stream.records;
    close_stream();
    assert_int_equal(stream.records, records);
    assert_int_equal(stream.next_ordinal, 20 + 60 + 3 + 45);
}

TEST(a_context_that_never_recorded_opens_and_closes)
{
    begin();
    make(SLOTS, 0);
    assert_int_equal(bezel_micro_drain(&context, packet, sizeof packet), 0);
    close_stream();
    assert_int_equal(stream.next_seq, 2);
    assert_int_equal(stream.next_ordinal, 0);
}

static void intrude(void)
{
    bezel_micro_record(&context, 2, 1);
    bezel_micro_record(&context, 2, 2);
}

TEST(a_record_in_the_middle_of_a_record_is_counted_as_lost)
{
    begin();
    make(SLOTS, 0);
    for (int i = 0; i < 5; i++) {
        interrupt = i == 1 || i == 4 ? intrude : NULL;
        bezel_micro_record(&context, 1);
    }
    close_stream();
    assert_int_equal(stream.records, 5);
    assert_int_equal(stream.discarded, 4);
    assert_int_equal(memory.ring.attempts[0], 4);
    assert_int_equal(memory.ring.attempts[1], 5);
}

TEST(what_cannot_be_a_record_is_counted_as_lost)
{
    uint64_t values[13] = {0};
    begin();
    make(SLOTS, 0);
    bezel_micro_put(&context, 0, values, 0);
    bezel_micro_put(&context, BEZEL_ASPECTS, values, 0);
    bezel_micro_put(&context, UINT32_MAX, values, 0);
    bezel_micro_put(&context, 1, values, 13);
    bezel_micro_put(&context, 1, values, UINT32_MAX);
    bezel_micro_put(&context, 1, values, 0);
    close_stream();
    assert_int_equal(stream.records, 1);
    assert_int_equal(stream.discarded, 5);
}

TEST(a_tail_that_cannot_be_only_loses_records)
{
    begin();
    make(SLOTS, 0);
    memory.ring.tail = 5000;
    for (int i = 0; i < 2 * SLOTS; i++)
        bezel_micro_record(&context, 1);
    assert_int_equal(memory.ring.head, SLOTS * BEZEL_SLOT_BYTES); /* what was free at the beginning */
    assert_int_equal(memory.ring.full[1], SLOTS);
}

/* Steps of up to half a turn, and looks at the time from "interrupts" in between. */
TEST(the_time_goes_on_when_the_clock_turns_over)
{
    uint64_t seed = seed_start();
    golden_now = 0xfffffff0;
    make(SLOTS, 0);
    for (int i = 0; i < 100000; i++) {
        uint64_t r = seed_next(&seed);
        golden_now += r % 3 == 0 ? r >> 33 : r % 3 == 1 ? (r >> 60) : UINT64_C(0x7fffffff);
        assert_true(bezel_micro_time(&micro) == golden_now);
    }
    assert_true(golden_now >> 32 > 1000);
}

static void step_over(void)
{
    golden_now += 0x20;
    assert_true(bezel_micro_time(&micro) == golden_now);
}

TEST(an_interrupt_may_see_the_clock_turn_over_first)
{
    golden_now = 0x7ffffff0;
    make(SLOTS, 0);
    for (int i = 0; i < 8; i++) {
        interrupt = step_over;
        assert_true(bezel_micro_time(&micro) == golden_now);
        golden_now += 0x7fffffe0; /* up to just before the next half turn */
    }
}

/* Any order of records, drains and packets' sizes: attempts = stored + lost, and every value is what was recorded. */
TEST(every_attempt_is_stored_or_lost)
{
    uint64_t seed = seed_start();
    golden_now = GOLDEN_START;
    begin();
    make(SLOTS, (uint32_t)seed_next(&seed));
    for (int i = 0; i < 20000; i++) {
        uint64_t r = seed_next(&seed), values[12];
        uint32_t count = (uint32_t)(r % GOLDEN_ASPECTS);
        golden_now += r >> 40;
        for (uint32_t k = 0; k < count; k++)
            values[k] = golden_value((uint32_t)i, k);
        if (r >> 8 & 7) {
            attempt.of[attempt.count].number = (uint32_t)i;
            attempt.of[attempt.count].fields = count;
            attempt.of[attempt.count++].time = golden_now;
            bezel_micro_put(&context, count + 1, values, count);
        } else
            drain(BEZEL_MICRO_PACKET_MIN + (uint32_t)(r >> 16 & 1023));
        seen_bytes = 0;
    }
    close_stream();
    assert_true(stream.records + stream.discarded == attempt.count);
    assert_true(stream.records > 1000 && stream.discarded > 1000);
}
