// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files that cut packets share: cut.c records, cut_run.c many at once, cut_stream.c what streams say of
 * themselves. */
#ifndef BEZEL_SENSOR_CUT_OWN_H
#define BEZEL_SENSOR_CUT_OWN_H

#include "sensor/external_impl.h"

enum {
    CUT_FUTURE_NS = 1000000000, /* a record cannot be from further ahead than this */
    CUT_RECORD_BYTES_MAX = PACKET_RECORD_BYTES + 8 * RING_VALUES_MAX,
};

/* A packet being filled. */
struct cut {
    struct external *x;
    struct external_process *p;
    struct attached_ring *ring;
    struct ring_reader *reader; /* the ring's, or its copy's */
    struct window_stream *stream;
    int64_t now;
    bool stuck; /* the window has no room for it */
    uint8_t *packet, *at, *end;
    uint64_t last_ticks;       /* of the record that was put last */
    struct timebase_line line; /* that the ticks of the last run lay on */
    struct packet_header h;
};

/** Room for a packet of at most `bytes` in the window; NULL, and `stuck`, where it has none. */
uint8_t *cut_reserve(struct cut *c, uint32_t bytes);

/** Begins c->h, that of the stream's next packet, without records. */
void cut_header(struct cut *c, enum packet_kind kind, uint64_t begin, uint64_t end);

/** Writes c->h at `packet`, which is whole then, and has the window take it. */
void cut_commit(struct cut *c, uint8_t *packet);

/** A packet without records, `lost` ordinals long. False: the window is full. */
bool cut_empty(struct cut *c, enum packet_kind kind, uint64_t begin, uint64_t end, uint64_t lost);

/** Finds or opens the stream of ring `i`; `first` is the time of what comes first. False: no room. */
bool cut_stream(struct cut *c, uint32_t i, uint64_t first);

/** The ring is not read any further: its process wrote `what` into it. */
void cut_broken(struct cut *c, const char *what);

/**
 * Takes many records, where those at the reader's tail belong to the packet: that are alike, or any. False: none, and
 * somebody else is to look. What lies before `head` may be taken; the packet is to have `limit` records at most.
 */
bool cut_run(struct cut *c, uint32_t head, uint32_t limit);
bool cut_mixed(struct cut *c, uint32_t head, uint32_t limit);

/** The packet has `n` more records of `aspect`, of so many values each, from `first` on: for who watches it. */
void cut_attend(struct cut *c, uint32_t aspect, uint32_t values, uint32_t n, const uint8_t *first);

#endif
