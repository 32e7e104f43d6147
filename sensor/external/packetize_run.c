// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Packetizing many records at a time, alike or mixed; the result is that of packetize_one() called for each. An
 * observer gets the records of its aspect together: of mixed records, up to MIX are gathered first.
 */
#include "sensor/external/expiry.h"
#include "sensor/external/packetize_internal.h"
#include "sensor/external/reduce.h"

#include <string.h>

static const bool none[RING_ASPECTS];

enum { MIX = 64, ALIKE = 8 /* in a row: packetize_run() is better at them */ };

/*
 * A run: consecutive records of a ring that are alike (same aspect, ordinals without a gap, one generation), in one
 * piece of memory. Each record is copied from its slots into a packet with one comparison, one multiplication and the
 * swapping of bytes; the external sensor spends most of its time here. Wait-free; changes only the run and the packet.
 */
struct record_run {
    const uint64_t *slot;
    uint8_t *at;
    uint64_t word;        /* of the next slot, if the run continues there */
    uint64_t last, until; /* time of the previous record, and the latest possible time */
    struct timebase_line line;
};

/* Inline, so that there is a loop for each `count` that is a constant. */
static inline __attribute__((always_inline)) uint32_t record_run_copy(struct record_run *run, uint32_t most,
                                                                      uint32_t count)
{
    const uint64_t *slot = run->slot;
    const struct timebase_line line = run->line;
    uint8_t *at = run->at;
    uint64_t word = run->word, last = run->last;
    uint32_t n = 0;
    for (; n < most && __atomic_load_n(&slot[0], __ATOMIC_RELAXED) == word; n++) { /* relaxed: R1 ordered it */
        uint64_t after = slot[1] - line.ticks, time = timebase_along(&line, after);
        if (after >= line.span || time < last || time > run->until)
            break;
        at = packet_put_record(at, word & 0xff, time);
        for (uint32_t i = 0; i < count; i++, at += 8)
            bytes_put_u64(at, slot[2 + i]);
        last = time;
        word += UINT64_C(1) << BEZEL_ORDINAL_SHIFT;
        slot += bezel_record_slots(count) * BEZEL_SLOT_WORDS;
    }
    run->slot = slot;
    run->at = at;
    run->last = last;
    return n;
}

/*
 * Copies up to `most` records of `count` values each, as long as they belong to the run: their words are consecutive,
 * and their times lie on the line and within last .. until. Returns their number, and moves the run past them. The
 * caller makes sure that `slot` has `most` records' memory, and `at` room for them.
 */
static uint32_t record_run_take(struct record_run *run, uint32_t most, uint32_t count)
{
    return count == 1   ? record_run_copy(run, most, 1)
           : count == 2 ? record_run_copy(run, most, 2)
                        : record_run_copy(run, most, count);
}

static inline bool is_reduced(const struct packetizer *c, uint32_t aspect)
{
    return c->p->reduce && c->p->reduce->is[aspect];
}

void packetize_attend(struct packetizer *c, uint32_t aspect, uint32_t values, uint32_t n, const uint8_t *first)
{
    if (c->p->watch[aspect] < 0)
        return;
    const struct packet_run run = {.aspect = aspect,
                                   .count = n,
                                   .stride = PACKET_RECORD_BYTES + 8 * values,
                                   .value_count = values,
                                   .first = first,
                                   .stream = (uint32_t)c->ring->stream,
                                   .missing = c->h.discarded - c->stream->reduced};
    expiry_take(c->x, c->p, &run, c->now);
    if (!is_reduced(c, aspect))
        return;
    c->p->reduce->in_packet[aspect] += n;
    c->reduced += n;
    c->h.records -= n;
    c->at -= (size_t)n * run.stride;
}

/* Whether the dictionary explains records of this shape (the low bits of a slot's first word: values and aspect). */
static inline bool explains(const struct dict *d, uint32_t shape)
{
    uint32_t aspect = shape & 0xff;
    return d && aspect != 0 && aspect <= d->aspect_count && d->field_counts[aspect] == shape >> BEZEL_COUNT_SHIFT;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A run at the reader's tail. Its word is set but for the shape. */
static struct record_run begin_run(struct packetizer *c)
{
    struct record_run run = {.slot = ring_slot(c->reader, c->reader->tail),
                             .at = c->at,
                             .word = ring_word(c->h.first_ordinal + packetize_covers(c), c->ring->generation),
                             .last = c->h.timestamp_end,
                             .until = (uint64_t)c->now + PACKETIZE_FUTURE_NS};
    if (run.slot[1] - c->line.ticks >= c->line.span)
        c->line = external_clock_line(c->p, run.slot[1]);
    run.line = c->line;
    return run;
}

/* `n` records were taken, in `slots` slots, the last one at `last_slot`. */
static void end_run(struct packetizer *c, const struct record_run *run, uint32_t n, uint32_t slots,
                    const uint64_t *last_slot)
{
    c->last_ticks = last_slot[1];
    c->reader->tail += slots * RING_SLOT_BYTES;
    c->h.records += n;
    c->h.timestamp_end = run->last;
    c->at = run->at;
}

/* Slots before `head` that lie in one piece of memory. */
static uint32_t slots_ahead(const struct ring_reader *r, uint32_t head)
{
    return least(head - r->tail, ring_bytes_to_end(r, r->tail)) / RING_SLOT_BYTES;
}

/* A record like its predecessor has its ordinal, generation and shape: one comparison checks all three. */
bool packetize_run(struct packetizer *c, uint32_t head, uint32_t limit)
{
    const uint64_t *slot = ring_slot(c->reader, c->reader->tail);
    uint64_t word = __atomic_load_n(&slot[0], __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
    uint32_t shape = (uint32_t)word & RING_SHAPE_MASK, count = shape >> BEZEL_COUNT_SHIFT;
    uint32_t of_each = bezel_record_slots(count), slots = slots_ahead(c->reader, head);
    if (slots < 2 * of_each || !explains(c->p->at->dict, shape))
        return false;
    uint64_t next = __atomic_load_n(&slot[of_each * BEZEL_SLOT_WORDS], __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
    if (next != word + (UINT64_C(1) << BEZEL_ORDINAL_SHIFT))
        return false;
    struct record_run run = begin_run(c);
    run.word |= shape;
    uint32_t room = (uint32_t)(c->end - c->at) / (PACKET_RECORD_BYTES + 8 * count);
    const uint8_t *first = c->at;
    uint32_t n = record_run_take(&run, least(least(slots / of_each, room), limit - packetize_covers(c)), count);
    if (n == 0)
        return false;
    end_run(c, &run, n, n * of_each, run.slot - of_each * BEZEL_SLOT_WORDS);
    packetize_attend(c, shape & 0xff, count, n, first);
    return true;
}

/* ---- Records that are not alike ---------------------------------------------------------------------------------- */

/* Where the watched records stand in the packet. */
struct mixed {
    uint32_t taken, slots, watched;
    const uint64_t *last_slot;
    struct {
        const uint8_t *at;
        uint32_t shape;
    } records[MIX];
};

/* Records that are reduced end it: they are taken by packetize_run(), or alone. The loop works on locals: for the
 * compiler, a store into the packet may change anything else. */
static void take_mixed(const struct packetizer *c, struct record_run *run, uint32_t slots, uint32_t most,
                       struct mixed *m)
{
    const struct dict *const d = c->p->at->dict;
    const int *const watch = c->p->watch;
    const bool *const reduced = c->p->reduce ? c->p->reduce->is : none;
    const struct timebase_line line = run->line;
    const uint64_t *slot = run->slot, *last_slot = slot;
    const uint8_t *const end = c->end;
    uint8_t *at = run->at;
    uint64_t expected = run->word, last = run->last;
    const uint64_t until = run->until;
    uint32_t n = 0, left = slots, watched = 0;
    for (uint32_t alike = 0, before = 0; n < most && left > 0 && alike < ALIKE; n++) {
        uint64_t word = __atomic_load_n(&slot[0], __ATOMIC_RELAXED); /* relaxed: R1 ordered it */
        uint64_t after = slot[1] - line.ticks, time = timebase_along(&line, after);
        uint32_t shape = (uint32_t)word & RING_SHAPE_MASK, count = shape >> BEZEL_COUNT_SHIFT;
        uint32_t of_it = bezel_record_slots(count);
        if (word - shape != expected || !explains(d, shape) || reduced[shape & 0xff] || of_it > left ||
            end - at < PACKET_RECORD_BYTES + 8 * (ptrdiff_t)count || after >= line.span || time < last || time > until)
            break;
        m->records[watched].at = at;
        m->records[watched].shape = shape;
        watched += watch[shape & 0xff] >= 0;
        at = packet_put_record(at, shape & 0xff, time);
        for (uint32_t i = 0; i < count; i++, at += 8)
            bytes_put_u64(at, slot[2 + i]);
        alike = shape == before ? alike + 1 : 1;
        before = shape;
        last = time;
        expected += UINT64_C(1) << BEZEL_ORDINAL_SHIFT;
        left -= of_it;
        last_slot = slot;
        slot += of_it * BEZEL_SLOT_WORDS;
    }
    m->taken = n;
    m->slots = slots - left;
    m->watched = watched;
    m->last_slot = last_slot;
    run->at = at;
    run->last = last;
}

/* Shows the watched records aspect by aspect. */
static void attend_mixed(struct packetizer *c, struct mixed *m)
{
    uint8_t gathered[MIX * PACKETIZE_RECORD_BYTES_MAX];
    while (m->watched > 0) {
        uint32_t shape = m->records[0].shape, rest = 0, n = 0;
        uint32_t values = shape >> BEZEL_COUNT_SHIFT;
        size_t bytes = PACKET_RECORD_BYTES + 8 * (size_t)values;
        for (uint32_t i = 0; i < m->watched; i++)
            if (m->records[i].shape == shape)
                memcpy(gathered + n++ * bytes, m->records[i].at, bytes);
            else
                m->records[rest++] = m->records[i];
        m->watched = rest;
        packetize_attend(c, shape & 0xff, values, n, gathered);
    }
}

bool packetize_mixed(struct packetizer *c, uint32_t head, uint32_t limit)
{
    struct mixed m;
    struct record_run run = begin_run(c);
    take_mixed(c, &run, slots_ahead(c->reader, head), least(MIX, limit - packetize_covers(c)), &m);
    if (m.taken == 0)
        return false;
    end_run(c, &run, m.taken, m.slots, m.last_slot);
    attend_mixed(c, &m);
    return true;
}
