// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by levels*.c; levels.h is the interface. */
#ifndef BEZEL_COLLECTOR_LEVELS_LEVELS_INTERNAL_H
#define BEZEL_COLLECTOR_LEVELS_LEVELS_INTERNAL_H

#include "collector/levels/levels.h"
#include "collector/read/run_streams.h"

/** A place in a stream file from which records can be read: it is a packet's begin, or lies in it. */
struct levels_mark {
    uint64_t time;           /* of all records before it, none is later */
    uint64_t packet, record; /* offsets in the file; the same: at the packet's header */
    uint64_t discarded;      /* of the packet before */
};

/** A stream, as far as it was taken in. */
struct levels_ring {
    struct levels_stream is;   /* path is owned */
    uint64_t size;             /* of the file when it was last looked at */
    uint64_t packets;          /* taken in */
    struct packet_header last; /* of these, the last one */
};

/** A part of a stream file in memory. The file is open in between. */
struct levels_part {
    int fd; /* -1: closed */
    const struct levels_ring *ring;
    uint64_t offset;
    size_t used;
    uint8_t *bytes; /* LEVELS_PART_BYTES */
};

enum { LEVELS_PART_BYTES = PACKET_MAX_BYTES };

struct levels {
    struct run_streams found;
    struct levels_part part;
    size_t count, capacity;
    struct levels_ring **rings;
    bool in_round; /* streams from number `next` on may have more */
    size_t next;
    int64_t cpu_ns;
};

/* ---- levels_walk.c: stream files --------------------------------------------------------------------------------- */

/**
 * Has `part` hold the bytes of `ring` from `offset` on: `want` of them, or all that there are, and up to `most` if they
 * must be read. Returns how many it holds from there on, or an error: BEZEL_EMALFORMED where the file is gone.
 */
ssize_t levels_part_get(struct levels_part *part, const struct levels_ring *ring, uint64_t offset, size_t want,
                        size_t most, const uint8_t **bytes) BEZEL_MUST_CHECK;
void levels_part_close(struct levels_part *part);

struct levels_walk {
    uint64_t from, until; /* times, both included */
    uint64_t end;         /* offset in the file */
    levels_take *take;
    void *context;
};

/** Walks over what was taken in of `ring`, from `mark` on. Returns 0, what `take` returned, or an error. */
int levels_walk(struct levels *l, const struct levels_ring *ring, const struct levels_mark *mark,
                const struct levels_walk *walk) BEZEL_MUST_CHECK;

#endif
