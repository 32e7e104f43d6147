// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files that cut packets share: cut.c records, cut_stream.c what streams say of themselves. */
#ifndef BEZEL_SENSOR_CUT_OWN_H
#define BEZEL_SENSOR_CUT_OWN_H

#include "sensor/external_impl.h"

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
    uint64_t last_ticks; /* of the record that was put last */
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

#endif
