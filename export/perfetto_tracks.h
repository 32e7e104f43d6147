// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Tracks of a Perfetto trace: each is described once, before its first event. Perfetto keeps the slices of a track on a
 * stack: they nest, and of two that begin at the same time the outer one has to come first. What does not fit its track
 * so is found here, and gets a track of its own, which Perfetto draws beside it.
 */
#ifndef BEZEL_EXPORT_PERFETTO_TRACKS_H
#define BEZEL_EXPORT_PERFETTO_TRACKS_H

#include "base/hash_index.h"
#include "export/proto.h"
#include "run/read/record_item.h"

#include <stdbool.h>

/** Numbers of fields in Perfetto's messages (protos/perfetto/trace/). */
enum perfetto_field {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_DROPPED = 42,
    PACKET_DESCRIPTOR = 60,
    PACKET_SNAPSHOT = 6,
};

enum { PERFETTO_ROOTS = 1 << 16 }; /* slices of a track that are remembered, at most */

struct perfetto_slice {
    int64_t begin, end;
};

struct perfetto_track {
    uint64_t uuid;
    struct perfetto_slice *roots; /* slices that none holds yet, in the order of time */
    size_t count, capacity;
    int64_t end;       /* of the latest slice */
    int64_t forgotten; /* the end of what is no longer remembered */
    int64_t sum;       /* of a counter */
};

struct perfetto_tracks {
    struct perfetto_track *list;
    size_t count, capacity;
    struct hash_index index; /* by uuid */
    uint64_t beside;         /* tracks for one slice each, so far */
    bool short_of_memory;
};

void perfetto_tracks_fini(struct perfetto_tracks *t);

/** The tracks of what is named, described in `p` if it is new. NULL: no memory. Valid until the next track is made. */
struct perfetto_track *perfetto_process(struct perfetto_tracks *t, struct proto *p, const struct model_process *of);
struct perfetto_track *perfetto_thread(struct perfetto_tracks *t, struct proto *p, const struct model_process *of,
                                       uint32_t thread, const char *name);

/** Track `name` below that of thread `thread`; `name` lasts as long as `t`. */
struct perfetto_track *perfetto_below(struct perfetto_tracks *t, struct proto *p, uint64_t thread, const char *name);

/** The counter `name`, of `length` bytes, of a process, in `unit`. */
struct perfetto_track *perfetto_counter(struct perfetto_tracks *t, struct proto *p, const struct model_process *of,
                                        const char *name, size_t length, const char *unit);

/**
 * Whether a slice that comes after those before it fits `track`: then it is remembered. Else it is to go to
 * perfetto_beside(): a track for it alone, below `track`.
 */
bool perfetto_fits(struct perfetto_track *track, struct perfetto_slice slice);
uint64_t perfetto_beside(struct perfetto_tracks *t, struct proto *p, uint64_t track, const char *name);

#endif
