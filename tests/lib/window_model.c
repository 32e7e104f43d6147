// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/window_model.h"

#include "tests/lib/seed.h"

#include <string.h>

static uint64_t draw(uint64_t instance, uint64_t seq)
{
    uint64_t seed = instance * 1000003 + seq;
    return seed_next(&seed);
}

/* Bytes that count on, from one that depends on the packet. They repeat, and are copied: sanitizers make loops long. */
static void put_body(const struct packet_header *h, uint8_t *body)
{
    enum { TURN = 256 };
    uint64_t size = h->size_bytes - PACKET_HEADER_BYTES;
    for (uint64_t i = 0; i < size && i < TURN; i++)
        body[i] = (uint8_t)(h->instance * 31 + h->seq * 7 + i);
    for (uint64_t at = TURN; at < size; at += TURN)
        memcpy(body + at, body, size - at < TURN ? (size_t)(size - at) : TURN);
}

/* One packet in eight is long, up to what a window is asked to hold: the end of the buffer is met at all distances. */
struct packet_header model_next(const struct window_stream *s)
{
    uint64_t r = draw(s->instance, s->next_seq);
    struct packet_header h = {.stream_id = s->stream_id,
                              .timestamp_begin = s->last_ns,
                              .timestamp_end = s->last_ns + r % 1000,
                              .size_bytes = PACKET_HEADER_BYTES,
                              .discarded = s->discarded,
                              .seq = s->next_seq,
                              .kind = s->next_seq == 0 ? PACKET_OPEN
                                      : r % 5 == 0     ? PACKET_LOSS
                                                       : PACKET_DATA,
                              .instance = s->instance,
                              .ring = s->ring,
                              .first_ordinal = s->next_ordinal};
    if (h.kind == PACKET_LOSS)
        h.discarded += 1 + (r >> 8) % 100;
    if (h.kind == PACKET_DATA) {
        uint32_t most = (WINDOW_PACKET_BYTES - PACKET_HEADER_BYTES) / PACKET_RECORD_BYTES;
        h.records = 1 + (uint32_t)((r >> 8) % ((r >> 4) % 8 == 0 ? most : 40));
        h.size_bytes += (uint64_t)h.records * PACKET_RECORD_BYTES;
    }
    return h;
}

struct window_stream model_after(struct window_stream s, uint64_t next_seq)
{
    while (s.next_seq < next_seq) {
        struct packet_header h = model_next(&s);
        s.next_ordinal += h.records + (h.discarded - s.discarded);
        s.discarded = h.discarded;
        s.last_ns = h.timestamp_end;
        s.next_seq++;
    }
    return s;
}

bool model_cut(struct window *w, uint32_t i)
{
    struct packet_header h = model_next(window_stream(w, i));
    uint64_t slack = draw(h.seq, h.instance) % 64; /* more is reserved than used, as by a cutter that cannot know */
    uint64_t room = h.size_bytes + slack < WINDOW_PACKET_BYTES ? h.size_bytes + slack : WINDOW_PACKET_BYTES;
    uint8_t *at = window_reserve(w, (uint32_t)room);
    if (!at)
        return false;
    packet_put_header(at, &h);
    put_body(&h, at + PACKET_HEADER_BYTES);
    window_commit(w, i, &h);
    return true;
}

bool model_is(const uint8_t *data, uint32_t bytes, const struct packet_header *h)
{
    uint8_t expected[WINDOW_PACKET_BYTES];
    packet_put_header(expected, h);
    put_body(h, expected + PACKET_HEADER_BYTES);
    return bytes == h->size_bytes && memcmp(data, expected, bytes) == 0;
}

bool model_is_whole(const struct window_packet *p, const struct packet_header *h)
{
    return model_is(p->data, p->bytes, h);
}

bool model_same(const struct window_stream *a, const struct window_stream *b)
{
    return a->instance == b->instance && a->ring == b->ring && a->stream_id == b->stream_id &&
           a->next_seq == b->next_seq && a->next_ordinal == b->next_ordinal && a->discarded == b->discarded &&
           a->last_ns == b->last_ns && a->used == b->used && a->closed == b->closed;
}
