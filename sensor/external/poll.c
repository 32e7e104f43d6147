// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Polling: which rings are read, and in which order.
 *
 * A poll takes the records that wait when it reads a ring's head, in rounds: each ring with records gets a turn of a
 * bounded number of records before any gets its second. Later records are left to the next poll, so a flooding ring
 * cannot prolong it. A stream takes only a share of the window's free room (window_shares()), so a flood leaves room
 * for the others; if room ends all the same, the next poll begins with the ring that found none. Where a poll's number
 * of records is limited (collect-and-forward: to one), the next poll goes on behind the last ring: of R rings with
 * records, each gets its turn within R polls.
 *
 * If records accumulate (accumulate.h), a poll first looks at the heads of all rings, and may leave everything where it
 * is: rings hold records safely and for free. No ring is to run full by that, so one that is half full ends the wait:
 * a ring loses nothing by waiting unless more than half of its slots are written between two polls.
 */
#include "base/clock.h"
#include "bezel/core.h"
#include "resmgr/pace/gap.h"
#include "sensor/external/external_internal.h"

#define ROW_LATE (10 * CLOCK_MS) /* so late a look is rare, or the counter has jumped */

enum { POLL_TURN = 8192 /* records of a turn: about as many as the longest packet holds */ };

struct poll {
    struct external *x;
    int64_t now;
    uint32_t done, limit;      /* records */
    struct bitset more;        /* processes with records left of those that this poll is to take */
    bool blocked;              /* a ring found no room */
    bool unready;              /* records wait whose times cannot be converted yet */
    uint32_t place, next_ring; /* where the next poll begins */
};

static uint32_t tail_of(const struct external_process *p, uint32_t ring)
{
    const struct attached_ring *r = &p->at->rings[ring];
    return p->at->when_full == SEGMENT_OVERWRITE ? r->copy.tail : r->reader.tail;
}

/* The last poll's fullest ring sets how soon the next one comes (gap.h). */
static void note_fill(struct external *x, const struct external_process *p, uint32_t ring, uint32_t waiting)
{
    uint32_t fill = gap_fill(waiting, p->at->rings[ring].reader.bytes);
    x->fill = fill > x->fill ? fill : x->fill;
}

/* Whether the poll has records left to take from this ring. */
static bool is_short(const struct external_process *p, uint32_t ring)
{
    return packetize_waiting(p, ring) != 0 && (int32_t)(p->at->rings[ring].goal - tail_of(p, ring)) > 0;
}

static void begin_next_at(struct poll *poll, uint32_t place, uint32_t ring)
{
    bool behind = ring >= poll->x->processes[place]->at->ring_count;
    poll->place = behind ? place + 1 : place;
    poll->next_ring = behind ? 0 : ring;
}

/* One turn of a ring. Returns whether more of the poll's records are left, and may find room. */
static bool take_turn(struct poll *poll, uint32_t place, uint32_t ring)
{
    struct external_process *p = poll->x->processes[place];
    uint32_t left = poll->limit - poll->done;
    uint32_t done = packetize_ring(poll->x, p, ring, poll->now, left < POLL_TURN ? left : POLL_TURN);
    poll->done += done;
    poll->x->took_sut = poll->x->took_sut || (done != 0 && p->role == ROLE_SUT);
    if (done != 0)
        idle_activate(poll->x, place, poll->now);
    if (poll->done == poll->limit) {
        begin_next_at(poll, place, ring + 1);
    } else if (done == 0 && !poll->blocked && !p->at->rings[ring].broken) {
        poll->blocked = true;
        begin_next_at(poll, place, ring);
    }
    return done != 0 && is_short(p, ring);
}

/* The first turn of rings `from` .. `to` - 1 of a process. Sets how far this poll is to read them. */
static void first_turns(struct poll *poll, uint32_t place, uint32_t from, uint32_t to)
{
    struct external_process *p = poll->x->processes[place];
    if (!packetize_ready(poll->x, p, poll->now)) {
        poll->unready = poll->unready || packetize_waits(p);
        return;
    }
    for (uint32_t n = 0; n < p->at->live_count && poll->done < poll->limit; n++) {
        uint32_t i = p->at->live[n], waiting = i >= from && i < to ? packetize_waiting(p, i) : 0;
        if (waiting == 0)
            continue;
        p->at->rings[i].goal = tail_of(p, i) + waiting;
        note_fill(poll->x, p, i, waiting);
        if (take_turn(poll, place, i))
            bitset_add(&poll->more, place);
    }
}

/* A further turn of each ring of a process that is not at its goal. */
static void further_turns(struct poll *poll, uint32_t place)
{
    const struct external_process *p = poll->x->processes[place];
    bool more = false;
    for (uint32_t n = 0; n < p->at->live_count && poll->done < poll->limit; n++) {
        uint32_t i = p->at->live[n];
        if (is_short(p, i) && take_turn(poll, place, i))
            more = true;
    }
    if (!more)
        bitset_remove(&poll->more, place);
}

/* The number in `set` that follows `place`, the lowest again behind the highest; -1 where it is empty. */
static int next_in_turn(const struct bitset *set, uint32_t place)
{
    int i = bitset_next(set, place);
    return i < 0 ? bitset_next(set, 0) : i;
}

/* ---- the low watermark ------------------------------------------------------------------------------------------- */

#define LOW_EVERY INT64_C(10000000) /* ns between two looks at what polls have left */

/* A poll took what waited when it began: what was published up to the one before, even if it was under way then. */
static void note_complete(struct external *x, int64_t now)
{
    if (x->polled_at > x->polled_low)
        x->polled_low = x->polled_at;
    x->polled_at = now;
}

/* A poll left records: they are not earlier than the last ones that were taken from their rings. */
static void note_left(struct external *x, int64_t now)
{
    int64_t low = now;
    x->low_due = now + LOW_EVERY;
    for
        BITSET_EACH (place, &x->polled) {
            const struct external_process *p = x->processes[place];
            for (uint32_t n = 0; n < p->at->live_count; n++) {
                const struct attached_ring *ring = &p->at->rings[p->at->live[n]];
                if (packetize_waiting(p, p->at->live[n]) == 0)
                    continue;
                int64_t last =
                    ring->stream < 0 ? 0 : (int64_t)window_stream(x->window, (uint32_t)ring->stream)->last_ns;
                low = last < low ? last : low;
            }
        }
    if (low < now && low > x->polled_low)
        x->polled_low = low;
}

/* Where nothing is polled, nothing is recorded: off, paused, asleep. */
int64_t external_low(struct external *x, int64_t now)
{
    bool still = !x->collecting || external_sleeps(x);
    int64_t low = still ? x->low_at : x->polled_low;
    x->low_at = now;
    if (low > x->low)
        x->low = low;
    return x->low;
}

/* ---- polls ------------------------------------------------------------------------------------------------------- */

static uint32_t poll_limit(const struct external_options *o)
{
    return !o->batch ? 1 : o->batch_limit ? o->batch_limit : UINT32_MAX;
}

static bool anything_waits(const struct external *x)
{
    for
        BITSET_EACH (i, &x->polled)
            if (packetize_waits(x->processes[i]))
                return true;
    return false;
}

/* All rings in turn, from where the last poll ended. */
static uint32_t poll_rings(struct external *x, int64_t now, uint32_t limit)
{
    int start = next_in_turn(&x->polled, x->next_place);
    if (start < 0) {
        note_complete(x, now);
        return 0;
    }
    struct poll poll = {.x = x, .now = now, .limit = limit};
    uint32_t place = (uint32_t)start, first = place == x->next_place ? x->next_ring : 0;
    begin_next_at(&poll, place, first + 1);
    first_turns(&poll, place, first, SEGMENT_RINGS_MAX);
    for (int i = start; (i = next_in_turn(&x->polled, (uint32_t)i + 1)) != start && poll.done < poll.limit;)
        first_turns(&poll, (uint32_t)i, 0, SEGMENT_RINGS_MAX);
    if (first > 0)
        first_turns(&poll, place, 0, first);
    while (!bitset_empty(&poll.more) && poll.done < poll.limit)
        for
            BITSET_EACH (i, &poll.more)
                further_turns(&poll, (uint32_t)i);
    x->next_place = poll.place;
    x->next_ring = poll.next_ring;
    if (x->accumulate.records > 1)
        accumulate_took(&x->accumulate, now, poll.done < limit ? !poll.blocked && !poll.unready : !anything_waits(x));
    if (poll.done < limit && !poll.blocked && !poll.unready)
        note_complete(x, now);
    else if (now >= x->low_due)
        note_left(x, now);
    return poll.done;
}

/* ---- Accumulating ------------------------------------------------------------------------------------------------ */

enum { POLL_SLOTS_MAX = 4 /* of a record with RING_VALUES_MAX values */ };

/*
 * The number of records in `waiting` bytes of `ring`, which may be impossible by now. Each record is looked at once, by
 * the first poll that has to count it.
 */
static uint32_t count_records(struct attached_ring *ring, uint32_t waiting)
{
    const struct ring_reader *reader = &ring->reader;
    waiting = waiting < reader->bytes ? waiting : reader->bytes;
    if (ring->counted_from != reader->tail || ring->counted_bytes > waiting) {
        ring->counted_from = reader->tail;
        ring->counted_bytes = ring->counted = 0;
    }
    while (ring->counted_bytes < waiting) {
        uint32_t bytes = ring_record_bytes(reader, reader->tail + ring->counted_bytes);
        ring->counted_bytes += bytes < waiting - ring->counted_bytes ? bytes : waiting - ring->counted_bytes;
        ring->counted++;
    }
    return ring->counted;
}

static uint64_t count_all(const struct external *x)
{
    uint64_t records = 0;
    for
        BITSET_EACH (i, &x->polled) {
            struct external_process *p = x->processes[i];
            for (uint32_t n = 0; n < p->at->live_count; n++)
                records += count_records(&p->at->rings[p->at->live[n]], packetize_waiting(p, p->at->live[n]));
        }
    return records;
}

/* Whether `waiting` bytes of ring `ring` must not wait: it is half full, or has a part of a snapshot. */
static bool is_pressing(const struct external_process *p, uint32_t ring, uint32_t waiting)
{
    return waiting > 0 && (waiting >= p->at->rings[ring].reader.bytes / 2 || p->at->when_full == SEGMENT_OVERWRITE);
}

static uint64_t count_slots(struct external *x, struct external_process *p, bool *pressing)
{
    uint64_t slots = 0;
    segment_refresh_rings(p->at);
    for (uint32_t n = 0; n < p->at->live_count; n++) {
        uint32_t i = p->at->live[n], waiting = packetize_waiting(p, i);
        slots += waiting / RING_SLOT_BYTES;
        if (waiting != 0)
            note_fill(x, p, i, waiting);
        *pressing = *pressing || is_pressing(p, i, waiting);
    }
    return slots;
}

/* A record takes 1 to POLL_SLOTS_MAX slots, so most polls need not look into the rings. */
static bool is_enough(struct external *x, int64_t now)
{
    struct accumulate *a = &x->accumulate;
    uint64_t slots = 0;
    bool pressing = false;
    for
        BITSET_EACH (i, &x->polled)
            slots += count_slots(x, x->processes[i], &pressing);
    bool clear = pressing || slots < a->records || slots / POLL_SLOTS_MAX >= a->records;
    return accumulate_takes(a, now, clear ? slots : count_all(x), pressing);
}

/* ---- A look ------------------------------------------------------------------------------------------------------ */

/*
 * Most polls find nothing. A look finds out whether this one would, and reads only what others write: arrivals, wake
 * bits, the counts of changed rings, and heads, from a list. It changes nothing that a poll would have to know.
 */

static bool any_wake_bit(const struct external *x)
{
    uint32_t wakes = 0;
    for (uint32_t w = 0; w < idle_wake_words(x); w++)
        wakes |=
            atomic_load_explicit(&x->doorbell->wake_bits[w], memory_order_relaxed); /* relaxed: a poll reads again */
    return wakes != 0;
}

/* Lists the rings of `p`. False: one cannot be compared, or records wait in it. */
static bool list_heads(struct external_heads *heads, const struct external_process *p)
{
    const struct attached *a = p->at;
    for (uint32_t n = 0; n < a->live_count; n++) {
        const struct attached_ring *ring = &a->rings[a->live[n]];
        if (packetize_waiting(p, a->live[n]) != 0 || heads->count == EXTERNAL_HEADS)
            return false;
        if (ring->broken || a->when_full == SEGMENT_OVERWRITE) /* only snapshots add to its copy */
            continue;
        heads->list[heads->count].head = &ring->reader.ring->head;
        heads->list[heads->count++].seen = ring->reader.tail;
    }
    heads->changes[heads->change_count].changes = &a->segment->ring_changes;
    heads->changes[heads->change_count++].seen = a->ring_changes;
    return !a->leaving;
}

static bool know_heads(struct external *x)
{
    x->heads.count = x->heads.change_count = 0;
    for
        BITSET_EACH (i, &x->polled)
            if (!list_heads(&x->heads, x->processes[i]))
                return false;
    return x->heads.known = true;
}

static bool any_head_moved(const struct external_heads *heads)
{
    uint32_t moved = 0;
    for (uint32_t i = 0; i < heads->change_count; i++)
        /* relaxed: a poll reads it again, by T1 */
        moved |= atomic_load_explicit(heads->changes[i].changes, memory_order_relaxed) ^ heads->changes[i].seen;
    for (uint32_t i = 0; i < heads->count; i++)
        moved |= __atomic_load_n(heads->list[i].head, __ATOMIC_RELAXED) ^ heads->list[i].seen; /* relaxed: then R1 */
    return moved != 0;
}

bool external_is_still(struct external *x, int64_t now)
{
    uint32_t arrivals = atomic_load_explicit(&x->doorbell->arrivals, memory_order_relaxed); /* relaxed: then B1 */
    if ((arrivals != x->arrivals && now >= x->arrivals_due) || any_wake_bit(x) || x->user_clocks || !x->collecting ||
        now >= timebase_due(&x->counter))
        return false;
    if (!(x->heads.known || (x->heads.worth && know_heads(x))) || any_head_moved(&x->heads))
        return false;
    x->fill = 0;
    x->took_sut = false;
    if (x->accumulate.records > 1)
        accumulate_took(&x->accumulate, now, true);
    note_complete(x, now);
    return true;
}

/* ---- Looks in a row ---------------------------------------------------------------------------------------------- */

/* Adds what a look reads of `p`. This process's own records come from the thread that looks. */
static bool add_to_row(struct external_row *row, const struct external_process *p)
{
    const struct attached *a = p->at;
    if (p->own)
        return true;
    if (row->count + 1 + a->live_count > EXTERNAL_ROW_HEADS)
        return false;
    row->heads[row->count].head = &a->segment->ring_changes;
    row->heads[row->count++].seen = a->ring_changes;
    for (uint32_t n = 0; n < a->live_count; n++) {
        const struct attached_ring *ring = &a->rings[a->live[n]];
        if (ring->broken || a->when_full == SEGMENT_OVERWRITE)
            continue;
        row->heads[row->count].head = (const _Atomic uint32_t *)&ring->reader.ring->head;
        row->heads[row->count++].seen = ring->reader.tail;
    }
    return true;
}

bool external_row_begin(const struct external *x, int64_t now, struct external_row *row)
{
    if (!x->heads.known || x->accumulate.records > 1 || idle_wake_words(x) > 1)
        return false;
    *row = (struct external_row){.arrivals = &x->doorbell->arrivals,
                                 .wake_bits = x->doorbell->wake_bits,
                                 .arrived = x->arrivals,
                                 .wake_words = idle_wake_words(x),
                                 .until = timebase_due(&x->counter),
                                 .at = now,
                                 .before = now};
    if (x->proof.needless || x->proof.proven)
        row->line = timebase_line(&x->counter, bezel_counter());
    for
        BITSET_EACH (i, &x->polled)
            if (!add_to_row(row, x->processes[i]))
                return false;
    return true;
}

int64_t external_row_now(const struct external_row *row, int64_t due)
{
    uint64_t after = bezel_counter() - row->line.ticks;
    int64_t now = after < row->line.span ? (int64_t)timebase_along(&row->line, after) : due - 1;
    return now >= due && now - due < ROW_LATE ? now : clock_now();
}

bool external_row_is_still(struct external_row *row, int64_t now)
{
    uint32_t moved = atomic_load_explicit(row->arrivals, memory_order_relaxed) ^ row->arrived; /* relaxed: then B1 */
    if (now >= row->until)
        return false;
    for (uint32_t w = 0; w < row->wake_words; w++)
        moved |= atomic_load_explicit(&row->wake_bits[w], memory_order_relaxed); /* relaxed: a poll reads it again */
    for (uint32_t i = 0; i < row->count; i++)
        moved |=
            atomic_load_explicit(row->heads[i].head, memory_order_relaxed) ^ row->heads[i].seen; /* relaxed: R1, T1 */
    if (moved)
        return false;
    row->before = row->at;
    row->at = now;
    return true;
}

void external_row_end(struct external *x, const struct external_row *row)
{
    if (row->at == x->polled_at)
        return;
    note_complete(x, row->before);
    note_complete(x, row->at);
}

/* ---- Interface --------------------------------------------------------------------------------------------------- */

static void look_around(struct external *x, int64_t now)
{
    discover_arrivals(x, now);
    idle_wake(x, now);
    external_clock_poll(x, now);
}

static uint32_t poll_now(struct external *x, int64_t now)
{
    x->heads.known = x->took_sut = false;
    x->fill = 0;
    look_around(x, now);
    if (!x->collecting)
        return 0;
    if (accumulate_asks(&x->accumulate) && !is_enough(x, now)) {
        note_complete(x, x->accumulate.since); /* nothing that waits is older */
        return 0;
    }
    return poll_rings(x, now, poll_limit(&x->options));
}

uint32_t external_poll(struct external *x, int64_t now)
{
    if (external_is_still(x, now))
        return 0;
    uint32_t done = poll_now(x, now);
    x->heads.worth = done <= EXTERNAL_HEADS_WORTH;
    return done;
}

uint32_t external_fill(const struct external *x)
{
    return x->fill;
}

bool external_took_sut(const struct external *x)
{
    return x->took_sut;
}

uint32_t external_flush(struct external *x, int64_t now)
{
    x->heads.known = false;
    look_around(x, now);
    return poll_rings(x, now, UINT32_MAX);
}
