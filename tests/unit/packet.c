// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Packets: every sentence of packet.h about what is refused. That good ones are right, the property test shows. */
#include "mdr/packet.h"

#include "tests/lib/samples.h"
#include "tests/lib/test.h"

/* Offsets in the header, as docs/WIRE.md has them; and of the sample's records. */
enum {
    BEGIN = 24,
    END = 32,
    CONTENT = 40,
    SIZE = 48,
    FORMAT = 72,
    KIND = 76,
    RING = 88,
    RECORDS = 100,
    TICK = PACKET_HEADER_BYTES,
    FRAME = TICK + PACKET_RECORD_BYTES,
};

static const uint8_t field_counts[] = {0, 0, 4}; /* of tick and frame_shown */
static uint8_t packet[SAMPLE_BYTES];

static int get(size_t n)
{
    struct packet_header h;
    return packet_get_header(packet, n, &h);
}

static int check(void)
{
    struct packet_header h;
    assert_int_equal(packet_get_header(packet, sizeof packet, &h), 0);
    return packet_check(packet, &h, field_counts, 2, NULL);
}

/* Makes sample `i` and then sets the bits that content and packet size give. */
static void sample_of_size(int i, uint64_t bits)
{
    sample_packet(i, packet);
    bytes_put_u64(packet + CONTENT, bits);
    bytes_put_u64(packet + SIZE, bits);
}

TEST(a_packet_that_is_not_all_there_says_so)
{
    struct packet_header h = {0};
    size_t n = sample_packet(1, packet);
    for (size_t have = 0; have < n; have++)
        assert_int_equal(get(have), BEZEL_EAGAIN);
    assert_int_equal(packet_get_header(packet, PACKET_HEADER_BYTES, &h), BEZEL_EAGAIN);
    assert_int_equal(h.size_bytes, n); /* how much is wanted */
    assert_int_equal(get(n), 0);
    assert_int_equal(get(n + 1), 0);
}

TEST(what_is_no_packet_is_known_by_its_first_bytes)
{
    sample_packet(1, packet);
    assert_true(packet_is_packet(packet, 4));
    assert_false(packet_is_packet(packet, 3));
    packet[3] ^= 1;
    assert_false(packet_is_packet(packet, 4));
    assert_int_equal(get(3), BEZEL_EAGAIN);
    assert_int_equal(get(4), BEZEL_EMALFORMED);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
}

TEST(another_version_is_told_from_nonsense)
{
    sample_packet(1, packet);
    bytes_put_u32(packet + FORMAT, 2);
    bytes_put_u32(packet + KIND, 99); /* may mean something there */
    assert_int_equal(get(sizeof packet), BEZEL_EVERSION);
}

TEST(sizes_are_checked)
{
    sample_packet(1, packet);
    bytes_put_u64(packet + SIZE, 177 * 8);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    const uint64_t wrong[] = {0,       119 * 8,    116 * 8,        175 * 8,          176 * 8 + 1,
                              177 * 8, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample_of_size(1, wrong[i]);
        assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    }
    sample_of_size(1, (PACKET_HEADER_BYTES + 2 * PACKET_RECORD_BYTES - 4) * 8); /* too small for two records */
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    sample_of_size(1, (PACKET_HEADER_BYTES + 2 * PACKET_RECORD_MAX_BYTES + 4) * 8); /* too large for two */
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    sample_of_size(1, PACKET_MAX_BYTES * UINT64_C(8));
    bytes_put_u32(packet + RECORDS, 10000);
    assert_int_equal(get(sizeof packet), BEZEL_EAGAIN);
    sample_of_size(1, (PACKET_MAX_BYTES + 4) * UINT64_C(8));
    bytes_put_u32(packet + RECORDS, 10000);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
}

TEST(only_data_packets_hold_records_and_at_least_one)
{
    for (int i = 0; i < SAMPLE_PACKETS; i++) {
        sample_packet(i, packet);
        assert_int_equal(get(sizeof packet), 0);
        uint32_t records = bytes_get_u32(packet + RECORDS);
        bytes_put_u32(packet + RECORDS, records ? 0 : 1);
        assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
        bytes_put_u32(packet + RECORDS, records);
        bytes_put_u32(packet + KIND, records ? PACKET_LOSS : PACKET_DATA);
        assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    }
    sample_of_size(0, (PACKET_HEADER_BYTES + PACKET_RECORD_BYTES) * 8);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    sample_packet(1, packet);
    bytes_put_u32(packet + KIND, PACKET_CLOSE + 1);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
}

TEST(rings_and_times_are_in_range)
{
    sample_packet(1, packet);
    bytes_put_u32(packet + RING, PACKET_RINGS_MAX - 1);
    assert_int_equal(get(sizeof packet), 0);
    bytes_put_u32(packet + RING, PACKET_RINGS_MAX);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
    sample_packet(1, packet);
    bytes_put_u64(packet + BEGIN, bytes_get_u64(packet + END) + 1);
    assert_int_equal(get(sizeof packet), BEZEL_EMALFORMED);
}

TEST(records_keep_to_the_times_of_their_packet)
{
    sample_packet(1, packet);
    assert_int_equal(check(), 0);
    bytes_put_u64(packet + TICK + 4, bytes_get_u64(packet + BEGIN) - 1);
    assert_int_equal(check(), BEZEL_EMALFORMED);
    sample_packet(1, packet);
    bytes_put_u64(packet + FRAME + 4, bytes_get_u64(packet + END) + 1);
    assert_int_equal(check(), BEZEL_EMALFORMED);
    sample_packet(1, packet);
    bytes_put_u64(packet + TICK + 4, bytes_get_u64(packet + FRAME + 4) + 1);
    bytes_put_u64(packet + END, bytes_get_u64(packet + FRAME + 4) + 1); /* in range, but out of order */
    assert_int_equal(check(), BEZEL_EMALFORMED);
    bytes_put_u64(packet + TICK + 4, bytes_get_u64(packet + FRAME + 4)); /* at the same time */
    assert_int_equal(check(), 0);
}

TEST(records_fit_their_aspects_and_fill_their_packet)
{
    struct packet_header h;
    const uint8_t three_fields[] = {0, 0, 3}, five_fields[] = {0, 0, 5};
    size_t n = sample_packet(1, packet);
    assert_int_equal(packet_get_header(packet, n, &h), 0);
    assert_int_equal(packet_check(packet, &h, field_counts, 2, NULL), 0);
    assert_int_equal(packet_check(packet, &h, three_fields, 2, NULL), BEZEL_EMALFORMED);
    assert_int_equal(packet_check(packet, &h, five_fields, 2, NULL), BEZEL_EMALFORMED);
    assert_int_equal(packet_check(packet, &h, field_counts, 1, NULL), BEZEL_EMALFORMED);
    assert_int_equal(packet_check(packet, &h, field_counts, 0, NULL), BEZEL_EMALFORMED);
    bytes_put_u32(packet + TICK, 0);
    assert_int_equal(check(), BEZEL_EMALFORMED);
    bytes_put_u32(packet + TICK, UINT32_MAX);
    assert_int_equal(check(), BEZEL_EMALFORMED);
    sample_packet(1, packet);
    bytes_put_u32(packet + RECORDS, 1); /* there are two */
    assert_int_equal(check(), BEZEL_EMALFORMED);
    bytes_put_u32(packet + RECORDS, 3);
    assert_int_equal(check(), BEZEL_EMALFORMED);
}
