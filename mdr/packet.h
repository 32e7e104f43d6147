// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Packets: the unit of transfer, acknowledgement and storage (mdr.x, docs/WIRE.md). Encoding is plain stores into
 * memory that the caller reserved; decoding checks everything. The generated codec of mdr.x is the reference in the
 * tests.
 */
#ifndef BEZEL_MDR_PACKET_H
#define BEZEL_MDR_PACKET_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PACKET_MAGIC = (int)0xC1FC1FC1,
    PACKET_VERSION = 1,
    PACKET_HEADER_BYTES = 120,
    PACKET_RECORD_BYTES = 12, /* of a record without values */
    PACKET_MAX_BYTES = 1 << 20,
    PACKET_FIELDS_MAX = 12,
    PACKET_RECORD_MAX_BYTES = PACKET_RECORD_BYTES + 8 * PACKET_FIELDS_MAX,
    PACKET_RINGS_MAX = 1024, /* of a process */
};

/**
 * PACKET_COVER is in files alone: the first packet of a stream whose packets up to there expired from the store.
 * PACKET_REDUCED is as PACKET_DATA, but that it may have no records, and that by so many as `discarded` grew ended at a
 * reducer, which took them into account: their node. PACKET_THINNED is the same of the collector that stores, which
 * makes it of a packet of kind data: so it is in files alone.
 */
enum packet_kind {
    PACKET_DATA = 0,
    PACKET_OPEN = 1,
    PACKET_LOSS = 2,
    PACKET_CLOSE = 3,
    PACKET_COVER = 4,
    PACKET_REDUCED = 5,
    PACKET_THINNED = 6
};

/** A packet's header, field by field as in mdr.x (sizes in bytes here, in bits there). */
struct packet_header {
    uint8_t uuid[16];
    uint32_t stream_id;
    uint64_t timestamp_begin, timestamp_end;
    uint64_t size_bytes; /* of the whole packet */
    uint64_t discarded;  /* cumulative for the stream */
    uint64_t seq;
    enum packet_kind kind;
    uint64_t instance;
    uint32_t ring, thread, generation, records;
    uint64_t dictionary;
    uint64_t first_ordinal;
};

/** One record, decoded; `values` points into the packet and is big-endian: read it with packet_value(). */
struct packet_record {
    uint32_t aspect;
    uint64_t timestamp;
    uint32_t value_count;
    const uint8_t *values;
};

/** Consecutive records of one aspect. */
struct dict;

struct packet_run {
    uint32_t aspect, count; /* of records, at least 1 */
    uint32_t stride;        /* bytes from one to the next */
    uint32_t value_count;
    const uint8_t *first; /* into the packet */
    /* For who compares records that follow one another; else 0: the stream that they are of, and how many records of it
     * are missing before the first of the run. */
    uint32_t stream;
    uint64_t missing;
    const struct dict *dict; /* for who reads texts, else NULL: of the process that made them */
};

static inline bool packet_is_reduced(const struct packet_header *h)
{
    return h->kind == PACKET_REDUCED || h->kind == PACKET_THINNED;
}

/** Of a stream that had discarded `before`: how many records packet `h` counts as lost, or as reduced. Pure. */
static inline uint64_t packet_lost(const struct packet_header *h, uint64_t before)
{
    return packet_is_reduced(h) ? 0 : h->discarded - before;
}

static inline uint64_t packet_reduced(const struct packet_header *h, uint64_t before)
{
    return packet_is_reduced(h) ? h->discarded - before : 0;
}

/** Writes the PACKET_HEADER_BYTES of `h` at `p`. Pure. */
void packet_put_header(uint8_t *p, const struct packet_header *h);

/**
 * Writes a record's aspect and timestamp at `p` and returns where its first value goes. Values follow with
 * bytes_put_u64(). Pure.
 */
static inline uint8_t *packet_put_record(uint8_t *p, uint32_t aspect, uint64_t timestamp)
{
    bytes_put_u32(p, aspect);
    bytes_put_u64(p + 4, timestamp);
    return p + PACKET_RECORD_BYTES;
}

static inline uint64_t packet_value(const struct packet_record *r, uint32_t i)
{
    return bytes_get_u64(r->values + 8 * (size_t)i);
}

/** Whether the `n` bytes at `p` begin with a packet's magic; nothing else is checked. */
bool packet_is_packet(const void *p, size_t n);

/**
 * Reads and checks the header of the packet that starts at `p`, of which `n` bytes are there (they may be fewer or more
 * than the packet). Checked: magic, version, sizes equal, whole bytes, within PACKET_MAX_BYTES and consistent with
 * `records`; kind; ring; order of timestamps; that only packets of kind data, reduced and thinned hold records. Returns
 * 0; BEZEL_EAGAIN where `n` is too small to hold the header or, the header being good, the whole packet (*h is then
 * filled); BEZEL_EVERSION; BEZEL_EMALFORMED. Pure.
 */
int packet_get_header(const void *p, size_t n, struct packet_header *h) BEZEL_MUST_CHECK;

/**
 * The header of a cover, which stands for all packets from the stream's first to number h->seq: it reaches over their
 * size_bytes, of which nothing but the header is content. `discarded` is what was lost up to there, `first_ordinal` the
 * ordinal behind, and *records how many records they had. packet_get_cover() returns 0; BEZEL_EMALFORMED where there is
 * none at `p`; or as packet_get_header(). Pure.
 */
void packet_put_cover(uint8_t *p, const struct packet_header *h, uint64_t records);
int packet_get_cover(const void *p, size_t n, struct packet_header *h, uint64_t *records) BEZEL_MUST_CHECK;

/**
 * Walks the records of a packet that packet_get_header() accepted. `field_counts[id]` is the number of fields of aspect
 * `id`, for ids 1 to `aspects`. Start with *offset = PACKET_HEADER_BYTES. Returns 1 with *r filled and *offset moved
 * on, 0 at the end, BEZEL_EMALFORMED if the bytes do not fit the aspects. It does not check timestamps. Pure.
 */
int packet_next_record(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts,
                       uint32_t aspects, size_t *offset, struct packet_record *r) BEZEL_MUST_CHECK;

/** As packet_next_record(), where `end` bytes of the packet are to be looked at. */
static inline int packet_read_record(const uint8_t *packet, size_t end, const uint8_t *field_counts, uint32_t aspects,
                                     size_t *offset, struct packet_record *r)
{
    size_t left = end - *offset;
    if (left == 0)
        return 0;
    if (left < PACKET_RECORD_BYTES)
        return BEZEL_EMALFORMED;
    const uint8_t *p = packet + *offset;
    r->aspect = bytes_get_u32(p);
    if (r->aspect == 0 || r->aspect > aspects)
        return BEZEL_EMALFORMED;
    r->timestamp = bytes_get_u64(p + 4);
    r->value_count = field_counts[r->aspect];
    r->values = p + PACKET_RECORD_BYTES;
    size_t size = PACKET_RECORD_BYTES + 8 * (size_t)r->value_count;
    if (left < size)
        return BEZEL_EMALFORMED;
    *offset += size;
    return 1;
}

/** Like packet_next_record(), but takes all consecutive records of one aspect at once. */
int packet_next_run(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts, uint32_t aspects,
                    size_t *offset, struct packet_run *run) BEZEL_MUST_CHECK;

/** The timestamp of record `i` of a run. */
static inline uint64_t packet_run_time(const struct packet_run *run, uint32_t i)
{
    return bytes_get_u64(run->first + (size_t)i * run->stride + 4);
}

/**
 * The first record of a run, from number `from` (up to count) on, that is not before `time`; count where none is. The
 * times of the run do not fall, as a packet's never do.
 */
static inline uint32_t packet_run_seek(const struct packet_run *run, uint32_t from, int64_t time)
{
    uint32_t end = run->count;
    if (from == end || (int64_t)packet_run_time(run, from) >= time) /* the usual cases: all of them, or none */
        return from;
    if ((int64_t)packet_run_time(run, end - 1) < time)
        return end;
    while (end - from > 1) { /* `from` is before it, `end` is not */
        uint32_t middle = from + (end - from) / 2;
        if ((int64_t)packet_run_time(run, middle) < time)
            from = middle;
        else
            end = middle;
    }
    return end;
}

/** Record `i` of a run. */
static inline struct packet_record packet_run_record(const struct packet_run *run, uint32_t i)
{
    return (struct packet_record){.aspect = run->aspect,
                                  .timestamp = packet_run_time(run, i),
                                  .value_count = run->value_count,
                                  .values = run->first + (size_t)i * run->stride + PACKET_RECORD_BYTES};
}

/**
 * Checks every record of a packet: aspects known, bytes filled exactly, the announced number of records, timestamps not
 * decreasing and within the header's. *all, if not NULL, gets the run of all its records where they are of one aspect,
 * as most packets' are, so that no caller looks for it again; else a run of 0. Returns 0 or BEZEL_EMALFORMED. Pure.
 */
int packet_check(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts, uint32_t aspects,
                 struct packet_run *all) BEZEL_MUST_CHECK;

#endif
