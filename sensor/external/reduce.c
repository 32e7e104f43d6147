// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/reduce.h"

#include "sensor/external/expiry.h"
#include "sensor/external/external_internal.h"

#include <stdlib.h>
#include <string.h>

static bool make(struct external_process *p)
{
    if (!p->reduce)
        p->reduce = calloc(1, sizeof *p->reduce);
    return p->reduce != NULL;
}

/* Makes `next` the state of aspect `id`. */
static void put(struct external_process *p, uint32_t id, const struct segment_reduction *next)
{
    struct segment_reductions *all = &p->at->segment->reductions[id];
    uint64_t other = ~all->current & 1;
    p->reduce->now[id] = all->state[other] = *next;
    atomic_signal_fence(memory_order_seq_cst); /* a kill between the two leaves the old state in force */
    all->current = other;
}

/* Whether the packet was completed that `r` was written for. */
static bool is_in_force(struct external *x, const struct external_process *p, const struct segment_reduction *r)
{
    if (r->ordinal == 0)
        return true;
    int n = r->ring < SEGMENT_RINGS_MAX ? window_find(x->window, p->at->instance, (uint32_t)r->ring) : BEZEL_ENOENT;
    return n >= 0 && window_stream(x->window, (uint32_t)n)->next_ordinal >= r->ordinal;
}

/* What a killed daemon left of aspect `id`; zeros where that is impossible. False: nothing was ever written. */
static bool read_left(struct external *x, const struct external_process *p, uint32_t id, struct segment_reduction *r)
{
    struct segment_reductions left = p->at->segment->reductions[id]; /* the process can change it meanwhile */
    *r = left.state[left.current & 1];
    if (!is_in_force(x, p, r))
        *r = left.state[~left.current & 1];
    if (r->handed > r->taken || r->lost > r->taken - r->handed || r->taken > (uint64_t)INT64_MAX)
        *r = (struct segment_reduction){0};
    return left.state[0].taken || left.state[1].taken;
}

int reduce_adopt(struct external *x, struct external_process *p)
{
    for (uint32_t id = 1; id < RING_ASPECTS && p->role == ROLE_SUT; id++) {
        struct segment_reduction r;
        if (!read_left(x, p, id, &r))
            continue;
        if (!make(p))
            return BEZEL_ENOMEM;
        put(p, id, &(struct segment_reduction){.taken = r.taken, .handed = r.handed, .lost = r.taken - r.handed});
    }
    return 0;
}

int reduce_watch(struct external *x, struct external_process *p, uint32_t id)
{
    const struct external_observer *o = &x->options.observer;
    bool may = p->role == ROLE_SUT && p->at->when_full != SEGMENT_OVERWRITE && p->watch[id] >= 0 &&
               p->watch[id] != EXTERNAL_ATTENDED && !(p->expiry && p->expiry->bound[id]);
    if (!may || !o->reduces || !o->reduces(o->context, &p->at->dict->aspects[id - 1]))
        return 0;
    if (!make(p))
        return BEZEL_ENOMEM;
    p->reduce->is[id] = true;
    return 0;
}

void reduce_unwatch(struct external_process *p)
{
    if (p->reduce)
        memset(p->reduce->is, 0, sizeof p->reduce->is);
}

void reduce_commit(struct external_process *p, uint32_t ring, uint64_t ordinal)
{
    struct reduce *r = p->reduce;
    for (uint32_t id = 1; id <= p->at->dict->aspect_count; id++) {
        if (r->in_packet[id] == 0)
            continue;
        struct segment_reduction next = r->now[id];
        next.taken += r->in_packet[id];
        next.ring = ring;
        next.ordinal = ordinal;
        put(p, id, &next);
        r->in_packet[id] = 0;
    }
    r->waits = true;
}

void reduce_hand_on(struct external_process *p)
{
    struct reduce *r = p->reduce;
    for (uint32_t id = 1; id < RING_ASPECTS; id++) {
        struct segment_reduction next = r->now[id];
        if (next.taken == next.handed + next.lost)
            continue;
        next.handed = next.taken - next.lost;
        next.ordinal = 0;
        put(p, id, &next);
    }
    r->waits = false;
}

uint64_t reduce_taken(const struct external_process *p)
{
    uint64_t sum = 0;
    for (uint32_t id = 1; p->reduce && id < RING_ASPECTS; id++)
        sum += p->reduce->now[id].taken;
    return sum;
}

bool reduce_is_told(const struct external_process *p)
{
    for (uint32_t id = 1; p->reduce && id < RING_ASPECTS; id++)
        if (p->reduce->told[id].taken != p->reduce->now[id].taken ||
            p->reduce->told[id].handed != p->reduce->now[id].handed ||
            p->reduce->told[id].lost != p->reduce->now[id].lost)
            return false;
    return true;
}
