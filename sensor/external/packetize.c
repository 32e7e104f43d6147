// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Packetizing. A packet holds consecutive records of one ring and one thread: a gap between ordinals ends it, and a
 * loss packet takes the gap's place. The ring's tail moves only after the window has the packet; after a crash between
 * the two, records that the window already has are recognised by their ordinals and skipped.
 */
#include "sensor/external/expiry.h"
#include "sensor/external/packetize_internal.h"
#include "sensor/external/reduce.h"
#include "sensor/external/user_clock.h"

/* The record's time, or now where that is impossible: in the future, or before the process can have recorded. */
static uint64_t possible_time(const struct packetizer *c, uint64_t ticks)
{
    uint64_t time = external_clock_ns(c->p, ticks);
    return packetize_is_possible(c->p, time, c->now) ? time : (uint64_t)c->now;
}

/* The record's time, clamped: not before its predecessor, and possible. */
static uint64_t fit_time(struct packetizer *c, uint64_t ticks, uint64_t last)
{
    uint64_t timestamp = external_clock_ns(c->p, ticks), fit = possible_time(c, ticks);
    if (fit < last)
        fit = last;
    c->x->counts.clamped += fit != timestamp;
    c->p->clamped += fit != timestamp;
    return fit;
}

/* Whether the dictionary explains the record. */
static bool explained(const struct packetizer *c, const struct ring_record *r)
{
    const struct dict *d = c->p->at->dict;
    return d && r->aspect <= d->aspect_count && d->field_counts[r->aspect] == r->count;
}

static void take_generation(struct packetizer *c, uint32_t low)
{
    struct bezel_ring *ring = c->ring->reader.ring;
    uint32_t newest = __atomic_load_n(&ring->generation, __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
    uint32_t generation = newest - ((newest - low) & 0xff);
    c->ring->generation = generation;
    c->ring->generation_thread =
        newest - generation < RING_OWNERS
            ? __atomic_load_n(&ring->thread[generation % RING_OWNERS], __ATOMIC_RELAXED) /* relaxed: R1 ordered it */
            : 0;
}

static void begin_packet(struct packetizer *c, uint8_t *packet, uint32_t room, uint64_t time)
{
    packetize_header(c, PACKET_DATA, time, time);
    c->reduced = 0;
    c->packet = packet;
    c->at = packet + PACKET_HEADER_BYTES;
    c->end = packet + room;
}

static void put_record(struct packetizer *c, const struct ring_record *r, uint64_t time)
{
    const uint8_t *first = c->at;
    uint8_t *p = packet_put_record(c->at, r->aspect, time);
    for (uint32_t i = 0; i < r->count; i++, p += 8)
        bytes_put_u64(p, r->values[i]);
    c->at = p;
    c->last_ticks = r->ticks;
    c->h.timestamp_end = time;
    c->h.records++;
    packetize_attend(c, r->aspect, r->count, 1, first);
}

static void add_saved(struct external_saved *s, const struct packet_header *h)
{
    int64_t first = (int64_t)h->timestamp_begin, last = (int64_t)h->timestamp_end;
    s->first_ns = s->records == 0 || first < s->first_ns ? first : s->first_ns;
    s->last_ns = last > s->last_ns ? last : s->last_ns;
    s->records += h->records;
}

static void end_packet(struct packetizer *c)
{
    uint32_t taken = packetize_covers(c);
    c->h.size_bytes = (uint64_t)(c->at - c->packet);
    if (c->reduced) {
        c->h.kind = PACKET_REDUCED;
        c->h.discarded += c->reduced;
        reduce_commit(c->p, c->h.ring, c->h.first_ordinal + taken);
    }
    packetize_commit(c, c->packet);
    if (c->p->user_clock)
        timebase_seal(&c->p->user_clock->timebase, c->last_ticks);
    ring_release(c->reader);
    c->x->counts.records += taken;
    c->x->counts.sut_records += c->p->role == ROLE_SUT ? taken : 0;
    if (c->reader == &c->ring->copy) {
        add_saved(&c->x->saved, &c->h);
        add_saved(&c->x->saved_lately, &c->h);
    }
    c->packet = NULL;
    const struct external_observer *o = &c->x->options.observer;
    if (o->taken && c->p->role == ROLE_SUT && c->p->at->when_full != SEGMENT_OVERWRITE)
        o->taken(o->context, taken, (int64_t)c->h.timestamp_begin, (int64_t)c->h.timestamp_end, c->now);
}

/* Bytes of a packet for at most `limit` records out of `waiting` bytes of slots. */
static uint64_t room_for(const struct window *w, uint32_t waiting, uint32_t limit)
{
    uint64_t room = waiting; /* a record is shorter than its slots */
    uint32_t most = window_packet_bytes(w);
    if (room / PACKETIZE_RECORD_BYTES_MAX > limit)
        room = (uint64_t)limit * PACKETIZE_RECORD_BYTES_MAX;
    room += PACKET_HEADER_BYTES;
    return room < most ? room : most;
}

/* Whether `lost` records before this one are possible: a record's attempt is counted before it is published. */
static bool is_possible(const struct packetizer *c, uint64_t lost)
{
    uint64_t attempts = lost ? segment_attempts(c->p->at, c->ring) : 0;
    return lost == 0 || (!c->p->at->disbelieved && c->stream->next_ordinal + lost < attempts);
}

enum packetize_next { PACKETIZE_TOOK, PACKETIZE_EMPTY, PACKETIZE_AGAIN, PACKETIZE_FULL };

/*
 * Starts a packet with the first record of the ring, after opening the stream and recording a gap. Returns
 * PACKETIZE_TOOK with the record in the packet, PACKETIZE_AGAIN if it was skipped, PACKETIZE_EMPTY, or PACKETIZE_FULL.
 */
static enum packetize_next packetize_first(struct packetizer *c, uint32_t ring, uint32_t waiting, uint32_t limit)
{
    struct ring_reader *reader = c->reader, before = *reader;
    struct ring_record r;
    if (!ring_take(reader, waiting, &r) || !explained(c, &r)) {
        *reader = before;
        packetize_broken(c, c->p->at->dict_broken ? "a record that the valid part of its dictionary does not explain"
                                                  : "an invalid record");
        return PACKETIZE_EMPTY;
    }
    if (!packetize_stream(c, ring, possible_time(c, r.ticks))) {
        *reader = before;
        return PACKETIZE_FULL;
    }
    int64_t lost = ring_ordinals_ahead(c->stream->next_ordinal, r.ordinal_low);
    if (lost < 0) { /* already in the window: we crashed before the tail moved, or a snapshot saved it */
        ring_release(reader);
        return PACKETIZE_AGAIN;
    }
    if (c->stream->closed) {
        /*
         * A thread of a process that is left alive began it before it saw that nothing is to be recorded any more, and
         * has finished it now. Like all that the process does later it is not of this run. It stays in the ring, so
         * that the next daemon counts it out of the attempts again.
         */
        c->p->at->late[r.aspect]++;
        return PACKETIZE_AGAIN;
    }
    if (!is_possible(c, (uint64_t)lost)) {
        *reader = before;
        packetize_broken(c, "a record with an impossible number");
        return PACKETIZE_EMPTY;
    }
    uint64_t time = fit_time(c, r.ticks, c->stream->last_ns);
    bool ready = lost == 0 || packetize_empty(c, PACKET_LOSS, c->stream->last_ns, time, (uint64_t)lost);
    uint64_t room = room_for(c->x->window, waiting, limit);
    if (ready && !window_shares(c->x->window, (uint32_t)c->ring->stream, (uint32_t)room))
        c->stuck = true;
    uint8_t *packet = ready && !c->stuck ? packetize_reserve(c, (uint32_t)room) : NULL;
    if (!packet) {
        *reader = before;
        return PACKETIZE_FULL;
    }
    if (!c->ring->generation_thread || (uint8_t)c->ring->generation != r.generation_low)
        take_generation(c, r.generation_low);
    begin_packet(c, packet, (uint32_t)room, time);
    put_record(c, &r, time);
    return PACKETIZE_TOOK;
}

/* Takes the next record if it belongs to the packet. */
static bool packetize_one(struct packetizer *c, uint32_t head)
{
    struct ring_reader *reader = c->reader, before = *reader;
    struct ring_record r;
    if (!ring_take(reader, head - reader->tail, &r) || !explained(c, &r) ||
        ring_ordinals_ahead(c->h.first_ordinal + packetize_covers(c), r.ordinal_low) != 0 ||
        r.generation_low != (uint8_t)c->ring->generation || c->at + PACKET_RECORD_BYTES + 8 * r.count > c->end) {
        *reader = before;
        return false;
    }
    put_record(c, &r, fit_time(c, r.ticks, c->h.timestamp_end));
    return true;
}

/* Fills the packet with the records that follow without a gap, up to the first that does not belong to it. */
static void packetize_rest(struct packetizer *c, uint32_t waiting, uint32_t limit)
{
    uint32_t head = c->reader->tail + waiting;
    while (packetize_covers(c) < limit && c->reader->tail != head &&
           (packetize_run(c, head, limit) || packetize_mixed(c, head, limit) || packetize_one(c, head)))
        ;
}

uint32_t packetize_waiting(const struct external_process *p, uint32_t ring)
{
    const struct attached_ring *r = &p->at->rings[ring];
    const struct ring_reader *reader = p->at->when_full == SEGMENT_OVERWRITE ? &r->copy : &r->reader;
    return reader->ring && !r->broken ? ring_waiting(reader) : 0;
}

static uint32_t take_waiting(struct packetizer *c, uint32_t ring, uint32_t limit)
{
    uint32_t done = 0;
    if (c->ring->broken || !c->reader->ring)
        return 0;
    uint32_t waiting = ring_waiting(c->reader), head = c->reader->tail + waiting;
    if (waiting == 0)
        return 0;
    if (!ring_may_wait(c->reader, waiting)) {
        packetize_broken(c, "an impossible head position");
        return 0;
    }
    external_refresh(c->x, c->p); /* after the head: declarations are written before the records that need them */
    while (done < limit && !c->ring->broken && c->reader->tail != head) {
        enum packetize_next next = packetize_first(c, ring, head - c->reader->tail, limit - done);
        c->x->counts.backpressure += next == PACKETIZE_FULL;
        if (next == PACKETIZE_EMPTY || next == PACKETIZE_FULL)
            break;
        if (next == PACKETIZE_AGAIN)
            continue;
        packetize_rest(c, head - c->reader->tail, limit - done);
        done += packetize_covers(c);
        end_packet(c);
    }
    return done;
}

uint32_t packetize_ring(struct external *x, struct external_process *p, uint32_t i, int64_t now, uint32_t limit)
{
    struct packetizer c = {.x = x, .p = p, .ring = &p->at->rings[i], .now = now};
    c.reader = p->at->when_full == SEGMENT_OVERWRITE ? &c.ring->copy : &c.ring->reader;
    uint32_t done = take_waiting(&c, i, limit);
    if (c.stuck || c.ring->stuck)
        loss_cause_assign(x, p, c.ring, c.stuck, now);
    return done;
}

bool packetize_waits(const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        if (packetize_waiting(p, i) != 0)
            return true;
    return false;
}

bool packetize_ready(struct external *x, struct external_process *p, int64_t now)
{
    segment_refresh_rings(p->at);
    return external_clock_ready(x, p, now);
}

uint32_t packetize_process(struct external *x, struct external_process *p, int64_t now)
{
    uint32_t done = 0;
    if (!packetize_ready(x, p, now))
        return 0;
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        done += packetize_ring(x, p, i, now, UINT32_MAX);
    return done;
}
