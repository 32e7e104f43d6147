// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/pace/cpu_budget.h"

#include <math.h>

#define FILLED  0.96  /* of the budget: the rest is for work that follows an admitted poll */
#define LAST    0.99  /* of the budget, for polls that rings need: no ring is to fill up while any of it is left */
#define USED_UP 0.98  /* of that: less stays unused between two readings of the clock */
#define DEAR    8     /* polls like those before, ... */
#define MUCH    0.125 /* ... and so much of what a window may use: more than both at once is work that is done once */
#define SCARCE  0.05  /* of what a window may use: with less left, polls come further apart */
#define LOOK    20e3  /* ns of CPU that a look which comes too early uses, wake-up included, at least */
#define WORTH   2     /* times what the last look used: a wait frees that much */
#define RISE    1.25  /* of a poll's cost, from one sampling interval to the next */

enum { WAITS = 8 }; /* in a window, at least: what a poll waits for may come earlier than expected */

void cpu_budget_start(struct cpu_budget *b, const struct experiment *e)
{
    *b = (struct cpu_budget){.forgave = INT64_MIN / 2};
    double least = INFINITY;
    for (uint32_t i = 0; i < e->limit_count; i++) {
        const struct experiment_limit *l = &e->limits[i];
        if (l->kind == LIMIT_HOLD && l->metric == LIMIT_ON_SENSOR_CPU && l->compare == COMPARE_AT_MOST && !l->global)
            least = fmin(least, l->bound);
    }
    if (experiment_policy_can(e->adapt.policy, POLICY_RATIONS) && isfinite(least))
        b->share = FILLED * least / 100;
    b->window = e->adapt.every > e->sensor_cpu_window ? e->adapt.every : e->sensor_cpu_window;
}

static const struct cpu_budget_mark *mark(const struct cpu_budget *b, uint64_t i)
{
    return &b->marks[i % CPU_BUDGET_MARKS];
}

static uint64_t oldest(const struct cpu_budget *b)
{
    return b->count > CPU_BUDGET_MARKS ? b->count - CPU_BUDGET_MARKS : 0;
}

/* A reading becomes a mark if it is a grain after the last one. */
static void note(struct cpu_budget *b, int64_t now, int64_t cpu)
{
    if (b->count > 0 && now - mark(b, b->count - 1)->time < b->window / CPU_BUDGET_GRAINS)
        return;
    b->marks[b->count % CPU_BUDGET_MARKS] = (struct cpu_budget_mark){now, cpu};
    b->count++;
}

/* The CPU time that was used until `time`, between marks in proportion. */
static double used_until(const struct cpu_budget *b, int64_t time)
{
    uint64_t first = oldest(b), i = b->count - 1;
    const struct cpu_budget_mark *from = mark(b, first), *to;
    if (time <= from->time)
        return (double)from->cpu - b->share * (double)(from->time - time);
    while (i > first && mark(b, i)->time > time)
        i--;
    from = mark(b, i);
    if (i == b->count - 1)
        return (double)from->cpu;
    to = mark(b, i + 1);
    return (double)from->cpu +
           (double)(to->cpu - from->cpu) * (double)(time - from->time) / (double)(to->time - from->time);
}

/* The time until which `used` of CPU time was used; that of the last mark where less was. */
static int64_t time_of(const struct cpu_budget *b, double used)
{
    uint64_t i = oldest(b);
    const struct cpu_budget_mark *from = mark(b, i), *to;
    if (used <= (double)from->cpu)
        return from->time - (int64_t)(((double)from->cpu - used) / b->share);
    while (i + 1 < b->count && (double)mark(b, i + 1)->cpu < used)
        i++;
    from = mark(b, i);
    if (i + 1 == b->count)
        return from->time;
    to = mark(b, i + 1);
    return from->time +
           (int64_t)ceil((used - (double)from->cpu) / (double)(to->cpu - from->cpu) * (double)(to->time - from->time));
}

/*
 * `cpu` without what is forgiven. Attaching to processes, which a node does once, may cost more than a window allows.
 * Deferring polls afterwards does not undo it. So, once a window, such work counts only as far as there was room.
 */
static int64_t counted(struct cpu_budget *b, int64_t now, int64_t cpu)
{
    double most = b->share * (double)b->window;
    double beyond = (double)(cpu - b->forgiven) - used_until(b, now - b->window) - most;
    if (now - b->forgave >= b->window && beyond > fmax(DEAR * b->poll, MUCH * most)) {
        b->forgiven += (int64_t)beyond;
        b->forgave = now;
    }
    return cpu - b->forgiven;
}

void cpu_budget_begin(struct cpu_budget *b, int64_t now, int64_t cpu, uint64_t polls)
{
    if (b->share > 0 && b->count > 0)
        cpu = counted(b, now, cpu);
    /* One dear poll must not defer all others for ever: so the estimate halves while there is none. The base counts as
     * cost of polls, and looks large where they are few: so the estimate rises slowly. */
    double poll = polls > 0 ? (double)(cpu - b->begun) / (double)polls : b->poll / 2;
    b->poll = b->poll > 0 ? fmin(poll, RISE * b->poll) : poll;
    b->begun = cpu;
    note(b, now, cpu);
    b->look = now;
    b->deferred = false;
}

/* How far apart polls are to be: the further, the less of what a window may use is left; no further than rings allow.
 */
static int64_t apart(const struct cpu_budget *b, double left)
{
    return (int64_t)(fmin(1, fmax(0, 1 - left / SCARCE)) * (double)b->lossless);
}

/* When the window has room again. A look that comes too early uses CPU, so a wait must free more than that. */
static int64_t next_room(const struct cpu_budget *b, int64_t now, int64_t cpu, double level)
{
    int64_t room = time_of(b, level) + b->window;
    double look = b->look_cpu > 0 ? fmax(LOOK, (double)(cpu - b->look_cpu)) : LOOK;
    return (int64_t)fmax((double)room, (double)now + WORTH * look / b->share);
}

int64_t cpu_budget_look(struct cpu_budget *b, int64_t now, int64_t cpu)
{
    double most = b->share * (double)b->window, need = fmin(b->poll, most);
    bool needed = b->lossless > 0 && now - b->last >= b->lossless;
    double reserve = needed ? (LAST / FILLED - 1) * most : 0;
    cpu = counted(b, now, cpu);
    note(b, now, cpu);
    double level = (double)cpu + need - most - reserve, spare = used_until(b, now - b->window) - level;
    b->apart = apart(b, (spare - reserve) / most);
    int64_t next = needed ? now : b->last + b->apart;
    if (spare >= 0 && next <= now) {
        b->look = now + (int64_t)fmax(spare - reserve - SCARCE * most, 0); /* no thread alone uses that up before */
        return now;
    }
    int64_t room = next > now ? next : next_room(b, now, cpu, level), latest = now + b->window / WAITS;
    b->look_cpu = cpu;
    b->deferred = true;
    b->look = now;
    return room < latest ? room : latest;
}

int64_t cpu_budget_polled(struct cpu_budget *b, int64_t now)
{
    b->last = now;
    b->look_cpu = 0;
    return now + b->apart;
}

bool cpu_budget_is_used_up(const struct cpu_budget *b, double percent)
{
    return b->share > 0 && percent >= USED_UP * 100 * b->share;
}
