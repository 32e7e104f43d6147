// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A segment's rings and counters: which rings there are, and the counts at the start of a session. */
#include "base/clock.h"
#include "sensor/external/attach.h"
#include "sensor/external/program_knobs.h"

#include <string.h>

/* ---- Rings ------------------------------------------------------------------------------------------------------- */

/* Whether a ring's counter is possible: at most one for each nanosecond since the machine started. */
static bool is_possible(uint64_t count)
{
    return count <= (uint64_t)clock_now();
}

static struct attached_ring take_in_ring(struct attached *a, uint32_t i)
{
    char *at = (char *)a->segment + segment_ring_offset() + i * segment_ring_stride(a->ring_slots);
    struct bezel_ring *ring = (struct bezel_ring *)(void *)at;
    uint64_t base = bezel_tally_get(&ring->base_ordinal);
    if (!is_possible(base)) {
        a->disbelieved = true;
        base = 0;
    }
    return (struct attached_ring){
        .reader = ring_reader(ring, a->ring_slots),
        .stream = -1,
        .base_ordinal = base,
    };
}

/* Whether a poll may pass over a ring in `state`: without owner, drained, and not for a later snapshot. */
static bool is_idle(const struct attached *a, uint32_t i, uint32_t state)
{
    return state != SEGMENT_RING_OWNED && a->when_full != SEGMENT_OVERWRITE && ring_waiting(&a->rings[i].reader) == 0;
}

uint32_t segment_ring_thread(const struct attached *a, uint32_t i)
{
    const struct bezel_ring *ring = a->rings[i].reader.ring;
    if (!ring)
        return 0;
    uint32_t generation = __atomic_load_n(&ring->generation, __ATOMIC_RELAXED); /* relaxed: the next call corrects it */
    return __atomic_load_n(&ring->thread[generation % RING_OWNERS], __ATOMIC_RELAXED); /* relaxed: likewise */
}

void segment_search_rings(struct attached *a)
{
    a->live_count = 0;
    a->leaving = false;
    for (uint32_t i = 0; i < a->ring_max; i++) {
        uint32_t state =
            atomic_load_explicit(&a->segment->ring_state[i], memory_order_acquire); /* H1 acquire: pairs H0, C0 */
        bool has_memory = state == SEGMENT_RING_OWNED || state == SEGMENT_RING_RELEASED;
        if (!a->rings[i].reader.ring && !has_memory)
            continue;
        if (!a->rings[i].reader.ring)
            a->rings[i] = take_in_ring(a, i);
        if (i >= a->ring_count)
            a->ring_count = i + 1;
        if (is_idle(a, i, state))
            continue;
        a->leaving = a->leaving || state != SEGMENT_RING_OWNED;
        a->live[a->live_count++] = (uint16_t)i;
    }
}

void segment_refresh_rings(struct attached *a)
{
    uint32_t changes = atomic_load_explicit(&a->segment->ring_changes, memory_order_acquire); /* T1 acquire: pairs T0 */
    if (changes == a->ring_changes && !a->leaving)
        return;
    a->ring_changes = changes;
    segment_search_rings(a);
}

void segment_set_mode(struct attached *a, enum segment_enable mode)
{
    atomic_store_explicit(&a->segment->wake_bit, 0, memory_order_relaxed); /* relaxed: one wake too many does no harm */
    atomic_store_explicit(&a->segment->mode, mode, memory_order_relaxed);  /* relaxed: late by a record is in time */
    for (uint32_t i = 1; i < RING_ASPECTS; i++)
        atomic_store_explicit(&a->segment->enable[i], mode, memory_order_relaxed); /* relaxed: likewise */
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* relaxed: exact once R1 has seen the records */
}

static void write_counter(uint64_t *counter, uint64_t value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELAXED); /* relaxed: for the next daemon */
}

/* The counters of aspect `id`, over all rings, since the process began. */
static struct segment_tally sum_rings(const struct attached *a, uint32_t id)
{
    struct segment_tally sum = {0};
    for (uint32_t i = 0; i < a->ring_count; i++) {
        if (!a->rings[i].reader.ring)
            continue;
        const struct bezel_ring *ring = a->rings[i].reader.ring;
        sum.attempts += bezel_tally_get(&ring->attempts[id]);
        sum.full += bezel_tally_get(&ring->full[id]);
        sum.off += bezel_tally_get(&ring->off[id]);
    }
    return sum;
}

/*
 * Adds what `ring` has counted, and makes that its base. What waits in the ring is skipped first, and losses are read
 * before attempts, since a record that is lost is counted in the other order: a thread that goes on meanwhile, with a
 * record that it began when it was still to be recorded, then never looks like a loss without an attempt of this
 * session, or an attempt of it that came to nothing.
 */
static void begin_ring(struct attached_ring *ring, struct segment_tally sums[RING_ASPECTS])
{
    struct bezel_ring *r = ring->reader.ring;
    ring_skip(&ring->reader);
    ring->base_ordinal = 0;
    for (uint32_t id = 0; id < RING_ASPECTS; id++) {
        sums[id].full += bezel_tally_get(&r->full[id]);
        sums[id].off += bezel_tally_get(&r->off[id]);
    }
    for (uint32_t id = 0; id < RING_ASPECTS; id++) {
        uint64_t attempts = bezel_tally_get(&r->attempts[id]);
        sums[id].attempts += attempts;
        ring->base_ordinal += attempts;
    }
    write_counter(&r->base_ordinal, ring->base_ordinal);
}

void segment_begin_session(struct attached *a, const uint8_t run[16])
{
    struct segment *s = a->segment;
    struct segment_tally sums[RING_ASPECTS] = {{0}};
    for (uint32_t i = 0; i < a->ring_count; i++)
        if (a->rings[i].reader.ring)
            begin_ring(&a->rings[i], sums);
    for (uint32_t id = 0; id < RING_ASPECTS; id++) {
        s->base_unringed[id] = read_counter(&s->unringed[id].lost);
        write_counter(&s->base[id].attempts, sums[id].attempts);
        write_counter(&s->base[id].full, sums[id].full);
        write_counter(&s->base[id].off, sums[id].off);
        s->loss_causes[id] = (struct segment_loss_causes){.state = {{.seen = sums[id].full}}};
        if (s->reductions[id].state[0].taken || s->reductions[id].state[1].taken) /* the page stays a hole */
            s->reductions[id] = (struct segment_reductions){0};
    }
    if (memcmp(s->session, run, sizeof s->session) != 0) { /* else the session before set them, for this run */
        segment_reset_knobs(a);
        memset(s->open_told, 0, sizeof s->open_told);
    }
    atomic_signal_fence(memory_order_seq_cst); /* after a kill before this point, the session begins anew */
    memcpy(s->session, run, sizeof s->session);
    memcpy(a->session, run, sizeof a->session);
}

void segment_loss_cause(struct attached *a, enum segment_cause cause)
{
    for (uint32_t id = 1; a->dict && id <= a->dict->aspect_count && id < RING_ASPECTS; id++) {
        struct segment_loss_causes *all = &a->segment->loss_causes[id];
        struct segment_loss_cause next = all->state[all->current & 1];
        uint64_t full = sum_rings(a, id).full, more = full - next.seen;
        if (more == 0)
            continue;
        next.seen = full;
        next.window += cause == SEGMENT_CAUSE_WINDOW ? more : 0;
        next.spool += cause == SEGMENT_CAUSE_SPOOL ? more : 0;
        all->state[~all->current & 1] = next;
        atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the old state in force */
        all->current = ~all->current & 1;
    }
}

/* Losses booked to the window and the spool; 0 where a hostile segment claims more than its rings lost. */
static struct segment_loss_cause read_loss_cause(const struct segment *s, uint32_t id, uint64_t full)
{
    struct segment_loss_cause b = s->loss_causes[id].state[s->loss_causes[id].current & 1];
    if (b.window > full || b.spool > full - b.window)
        b.window = b.spool = 0;
    return b;
}

/* How much a counter grew since the session began, when it was `base`; 0 where that is impossible. */
static uint64_t grown(struct attached *a, uint64_t value, uint64_t base)
{
    uint32_t writers = a->ring_count ? a->ring_count : 1;
    if (value < base || !is_possible((value - base) / writers))
        a->disbelieved = true;
    return a->disbelieved ? 0 : value - base;
}

uint64_t segment_attempts(struct attached *a, const struct attached_ring *ring)
{
    uint64_t attempts = bezel_ring_attempts(ring->reader.ring);
    (void)grown(a, attempts, ring->base_ordinal);
    if (bezel_tally_get(&ring->reader.ring->attempts[0]) != 0) /* aspect 0 does not exist */
        a->disbelieved = true;
    return attempts;
}

struct message_books_row segment_tally(struct attached *a, uint32_t id)
{
    const struct segment *s = a->segment;
    struct segment_tally sum = sum_rings(a, id);
    uint64_t attempts = grown(a, sum.attempts, bezel_tally_get(&s->base[id].attempts));
    uint64_t full = grown(a, sum.full, bezel_tally_get(&s->base[id].full));
    uint64_t off = grown(a, sum.off, bezel_tally_get(&s->base[id].off));
    uint64_t no_ring = grown(a, read_counter(&s->unringed[id].lost), bezel_tally_get(&s->base_unringed[id]));
    attempts -= attempts < a->late[id] ? attempts : a->late[id];
    struct segment_loss_cause elsewhere = read_loss_cause(s, id, full);
    if (a->disbelieved)
        return (struct message_books_row){.aspect = id};
    return (struct message_books_row){.aspect = id,
                                      .attempts = attempts + no_ring,
                                      .full = full - elsewhere.window - elsewhere.spool,
                                      .off = off,
                                      .no_ring = no_ring,
                                      .window = elsewhere.window,
                                      .spool = elsewhere.spool};
}
