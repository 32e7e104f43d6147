// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Packets without records: they open a stream, record a loss, or close the stream. Also the copies for a snapshot. */
#include "base/hash.h"
#include "sensor/external/packetize_internal.h"

#include <stdlib.h>
#include <string.h>

void packetize_header(struct packetizer *c, enum packet_kind kind, uint64_t begin, uint64_t end)
{
    const struct window_stream *s = c->stream;
    c->h = (struct packet_header){.stream_id = s->stream_id,
                                  .timestamp_begin = begin,
                                  .timestamp_end = end,
                                  .size_bytes = PACKET_HEADER_BYTES,
                                  .discarded = s->discarded,
                                  .seq = s->next_seq,
                                  .kind = kind,
                                  .instance = s->instance,
                                  .ring = s->ring,
                                  .thread = c->ring->generation_thread,
                                  .generation = c->ring->generation,
                                  .dictionary = c->p->at->dict ? c->p->at->dict->hash : HASH_FNV64_START,
                                  .first_ordinal = s->next_ordinal};
    memcpy(c->h.uuid, c->x->options.uuid, sizeof c->h.uuid);
}

void packetize_commit(struct packetizer *c, uint8_t *packet)
{
    packet_put_header(packet, &c->h);
    window_commit(c->x->window, (uint32_t)c->ring->stream, &c->h);
    c->x->counts.packets++;
    c->x->counts.bytes += c->h.size_bytes;
}

uint8_t *packetize_reserve(struct packetizer *c, uint32_t bytes)
{
    uint8_t *packet = window_reserve(c->x->window, bytes);
    c->stuck = !packet;
    return packet;
}

bool packetize_empty(struct packetizer *c, enum packet_kind kind, uint64_t begin, uint64_t end, uint64_t lost)
{
    uint8_t *packet = packetize_reserve(c, PACKET_HEADER_BYTES);
    if (!packet)
        return false;
    packetize_header(c, kind, begin, end > begin ? end : begin);
    c->h.discarded += lost;
    packetize_commit(c, packet);
    return true;
}

_Static_assert((int)SEGMENT_RINGS_MAX == (int)PACKET_RINGS_MAX, "each ring can have a stream");

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool packetize_stream(struct packetizer *c, uint32_t i, uint64_t first)
{
    struct window *w = c->x->window;
    if (c->ring->stream < 0) {
        int n = window_find(w, c->p->at->instance, i);
        if (n < 0)
            n = window_add_stream(w, c->p->at->instance, i, c->p->stream_id, c->ring->base_ordinal);
        if (n < 0) {
            notes_record(c->x, c->p, c->now, "BEZEL-STREAMS",
                         "the window has no place for its rings, because %d are in use: they wait until other "
                         "processes are finished",
                         WINDOW_STREAMS);
            return false;
        }
        c->ring->stream = n;
    }
    c->stream = window_stream(w, (uint32_t)c->ring->stream);
    if (c->stream->next_seq > 0)
        return true;
    uint64_t begin = c->p->at->started > c->x->run_started ? c->p->at->started : c->x->run_started;
    begin = earlier(earlier(begin, first), (uint64_t)c->now);
    return packetize_empty(c, PACKET_OPEN, begin, begin, 0);
}

void packetize_broken(struct packetizer *c, const char *what)
{
    c->ring->broken = true;
    c->x->counts.broken_rings++;
    notes_record(c->x, c->p, c->now, "BEZEL-RING-BROKEN",
                 "it wrote %s into its ring %ld: the ring is read no further, and the rest of its records is lost",
                 what, (long)(c->ring - c->p->at->rings));
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

/* Memory for a copy of a ring. It is kept for the next snapshot. */
static bool make_copy(struct attached_ring *ring)
{
    uint32_t slots = ring->reader.bytes / RING_SLOT_BYTES;
    if (ring->copy.ring)
        return true;
    struct bezel_ring *copy = calloc(1, sizeof *copy + ring->reader.bytes);
    if (copy)
        ring->copy = ring_reader(copy, slots);
    return copy != NULL;
}

void packetize_snapshot(struct external *x, struct external_process *p, int64_t now)
{
    segment_search_rings(p->at);
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        struct attached_ring *ring = &p->at->rings[i];
        if (!ring->reader.ring || ring->broken)
            continue;
        if (!make_copy(ring)) {
            notes_record(x, p, now, "BEZEL-SNAPSHOT", "out of memory: a ring of %u slots is missing from the snapshot",
                         ring->reader.bytes / RING_SLOT_BYTES);
            continue;
        }
        struct packetizer c = {.x = x, .p = p, .ring = ring, .now = now};
        if (ring_waiting(&ring->copy) == 0 && !ring_copy(&ring->reader, &ring->copy))
            packetize_broken(&c, "an impossible head position");
    }
}

/* ---- Closing ----------------------------------------------------------------------------------------------------- */

/*
 * A stream whose end is unknown is opened but gets no closing packet, so that the collector sees that the end is
 * unknown. A disbelieved process without any ring gets such a stream for ring 0.
 */
static bool close_ring(struct packetizer *c, uint32_t i)
{
    struct attached *a = c->p->at;
    bool unknown = a->disbelieved || c->ring->broken;
    if (!c->ring->reader.ring && !(unknown && i == 0))
        return true;
    uint64_t attempts = unknown ? 0 : segment_attempts(a, c->ring);
    if (!unknown && c->ring->stream < 0 && attempts == c->ring->base_ordinal &&
        window_find(c->x->window, a->instance, i) < 0)
        return true; /* never used in this session */
    if (!packetize_stream(c, i, (uint64_t)c->now))
        return false;
    if (!unknown && attempts < c->stream->next_ordinal)
        a->disbelieved = true;
    if (unknown || a->disbelieved || c->stream->closed)
        return true;
    return packetize_empty(c, PACKET_CLOSE, c->stream->last_ns, (uint64_t)c->now, attempts - c->stream->next_ordinal);
}

bool packetize_close(struct external *x, struct external_process *p, int64_t now)
{
    for (uint32_t i = 0; i < p->at->ring_count || i == 0; i++) {
        struct packetizer c = {.x = x, .p = p, .ring = &p->at->rings[i], .now = now};
        if (!close_ring(&c, i))
            return false;
    }
    return true;
}

uint64_t packetize_records(struct external *x, const struct external_process *p, uint64_t *discarded)
{
    uint64_t records = 0;
    *discarded = 0;
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        int n = p->at->rings[i].reader.ring ? window_find(x->window, p->at->instance, i) : -1;
        if (n < 0)
            continue;
        const struct window_stream *s = window_stream(x->window, (uint32_t)n);
        uint64_t covered = s->next_ordinal - p->at->rings[i].base_ordinal;
        records += covered > s->discarded ? covered - s->discarded : 0;
        *discarded += s->discarded;
    }
    return records;
}
