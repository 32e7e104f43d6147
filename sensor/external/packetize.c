// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Cutting packets. A packet holds consecutive records of one ring and one thread: a gap between ordinals ends it, and a
 * loss packet takes the gap's place. The ring's tail moves only when its packet stands in the window; after a crash
 * between the two, records that the window already has are recognised by their ordinals and skipped.
 */
#include "sensor/cut_own.h"
#include "sensor/expire.h"

static uint64_t time_of(const struct cut *c, uint64_t ticks)
{
    return c->p->timebase ? (uint64_t)timebase_ns(c->p->timebase, ticks) : ticks;
}

/* The record's time, made to fit: not before its predecessor, not from the future. */
static uint64_t fit_time(struct cut *c, uint64_t ticks, uint64_t last)
{
    uint64_t timestamp = time_of(c, ticks), fit = timestamp;
    if (fit > (uint64_t)c->now + CUT_FUTURE_NS)
        fit = (uint64_t)c->now;
    if (fit < last)
        fit = last;
    c->x->counts.clamped += fit != timestamp;
    c->p->clamped += fit != timestamp;
    return fit;
}

/* Whether the dictionary explains the record. */
static bool explained(const struct cut *c, const struct ring_record *r)
{
    const struct dict *d = c->p->at->dict;
    return d && r->aspect <= d->aspect_count && d->field_counts[r->aspect] == r->count;
}

static void take_generation(struct cut *c, uint32_t low)
{
    struct bezel_ring *ring = c->ring->reader.ring;
    uint32_t newest = __atomic_load_n(&ring->generation, __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
    uint32_t generation = newest - ((newest - low) & 0xff);
    c->ring->generation = generation;
    c->ring->generation_thread =
        newest - generation < RING_THREADS
            ? __atomic_load_n(&ring->thread[generation % RING_THREADS], __ATOMIC_RELAXED) /* relaxed: R1 ordered it */
            : 0;
}

static void begin_packet(struct cut *c, uint8_t *packet, uint32_t room, uint64_t time)
{
    cut_header(c, PACKET_DATA, time, time);
    c->packet = packet;
    c->at = packet + PACKET_HEADER_BYTES;
    c->end = packet + room;
}

static void put_record(struct cut *c, const struct ring_record *r, uint64_t time)
{
    const uint8_t *first = c->at;
    uint8_t *p = packet_put_record(c->at, r->aspect, time);
    for (uint32_t i = 0; i < r->count; i++, p += 8)
        bytes_put_u64(p, r->values[i]);
    c->at = p;
    c->last_ticks = r->ticks;
    c->h.timestamp_end = time;
    c->h.records++;
    cut_attend(c, r->aspect, r->count, 1, first);
}

static void add_saved(struct external_saved *s, const struct packet_header *h)
{
    int64_t first = (int64_t)h->timestamp_begin, last = (int64_t)h->timestamp_end;
    s->first_ns = s->records == 0 || first < s->first_ns ? first : s->first_ns;
    s->last_ns = last > s->last_ns ? last : s->last_ns;
    s->records += h->records;
}

static void end_packet(struct cut *c)
{
    c->h.size_bytes = (uint64_t)(c->at - c->packet);
    cut_commit(c, c->packet);
    if (c->p->user_clock)
        timebase_seal(c->p->user_clock, c->last_ticks);
    ring_release(c->reader);
    c->x->counts.records += c->h.records;
    if (c->reader == &c->ring->copy) {
        add_saved(&c->x->saved, &c->h);
        add_saved(&c->x->saved_lately, &c->h);
    }
    c->packet = NULL;
    const struct external_observer *o = &c->x->options.observer;
    if (o->taken && c->p->role == ROLE_SUT && c->p->at->when_full != SEGMENT_OVERWRITE)
        o->taken(o->context, c->h.records, (int64_t)c->h.timestamp_begin, (int64_t)c->h.timestamp_end, c->now);
}

/* Bytes that a packet of at most `limit` records needs, which take up `waiting` bytes of slots. */
static uint64_t room_for(const struct window *w, uint32_t waiting, uint32_t limit)
{
    uint64_t room = waiting; /* a record is shorter than its slots */
    uint32_t most = window_packet_bytes(w);
    if (room / CUT_RECORD_BYTES_MAX > limit)
        room = (uint64_t)limit * CUT_RECORD_BYTES_MAX;
    room += PACKET_HEADER_BYTES;
    return room < most ? room : most;
}

/* Whether so many records can be lost ahead of one that is there: its attempt was counted before it was published. */
static bool is_possible(const struct cut *c, uint64_t lost)
{
    uint64_t attempts = lost ? segment_attempts(c->p->at, c->ring) : 0;
    return lost == 0 || (!c->p->at->disbelieved && c->stream->next_ordinal + lost < attempts);
}

enum cut_next { CUT_TOOK, CUT_EMPTY, CUT_AGAIN, CUT_FULL };

/*
 * Starts a packet with the record that is first in the ring, opening the stream and telling of a gap first: CUT_TOOK
 * with the record in the packet, CUT_AGAIN where it was skipped, CUT_EMPTY, CUT_FULL.
 */
static enum cut_next cut_first(struct cut *c, uint32_t ring, uint32_t waiting, uint32_t limit)
{
    struct ring_reader *reader = c->reader, before = *reader;
    struct ring_record r;
    if (!ring_take(reader, waiting, &r) || !explained(c, &r)) {
        *reader = before;
        cut_broken(c, c->p->at->dict_broken ? "a record that the readable part of its dictionary does not explain"
                                            : "a record that makes no sense");
        return CUT_EMPTY;
    }
    if (!cut_stream(c, ring, time_of(c, r.ticks))) {
        *reader = before;
        return CUT_FULL;
    }
    int64_t lost = ring_ordinals_ahead(c->stream->next_ordinal, r.ordinal_low);
    if (lost < 0) { /* in the window already: a crash came before the tail moved, or a snapshot saved it before */
        ring_release(reader);
        return CUT_AGAIN;
    }
    if (!is_possible(c, (uint64_t)lost)) {
        *reader = before;
        cut_broken(c, "a record whose number cannot be");
        return CUT_EMPTY;
    }
    uint64_t time = fit_time(c, r.ticks, c->stream->last_ns);
    bool told = lost == 0 || cut_empty(c, PACKET_LOSS, c->stream->last_ns, time, (uint64_t)lost);
    uint64_t room = room_for(c->x->window, waiting, limit);
    if (told && !window_shares(c->x->window, (uint32_t)c->ring->stream, (uint32_t)room))
        c->stuck = true;
    uint8_t *packet = told && !c->stuck ? cut_reserve(c, (uint32_t)room) : NULL;
    if (!packet) {
        *reader = before;
        return CUT_FULL;
    }
    if (!c->ring->generation_thread || (uint8_t)c->ring->generation != r.generation_low)
        take_generation(c, r.generation_low);
    begin_packet(c, packet, (uint32_t)room, time);
    put_record(c, &r, time);
    return CUT_TOOK;
}

/* Takes the next record, where it belongs to the packet. */
static bool cut_one(struct cut *c, uint32_t head)
{
    struct ring_reader *reader = c->reader, before = *reader;
    struct ring_record r;
    if (!ring_take(reader, head - reader->tail, &r) || !explained(c, &r) ||
        ring_ordinals_ahead(c->h.first_ordinal + c->h.records, r.ordinal_low) != 0 ||
        r.generation_low != (uint8_t)c->ring->generation || c->at + PACKET_RECORD_BYTES + 8 * r.count > c->end) {
        *reader = before;
        return false;
    }
    put_record(c, &r, fit_time(c, r.ticks, c->h.timestamp_end));
    return true;
}

/* Fills the packet with the records that follow without a gap; returns when one does not belong to it. */
static void cut_rest(struct cut *c, uint32_t waiting, uint32_t limit)
{
    uint32_t head = c->reader->tail + waiting;
    while (c->h.records < limit && c->reader->tail != head &&
           (cut_run(c, head, limit) || cut_mixed(c, head, limit) || cut_one(c, head)))
        ;
}

uint32_t cut_waiting(const struct external_process *p, uint32_t ring)
{
    const struct attached_ring *r = &p->at->rings[ring];
    const struct ring_reader *reader = p->at->when_full == SEGMENT_OVERWRITE ? &r->copy : &r->reader;
    return reader->ring && !r->broken ? ring_waiting(reader) : 0;
}

static uint32_t cut_what_waits(struct cut *c, uint32_t ring, uint32_t limit)
{
    uint32_t done = 0;
    if (c->ring->broken || !c->reader->ring)
        return 0;
    uint32_t waiting = ring_waiting(c->reader), head = c->reader->tail + waiting;
    if (waiting == 0)
        return 0;
    if (!ring_may_wait(c->reader, waiting)) {
        cut_broken(c, "a head that cannot be");
        return 0;
    }
    external_refresh(c->x, c->p); /* after the head: what its records need was written before them */
    while (done < limit && !c->ring->broken && c->reader->tail != head) {
        enum cut_next next = cut_first(c, ring, head - c->reader->tail, limit - done);
        c->x->counts.backpressure += next == CUT_FULL;
        if (next == CUT_EMPTY || next == CUT_FULL)
            break;
        if (next == CUT_AGAIN)
            continue;
        cut_rest(c, head - c->reader->tail, limit - done);
        done += c->h.records;
        end_packet(c);
    }
    return done;
}

uint32_t cut_ring(struct external *x, struct external_process *p, uint32_t i, int64_t now, uint32_t limit)
{
    struct cut c = {.x = x, .p = p, .ring = &p->at->rings[i], .now = now};
    c.reader = p->at->when_full == SEGMENT_OVERWRITE ? &c.ring->copy : &c.ring->reader;
    uint32_t done = cut_what_waits(&c, i, limit);
    if (c.stuck || c.ring->stuck)
        blame_losses(x, p, c.ring, c.stuck, now);
    return done;
}

bool cut_waits(const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        if (cut_waiting(p, i) != 0)
            return true;
    return false;
}

bool cut_ready(struct external *x, struct external_process *p, int64_t now)
{
    segment_refresh_rings(p->at);
    return external_clock_ready(x, p, now);
}

uint32_t cut_process(struct external *x, struct external_process *p, int64_t now)
{
    uint32_t done = 0;
    if (!cut_ready(x, p, now))
        return 0;
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        done += cut_ring(x, p, i, now, UINT32_MAX);
    return done;
}
