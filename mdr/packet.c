// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/packet.h"

enum { PACKET_FETCH_AHEAD = 1024 }; /* bytes: some memory latencies' worth of records */

/* Offsets of the header's fields, in the order of mdr_packet_header. */
enum {
    AT_MAGIC = 0,
    AT_UUID = 4,
    AT_STREAM = 20,
    AT_BEGIN = 24,
    AT_END = 32,
    AT_CONTENT = 40,
    AT_SIZE = 48,
    AT_DISCARDED = 56,
    AT_SEQ = 64,
    AT_VERSION = 72,
    AT_KIND = 76,
    AT_INSTANCE = 80,
    AT_RING = 88,
    AT_THREAD = 92,
    AT_GENERATION = 96,
    AT_RECORDS = 100,
    AT_DICTIONARY = 104,
    AT_ORDINAL = 112,
};

_Static_assert(AT_ORDINAL + 8 == PACKET_HEADER_BYTES, "the last field ends the header");

void packet_put_header(uint8_t *p, const struct packet_header *h)
{
    bytes_put_u32(p + AT_MAGIC, (uint32_t)PACKET_MAGIC);
    for (size_t i = 0; i < sizeof h->uuid; i += 4) /* words, not memcpy(): there may be no library */
        bytes_put_u32(p + AT_UUID + i, bytes_get_u32(h->uuid + i));
    bytes_put_u32(p + AT_STREAM, h->stream_id);
    bytes_put_u64(p + AT_BEGIN, h->timestamp_begin);
    bytes_put_u64(p + AT_END, h->timestamp_end);
    bytes_put_u64(p + AT_CONTENT, h->size_bytes * 8);
    bytes_put_u64(p + AT_SIZE, h->size_bytes * 8);
    bytes_put_u64(p + AT_DISCARDED, h->discarded);
    bytes_put_u64(p + AT_SEQ, h->seq);
    bytes_put_u32(p + AT_VERSION, PACKET_VERSION);
    bytes_put_u32(p + AT_KIND, (uint32_t)h->kind);
    bytes_put_u64(p + AT_INSTANCE, h->instance);
    bytes_put_u32(p + AT_RING, h->ring);
    bytes_put_u32(p + AT_THREAD, h->thread);
    bytes_put_u32(p + AT_GENERATION, h->generation);
    bytes_put_u32(p + AT_RECORDS, h->records);
    bytes_put_u64(p + AT_DICTIONARY, h->dictionary);
    bytes_put_u64(p + AT_ORDINAL, h->first_ordinal);
}

bool packet_is_packet(const void *p, size_t n)
{
    return n >= 4 && bytes_get_u32(p) == (uint32_t)PACKET_MAGIC;
}

/* Whether the fields of a header agree with each other. */
static bool header_is_consistent(const struct packet_header *h)
{
    if (h->size_bytes < PACKET_HEADER_BYTES || h->size_bytes > PACKET_MAX_BYTES || h->size_bytes % 4 != 0)
        return false;
    uint64_t body = h->size_bytes - PACKET_HEADER_BYTES;
    if (h->kind == PACKET_DATA ? h->records == 0 : !packet_is_reduced(h) && (h->records != 0 || body != 0))
        return false;
    return body >= (uint64_t)h->records * PACKET_RECORD_BYTES &&
           body <= (uint64_t)h->records * PACKET_RECORD_MAX_BYTES && h->ring < PACKET_RINGS_MAX &&
           h->timestamp_begin <= h->timestamp_end;
}

/* Whether `n` bytes at `p` have a header of this version. */
static int check_start(const uint8_t *p, size_t n)
{
    if (n < PACKET_HEADER_BYTES)
        return n >= 4 && !packet_is_packet(p, n) ? BEZEL_EMALFORMED : BEZEL_EAGAIN;
    if (!packet_is_packet(p, n))
        return BEZEL_EMALFORMED;
    return bytes_get_u32(p + AT_VERSION) != PACKET_VERSION ? BEZEL_EVERSION : 0;
}

static void get_fields(const uint8_t *p, struct packet_header *h)
{
    __builtin_memcpy(h->uuid, p + AT_UUID, sizeof h->uuid);
    h->stream_id = bytes_get_u32(p + AT_STREAM);
    h->timestamp_begin = bytes_get_u64(p + AT_BEGIN);
    h->timestamp_end = bytes_get_u64(p + AT_END);
    h->size_bytes = bytes_get_u64(p + AT_SIZE) / 8;
    h->discarded = bytes_get_u64(p + AT_DISCARDED);
    h->seq = bytes_get_u64(p + AT_SEQ);
    h->kind = (enum packet_kind)bytes_get_u32(p + AT_KIND);
    h->instance = bytes_get_u64(p + AT_INSTANCE);
    h->ring = bytes_get_u32(p + AT_RING);
    h->thread = bytes_get_u32(p + AT_THREAD);
    h->generation = bytes_get_u32(p + AT_GENERATION);
    h->records = bytes_get_u32(p + AT_RECORDS);
    h->dictionary = bytes_get_u64(p + AT_DICTIONARY);
    h->first_ordinal = bytes_get_u64(p + AT_ORDINAL);
}

int packet_get_header(const void *packet, size_t n, struct packet_header *h)
{
    const uint8_t *p = packet;
    int err = check_start(p, n);
    if (err)
        return err;
    uint64_t content_bits = bytes_get_u64(p + AT_CONTENT), size_bits = bytes_get_u64(p + AT_SIZE);
    uint32_t kind = bytes_get_u32(p + AT_KIND);
    if (content_bits != size_bits || size_bits % 8 != 0 || kind > PACKET_THINNED || kind == PACKET_COVER)
        return BEZEL_EMALFORMED;
    get_fields(p, h);
    if (!header_is_consistent(h))
        return BEZEL_EMALFORMED;
    return n < h->size_bytes ? BEZEL_EAGAIN : 0;
}

void packet_put_cover(uint8_t *p, const struct packet_header *h, uint64_t records)
{
    packet_put_header(p, h);
    bytes_put_u64(p + AT_CONTENT, PACKET_HEADER_BYTES * UINT64_C(8));
    bytes_put_u32(p + AT_KIND, PACKET_COVER);
    bytes_put_u32(p + AT_RECORDS, 0);
    bytes_put_u64(p + AT_DICTIONARY, records);
}

int packet_get_cover(const void *packet, size_t n, struct packet_header *h, uint64_t *records)
{
    const uint8_t *p = packet;
    int err = check_start(p, n);
    if (err)
        return err;
    uint64_t size_bits = bytes_get_u64(p + AT_SIZE);
    if (bytes_get_u32(p + AT_KIND) != PACKET_COVER || bytes_get_u64(p + AT_CONTENT) != PACKET_HEADER_BYTES * 8 ||
        size_bits % 32 != 0 || size_bits < PACKET_HEADER_BYTES * 8 || size_bits > INT64_MAX)
        return BEZEL_EMALFORMED;
    get_fields(p, h);
    *records = h->dictionary;
    /* A packet has a header at least, and its record at least its first bytes: so no count is beyond the size. */
    bool possible = h->records == 0 && h->ring < PACKET_RINGS_MAX && h->timestamp_begin <= h->timestamp_end &&
                    h->timestamp_end <= INT64_MAX && h->seq < h->size_bytes / PACKET_HEADER_BYTES &&
                    *records <= h->size_bytes / PACKET_RECORD_BYTES && h->discarded <= h->first_ordinal &&
                    *records <= h->first_ordinal - h->discarded;
    return possible ? 0 : BEZEL_EMALFORMED;
}

int packet_next_record(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts,
                       uint32_t aspects, size_t *offset, struct packet_record *r)
{
    return packet_read_record(packet, h->size_bytes, field_counts, aspects, offset, r);
}

int packet_next_run(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts, uint32_t aspects,
                    size_t *offset, struct packet_run *run)
{
    struct packet_record first;
    size_t start = *offset;
    int more = packet_next_record(packet, h, field_counts, aspects, offset, &first);
    if (more <= 0)
        return more;
    *run = (struct packet_run){.aspect = first.aspect,
                               .stride = (uint32_t)(*offset - start),
                               .value_count = first.value_count,
                               .first = packet + start};
    uint32_t most = (uint32_t)((h->size_bytes - start) / run->stride), n = 1;
    for (const uint8_t *p = packet + *offset; n < most && bytes_get_u32(p) == first.aspect; p += run->stride)
        n++;
    run->count = n;
    *offset = start + (size_t)n * run->stride;
    return 1;
}

/*
 * How many of the up to `most` records of `size` bytes each from `p` on are of one aspect, whose times do not fall;
 * *last is the time of the one before, and then of the last one. A receiver looks at each record here first, when
 * another CPU has just written it: so it is fetched ahead of time.
 */
static uint32_t count_alike(const uint8_t *p, uint32_t aspect, size_t size, size_t most, uint64_t *last)
{
    uint32_t n = 0;
    for (; n < most && bytes_get_u32(p) == aspect && bytes_get_u64(p + 4) >= *last; p += size, n++) {
        *last = bytes_get_u64(p + 4);
        __builtin_prefetch(p + PACKET_FETCH_AHEAD);
    }
    return n;
}

int packet_check(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts, uint32_t aspects,
                 struct packet_run *all)
{
    struct packet_record r;
    struct packet_run run = {0};
    size_t offset = PACKET_HEADER_BYTES, start = offset;
    uint64_t last = h->timestamp_begin;
    uint32_t records = 0;
    int more;
    for (; (more = packet_next_record(packet, h, field_counts, aspects, &offset, &r)) > 0; start = offset) {
        if (r.timestamp < last)
            return BEZEL_EMALFORMED;
        last = r.timestamp;
        size_t size = offset - start;
        uint32_t alike = count_alike(packet + offset, r.aspect, size, (h->size_bytes - offset) / size, &last);
        if (records == 0)
            run = (struct packet_run){.aspect = r.aspect,
                                      .count = 1 + alike,
                                      .stride = (uint32_t)size,
                                      .value_count = r.value_count,
                                      .first = packet + start};
        records += 1 + alike;
        offset += alike * size;
    }
    if (all)
        *all = run.count == records ? run : (struct packet_run){0};
    return more < 0 || records != h->records || last > h->timestamp_end ? BEZEL_EMALFORMED : 0;
}
