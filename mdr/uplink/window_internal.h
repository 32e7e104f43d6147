// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the window's files share: the file, and what a daemon knows of it. window.h is the others' view of it. */
#ifndef BEZEL_SENSOR_WINDOW_OWN_H
#define BEZEL_SENSOR_WINDOW_OWN_H

#include "sensor/index.h"
#include "sensor/window.h"

#include <stdalign.h>

enum {
    WINDOW_ALIGN = 16,
    WINDOW_PACKETS = 16,                       /* of the longest that it has room for */
    WINDOW_STREAM_PLACES = 4 * WINDOW_STREAMS, /* of the index: streams, and a key for each process */
    WINDOW_PROCESS_PLACES = 4 * WINDOW_PROCESSES,
};

struct saved_state {
    uint64_t next_seq, next_ordinal, discarded, last_ns;
    uint32_t closed, reserved;
};

/** A stream as its freed packets left it: state[current]. The other one is written first, then `current` changes. */
struct saved_stream {
    uint64_t instance;
    uint32_t ring, stream_id;
    uint32_t used, current;
    struct saved_state state[2];
};

struct saved_process {
    uint64_t instance;
    uint32_t stream_id; /* 0: free entry */
    uint32_t left;      /* 1: its streams are being closed, or are */
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
    bool created;                                 /* by this life */
    uint64_t reserved_at;                         /* where the reserved packet starts, filler passed */
    struct window_stream streams[WINDOW_STREAMS]; /* the saved ones plus what waits in the window */
    /*
     * So that nothing is searched for: streams by process and ring, and the first one of each process, which leads to
     * its others; entries of processes; what is free, the lowest number last.
     */
    struct index stream_index, process_index;
    struct index_place stream_places[WINDOW_STREAM_PLACES], process_places[WINDOW_PROCESS_PLACES];
    uint16_t next_of_process[WINDOW_STREAMS]; /* number of the stream that follows, plus 1 */
    uint16_t free_streams[WINDOW_STREAMS], free_processes[WINDOW_PROCESSES];
    uint32_t free_stream_count, free_process_count;
};

/** What packet `h` does to the state of its stream: the one rule, for cutting, for freeing and for recovery. */
static inline void stream_apply(struct window_stream *s, const struct packet_header *h)
{
    uint64_t lost = h->discarded - s->discarded;
    s->next_seq = h->seq + 1;
    s->next_ordinal = h->first_ordinal + h->records + lost;
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
                                  .last_ns = state->last_ns,
                                  .acked_seq = state->next_seq,
                                  .sent_seq = state->next_seq,
                                  .used = saved->used,
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

/** Makes the indexes of the streams and processes that were read back, and the lists of what is free. */
void window_enlist(struct window *w);

#endif
