// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The sensor of a microcontroller: the writer of sensor/shm/ring_writer.h for each context's ring, and a drain that
 * builds packets by the rules of sensor/external/packetize.c. Freestanding: no library, no exclusive access.
 */
#include "bezel/micro.h"

#include "mdr/packet.h"
#include "sensor/shm/ring_writer.h"

_Static_assert(BEZEL_MICRO_PACKET_MIN == PACKET_HEADER_BYTES + PACKET_RECORD_MAX_BYTES, "as the header promises");

void bezel_micro_init(struct bezel_context *c, struct bezel_micro *micro, struct bezel_ring *ring, uint32_t slots,
                      uint32_t number, uint32_t thread)
{
    c->micro = micro;
    c->number = number;
    c->thread = thread;
    c->last = bezel_micro_time(micro);
    writer_hold(&c->writer, ring, slots, 0, false);
    c->tail = ring->head;
}

/*
 * `halves` counts the half turns of the clock, and its lowest bit equals the clock's highest one. A context that reads
 * the clock and finds them different adds one; contexts that do so at the same time store the same number.
 */
uint64_t bezel_micro_time(struct bezel_micro *micro)
{
    uint32_t halves = __atomic_load_n(&micro->halves, __ATOMIC_RELAXED); /* relaxed: a word of its own */
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* read `halves` first: the clock may be ahead of it, not behind */
    uint32_t ticks = micro->clock();
    if ((halves ^ ticks >> 31) & 1)
        __atomic_store_n(&micro->halves, ++halves, __ATOMIC_RELAXED); /* relaxed: a word of its own */
    return (uint64_t)(halves >> 1) << 32 | ticks;
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* Adds records that interrupted others to the ring's counters. The writer is busy, or nothing can interrupt. */
static void count_intruders(struct bezel_context *c)
{
    uint32_t intruded = __atomic_load_n(&c->intruded, __ATOMIC_RELAXED); /* relaxed: a word of its own */
    struct bezel_writer *w = &c->writer;
    uint64_t *attempts = &w->ring->attempts[0], *full = &w->ring->full[0];
    uint32_t more = intruded - c->counted;
    if (!more)
        return;
    c->counted = intruded;
    bezel_tally_set(attempts, bezel_tally_get(attempts) + more);
    bezel_tally_set(full, bezel_tally_get(full) + more);
    w->skew += more;
    writer_rebase(w);
}

void bezel_micro_put(struct bezel_context *c, uint32_t aspect, const uint64_t *values, uint32_t count)
{
    struct bezel_writer *w = &c->writer;
    if (w->busy) {
        /* relaxed: an interrupt counts alone, and is over before another of its priority comes */
        __atomic_store_n(&c->intruded, c->intruded + 1, __ATOMIC_RELAXED);
        return;
    }
    bezel_enter(w);
    count_intruders(c);
    bool fits = count <= BEZEL_MICRO_VALUES_MAX && aspect - 1 < BEZEL_ASPECTS - 1;
    uint32_t id = fits ? aspect : 0;
    if (fits && writer_has_room(w, writer_bytes(count)))
        writer_put(w, id, bezel_micro_time(c->micro), values, count);
    else
        writer_drop(w, id, w->ring->full);
    bezel_leave(w);
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

/* Writes the header before the packet's records, which end at `at`. Returns the packet's length. */
static uint32_t put_packet(struct bezel_context *c, uint8_t *packet, enum packet_kind kind, uint64_t begin,
                           uint64_t end, uint64_t lost, uint32_t records, const uint8_t *at)
{
    const struct bezel_micro *m = c->micro;
    struct packet_header h; /* field by field: an initializer may become a call of memset() */
    for (uint32_t i = 0; i < sizeof h.uuid; i += 4)
        bytes_put_u32(h.uuid + i, bytes_get_u32(m->uuid + i));
    h.stream_id = m->stream_id;
    h.timestamp_begin = begin;
    h.timestamp_end = end;
    h.size_bytes = (uint32_t)(at - packet);
    h.discarded = c->discarded += lost;
    h.seq = c->next_seq++;
    h.kind = kind;
    h.instance = m->instance;
    h.ring = c->number;
    h.thread = c->thread;
    h.generation = 0;
    h.records = records;
    h.dictionary = m->dictionary;
    h.first_ordinal = c->next_ordinal;
    packet_put_header(packet, &h);
    c->next_ordinal += records + lost;
    c->last = end;
    return (uint32_t)(at - packet);
}

static uint32_t put_empty(struct bezel_context *c, uint8_t *packet, enum packet_kind kind, uint64_t end, uint64_t lost)
{
    if (end < c->last)
        end = c->last;
    return put_packet(c, packet, kind, c->last, end, lost, 0, packet + PACKET_HEADER_BYTES);
}

/* How far the ordinal of slot word 0 is ahead of `expected`. */
static uint64_t ordinals_ahead(uint64_t word, uint64_t expected)
{
    return (word >> BEZEL_ORDINAL_SHIFT) - (expected << BEZEL_ORDINAL_SHIFT >> BEZEL_ORDINAL_SHIFT);
}

/* Writes the records from `tail` up to `head`, a gap or the packet's end. The ring is ours, so it is trusted. */
static uint32_t put_records(struct bezel_context *c, uint8_t *packet, uint32_t bytes, uint32_t head)
{
    uint32_t records = 0;
    uint64_t begin = c->last, last = c->last;
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    while (c->tail != head) {
        uint64_t word = *writer_at(&c->writer, c->tail, 0), ticks = *writer_at(&c->writer, c->tail, 1);
        uint32_t count = writer_word_count(word);
        uint64_t lost = ordinals_ahead(word, c->next_ordinal + records);
        if (lost != 0 && records == 0)
            return put_empty(c, packet, PACKET_LOSS, ticks, lost);
        if (lost != 0 || (uint32_t)(packet + bytes - at) < PACKET_RECORD_BYTES + 8 * count)
            break;
        last = ticks > last ? ticks : last;
        begin = records++ == 0 ? last : begin;
        at = packet_put_record(at, word & 0xff, last);
        for (uint32_t i = 0; i < count; i++, at += 8)
            bytes_put_u64(at, *writer_at(&c->writer, c->tail, 2 + i));
        c->tail += writer_bytes(count);
    }
    __atomic_store_n(&c->writer.ring->tail, c->tail, __ATOMIC_RELEASE); /* R2 release: pairs R3, ends the loads */
    return put_packet(c, packet, PACKET_DATA, begin, last, 0, records, at);
}

uint32_t bezel_micro_drain(struct bezel_context *c, uint8_t *packet, uint32_t bytes)
{
    uint32_t head = __atomic_load_n(&c->writer.ring->head, __ATOMIC_ACQUIRE); /* R1 acquire: pairs R0 */
    (void)bezel_micro_time(c->micro);
    if (bytes < BEZEL_MICRO_PACKET_MIN || c->tail == head)
        return 0;
    if (c->next_seq == 0)
        return put_empty(c, packet, PACKET_OPEN, c->last, 0);
    return put_records(c, packet, bytes, head);
}

uint32_t bezel_micro_close(struct bezel_context *c, uint8_t *packet, uint32_t bytes)
{
    if (bytes < BEZEL_MICRO_PACKET_MIN || c->closed)
        return 0;
    if (c->next_seq == 0)
        return put_empty(c, packet, PACKET_OPEN, c->last, 0);
    count_intruders(c);
    c->closed = 1;
    uint64_t lost = bezel_ring_attempts(c->writer.ring) - c->next_ordinal;
    return put_empty(c, packet, PACKET_CLOSE, bezel_micro_time(c->micro), lost);
}
