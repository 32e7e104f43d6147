// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files of the window share: the layout of the file, and the daemon's state. window.h is its interface. */
#ifndef BEZEL_MDR_UPLINK_WINDOW_INTERNAL_H
#define BEZEL_MDR_UPLINK_WINDOW_INTERNAL_H

#include "base/hash_index.h"
#include "mdr/uplink/window.h"

#include <stdalign.h>

#define WINDOW_NAME  "window"
#define WINDOW_MAGIC UINT64_C(0x42455a454c574e31) /* "BEZELWN1" */

enum {
    WINDOW_VERSION = 2,
    WINDOW_ALIGN = 16,
    WINDOW_PACKETS = 16,                      /* it has room for so many of the longest */
    WINDOW_STREAM_SLOTS = 4 * WINDOW_STREAMS, /* of the index: streams, and a key for each process */
    WINDOW_PROCESS_SLOTS = 4 * WINDOW_PROCESSES,
};

struct saved_state {
    uint64_t next_seq, next_ordinal, discarded, reduced, last_ns;
    uint32_t closed, reserved;
};

/** The state of a stream after its freed packets: state[current]. A change writes the other one, then `current`. */
struct saved_stream {
    uint64_t instance;
    uint32_t ring, stream_id;
    uint16_t used, torn;
    uint32_t current;
    struct saved_state state[2];
};

struct saved_process {
    uint64_t instance;
    uint32_t stream_id; /* 0: free entry */
    uint32_t left;      /* enum window_left: its streams are closing or closed */
};

struct window_file {
    uint64_t magic;
    uint32_t version, next_stream_id;
    uint64_t capacity;
    uint8_t run[16], uuid[16];
    uint32_t birth, reserved;
    _Atomic uint64_t freed;   /* position of the oldest packet; positions only grow, modulo capacity is the place */
    _Atomic uint64_t written; /* position behind the newest */
    struct saved_process processes[WINDOW_PROCESSES];
    struct saved_stream streams[WINDOW_STREAMS];
    alignas(64) uint8_t bytes[];
};

struct window {
    struct window_file *file;
    int fd;
    size_t mapped;
    const struct folder *folder;
    uint64_t records;                             /* in its packets */
    bool created;                                 /* by this daemon */
    uint64_t reserved_at;                         /* position of the reserved packet, after filler */
    struct window_stream streams[WINDOW_STREAMS]; /* the saved ones plus what waits in the window */
    /*
     * Indexes instead of searches: streams by process and ring; the first stream of each process, which leads to its
     * others; entries of processes. Free numbers, the lowest last.
     */
    struct hash_index stream_index, process_index;
    struct hash_index_slot stream_places[WINDOW_STREAM_SLOTS], process_places[WINDOW_PROCESS_SLOTS];
    uint16_t next_of_process[WINDOW_STREAMS]; /* number of the stream that follows, plus 1 */
    uint16_t free_streams[WINDOW_STREAMS], free_processes[WINDOW_PROCESSES];
    uint32_t free_stream_count, free_process_count;
    uint32_t torn; /* streams */
};

/** The effect of packet `h` on the state of its stream; packetizing, freeing and recovery all use it. */
static inline void stream_apply(struct window_stream *s, const struct packet_header *h)
{
    uint64_t lost = h->discarded - s->discarded;
    s->next_seq = h->seq + 1;
    s->next_ordinal = h->first_ordinal + h->records + lost;
    s->reduced += packet_reduced(h, s->discarded);
    s->discarded = h->discarded;
    s->last_ns = h->timestamp_end;
    s->closed = h->kind == PACKET_CLOSE;
}

static inline struct window_stream stream_from(const struct saved_stream *saved)
{
    const struct saved_state *state = &saved->state[saved->current & 1];
    return (struct window_stream){.instance = saved->instance,
                                  .ring = saved->ring,
                                  .stream_id = saved->stream_id,
                                  .next_seq = state->next_seq,
                                  .next_ordinal = state->next_ordinal,
                                  .discarded = state->discarded,
                                  .reduced = state->reduced,
                                  .last_ns = state->last_ns,
                                  .acked_seq = state->next_seq,
                                  .sent_seq = state->next_seq,
                                  .used = saved->used,
                                  .torn = saved->torn,
                                  .closed = state->closed};
}

static inline struct window_packet *packet_at(const struct window *w, uint64_t position)
{
    return (struct window_packet *)(w->file->bytes + position % w->file->capacity);
}

static inline uint64_t packet_span(uint32_t bytes)
{
    return (sizeof(struct window_packet) + bytes + WINDOW_ALIGN - 1) & ~(uint64_t)(WINDOW_ALIGN - 1);
}

/** Bytes from `position` to the end of the buffer. */
static inline uint64_t to_end(const struct window *w, uint64_t position)
{
    return w->file->capacity - position % w->file->capacity;
}

/** Builds the indexes of streams and processes that were read back, and the lists of free numbers. */
void window_enlist(struct window *w);

#endif
