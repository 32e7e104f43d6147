// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files that build packets share: packetize.c (records), packetize_run.c (many at once), packetize_stream.c
 * (packets without records). */
#ifndef BEZEL_SENSOR_EXTERNAL_PACKETIZE_INTERNAL_H
#define BEZEL_SENSOR_EXTERNAL_PACKETIZE_INTERNAL_H

#include "sensor/external/external_internal.h"

enum {
    PACKETIZE_FUTURE_NS = 1000000000, /* a timestamp may be this far in the future, or too early */
    PACKETIZE_RECORD_BYTES_MAX = PACKET_RECORD_BYTES + 8 * RING_VALUES_MAX,
};

/* Whether process `p` can have recorded at `time`, as far as is known now: not in the future, nor before it began. */
static inline bool packetize_is_possible(const struct external_process *p, uint64_t time, int64_t now)
{
    return time <= (uint64_t)now + PACKETIZE_FUTURE_NS && time + PACKETIZE_FUTURE_NS >= p->earliest;
}

/* A packet that is being built. */
struct packetizer {
    struct external *x;
    struct external_process *p;
    struct attached_ring *ring;
    struct ring_reader *reader; /* the ring's, or its copy's */
    struct window_stream *stream;
    int64_t now;
    bool stuck;       /* the window has no room for it */
    uint32_t reduced; /* records that the packet covers, and that are not in it: they were reduced */
    uint8_t *packet, *at, *end;
    uint64_t last_ticks;       /* of the last record in the packet */
    struct timebase_line line; /* the line that converted the last run */
    struct packet_header h;
};

/** Reserves room for a packet of at most `bytes` in the window. NULL, with `stuck` set: there is none. */
uint8_t *packetize_reserve(struct packetizer *c, uint32_t bytes);

/** Fills c->h for the next packet of the stream, without records. */
void packetize_header(struct packetizer *c, enum packet_kind kind, uint64_t begin, uint64_t end);

/** Writes c->h at `packet`, which completes it, and commits it to the window. */
void packetize_commit(struct packetizer *c, uint8_t *packet);

/** Builds a packet without records that covers `lost` ordinals. False: the window is full. */
bool packetize_empty(struct packetizer *c, enum packet_kind kind, uint64_t begin, uint64_t end, uint64_t lost);

/** Finds or opens the stream of ring `i`, whose first record has time `first`. False: no room. */
bool packetize_stream(struct packetizer *c, uint32_t i, uint64_t first);

/** Ends the reading of the ring, because the process wrote `what` into it; adds a note. */
void packetize_broken(struct packetizer *c, const char *what);

/**
 * Take many records at once from the reader's tail, if they belong to the packet: packetize_run() records of one shape,
 * packetize_mixed() any. They stop at `head`, and at `limit` records in the packet. False: none was taken, and the
 * caller takes the next record alone.
 */
bool packetize_run(struct packetizer *c, uint32_t head, uint32_t limit);
bool packetize_mixed(struct packetizer *c, uint32_t head, uint32_t limit);

/** Records that the packet covers. */
static inline uint32_t packetize_covers(const struct packetizer *c)
{
    return c->h.records + c->reduced;
}

/** Passes `n` records of `aspect`, of `values` values each, from `first` on, to expiry and observer, if they are
 * watched. Those that are reduced leave the packet, at whose end they stand. */
void packetize_attend(struct packetizer *c, uint32_t aspect, uint32_t values, uint32_t n, const uint8_t *first);

#endif
