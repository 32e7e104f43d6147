// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/samplers/switches_cpu.h"

#include "base/clock.h"

#include <linux/perf_event.h>
#include <string.h>

/* ---- Records of the kernel --------------------------------------------------------------------------------------- */

enum { HEADER = sizeof(struct perf_event_header), SAMPLE_FIELDS = 24, IN_HARDIRQ = 0x08, IN_SOFTIRQ = 0x10 };

static void take_id(struct switches_cpu_event *e, const struct switches_event *id)
{
    e->time = id->time;
    e->pid = id->pid;
    e->thread = id->thread;
}

/* A thread that leaves is followed by another one, whose record comes too; either of them may be missing. */
static bool read_switch(const struct switches_record *r, struct switches_cpu_event *e)
{
    struct switches_event id;
    if (!switches_read_id(r, HEADER + 2 * sizeof(uint32_t), &id))
        return false;
    e->what = SWITCHES_CPU_COMES;
    take_id(e, &id);
    e->leaves = SWITCHES_NOBODY;
    if (switches_direction(r) == SWITCHES_IN)
        return true;
    e->leaves = id.thread;
    memcpy(&e->pid, r->bytes + HEADER, sizeof e->pid);
    memcpy(&e->thread, r->bytes + HEADER + sizeof e->pid, sizeof e->thread);
    return true;
}

static bool read_waking(const struct switches_record *r, const struct switches_format *f, struct switches_cpu_event *e)
{
    struct switches_event id;
    uint32_t body = HEADER + SAMPLE_FIELDS + sizeof(uint32_t), bytes;
    if (r->size > SWITCHES_RECORD_BYTES || !switches_read_id(r, HEADER, &id) || r->size < body)
        return false;
    memcpy(&bytes, r->bytes + body - sizeof bytes, sizeof bytes);
    if (bytes > r->size - body || f->woken > bytes - sizeof e->woken || f->flags >= bytes || bytes < sizeof e->woken)
        return false;
    e->what = SWITCHES_CPU_WOKEN;
    take_id(e, &id);
    memcpy(&e->woken, r->bytes + body + f->woken, sizeof e->woken);
    uint8_t flags = r->bytes[body + f->flags];
    e->context = flags & IN_HARDIRQ   ? SWITCHES_BY_INTERRUPT
                 : flags & IN_SOFTIRQ ? SWITCHES_BY_SOFTIRQ
                                      : SWITCHES_BY_THREAD;
    return true;
}

static bool read_command(const struct switches_record *r, struct switches_cpu_event *e)
{
    struct switches_event id;
    uint32_t begin = HEADER + 2 * sizeof(uint32_t), end = r->size - SAMPLE_FIELDS;
    if (r->size > SWITCHES_RECORD_BYTES || r->size < begin + SAMPLE_FIELDS || !switches_read_id(r, end, &id))
        return false;
    e->what = SWITCHES_CPU_NAMED;
    take_id(e, &id);
    memset(e->command, 0, sizeof e->command);
    memcpy(e->command, r->bytes + begin, end - begin < sizeof e->command ? end - begin : sizeof e->command - 1);
    return true;
}

static bool read_record(const struct switches_record *r, const struct switches_format *f, struct switches_cpu_event *e)
{
    struct switches_event lost;
    switch (r->type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
        return read_switch(r, e);
    case PERF_RECORD_SAMPLE:
        return read_waking(r, f, e);
    case PERF_RECORD_COMM:
        return read_command(r, e);
    case PERF_RECORD_LOST:
        e->what = SWITCHES_CPU_LOST;
        if (!switches_read_lost(r, &lost))
            return false;
        take_id(e, &lost);
        return true;
    default:
        return false;
    }
}

bool switches_cpu_next(struct switches_bytes *b, const struct switches_format *format, struct switches_cpu_event *e,
                       bool *broken)
{
    struct switches_record r;
    while (switches_next_record(b, &r, broken))
        if (read_record(&r, format, e))
            return true;
    return false;
}

/* ---- Who had the CPU --------------------------------------------------------------------------------------------- */

static const struct switches_coming *coming(const struct switches_comings *c, uint64_t i)
{
    return &c->at[i % SWITCHES_COMINGS];
}

static uint64_t oldest(const struct switches_comings *c)
{
    return c->count > SWITCHES_COMINGS ? c->count - SWITCHES_COMINGS : 0;
}

/* The first coming after `time`: they are in the order of time. */
static uint64_t first_after(const struct switches_comings *c, int64_t time)
{
    uint64_t low = oldest(c), high = c->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (coming(c, middle)->time > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void switches_come(struct switches_comings *c, int64_t time, uint32_t pid, uint32_t thread)
{
    const struct switches_coming *last = c->count ? coming(c, c->count - 1) : NULL;
    if (last && last->thread == thread)
        return;
    c->at[c->count++ % SWITCHES_COMINGS] =
        (struct switches_coming){.time = last && last->time > time ? last->time : time, .pid = pid, .thread = thread};
}

void switches_leave(struct switches_comings *c, uint32_t thread)
{
    if (c->count && thread != SWITCHES_NOBODY && coming(c, c->count - 1)->thread != thread)
        switches_miss(c);
}

void switches_miss(struct switches_comings *c)
{
    if (c->count)
        c->at[(c->count - 1) % SWITCHES_COMINGS].thread = SWITCHES_NOBODY;
}

bool switches_came(const struct switches_comings *c, uint32_t thread, int64_t time)
{
    for (uint64_t i = first_after(c, time + CLOCK_MS); i > oldest(c); i--) {
        const struct switches_coming *at = coming(c, i - 1);
        if (at->thread == thread)
            return true;
        if (at->time < time - CLOCK_MS)
            break;
    }
    return false;
}

bool switches_left(const struct switches_comings *c, uint32_t thread, int64_t time)
{
    uint64_t i = first_after(c, time + CLOCK_MS);
    for (; i > oldest(c) + 1 && coming(c, i - 1)->time >= time - CLOCK_MS; i--)
        if (coming(c, i - 2)->thread == thread)
            return true;
    return false;
}

/* What two neighbours become: the time of the one that had the CPU for longer, with the other's time in it. */
static struct switches_rival joined(const struct switches_rival *a, const struct switches_rival *b)
{
    struct switches_rival r = a->had >= b->had ? *a : *b;
    if (a->thread == b->thread)
        r.had = a->had + b->had;
    r.begin = a->begin;
    r.end = b->end;
    return r;
}

static int64_t hidden_by(const struct switches_rival *a, const struct switches_rival *b)
{
    return a->thread == b->thread ? 0 : a->had < b->had ? a->had : b->had;
}

/* Joins the two neighbours by which the least time loses its name. */
static void join_least(struct switches_rival *rivals, unsigned count)
{
    unsigned least = 0;
    for (unsigned i = 1; i + 1 < count; i++)
        if (hidden_by(&rivals[i], &rivals[i + 1]) < hidden_by(&rivals[least], &rivals[least + 1]))
            least = i;
    rivals[least] = joined(&rivals[least], &rivals[least + 1]);
    memmove(&rivals[least + 1], &rivals[least + 2], (count - least - 2) * sizeof *rivals);
}

unsigned switches_rivals(const struct switches_comings *c, uint32_t thread, int64_t begin, int64_t end,
                         struct switches_rival rivals[SWITCHES_RIVALS])
{
    struct switches_rival found[SWITCHES_RIVALS + 1];
    unsigned n = 0;
    uint64_t i = first_after(c, begin);
    for (i = i > oldest(c) ? i - 1 : i; i < c->count && coming(c, i)->time < end; i++) {
        const struct switches_coming *at = coming(c, i);
        int64_t from = at->time > begin ? at->time : begin;
        int64_t to = i + 1 < c->count && coming(c, i + 1)->time < end ? coming(c, i + 1)->time : end;
        if (at->thread == SWITCHES_NOBODY || at->thread == thread || from >= to)
            continue;
        found[n++] = (struct switches_rival){from, to, to - from, at->pid, at->thread};
        if (n > SWITCHES_RIVALS) {
            join_least(found, n);
            n--;
        }
    }
    memcpy(rivals, found, n * sizeof *rivals);
    return n;
}

int64_t switches_unknown(const struct switches_comings *c, int64_t begin, int64_t end)
{
    int64_t unknown = end > begin ? end - begin : 0, to = end;
    for (uint64_t i = end > begin ? first_after(c, end - 1) : 0; i > oldest(c) && to > begin; i--) {
        const struct switches_coming *at = coming(c, i - 1);
        int64_t from = at->time > begin ? at->time : begin;
        unknown -= at->thread != SWITCHES_NOBODY ? to - from : 0;
        to = from;
    }
    return unknown;
}

/* ---- Who woke whom ----------------------------------------------------------------------------------------------- */

void switches_wake(struct switches_wakings *w, const struct switches_waking *waking)
{
    uint64_t *last = &w->last[waking->woken % SWITCHES_CHAINS];
    w->at[w->count % SWITCHES_WAKINGS] = *waking;
    w->before[w->count % SWITCHES_WAKINGS] = *last;
    *last = ++w->count;
}

const struct switches_waking *switches_waking_of(const struct switches_wakings *w, uint32_t woken, int64_t since,
                                                 int64_t end)
{
    const struct switches_waking *first = NULL;
    uint64_t gone = w->count > SWITCHES_WAKINGS ? w->count - SWITCHES_WAKINGS : 0;
    for (uint64_t i = w->last[woken % SWITCHES_CHAINS]; i > gone; i = w->before[(i - 1) % SWITCHES_WAKINGS]) {
        const struct switches_waking *at = &w->at[(i - 1) % SWITCHES_WAKINGS];
        if (at->taken < since) /* so are all before it */
            break;
        if (at->woken == woken && at->time > since && at->time <= end && (!first || at->time < first->time))
            first = at;
    }
    return first;
}
