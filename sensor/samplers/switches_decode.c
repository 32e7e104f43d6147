// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/samplers/switches_decode.h"

#include "base/saturate.h"

#include <linux/perf_event.h>
#include <string.h>

/* ---- Records of the kernel --------------------------------------------------------------------------------------- */

enum { LONGEST = 64 }; /* bytes of a record of a thread's ring */

/* What ends each record, in the kernel's order: sample_id_all with TID, TIME and CPU. */
struct sample_id {
    uint32_t pid, thread;
    uint64_t time;
    uint32_t cpu, unused;
};

static void copy(const struct switches_bytes *b, uint64_t at, void *to, uint64_t n)
{
    uint64_t from = at & (b->size - 1), first = b->size - from < n ? b->size - from : n;
    memcpy(to, b->ring + from, first);
    memcpy((uint8_t *)to + first, b->ring, n - first);
}

bool switches_next_record(struct switches_bytes *b, struct switches_record *r, bool *broken)
{
    struct perf_event_header h;
    if (b->head - b->at > b->size) { /* the kernel does not write over what was not taken */
        *broken = true;
        b->at = b->head;
    }
    if (b->head == b->at)
        return false;
    uint64_t left = b->head - b->at, from = b->at & (b->size - 1);
    uint64_t room = b->size - from, most = left < sizeof r->joined ? left : sizeof r->joined;
    r->bytes = b->ring + from;
    if (room < most) {
        copy(b, b->at, r->joined, most);
        r->bytes = r->joined;
    }
    if (left >= sizeof h)
        memcpy(&h, r->bytes, sizeof h);
    if (left < sizeof h || h.size < sizeof h || h.size > left) {
        *broken = true;
        b->at = b->head;
        return false;
    }
    b->at += h.size;
    r->type = h.type;
    r->misc = h.misc;
    r->size = h.size;
    r->shift = b->shift;
    return true;
}

bool switches_read_id(const struct switches_record *r, uint32_t body, struct switches_event *e)
{
    struct sample_id id;
    if (r->size > SWITCHES_RECORD_BYTES || r->size < body + sizeof id)
        return false;
    memcpy(&id, r->bytes + body, sizeof id);
    *e = (struct switches_event){.pid = id.pid, .thread = id.thread, .cpu = id.cpu};
    e->time = saturate_add(saturate_time(id.time), r->shift);
    return true;
}

enum switches_what switches_direction(const struct switches_record *r)
{
    return !(r->misc & PERF_RECORD_MISC_SWITCH_OUT)        ? SWITCHES_IN
           : r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? SWITCHES_PREEMPTED
                                                           : SWITCHES_WAITED;
}

bool switches_read_lost(const struct switches_record *r, struct switches_event *e)
{
    uint32_t header = sizeof(struct perf_event_header);
    if (!switches_read_id(r, header + 2 * sizeof(uint64_t), e))
        return false;
    e->what = SWITCHES_LOST;
    memcpy(&e->lost, r->bytes + header + sizeof(uint64_t), sizeof e->lost);
    return true;
}

static bool read_event(const struct switches_record *r, struct switches_event *e)
{
    uint32_t header = sizeof(struct perf_event_header);
    if (r->type == PERF_RECORD_LOST)
        return switches_read_lost(r, e);
    bool exits = r->type == PERF_RECORD_EXIT;
    if ((!exits && r->type != PERF_RECORD_SWITCH) ||
        !switches_read_id(r, exits ? header + 4 * sizeof(uint32_t) + sizeof(uint64_t) : header, e))
        return false;
    e->what = exits ? SWITCHES_EXITED : switches_direction(r);
    return true;
}

bool switches_next(struct switches_bytes *b, struct switches_event *e, bool *broken)
{
    struct switches_record r;
    while (switches_next_record(b, &r, broken))
        if (read_event(&r, e))
            return true;
    return false;
}

bool switches_full(const struct switches_bytes *b)
{
    return b->size - (b->head - b->at) < 2 * LONGEST; /* a record, and the count of lost ones */
}

/* ---- Intervals --------------------------------------------------------------------------------------------------- */

void switches_begin(struct switches_thread *t, int64_t now)
{
    *t = (struct switches_thread){.last = now, .begin = now, .whole = true};
}

/* For how long the thread can have been ready, of the time off its CPU that ends at `now` by event `e`. */
static int64_t may_be_ready(const struct switches_thread *t, const struct switches_event *e, int64_t now)
{
    bool woken = !t->preempted && e->woken > t->since && e->woken <= now;
    return now - (woken ? e->woken : t->since);
}

void switches_add_gap(struct switches_gaps *g, const struct switches_thread *t, const struct switches_event *e)
{
    if (e->what == SWITCHES_LOST || (e->what == SWITCHES_IN && t->state != SWITCHES_STATE_OFF))
        g->queued = SWITCHES_UNKNOWN;
    if (e->what != SWITCHES_IN || t->state != SWITCHES_STATE_OFF)
        return;
    *(t->preempted ? &g->preempted : &g->waited) += may_be_ready(t, e, saturate_most(e->time, t->last));
}

void switches_pass(struct switches_thread *t, const struct switches_event *e)
{
    if (t->state == SWITCHES_STATE_GONE)
        return;
    if (e->what == SWITCHES_LOST) {
        t->state = e->lost ? SWITCHES_STATE_UNKNOWN : t->state;
        return;
    }
    t->last = saturate_most(t->last, e->time);
    t->state = e->what == SWITCHES_IN       ? SWITCHES_STATE_ON
               : e->what == SWITCHES_EXITED ? SWITCHES_STATE_GONE
                                            : SWITCHES_STATE_OFF;
    if (e->what != SWITCHES_IN)
        t->since = t->last;
    t->preempted = e->what == SWITCHES_PREEMPTED;
}

/*
 * A thread that was preempted was ready for all of the time. What the kernel counted above that in the stretch belongs
 * to the waits in it: to this one at least what cannot have been in others, as the thread was not woken yet there.
 */
static void split_gap(struct switches_thread *t, const struct switches_gaps *g, int64_t most)
{
    t->ready_least = t->ready_most = most;
    if (t->preempted)
        return;
    t->ready_least = 0;
    if (g->queued == SWITCHES_UNKNOWN)
        return;
    int64_t queued = saturate_most(g->queued - g->preempted, 0), others = saturate_most(g->waited - most, 0);
    t->ready_least = saturate_between(queued - others, 0, most);
    if (most == t->off) /* when it was woken is not known */
        t->ready_most = queued < most ? queued : most;
}

/*
 * Of the records that are missing before this one every second one ended an interval: the last of them did if a switch
 * into a CPU follows.
 */
static void take_missing(struct switches_thread *t, bool enters)
{
    t->lost += t->missing / 2 + (enters && t->missing % 2);
    t->missing = 0;
}

static void enter(struct switches_thread *t, int64_t now, const struct switches_event *e, const struct switches_gaps *g)
{
    if (t->state == SWITCHES_STATE_ON) /* its end is missing, and no loss was said */
        t->lost++;
    take_missing(t, true);
    t->off = t->ready_least = t->ready_most = SWITCHES_UNKNOWN;
    if (t->state == SWITCHES_STATE_OFF) {
        t->off = now - t->since;
        split_gap(t, g, may_be_ready(t, e, now));
    }
    t->state = SWITCHES_STATE_ON;
    t->begin = now;
    t->cpu = e->cpu;
}

static void complete(struct switches_thread *t, int64_t now, enum switches_end ended, struct switches_interval *i)
{
    *i = (struct switches_interval){.begin = t->begin,
                                    .end = now,
                                    .off = t->off,
                                    .ready_least = t->ready_least,
                                    .ready_most = t->ready_most,
                                    .cpu = t->cpu,
                                    .ended = ended};
}

/* A thread that was recorded from the middle of an interval on is on its CPU since then. */
static void know_on(struct switches_thread *t, uint32_t cpu)
{
    t->state = SWITCHES_STATE_ON;
    t->cpu = cpu;
    t->off = t->ready_least = t->ready_most = SWITCHES_UNKNOWN;
}

static bool leave(struct switches_thread *t, int64_t now, const struct switches_event *e, struct switches_interval *i)
{
    bool ended = e->what == SWITCHES_EXITED;
    if (t->state == SWITCHES_STATE_UNKNOWN && t->whole)
        know_on(t, e->cpu);
    bool known = t->state == SWITCHES_STATE_ON;
    if (known)
        complete(t, now, (enum switches_end)(e->what - SWITCHES_WAITED), i);
    else if (!ended || t->state == SWITCHES_STATE_UNKNOWN) /* its begin is missing */
        t->lost++;
    take_missing(t, false);
    t->state = ended ? SWITCHES_STATE_GONE : SWITCHES_STATE_OFF;
    t->since = now;
    t->preempted = e->what == SWITCHES_PREEMPTED;
    return known;
}

bool switches_feed(struct switches_thread *t, const struct switches_event *e, const struct switches_gaps *g,
                   struct switches_interval *i)
{
    if (t->state == SWITCHES_STATE_GONE)
        return false;
    if (e->what == SWITCHES_LOST) {
        t->missing += e->lost;
        t->whole = t->whole && !e->lost;
        t->state = e->lost ? SWITCHES_STATE_UNKNOWN : t->state;
        return false;
    }
    t->last = saturate_most(t->last, e->time);
    if (e->what != SWITCHES_IN)
        return leave(t, t->last, e, i);
    enter(t, t->last, e, g);
    return false;
}

bool switches_cut(struct switches_thread *t, int64_t now, bool on, struct switches_interval *i)
{
    if (t->state == SWITCHES_STATE_UNKNOWN && t->whole && on)
        know_on(t, t->cpu);
    if (t->state != SWITCHES_STATE_ON || now <= t->begin || now < t->last)
        return false;
    complete(t, now, SWITCHES_END_GOES_ON, i);
    t->last = t->begin = now;
    t->off = t->ready_least = t->ready_most = 0;
    return true;
}

void switches_wait(struct switches_thread *t)
{
    t->state = SWITCHES_STATE_OFF;
    t->since = t->begin;
    t->preempted = false;
}

void switches_finish(struct switches_thread *t)
{
    take_missing(t, true);
    t->state = SWITCHES_STATE_GONE;
}
