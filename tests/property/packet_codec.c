// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Packets against the codec that rpcgen makes of mdr.x: header and records, plain stores against XDR calls. */
#include "mdr/packet.h"
#include "tests/lib/reference.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <string.h>

REFERENCE_CODEC(mdr_packet_header)
REFERENCE_CODEC(mdr_record)
#define xdr_u_quad_t xdr_u_int64_t
REFERENCE_CODEC(u_quad_t)

enum { ROUNDS = 5000, MUTATIONS = 50000, ASPECTS = 20, RECORDS_MAX = 40 };

static uint8_t field_counts[ASPECTS + 1];
static uint8_t ours[PACKET_HEADER_BYTES + RECORDS_MAX * PACKET_RECORD_MAX_BYTES], theirs[sizeof ours];

static void random_header(uint64_t *seed, struct packet_header *h)
{
    for (int i = 0; i < 16; i++)
        h->uuid[i] = (uint8_t)seed_next(seed);
    h->stream_id = (uint32_t)seed_next(seed);
    h->timestamp_begin = seed_next(seed) >> 1;
    h->timestamp_end = h->timestamp_begin + (seed_next(seed) >> 1);
    h->discarded = seed_next(seed);
    h->seq = seed_next(seed);
    h->kind = (enum packet_kind)(seed_next(seed) % 4);
    h->instance = seed_next(seed);
    h->ring = (uint32_t)(seed_next(seed) % PACKET_RINGS_MAX);
    h->thread = (uint32_t)seed_next(seed);
    h->generation = (uint32_t)seed_next(seed);
    h->dictionary = seed_next(seed);
    h->first_ordinal = seed_next(seed);
    h->records = h->kind == PACKET_DATA ? 1 + (uint32_t)(seed_next(seed) % RECORDS_MAX) : 0;
    h->size_bytes = PACKET_HEADER_BYTES;
}

/* Writes a whole random packet to `ours`, as the external sensor does: records first, then the header. */
static void random_packet(uint64_t *seed, struct packet_header *h)
{
    random_header(seed, h);
    uint64_t at = h->timestamp_begin, step = (h->timestamp_end - h->timestamp_begin) / RECORDS_MAX;
    uint8_t *p = ours + PACKET_HEADER_BYTES;
    for (uint32_t i = 0; i < h->records; i++) {
        uint32_t aspect = 1 + (uint32_t)(seed_next(seed) % ASPECTS);
        p = packet_put_record(p, aspect, at);
        for (uint8_t v = 0; v < field_counts[aspect]; v++, p += 8)
            bytes_put_u64(p, seed_next(seed));
        at += step == 0 ? 0 : seed_next(seed) % (step + 1);
    }
    h->size_bytes = (uint64_t)(p - ours);
    packet_put_header(ours, h);
}

static void assert_same_header(const struct packet_header *h, const mdr_packet_header *r)
{
    assert_true(r->magic == (u_int)MDR_PACKET_MAGIC);
    assert_true(r->format == MDR_PACKET_VERSION);
    assert_memory_equal(h->uuid, r->uuid, 16);
    assert_true(h->stream_id == r->stream_id);
    assert_true(h->timestamp_begin == r->timestamp_begin);
    assert_true(h->timestamp_end == r->timestamp_end);
    assert_true(h->size_bytes * 8 == r->content_size);
    assert_true(h->size_bytes * 8 == r->packet_size);
    assert_true(h->discarded == r->events_discarded);
    assert_true(h->seq == r->packet_seq_num);
    assert_true((int)h->kind == (int)r->kind);
    assert_true(h->instance == r->instance);
    assert_true(h->ring == r->ring);
    assert_true(h->thread == r->thread);
    assert_true(h->generation == r->generation);
    assert_true(h->records == r->records);
    assert_true(h->dictionary == r->dictionary);
    assert_true(h->first_ordinal == r->first_ordinal);
}

/* Reads the packet in `ours` with both decoders, side by side, and writes it again with the reference's encoder. */
static void assert_reference_agrees(const struct packet_header *h)
{
    mdr_packet_header header;
    struct packet_record r;
    size_t at = PACKET_HEADER_BYTES;
    uint32_t records = 0;
    int more;
    assert_int_equal(decode_mdr_packet_header(ours, h->size_bytes, &header), PACKET_HEADER_BYTES);
    assert_same_header(h, &header);
    assert_int_equal(encode_mdr_packet_header(&header, theirs, sizeof theirs), PACKET_HEADER_BYTES);
    for (size_t next = at; (more = packet_next_record(ours, h, field_counts, ASPECTS, &next, &r)) > 0; at = next) {
        mdr_record record;
        size_t p = at;
        assert_int_equal(decode_mdr_record(ours + p, h->size_bytes - p, &record), PACKET_RECORD_BYTES);
        assert_true(record.aspect == r.aspect && record.timestamp == r.timestamp);
        assert_int_equal(encode_mdr_record(&record, theirs + p, sizeof theirs - p), PACKET_RECORD_BYTES);
        p += PACKET_RECORD_BYTES;
        for (uint32_t i = 0; i < r.value_count; i++, p += 8) {
            u_quad_t value;
            assert_int_equal(decode_u_quad_t(ours + p, h->size_bytes - p, &value), 8);
            assert_true(value == packet_value(&r, i));
            assert_int_equal(encode_u_quad_t(&value, theirs + p, sizeof theirs - p), 8);
        }
        assert_int_equal(p, next);
        records++;
    }
    assert_int_equal(more, 0);
    assert_int_equal(records, h->records);
    assert_int_equal(at, h->size_bytes);
    assert_memory_equal(ours, theirs, h->size_bytes);
}

static void packets_have_the_bytes_and_fields_of_the_reference(void **state)
{
    uint64_t *seed = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct packet_header h, back;
        random_packet(seed, &h);
        assert_int_equal(packet_get_header(ours, sizeof ours, &back), 0);
        assert_int_equal(packet_check(ours, &back, field_counts, ASPECTS, NULL), 0);
        assert_reference_agrees(&h);
        assert_reference_agrees(&back);
    }
}

static void what_is_accepted_is_the_reference_s_own_form(void **state)
{
    uint64_t *seed = *state;
    unsigned accepted = 0;
    for (int round = 0; round < MUTATIONS; round++) {
        struct packet_header h, back;
        random_packet(seed, &h);
        ours[seed_next(seed) % h.size_bytes] ^= (uint8_t)(1u << seed_next(seed) % 8);
        if (packet_get_header(ours, h.size_bytes, &back) != 0 ||
            packet_check(ours, &back, field_counts, ASPECTS, NULL) != 0)
            continue;
        accepted++;
        assert_reference_agrees(&back);
    }
    assert_in_range(accepted, MUTATIONS / 50, MUTATIONS - MUTATIONS / 50);
}

int main(void)
{
    uint64_t seed = seed_start();
    for (int id = 1; id <= ASPECTS; id++)
        field_counts[id] = (uint8_t)(id % (PACKET_FIELDS_MAX + 1));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(packets_have_the_bytes_and_fields_of_the_reference, &seed),
        cmocka_unit_test_prestate(what_is_accepted_is_the_reference_s_own_form, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
