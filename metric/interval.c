// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A key is an entry with the list of its records. Entries stand in a ring in the order in which they are to be
 * forgotten, so the oldest is always at its head; an index finds them by their keys. Records stand in a slab. An end
 * notes which of its parts have been taken into statistics (`told`), so that no value counts twice, in whatever order
 * the records came.
 */
#include "metric/interval.h"

#include "base/hash_index.h"
#include "base/saturate.h"
#include "metric/histogram.h"
#include "metric/statistic.h"

#include <math.h>
#include <stdlib.h>

enum { NONE = UINT32_MAX, GRAINS = 64, END_SLOTS = 2 * INTERVAL_ENDS_MAX };
enum { AHEAD = 8, LATER = 4 }; /* records, and entries to be forgotten, whose memory is fetched before they are due */

/* A record. */
struct mark {
    int64_t own, time, bound;
    uint32_t source, clock, series, next;
    uint32_t of;   /* of an end that has its value: the process that made its beginning */
    int64_t begun; /* ... and the time of that */
    int64_t used;  /* of an end: of the beginning that its process used before it; INT64_MIN: none */
    uint8_t position;
    uint8_t told; /* of an end: bit i for part i */
    bool again;   /* of an end: it came when one of its process had its value; belongs to a later beginning, if any */
};

struct entry {
    struct interval_key key;
    uint32_t marks, count; /* the list of its records */
    int64_t came;          /* when it began, or began anew */
    int64_t placed;        /* when it took its place in the ring */
    uint32_t answers;      /* ends of its beginning */
    uint64_t answered;     /* bit `source % 64` of each */
};

/* Numbers of ends by the grain of their time. */
struct grain {
    int64_t number;
    uint64_t count;
};

/* The values of one end. */
struct series {
    struct statistic *values[INTERVAL_PARTS], *bounds[INTERVAL_PARTS];
    struct grain waiting[GRAINS], lost[GRAINS]; /* ends without a beginning; that were lost */
    uint64_t ever_lost;                         /* nobody knows when */
};

/* A stretch of the run's time; empty at first. */
struct stretch {
    int64_t from, until;
};

struct interval {
    uint32_t positions, memory;
    enum statistic_kind kind;
    double share;
    int64_t window, reach; /* ns: how long an entry is remembered */
    bool tumbles;
    bool has_field;        /* records match by a field: one without a value of it may belong to any */
    struct entry *entries; /* a ring of `memory` */
    uint32_t head, used;
    struct mark *marks;
    uint32_t slab, fresh, free; /* of `slab` marks, `fresh` and what follows was never used; the list of free ones */
    struct hash_index index, by_end;
    struct hash_index_slot end_slots[END_SLOTS];
    struct series *series[INTERVAL_ENDS_MAX];
    uint32_t ends[INTERVAL_ENDS_MAX], end_count;
    struct stretch lost[INTERVAL_POSITIONS_MAX];
    uint32_t source[INTERVAL_POSITIONS_MAX]; /* the first that made a record at the position, plus 1; 0: none did ... */
    bool has_several[INTERVAL_POSITIONS_MAX]; /* ... and whether others did, of any key */
    int64_t evicted, late; /* the latest time of a beginning that was forgotten so, without all of its ends */
    int64_t ambiguous;     /* ... and of an end that is ambiguous */
    struct interval_counts counts;
    interval_told *told;
    interval_forgot *forgot;
    void *context;
};

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static enum statistic_kind kind_of(enum experiment_metric_kind kind)
{
    return kind == METRIC_MIN        ? STATISTIC_MIN
           : kind == METRIC_MAX      ? STATISTIC_MAX
           : kind == METRIC_LAST     ? STATISTIC_LAST
           : kind == METRIC_QUANTILE ? STATISTIC_QUANTILE
                                     : STATISTIC_MEAN;
}

int interval_new(const struct experiment_metric *metric, int64_t wait, struct interval **out)
{
    struct interval *in = calloc(1, sizeof *in);
    if (!in)
        return BEZEL_ENOMEM;
    in->positions = metric->interval.count;
    in->memory = metric->interval.memory;
    in->kind = kind_of(metric->interval.statistic);
    in->share = metric->share;
    in->window = metric->window;
    in->tumbles = metric->tumbles;
    in->has_field = metric->interval.match != NULL;
    in->reach = saturate_ns(saturate_add(metric->window, wait));
    in->slab = in->positions * in->memory;
    in->free = NONE;
    in->evicted = in->late = in->ambiguous = INT64_MIN;
    for (int i = 0; i < INTERVAL_POSITIONS_MAX; i++)
        in->lost[i] = (struct stretch){INT64_MAX, INT64_MIN};
    in->entries = calloc(in->memory, sizeof *in->entries);
    in->marks = calloc(in->slab, sizeof *in->marks);
    in->index.mask = hash_index_slots(in->memory) - 1;
    in->index.slots = calloc((size_t)in->index.mask + 1, sizeof *in->index.slots);
    in->by_end = (struct hash_index){.slots = in->end_slots, .mask = END_SLOTS - 1};
    if (!in->entries || !in->marks || !in->index.slots) {
        interval_free(in);
        return BEZEL_ENOMEM;
    }
    *out = in;
    return 0;
}

void interval_tell(struct interval *in, interval_told *told, void *context)
{
    in->told = told;
    in->context = context;
}

void interval_tell_late(struct interval *in, interval_forgot *forgot)
{
    in->forgot = forgot;
}

static void free_series(struct series *s)
{
    for (int part = 0; s && part < INTERVAL_PARTS; part++) {
        statistic_free(s->values[part]);
        statistic_free(s->bounds[part]);
    }
    free(s);
}

void interval_free(struct interval *in)
{
    if (!in)
        return;
    for (uint32_t i = 0; i < in->end_count; i++)
        free_series(in->series[i]);
    free(in->entries);
    free(in->marks);
    free(in->index.slots);
    free(in);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* Of two positions there is no stage but the whole. */
static bool has_part(const struct interval *in, uint32_t part)
{
    return part == INTERVAL_WHOLE || (in->positions > 2 && part < in->positions - 1);
}

static int new_statistic(const struct interval *in, enum statistic_kind kind, struct statistic **s)
{
    int err = statistic_new(kind, in->share, in->window, s);
    return !err && in->tumbles ? statistic_tumble(*s) : err;
}

static struct series *new_series(const struct interval *in)
{
    struct series *s = calloc(1, sizeof *s);
    for (uint32_t part = 0; s && part < INTERVAL_PARTS; part++)
        if (has_part(in, part) && (new_statistic(in, in->kind, &s->values[part]) != 0 ||
                                   new_statistic(in, STATISTIC_MAX, &s->bounds[part]) != 0)) {
            free_series(s);
            return NULL;
        }
    return s;
}

/* The number of the series of `end`; NONE: there is no room for it. */
static uint32_t series_of(struct interval *in, uint32_t end)
{
    int found = hash_index_find(&in->by_end, end, 0);
    if (found >= 0)
        return (uint32_t)found;
    if (in->end_count == INTERVAL_ENDS_MAX || !(in->series[in->end_count] = new_series(in)))
        return NONE;
    in->ends[in->end_count] = end;
    hash_index_put(&in->by_end, end, 0, in->end_count);
    return in->end_count++;
}

const uint32_t *interval_ends(const struct interval *in, uint32_t *count)
{
    *count = in->end_count;
    return in->ends;
}

static int64_t grain_of(const struct interval *in, int64_t time)
{
    int64_t length = in->tumbles ? in->window : in->window / GRAINS;
    return time / length - (time % length < 0);
}

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* Counts `n` ends more, or with `less` fewer. */
static void count_grain(const struct interval *in, struct grain *grains, int64_t time, uint64_t n, bool less)
{
    int64_t number = grain_of(in, time);
    struct grain *g = &grains[((number % GRAINS) + GRAINS) % GRAINS];
    if (!less && (g->count == 0 || g->number < number))
        *g = (struct grain){.number = number};
    if (g->number != number)
        return;
    g->count = !less ? add_counts(g->count, n) : g->count > n ? g->count - n : 0;
}

static uint64_t sum_grains(const struct interval *in, const struct grain *grains, int64_t until, int64_t now)
{
    uint64_t sum = 0;
    int64_t end = grain_of(in, now), last = grain_of(in, until), first = end - GRAINS + 1;
    if (in->tumbles)
        first = last = end - 1;
    for (int i = 0; i < GRAINS; i++)
        if (grains[i].number >= first && grains[i].number <= last)
            sum = add_counts(sum, grains[i].count);
    return sum;
}

static bool is_end(const struct interval *in, const struct mark *m)
{
    return m->position == in->positions - 1;
}

static bool is_told(const struct mark *m)
{
    return m->told >> INTERVAL_WHOLE & 1;
}

static void count_waiting(struct interval *in, const struct mark *m, bool less)
{
    if (is_end(in, m) && !is_told(m))
        count_grain(in, in->series[m->series]->waiting, m->time, 1, less);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static struct entry *entry_at(const struct interval *in, uint32_t i)
{
    uint32_t at = in->head + i;
    return &in->entries[at < in->memory ? at : at - in->memory];
}

static bool meets(struct stretch s, int64_t from, int64_t until)
{
    return s.from <= until && from <= s.until;
}

static bool has_several(const struct interval *in, const struct entry *e, uint32_t position)
{
    uint32_t n = 0;
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        n += in->marks[at].position == position;
    return n > 1;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* The records that an end belongs to; NULL where there is none, or several of other processes, or may be yet. */
struct chain {
    const struct mark *at[INTERVAL_POSITIONS_MAX];
};

static struct chain chain_of(const struct interval *in, const struct entry *e, const struct mark *end, bool final)
{
    struct chain c = {{NULL}};
    uint32_t others[INTERVAL_POSITIONS_MAX] = {0};
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
        const struct mark *m = &in->marks[at];
        bool own = m->source == end->source;
        if (m->position == 0 && !own && m->time <= end->used)
            continue; /* used up, as far as this end's process is concerned */
        if (own || !c.at[m->position] || c.at[m->position]->source != end->source)
            c.at[m->position] = m;
        others[m->position] += !own;
    }
    for (uint32_t i = 0; i < in->positions; i++) {
        bool may_come = i > 0 && in->has_several[i] && !final;
        if (c.at[i] && c.at[i]->source != end->source && (others[i] > 1 || may_come))
            c.at[i] = NULL;
    }
    c.at[in->positions - 1] = end;
    return c;
}

/* The time from `a` to `b`. */
static struct clock_reading time_between(const struct mark *a, const struct mark *b)
{
    if (a->clock == b->clock)
        return (struct clock_reading){saturate_sub(b->own, a->own), 0};
    return (struct clock_reading){saturate_sub(b->time, a->time), saturate_add(a->bound, b->bound)};
}

/* Takes the time from `a` to `b`, a part of those of `end`. */
static void take(const struct interval *in, const struct mark *end, uint32_t part, const struct mark *a,
                 const struct mark *b, int64_t now)
{
    struct series *s = in->series[end->series];
    struct clock_reading took = time_between(a, b);
    statistic_add(s->values[part], (double)took.ns, end->time, now);
    statistic_add(s->bounds[part], (double)took.bound, end->time, now);
    if (in->told)
        in->told(in->context,
                 &(struct interval_time){in->ends[end->series], part, took, {a->source, a->own}, {b->source, b->own}});
}

static void tell_whole(struct interval *in, struct entry *e, struct mark *end, const struct chain *c, int64_t now)
{
    if (!c->at[0] && has_several(in, e, 0))
        in->ambiguous = end->time > in->ambiguous ? end->time : in->ambiguous;
    if (!c->at[0] || is_told(end) || (c->at[0]->clock == end->clock && end->own < c->at[0]->own))
        return;
    count_waiting(in, end, true);
    end->told |= 1U << INTERVAL_WHOLE;
    end->of = c->at[0]->source;
    end->begun = c->at[0]->time;
    struct clock_reading took = time_between(c->at[0], end);
    if (took.ns < 0 && saturate_add(took.ns, took.bound) < 0) {
        in->counts.negative++;
        count_grain(in, in->series[end->series]->lost, end->time, 1, false);
    } else {
        in->counts.matched++;
        take(in, end, INTERVAL_WHOLE, c->at[0], end, now);
    }
    uint64_t bit = UINT64_C(1) << end->source % 64;
    e->answers += !(e->answered & bit);
    e->answered |= bit;
    in->counts.answers = e->answers > in->counts.answers ? e->answers : in->counts.answers;
}

/* All parts of an end. */
static uint8_t told_all(const struct interval *in)
{
    unsigned stages = in->positions > 2 ? (1U << (in->positions - 1)) - 1 : 0;
    return (uint8_t)(stages | 1U << INTERVAL_WHOLE);
}

/* Takes all times up to `end` that are known by now. */
static void tell(struct interval *in, struct entry *e, struct mark *end, bool final, int64_t now)
{
    if (end->again || end->told == told_all(in))
        return;
    struct chain c = chain_of(in, e, end, final);
    tell_whole(in, e, end, &c, now);
    for (uint32_t i = 0; in->positions > 2 && i + 1 < in->positions; i++)
        if (c.at[i] && c.at[i + 1] && !(end->told >> i & 1)) {
            end->told |= 1U << i;
            take(in, end, i, c.at[i], c.at[i + 1], now);
        }
}

static void tell_all(struct interval *in, struct entry *e, bool final, int64_t now)
{
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        if (is_end(in, &in->marks[at]))
            tell(in, e, &in->marks[at], final, now);
}

/* ---- Forgetting ---------------------------------------------------------------------------------------------- */

/* Whether a beginning at `time` may have been forgotten for an end that came at most `reach` later. */
static bool is_near(const struct interval *in, int64_t forgotten, int64_t time)
{
    return forgotten >= saturate_sub(time, in->reach);
}

static void count_forgotten(struct interval *in, const struct entry *e, const struct mark *m, enum interval_cause cause)
{
    bool end = is_end(in, m);
    struct interval_event event = {m->position, e->key, m->source,           m->clock,
                                   0,           m->own, {m->time, m->bound}, e->answered};
    event.end = end ? in->ends[m->series] : 0;
    (end ? in->counts.ends : in->counts.beginnings)[cause] += end || e->answers == 0;
    if (cause == INTERVAL_LATE && in->forgot)
        in->forgot(in->context, &event);
}

static void forget_beginning(struct interval *in, const struct entry *e, const struct mark *m, bool evicted)
{
    int64_t *latest = evicted ? &in->evicted : &in->late;
    if (e->answers > 0 && e->answers >= in->counts.answers)
        return;
    *latest = m->time > *latest ? m->time : *latest;
    enum interval_cause cause = meets(in->lost[in->positions - 1], m->time, saturate_add(m->time, in->reach))
                                    ? INTERVAL_LOST
                                : evicted ? INTERVAL_EVICTED
                                          : INTERVAL_LATE;
    count_forgotten(in, e, m, cause);
}

static void forget_end(struct interval *in, const struct entry *e, const struct mark *m, bool evicted)
{
    if (is_told(m))
        return;
    enum interval_cause cause = INTERVAL_LATE;
    if (has_several(in, e, 0))
        cause = INTERVAL_AMBIGUOUS;
    else if (meets(in->lost[0], saturate_sub(m->time, in->reach), m->time))
        cause = INTERVAL_LOST;
    else if (evicted || is_near(in, in->evicted, m->time))
        cause = INTERVAL_EVICTED;
    count_forgotten(in, e, m, cause);
}

static void free_mark(struct interval *in, uint32_t at)
{
    in->marks[at].next = in->free;
    in->free = at;
}

static void fetch_slot(const struct interval *in, struct interval_key key)
{
    __builtin_prefetch(&in->index.slots[hash_index_first(&in->index, key.bits, key.more)], 1);
}

/* Of an entry that will soon be the oldest one. */
static void fetch_later(const struct interval *in)
{
    const struct entry *e = entry_at(in, in->used > LATER ? LATER : 0);
    fetch_slot(in, e->key);
    __builtin_prefetch(&in->marks[e->marks != NONE ? e->marks : 0], 1);
}

/* Removes the oldest entry; `evicted`: before its time. */
static void forget_oldest(struct interval *in, bool evicted, int64_t now)
{
    struct entry *e = entry_at(in, 0);
    tell_all(in, e, true, now);
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        if (is_end(in, &in->marks[at])) /* its beginning may be one that was forgotten before */
            forget_end(in, e, &in->marks[at], evicted);
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        if (in->marks[at].position == 0)
            forget_beginning(in, e, &in->marks[at], evicted);
    for (uint32_t at = e->marks, next; at != NONE; at = next) {
        next = in->marks[at].next;
        free_mark(in, at);
    }
    hash_index_remove(&in->index, e->key.bits, e->key.more);
    fetch_later(in);
    in->head = in->head + 1 < in->memory ? in->head + 1 : 0;
    in->used--;
}

static uint32_t push(struct interval *in, struct entry e)
{
    struct entry *place = entry_at(in, in->used++);
    *place = e;
    hash_index_put(&in->index, e.key.bits, e.key.more, (uint32_t)(place - in->entries));
    return (uint32_t)(place - in->entries);
}

/* The oldest entry began anew meanwhile: it becomes the youngest. */
static void renew_oldest(struct interval *in, int64_t now)
{
    struct entry e = *entry_at(in, 0);
    e.placed = now;
    in->head = in->head + 1 < in->memory ? in->head + 1 : 0;
    in->used--;
    (void)push(in, e);
}

void interval_advance(struct interval *in, int64_t now)
{
    int64_t since = saturate_sub(saturate_ns(now), in->reach);
    for (uint32_t n = in->used; n > 0; n--) {
        const struct entry *e = entry_at(in, 0);
        if (e->placed > since)
            return;
        if (e->came > since)
            renew_oldest(in, saturate_ns(now));
        else
            forget_oldest(in, false, saturate_ns(now));
    }
}

void interval_finish(struct interval *in, int64_t now)
{
    for (uint32_t i = 0; i < in->used; i++)
        tell_all(in, entry_at(in, i), true, saturate_ns(now));
}

static struct entry *entry_of(struct interval *in, struct interval_key key, int64_t now)
{
    int found = hash_index_find(&in->index, key.bits, key.more);
    if (found >= 0)
        return &in->entries[found];
    if (in->used == in->memory)
        forget_oldest(in, true, now);
    return &in->entries[push(in, (struct entry){.key = key, .marks = NONE, .came = now, .placed = now})];
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static struct mark *find_mark(struct interval *in, const struct entry *e, const struct mark *like)
{
    uint32_t at = e->marks;
    while (at != NONE && (in->marks[at].source != like->source || in->marks[at].position != like->position))
        at = in->marks[at].next;
    return at == NONE ? NULL : &in->marks[at];
}

/* Whether `m` was made before `begin`, as far as is known. */
static bool is_before(const struct mark *m, const struct mark *begin)
{
    int64_t bound = saturate_add(m->bound, begin->bound);
    if (m->clock == begin->clock)
        return m->own < begin->own;
    return m->time < (bound < INT64_MAX ? saturate_sub(begin->time, bound) : begin->time);
}

static bool is_used(const struct interval *in, const struct mark *m)
{
    return is_end(in, m) && is_told(m) && !m->again;
}

/* Whether process `source` made a beginning and its end itself. */
static bool is_alone(const struct interval *in, const struct entry *e, uint32_t source)
{
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        if (is_used(in, &in->marks[at]) && in->marks[at].source == source && in->marks[at].of == source)
            return true;
    return false;
}

/* Whether `m` belongs to beginning `by` that comes now, which `takes` over from others, rather than to one before. */
static bool survives(const struct interval *in, const struct entry *e, const struct mark *m, const struct mark *by,
                     bool takes)
{
    if (m->position > 0 && !is_used(in, m))
        return !is_before(m, by);
    return takes ? is_alone(in, e, m->source) : m->position == 0 || m->of != by->source;
}

static void begin_anew(struct interval *in, struct entry *e, const struct mark *begin, int64_t now)
{
    bool takes = !find_mark(in, e, begin);
    in->counts.repeated[0] += e->answers == 0;
    for (uint32_t *link = &e->marks; *link != NONE;) {
        uint32_t at = *link;
        struct mark *m = &in->marks[at];
        if (survives(in, e, m, begin, takes)) {
            if (m->again) {
                m->again = false;
                m->told = 0;
                count_waiting(in, m, false);
            }
            link = &m->next;
            continue;
        }
        if (is_end(in, m))
            forget_end(in, e, m, false);
        *link = m->next;
        e->count--;
        free_mark(in, at);
    }
    e->answered = e->answers = 0;
    e->came = now;
}

/* Whether `end`, whose process has used a beginning, follows one that another process made later, as when it restarts.
 */
static bool follows_another(const struct interval *in, const struct entry *e, const struct mark *end)
{
    bool any = false, own = false;
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
        const struct mark *m = &in->marks[at];
        own = own || (m->position == 0 && m->source == end->source);
        any = any || (m->position == 0 && m->time > end->begun);
    }
    return any && !own;
}

/* A record of the same process at the same position is there: the latest counts. */
static void replace(struct interval *in, struct entry *e, struct mark *old, struct mark new, int64_t now)
{
    bool is_next = is_end(in, old) && is_told(old) && follows_another(in, e, old);
    if (new.position == 0)
        begin_anew(in, e, &new, now);
    else
        in->counts.repeated[new.position] += !is_next;
    count_waiting(in, old, true);
    new.next = old->next;
    new.told = is_next ? 0 : old->told;
    new.begun = old->begun;
    new.used = is_next ? old->begun : old->used;
    new.again = is_end(in, old) && is_told(old) && !is_next;
    *old = new;
    count_waiting(in, old, false);
}

/* NULL: there are too many. */
static struct mark *add_mark(struct interval *in, struct entry *e, struct mark new)
{
    uint32_t at = in->free;
    if (e->count == INTERVAL_SAME_KEY_MAX)
        return NULL;
    if (at != NONE)
        in->free = in->marks[at].next;
    else
        at = in->fresh++;
    new.next = e->marks;
    in->marks[at] = new;
    e->marks = at;
    e->count++;
    count_waiting(in, &in->marks[at], false);
    return &in->marks[at];
}

static struct mark mark_of(const struct interval_event *event)
{
    return (struct mark){.own = saturate_ns(event->own),
                         .time = saturate_ns(event->at.ns),
                         .bound = event->at.bound < 0 ? INT64_MAX : event->at.bound,
                         .source = event->source,
                         .clock = event->clock,
                         .series = NONE,
                         .used = INT64_MIN,
                         .position = (uint8_t)event->position};
}

static void note_source(struct interval *in, const struct mark *m)
{
    uint32_t *first = &in->source[m->position];
    *first = *first ? *first : m->source + 1;
    in->has_several[m->position] = in->has_several[m->position] || *first != m->source + 1;
}

void interval_add(struct interval *in, const struct interval_event *event, int64_t now)
{
    struct mark new = mark_of(event), *mark;
    now = saturate_ns(now);
    interval_advance(in, now);
    in->counts.records++;
    if (event->key.more == 0) {
        in->counts.keyless++;
        if (in->has_field) /* it is as good as lost */
            interval_lost(in, event->position, event->end, saturate_sub(new.time, new.bound),
                          saturate_add(new.time, new.bound), 1, now);
        return;
    }
    if (is_end(in, &new) && (new.series = series_of(in, event->end)) == NONE) {
        in->counts.crowded++;
        return;
    }
    while (in->free == NONE && in->fresh == in->slab)
        forget_oldest(in, true, now);
    note_source(in, &new);
    struct entry *e = entry_of(in, event->key, now);
    if (!(mark = find_mark(in, e, &new)) && new.position == 0 && e->answers > 0 && e->answers >= in->counts.answers)
        begin_anew(in, e, &new, now); /* it has all its ends, as far as any ever had */
    if (mark)
        replace(in, e, mark, new, now);
    else if ((mark = add_mark(in, e, new)) && new.position == 0)
        e->came = now;
    if (!mark)
        in->counts.crowded++;
    else if (is_end(in, mark))
        tell(in, e, mark, false, now);
    else
        tell_all(in, e, false, now);
}

void interval_add_all(struct interval *in, const struct interval_event *events, uint32_t count, int64_t now)
{
    for (uint32_t i = 0; i < count && i < AHEAD; i++)
        fetch_slot(in, events[i].key);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_slot(in, events[i + AHEAD].key);
        interval_add(in, &events[i], now);
    }
}

void interval_lost(struct interval *in, uint32_t position, uint32_t end, int64_t from, int64_t until, uint64_t count,
                   int64_t now)
{
    struct stretch *s = &in->lost[position];
    bool ever = from == INT64_MIN && until == INT64_MAX;
    from = saturate_ns(from);
    until = saturate_ns(until);
    now = saturate_ns(now);
    if (s->until < saturate_sub(now, 2 * in->reach)) /* explains nothing any more */
        *s = (struct stretch){INT64_MAX, INT64_MIN};
    s->from = from < s->from ? from : s->from;
    s->until = until > s->until ? until : s->until;
    uint32_t number = position == in->positions - 1 ? series_of(in, end) : NONE;
    if (number != NONE && ever)
        in->series[number]->ever_lost = add_counts(in->series[number]->ever_lost, count);
    else if (number != NONE)
        count_grain(in, in->series[number]->lost, until < now ? until : now, count, false);
}

/* ---- The statistic ----------------------------------------------------------------------------------------------- */

/* Whether an end in the window that ends at `now` may have had a beginning, which is gone. */
static bool may_have_begun(const struct interval *in, int64_t now)
{
    int64_t since = saturate_sub(saturate_sub(now, in->tumbles ? 2 * in->window : in->window), in->reach);
    return meets(in->lost[0], since, now) || in->evicted >= since || in->late >= since || in->ambiguous >= since;
}

/* The quantile of ranks among `count` known values and `unknown` others, of at least `least`. */
static void widen_quantile(const struct interval *in, struct statistic *s, double least, int64_t now,
                           struct interval_value *v)
{
    uint64_t rank = histogram_rank(add_counts(v->count, v->unknown), in->share);
    double count = (double)v->count;
    v->high = (double)INFINITY;
    if (rank > v->unknown)
        (void)statistic_quantile(s, ((double)(rank - v->unknown) - 0.5) / count, now, &least);
    if (rank <= v->count)
        (void)statistic_quantile(s, ((double)rank - 0.5) / count, now, &v->high);
    v->low = least >= 0 ? least * 32 / 33 : least * 32 / 31; /* the error of a quantile */
}

/* The whole of an unknown time is not negative; a stage may be. */
static void widen(const struct interval *in, struct statistic *s, bool whole, int64_t now, struct interval_value *v)
{
    double least = whole ? fmin(v->value, 0) : -(double)INFINITY;
    v->low = v->high = v->value;
    if (in->kind == STATISTIC_QUANTILE)
        widen_quantile(in, s, least, now, v);
    else if (v->unknown > 0) {
        if (in->kind == STATISTIC_MEAN)
            v->low = least < 0 ? least : v->value * ((double)v->count / ((double)v->count + (double)v->unknown));
        else if (in->kind != STATISTIC_MAX)
            v->low = least;
        if (in->kind != STATISTIC_MIN)
            v->high = (double)INFINITY;
    }
}

/* Ends in the window that may have had any value. */
static uint64_t count_unknown(const struct interval *in, const struct series *s, int64_t settle, int64_t now)
{
    uint64_t lost = add_counts(s->ever_lost, sum_grains(in, s->lost, now, now));
    return may_have_begun(in, now) ? add_counts(lost, sum_grains(in, s->waiting, saturate_sub(now, settle), now))
                                   : lost;
}

bool interval_value(struct interval *in, uint32_t end, uint32_t part, int64_t settle, int64_t now,
                    struct interval_value *out)
{
    int number = hash_index_find(&in->by_end, end, 0);
    struct series *s = number >= 0 ? in->series[number] : NULL;
    double bound = 0;
    now = saturate_ns(now);
    if (!s || !has_part(in, part))
        return false;
    struct interval_value v = {.value = (double)NAN, .high = (double)INFINITY, .newest = now};
    v.unknown = count_unknown(in, s, settle, now);
    if (statistic_value(s->values[part], now, &v.value, &v.newest)) {
        v.count = statistic_count(s->values[part], now);
        widen(in, s->values[part], part == INTERVAL_WHOLE, now, &v);
        (void)statistic_value(s->bounds[part], now, &bound, NULL);
    }
    v.low -= bound;
    v.high += bound;
    if (v.count + v.unknown == 0)
        return false;
    *out = v;
    return true;
}

struct interval_counts interval_counts(const struct interval *in)
{
    struct interval_counts counts = in->counts;
    for (uint32_t i = 0; i < in->used; i++) {
        const struct entry *e = entry_at(in, i);
        for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
            counts.open += in->marks[at].position == 0 && e->answers == 0;
            counts.waiting += is_end(in, &in->marks[at]) && !is_told(&in->marks[at]);
        }
    }
    return counts;
}
