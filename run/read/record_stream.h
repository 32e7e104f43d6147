// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The records of one stream file in order, by the reader of run/store/trace_reader.h. The file is open only while the
 * buffer is filled, and there is a buffer only while there is something to read: so thousands of streams need few
 * descriptors and little memory. Packets that the filter cannot want are stepped over by their headers. One thread.
 */
#ifndef BEZEL_RUN_READ_RECORD_STREAM_H
#define BEZEL_RUN_READ_RECORD_STREAM_H

#include "config/order_settings.h"
#include "run/read/record_filter.h"
#include "run/store/trace_reader.h"

enum {
    RECORD_BUFFER_LEAST = 4 << 10, /* of each stream, however many there are */
    RECORD_BUFFER_MOST = 256 << 10,
};

enum record_next { RECORD_NOTHING, RECORD_IS, RECORD_LOSS };

struct record_stream {
    struct trace_reader file; /* its path is owned; behind the present packet, which is file.at.last */
    const struct model_process *process;
    size_t number;         /* of the stream, for its owner */
    uint64_t settled;      /* bytes of the file as far as records need not be held back */
    uint64_t grown_from;   /* length of the file before it grew last, ... */
    int64_t grown[2];      /* ... when it grew before that, and then, ns of CLOCK_REALTIME; 0: it was there at first */
    uint64_t time;         /* of its next record or loss on the node's clock; none is earlier, as far as is known */
    enum record_next next; /* what comes next; RECORD_NOTHING: not read yet */
    struct packet_record record;
    const struct dict_aspect *aspect; /* of the record */
    uint64_t lost;
    bool given;  /* its next record or loss was given */
    bool queued; /* it is in its order's queue */
    size_t held; /* what its order holds back of it, besides */
    bool ahead;  /* another order reads its sendings ahead, for its owner */
    bool cut;    /* it is damaged, and not read any further */

    /* Private. */
    uint64_t at;                          /* in the file: of the next record, or of the end of the present packet */
    uint32_t records_left;                /* in the packet */
    size_t record_bytes;                  /* of a record as the last one; 0: there was none */
    bool is_partly;                       /* the time of each record must be looked at */
    uint64_t in_a_row;                    /* bytes of the latest packets, with this one, that all were wanted */
    size_t capacity;                      /* of the part */
    struct trace_part part;               /* its bytes are NULL where there is nothing to read */
    uint8_t wanted[DICT_ASPECTS_MAX + 1]; /* of its process */
    bool any;                             /* of these is wanted */
};

/** What the streams of a run share. */
struct record_source {
    const struct record_filter *filter; /* borrowed */
    size_t memory;                 /* bytes: of an order for all that it holds; for its streams, for their buffers */
    size_t streams;                /* that are there */
    enum order_buffers buffers;    /* where what waits for a sending is */
    bool sendings;                 /* only records of kind `sent` are wanted */
    struct trace_expired *expired; /* counts it; borrowed. NULL: it is not counted */
    /* Called where a packet needs a newer dictionary: gives all streams their processes anew. NULL: there is none. */
    int (*renew)(void *context);
    void *context;
};

/**
 * Begins a stream that is otherwise zero: `path` (copied), its process, and the time of its first packet. Returns 0 or
 * BEZEL_ENOMEM; record_stream_fini() in either case.
 */
int record_stream_init(struct record_stream *s, const struct record_source *of, const char *path,
                       const struct model_process *process, uint64_t begin) BEZEL_MUST_CHECK;
void record_stream_fini(struct record_stream *s);

/** Gives it its process anew, from a newer model. */
void record_stream_set_process(struct record_stream *s, const struct record_source *of,
                               const struct model_process *process);

/** Notes that the file has `bytes` by now, since `at`, ns of CLOCK_REALTIME; 0: unknown. */
void record_stream_measure(struct record_stream *s, uint64_t bytes, int64_t at);

/**
 * When the stream was closed, ns on the node's clock: its process had ended, or was left. INT64_MAX: its closing packet
 * is not stored, or the file cannot be read.
 */
int64_t record_stream_closed(const struct record_stream *s);

/** When the present packet was stored, as far as is known; 0: it was there at first. */
static inline int64_t record_stream_arrived(const struct record_stream *s)
{
    return s->grown[s->file.at.bytes > s->grown_from];
}

/** Where in the file the next record is looked for, in bytes. */
static inline uint64_t record_stream_at(const struct record_stream *s)
{
    return s->at;
}

/** The bytes that it was not read to, complete packets or not. */
static inline uint64_t record_stream_rest(const struct record_stream *s)
{
    return s->file.end - s->at;
}

/** It is damaged, and not read any further. */
void record_stream_cut(struct record_stream *s);

/**
 * Reads on, up to the next record or loss that the filter lets through, but at most to the end of the packet. Returns 1
 * with `next` and `time`; 0 where no further complete packet is there; BEZEL_EMALFORMED or BEZEL_EVERSION where the
 * file is damaged; or another error.
 */
int record_stream_advance(struct record_stream *s, const struct record_source *of) BEZEL_MUST_CHECK;

#endif
