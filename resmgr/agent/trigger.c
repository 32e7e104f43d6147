// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/agent/trigger.h"

#include "metric/where.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times, ascending and apart from each other; both ends are in. */
struct spans {
    uint32_t count;
    struct {
        int64_t begin, end;
    } list[TRIGGER_SPANS];
};

/* Second records of a sequence whose first one has not come, in the order of their times. */
struct seconds {
    uint32_t count;
    struct trigger_firing list[TRIGGER_SECONDS];
};

/* What a trigger is in. */
struct state {
    struct trigger_counts counts;
    int64_t fired_at; /* 0: never */
    bool pending;     /* `next` is to be taken */
    struct trigger_firing next;
    struct spans after, before; /* of a sequence: times that first records cover, and second ones not in `seconds` */
    struct seconds seconds;
    bool lasts, met, fired; /* it is violated or silent; this one has lasted for long enough; has fired */
    int64_t since;          /* when it began; of a silence: the time of the last record */
    double value;
};

/* Of an aspect that a condition reads. */
struct part {
    uint32_t trigger;
    bool is_then;
    int aspect; /* its number */
};

struct process {
    bool watched[TRIGGER_ASPECTS_MAX], read[TRIGGER_ASPECTS_MAX];
    uint64_t attempts[TRIGGER_ASPECTS_MAX];
    struct where wheres[TRIGGER_ASPECTS_MAX]; /* of parts */
};

struct trigger_set {
    const struct experiment *experiment;
    uint32_t part_count;
    int aspect_count;
    struct part parts[TRIGGER_ASPECTS_MAX];
    const char *aspects[TRIGGER_ASPECTS_MAX];
    uint32_t watchers[TRIGGER_ASPECTS_MAX];
    struct state states[EXPERIMENT_TRIGGERS_MAX];
    struct process *processes[TRIGGER_PROCESSES_MAX];
    bool processes_end;
};

/* ---- Times that are covered -------------------------------------------------------------------------------------- */

static bool covers(const struct spans *s, int64_t time)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (time >= s->list[i].begin)
            return time <= s->list[i].end;
    return false;
}

static void take_out(struct spans *s, uint32_t from, uint32_t count)
{
    memmove(&s->list[from], &s->list[from + count], (s->count - from - count) * sizeof *s->list);
    s->count -= count;
}

/* Adds `begin` to `end`. Where there are too many, the earliest is given up. */
static void cover(struct spans *s, int64_t begin, int64_t end)
{
    uint32_t from = 0, to;
    while (from < s->count && s->list[from].end < begin)
        from++;
    for (to = from; to < s->count && s->list[to].begin <= end; to++) {
        begin = s->list[to].begin < begin ? s->list[to].begin : begin;
        end = s->list[to].end > end ? s->list[to].end : end;
    }
    if (to > from) {
        take_out(s, from + 1, to - from - 1);
    } else if (s->count < TRIGGER_SPANS) {
        memmove(&s->list[from + 1], &s->list[from], (s->count - from) * sizeof *s->list);
        s->count++;
    } else if (from == 0) {
        return; /* it is the earliest itself */
    } else {
        memmove(&s->list[0], &s->list[1], (from - 1) * sizeof *s->list);
        from--;
    }
    s->list[from].begin = begin;
    s->list[from].end = end;
}

/* ---- Processes and their aspects --------------------------------------------------------------------------------- */

static int find_aspect(const struct trigger_set *t, const char *name)
{
    int i = 0;
    while (i < t->aspect_count && strcmp(t->aspects[i], name) != 0)
        i++;
    return i;
}

static void add_part(struct trigger_set *t, uint32_t trigger, bool is_then, const struct experiment_records *of)
{
    if (!of->aspect)
        return;
    int aspect = find_aspect(t, of->aspect);
    if (aspect == t->aspect_count)
        t->aspects[t->aspect_count++] = of->aspect;
    t->parts[t->part_count++] = (struct part){.trigger = trigger, .is_then = is_then, .aspect = aspect};
}

int trigger_new(const struct experiment *e, struct trigger_set **out)
{
    struct trigger_set *t = calloc(1, sizeof *t);
    if (!t)
        return BEZEL_ENOMEM;
    t->experiment = e;
    for (uint32_t i = 0; i < e->trigger_count; i++) {
        add_part(t, i, false, &e->triggers[i].first);
        add_part(t, i, true, &e->triggers[i].then);
        t->states[i].value = (double)NAN;
    }
    *out = t;
    return 0;
}

void trigger_free(struct trigger_set *t)
{
    for (int slot = 0; t && slot < TRIGGER_PROCESSES_MAX; slot++)
        free(t->processes[slot]);
    free(t);
}

static const struct experiment_records *records_of(const struct trigger_set *t, const struct part *p)
{
    const struct experiment_trigger *of = &t->experiment->triggers[p->trigger];
    return p->is_then ? &of->then : &of->first;
}

static bool is_silence(const struct trigger_set *t, const struct part *p)
{
    return t->experiment->triggers[p->trigger].condition == WHEN_SILENT;
}

const char *trigger_lacking(const struct trigger_set *t, const struct dict_aspect *aspect)
{
    for (uint32_t i = 0; i < t->part_count; i++) {
        const struct experiment_records *of = records_of(t, &t->parts[i]);
        if (of->where && strcmp(of->aspect, aspect->name) == 0 && where_find(of->where, aspect).at == WHERE_NONE)
            return t->experiment->triggers[t->parts[i].trigger].when;
    }
    return NULL;
}

int trigger_watch(struct trigger_set *t, int slot, const struct dict_aspect *aspect)
{
    int number = find_aspect(t, aspect->name);
    if (number == t->aspect_count || slot < 0 || slot >= TRIGGER_PROCESSES_MAX)
        return BEZEL_ENOENT;
    if (!t->processes[slot] && !(t->processes[slot] = calloc(1, sizeof **t->processes)))
        return BEZEL_ENOMEM;
    struct process *p = t->processes[slot];
    t->watchers[number] += !p->watched[number];
    p->watched[number] = true;
    for (uint32_t i = 0; i < t->part_count; i++) {
        const struct experiment_records *of = records_of(t, &t->parts[i]);
        if (t->parts[i].aspect == number && of->where)
            p->wheres[i] = where_find(of->where, aspect);
    }
    return number;
}

static void end_silences(struct trigger_set *t, int number)
{
    for (uint32_t i = 0; i < t->part_count; i++)
        if (is_silence(t, &t->parts[i]) && (number < 0 || t->parts[i].aspect == number))
            t->states[t->parts[i].trigger].lasts = false;
}

void trigger_remove(struct trigger_set *t, int slot)
{
    struct process *p = slot >= 0 && slot < TRIGGER_PROCESSES_MAX ? t->processes[slot] : NULL;
    for (uint32_t i = 0; p && i < t->experiment->trigger_count; i++)
        for (uint32_t k = 0; k < t->states[i].seconds.count; k++)
            if (t->states[i].seconds.list[k].slot == slot)
                t->states[i].seconds.list[k].slot = -1; /* another process may get it */
    for (int i = 0; p && i < t->aspect_count; i++)
        if (p->watched[i] && --t->watchers[i] == 0)
            end_silences(t, i);
    free(p);
    if (p)
        t->processes[slot] = NULL;
}

void trigger_processes_end(struct trigger_set *t)
{
    t->processes_end = true;
    end_silences(t, -1);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static bool is_due(const struct trigger_set *t, uint32_t i, int64_t now)
{
    const struct state *s = &t->states[i];
    return s->counts.fired == 0 || now - s->fired_at >= t->experiment->triggers[i].once_in;
}

static void fire(struct trigger_set *t, const struct trigger_firing *f, int64_t now)
{
    struct state *s = &t->states[f->trigger];
    s->next = *f;
    s->next.suppressed = s->counts.suppressed;
    s->pending = true;
    s->counts.fired++;
    s->counts.suppressed = 0;
    s->fired_at = now;
}

static double value_of(const struct where *w, const struct packet_record *r)
{
    double real;
    if (w->at < 0 || (uint32_t)w->at >= r->value_count || w->text)
        return (double)NAN;
    uint64_t bits = packet_value(r, (uint32_t)w->at);
    memcpy(&real, &bits, sizeof real);
    return w->is_float ? real : (double)(int64_t)bits;
}

static void take_reason(struct trigger_set *t, const struct trigger_firing *f, int64_t now)
{
    struct state *s = &t->states[f->trigger];
    if (s->pending || !is_due(t, f->trigger, now)) /* pending: the one before is still to be carried out */
        s->counts.suppressed++;
    else
        fire(t, f, now);
}

/* Keeps a second record for a first one that comes later. If there are too many, what the older half covers is kept. */
static void keep_second(struct state *s, const struct trigger_firing *f, int64_t within)
{
    struct seconds *k = &s->seconds;
    if (k->count == TRIGGER_SECONDS) {
        k->count /= 2;
        for (uint32_t i = 0; i < k->count; i++)
            cover(&s->before, k->list[i].at - within, k->list[i].at - 1);
        memmove(k->list, k->list + k->count, k->count * sizeof *k->list);
    }
    uint32_t at = k->count++;
    for (; at > 0 && k->list[at - 1].at > f->at; at--)
        k->list[at] = k->list[at - 1];
    k->list[at] = *f;
}

/* Each second record that follows first record `f` is a reason, once. Strictly behind: none follows itself. */
static void take_first(struct trigger_set *t, const struct trigger_firing *f, int64_t within, int64_t now)
{
    struct state *s = &t->states[f->trigger];
    struct seconds *k = &s->seconds;
    uint32_t from = k->count, to;
    cover(&s->after, f->at + 1, f->at + within);
    while (from > 0 && k->list[from - 1].at > f->at)
        from--;
    for (to = from; to < k->count && k->list[to].at <= f->at + within; to++)
        take_reason(t, &k->list[to], now);
    if (to == from && covers(&s->before, f->at))
        take_reason(t, f, now);
    memmove(k->list + from, k->list + to, (k->count - to) * sizeof *k->list);
    k->count -= to - from;
}

/* A record of the aspect of part `p`; `w` NULL: it need not meet a condition. */
static void take_record(struct trigger_set *t, const struct part *p, const struct where *w,
                        const struct packet_record *r, int slot, int64_t now)
{
    const struct experiment_trigger *of = &t->experiment->triggers[p->trigger];
    struct state *s = &t->states[p->trigger];
    const struct trigger_firing f = {
        .trigger = p->trigger, .at = (int64_t)r->timestamp, .slot = slot, .value = w ? value_of(w, r) : (double)NAN};
    if (of->condition == WHEN_SEQUENCE && !p->is_then)
        take_first(t, &f, of->within, now);
    else if (of->condition == WHEN_SEQUENCE && !covers(&s->after, f.at))
        keep_second(s, &f, of->within);
    else
        take_reason(t, &f, now);
}

/* From when on a violation or silence that goes on fires, but for the firing before. */
static int64_t lasts_until(const struct trigger_set *t, uint32_t i)
{
    const struct experiment_trigger *of = &t->experiment->triggers[i];
    return t->states[i].since + (of->condition == WHEN_SILENT ? of->within : 0) + of->persistence;
}

/*
 * There was a record at `at`, or one before that is on its way. Only a silence that was met counts: those between the
 * records that come together may have been filled by records of other rings.
 */
static void break_silence(struct trigger_set *t, uint32_t trigger, int64_t at)
{
    struct state *s = &t->states[trigger];
    if (t->processes_end || (s->lasts && at <= s->since))
        return;
    s->counts.suppressed += s->lasts && s->met && !s->fired;
    s->lasts = true;
    s->met = s->fired = false;
    s->since = at;
}

void trigger_records(struct trigger_set *t, int slot, int number, const struct packet_run *run, int64_t now)
{
    const struct process *process = t->processes[slot];
    for (uint32_t i = 0; process && i < t->part_count; i++) {
        const struct part *p = &t->parts[i];
        const struct where *w = records_of(t, p)->where ? &process->wheres[i] : NULL;
        if (p->aspect != number)
            continue;
        t->states[p->trigger].counts.looked += run->count;
        if (is_silence(t, p)) {
            break_silence(t, p->trigger, (int64_t)packet_run_time(run, run->count - 1));
            continue;
        }
        for (uint32_t k = w ? where_seek(w, run, 0, true) : 0; k < run->count;
             k = w ? where_seek(w, run, k + 1, true) : k + 1) {
            struct packet_record r = packet_run_record(run, k);
            take_record(t, p, w, &r, slot, now);
        }
    }
}

void trigger_count(struct trigger_set *t, int slot, int number, uint64_t attempts, int64_t now)
{
    struct process *process = t->processes[slot];
    if (!process)
        return;
    bool grew = !process->read[number] || attempts > process->attempts[number];
    process->read[number] = true;
    process->attempts[number] = attempts;
    for (uint32_t i = 0; grew && i < t->part_count; i++)
        if (t->parts[i].aspect == number && is_silence(t, &t->parts[i]))
            break_silence(t, t->parts[i].trigger, now);
}

void trigger_blind(struct trigger_set *t, int slot, int number)
{
    if (t->processes[slot])
        t->processes[slot]->read[number] = false;
    end_silences(t, number);
}

/* ---- What lasts -------------------------------------------------------------------------------------------------- */

void trigger_limit(struct trigger_set *t, uint32_t limit, bool known, bool violated, double value, int64_t now)
{
    for (uint32_t i = 0; i < t->experiment->trigger_count; i++) {
        const struct experiment_trigger *of = &t->experiment->triggers[i];
        struct state *s = &t->states[i];
        if (of->condition != WHEN_VIOLATED || of->limit != (int)limit)
            continue;
        s->counts.looked += known;
        if (s->lasts && !violated && !s->fired && now >= lasts_until(t, i))
            s->counts.suppressed++;
        if (violated && !s->lasts) {
            s->since = now;
            s->fired = false;
        }
        s->lasts = violated;
        s->value = value;
    }
}

static bool may_last(const struct trigger_set *t, uint32_t i)
{
    return t->states[i].lasts && !t->states[i].fired;
}

static bool is_met(const struct trigger_set *t, uint32_t i, int64_t now)
{
    return may_last(t, i) && now >= lasts_until(t, i);
}

bool trigger_asks_counters(const struct trigger_set *t, int64_t now)
{
    for (uint32_t i = 0; i < t->experiment->trigger_count; i++)
        if (t->experiment->triggers[i].condition == WHEN_SILENT && !t->states[i].met && is_met(t, i, now))
            return true;
    return false;
}

bool trigger_next(struct trigger_set *t, int64_t now, struct trigger_firing *f)
{
    for (uint32_t i = 0; i < t->experiment->trigger_count; i++) {
        struct state *s = &t->states[i];
        s->met |= is_met(t, i, now);
        if (is_met(t, i, now) && is_due(t, i, now)) {
            s->fired = true;
            struct trigger_firing found = {.trigger = i, .at = lasts_until(t, i), .slot = -1, .value = s->value};
            fire(t, &found, now);
        }
        if (!s->pending)
            continue;
        s->pending = false;
        *f = s->next;
        return true;
    }
    return false;
}

int64_t trigger_due(const struct trigger_set *t)
{
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < t->experiment->trigger_count; i++) {
        if (t->states[i].pending)
            return INT64_MIN;
        int64_t at = may_last(t, i) ? lasts_until(t, i) : INT64_MAX;
        int64_t next = t->states[i].counts.fired ? t->states[i].fired_at + t->experiment->triggers[i].once_in : at;
        bool met = t->states[i].met || t->experiment->triggers[i].condition != WHEN_SILENT;
        at = may_last(t, i) && met && next > at ? next : at;
        due = at < due ? at : due;
    }
    return due;
}

struct trigger_counts trigger_counts(const struct trigger_set *t, uint32_t trigger)
{
    return t->states[trigger].counts;
}
