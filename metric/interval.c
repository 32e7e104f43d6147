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
#include "metric/interval_late.h"
#include "metric/interval_series.h"

#include <stdlib.h>

enum { NONE = UINT32_MAX, END_SLOTS = 2 * INTERVAL_ENDS_MAX, SOURCES = 1024 };
enum { AHEAD = 8, LATER = 4 }; /* records, and entries to be forgotten, whose memory is fetched before they are due */

/* A record. */
struct mark {
    int64_t own, time, bound;
    int64_t came;
    union {
        uint64_t answered; /* of a beginning: bit `source % 64` of each process that ended it */
        int64_t passed;    /* of an end: pass() of its process when it came */
    };
    int64_t begun; /* of an end: of the latest beginning that its process has used; INT64_MIN: it has used none */
    uint32_t of;   /* ... and who made that */
    uint32_t source, clock, series, next;
    uint8_t position;
    uint8_t told; /* of an end: bit i for part i */
    bool again;   /* of an end: it came when one of its process had its value; belongs to a later beginning, if any */
    bool unclear; /* of an end: there were several beginnings, and it is not known which is its own */
};

struct entry {
    struct interval_key key;
    uint32_t marks, count; /* the list of its records */
    int64_t came;          /* when its latest beginning came, or its first record */
    int64_t placed;        /* when it took its place in the ring */
};

/* A stretch of the run's time; empty at first. */
struct stretch {
    int64_t from, until;
};

struct interval {
    uint32_t positions, memory;
    struct experiment_metric metric; /* but its texts */
    int64_t reach;                   /* ns: how long an entry is remembered */
    bool has_field;                  /* records match by a field: one without a value of it may belong to any */
    struct entry *entries;           /* a ring of `memory` */
    uint32_t head, used;
    struct mark *marks;
    uint32_t slab, fresh, free; /* of `slab` marks, `fresh` and what follows was never used; the list of free ones */
    struct hash_index index, by_end, by_source;
    struct hash_index_slot end_slots[END_SLOTS], source_slots[2 * SOURCES];
    int64_t started[SOURCES], passed[SOURCES]; /* of processes that make ends: see pass() */
    uint32_t source_count;
    uint64_t bits, shared; /* of bit_of() of all these; those that several have */
    struct interval_series *series[INTERVAL_ENDS_MAX];
    uint32_t ends[INTERVAL_ENDS_MAX], end_count;
    struct stretch lost[INTERVAL_POSITIONS_MAX];
    uint32_t source[INTERVAL_POSITIONS_MAX]; /* the first that made a record at the position, plus 1; 0: none did ... */
    bool has_several[INTERVAL_POSITIONS_MAX]; /* ... and whether others did, of any key */
    int64_t evicted, late; /* the latest time of a beginning that was forgotten so, without all of its ends */
    int64_t ambiguous;     /* ... and of an end that is ambiguous */
    struct interval_counts counts;
    struct interval_late *too_long; /* NULL: beginnings that are forgotten are gone */
    bool closing, ended;            /* interval_finish() is at work */
    interval_told *told;
    void *context;
};

/* ---- Life -------------------------------------------------------------------------------------------------------- */

int interval_new(const struct experiment_metric *metric, int64_t wait, struct interval **out)
{
    struct interval *in = calloc(1, sizeof *in);
    if (!in)
        return BEZEL_ENOMEM;
    in->positions = metric->interval.count;
    in->memory = metric->interval.memory;
    in->metric = *metric;
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
    in->by_source = (struct hash_index){.slots = in->source_slots, .mask = 2 * SOURCES - 1};
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

int interval_keep_late(struct interval *in)
{
    return interval_late_new(in->memory, &in->too_long);
}

void interval_free(struct interval *in)
{
    if (!in)
        return;
    for (uint32_t i = 0; i < in->end_count; i++)
        interval_series_free(in->series[i]);
    free(in->entries);
    free(in->marks);
    free(in->index.slots);
    interval_late_free(in->too_long);
    free(in);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* The number of the series of `end`; NONE: there is no room for it. */
static uint32_t series_of(struct interval *in, uint32_t end)
{
    int found = hash_index_find(&in->by_end, end, 0);
    if (found >= 0)
        return (uint32_t)found;
    if (in->end_count == INTERVAL_ENDS_MAX || !(in->series[in->end_count] = interval_series_new(&in->metric)))
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
        interval_series_wait(in->series[m->series], m->time, less);
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

/* ---- Beginnings -------------------------------------------------------------------------------------------------- */

static uint64_t bit_of(uint32_t source)
{
    return UINT64_C(1) << source % 64;
}

/* That bit where it tells `source` from all others; else 0. */
static uint64_t own_bit_of(const struct interval *in, uint32_t source)
{
    return bit_of(source) & ~in->shared;
}

static uint32_t answers_of(uint64_t answered)
{
    return (uint32_t)__builtin_popcountll(answered);
}

static void answer(struct interval *in, uint64_t *answered, uint32_t source)
{
    *answered |= bit_of(source);
    uint32_t answers = answers_of(*answered);
    in->counts.answers = answers > in->counts.answers ? answers : in->counts.answers;
}

/* Whether a beginning has as many ends as any ever had. */
static bool is_complete(const struct interval *in, uint64_t answered)
{
    return answered && answers_of(answered) >= in->counts.answers;
}

/*
 * Process `source` has come as far as the beginning at `time`: it was started behind it, or ended it. Returns the
 * latest time that it has come to; INT64_MIN: there are too many processes to know.
 */
static int64_t pass(struct interval *in, uint32_t source, int64_t time)
{
    int found = hash_index_find(&in->by_source, source, 0);
    if (found < 0 && in->source_count == SOURCES)
        return INT64_MIN;
    if (found < 0) {
        found = (int)in->source_count++;
        hash_index_put(&in->by_source, source, 0, (uint32_t)found);
        in->started[found] = in->passed[found] = time;
        in->shared |= in->bits & bit_of(source);
        in->bits |= bit_of(source);
    }
    return in->passed[found] = time > in->passed[found] ? time : in->passed[found];
}

/* Whether others ended `m`, and the process of `end` began behind it, or has passed it: its own may come yet. */
static bool may_follow(const struct interval *in, const struct mark *end, const struct mark *m)
{
    int found = m->answered && m->time <= end->passed ? hash_index_find(&in->by_source, end->source, 0) : -1;
    bool all = is_complete(in, m->answered) && !(m->answered & own_bit_of(in, end->source));
    return found >= 0 && (all || m->time <= in->started[found]);
}

/* The same of a beginning that all others have ended, behind the run too, where several processes make beginnings. */
static bool is_over(const struct interval *in, int64_t time, uint64_t answered, const struct mark *end)
{
    bool all = is_complete(in, answered) && !(answered & own_bit_of(in, end->source));
    return in->has_several[0] && all && time <= end->passed;
}

/* The beginning that was forgotten; NULL: none. */
static struct interval_late_beginning *late_of(const struct interval *in, const struct entry *e)
{
    return in->too_long ? interval_late_find(in->too_long, e->key) : NULL;
}

/*
 * The beginning that `end` belongs to: that of its own process, else one that is later than what its process has used;
 * of several the only one that is left without those that another process has ended and its own has passed. NULL: there
 * is none; *several: or it is not known which.
 */
static struct mark *begin_of(const struct interval *in, const struct entry *e, const struct mark *end, bool final,
                             bool *several)
{
    struct mark *found = NULL, *unpassed = NULL;
    uint32_t fitting = 0, left = 0, unended = 0;
    *several = false;
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
        struct mark *m = &in->marks[at];
        bool is_before_it = m->clock != end->clock || end->own >= m->own; /* else the end is one's before it */
        if (m->position > 0)
            continue;
        unended += !(m->answered & bit_of(end->source));
        bool fits = is_before_it && (is_told(end) ? m->source == end->of : m->time > end->begun);
        if (m->source == end->source)
            return fits ? m : NULL;
        if (!fits || is_over(in, m->time, m->answered, end) || (!final && may_follow(in, end, m)))
            continue;
        fitting++;
        found = m;
        if (!m->answered || m->time > end->passed) {
            unpassed = m;
            left++;
        }
    }
    if (is_told(end))
        return found;
    if ((*several = end->unclear))
        return NULL;
    if (fitting > 1)
        found = left == 1 ? unpassed : NULL;
    const struct interval_late_beginning *late = late_of(in, e);
    bool late_may_be = late && !(late->answered & own_bit_of(in, end->source)); /* whoever else ended it */
    unended += late_may_be;
    *several =
        found ? late_may_be && late->is.at.ns > end->passed : fitting > 1 || (end->begun > INT64_MIN && unended > 0);
    return *several ? NULL : found;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* The records that an end belongs to; NULL where there is none, or several of other processes, or may be yet. */
struct chain {
    struct mark *at[INTERVAL_POSITIONS_MAX];
    bool several; /* beginnings */
};

static struct chain chain_of(const struct interval *in, const struct entry *e, struct mark *end, bool final)
{
    struct chain c = {.several = false};
    uint32_t others[INTERVAL_POSITIONS_MAX] = {0};
    for (uint32_t at = in->positions > 2 ? e->marks : NONE; at != NONE; at = in->marks[at].next) {
        struct mark *m = &in->marks[at];
        bool own = m->source == end->source;
        if (own || !c.at[m->position] || c.at[m->position]->source != end->source)
            c.at[m->position] = m;
        others[m->position] += !own;
    }
    for (uint32_t i = 1; i < in->positions; i++) {
        bool may_come = in->has_several[i] && !final;
        if (c.at[i] && c.at[i]->source != end->source && (others[i] > 1 || may_come))
            c.at[i] = NULL;
    }
    c.at[0] = begin_of(in, e, end, final, &c.several);
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
    struct clock_reading took = time_between(a, b);
    interval_series_add(in->series[end->series], part, took, end->time, now);
    struct interval_time time = {in->ends[end->series], part, took, {a->source, a->own}, {b->source, b->own}, false};
    if (in->told)
        in->told(in->context, &time);
}

static void tell_whole(struct interval *in, struct mark *end, const struct chain *c, int64_t now)
{
    struct mark *begin = c->at[0];
    end->unclear = c->several;
    if (c->several)
        in->ambiguous = end->time > in->ambiguous ? end->time : in->ambiguous;
    if (!begin || is_told(end))
        return;
    count_waiting(in, end, true);
    end->told |= 1U << INTERVAL_WHOLE;
    end->of = begin->source;
    end->begun = begin->time;
    struct clock_reading took = time_between(begin, end);
    if (took.ns < 0 && saturate_add(took.ns, took.bound) < 0) {
        in->counts.negative++;
        interval_series_lose(in->series[end->series], end->time, 1);
    } else {
        in->counts.matched++;
        take(in, end, INTERVAL_WHOLE, begin, end, now);
    }
    (void)pass(in, end->source, begin->time);
    answer(in, &begin->answered, end->source);
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
    tell_whole(in, end, &c, now);
    for (uint32_t i = 0; in->positions > 2 && i + 1 < in->positions; i++)
        if (c.at[i] && c.at[i + 1] && !(end->told >> i & 1)) {
            end->told |= 1U << i;
            take(in, end, i, c.at[i], c.at[i + 1], now);
        }
}

/* In the order in which they came. */
static void tell_all(struct interval *in, struct entry *e, bool final, int64_t now)
{
    uint32_t ends[INTERVAL_SAME_KEY_MAX], n = 0;
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        if (is_end(in, &in->marks[at]))
            ends[n++] = at;
    while (n-- > 0)
        tell(in, e, &in->marks[ends[n]], final, now);
}

/* ---- Forgetting ---------------------------------------------------------------------------------------------- */

/* Whether `m` was made before `begin`, as far as is known. */
static bool is_before(const struct mark *m, const struct mark *begin)
{
    int64_t bound = saturate_add(m->bound, begin->bound);
    if (m->clock == begin->clock)
        return m->own < begin->own;
    return m->time < (bound < INT64_MAX ? saturate_sub(begin->time, bound) : begin->time);
}

static struct mark mark_of(const struct interval_event *event)
{
    return (struct mark){.own = saturate_ns(event->own),
                         .time = saturate_ns(event->at.ns),
                         .bound = event->at.bound < 0 ? INT64_MAX : event->at.bound,
                         .source = event->source,
                         .clock = event->clock,
                         .series = NONE,
                         .begun = INT64_MIN,
                         .position = (uint8_t)event->position};
}

/* Whether a beginning at `time` may have been forgotten for an end that came at most `reach` later. */
static bool is_near(const struct interval *in, int64_t forgotten, int64_t time)
{
    return forgotten >= saturate_sub(time, in->reach);
}

static void count_forgotten(struct interval *in, const struct mark *m, enum interval_cause cause)
{
    struct interval_counts *c = &in->counts;
    bool end = is_end(in, m), waits = in->closing && (cause == INTERVAL_LATE || (cause == INTERVAL_LOST && !in->ended));
    if (end)
        ++*(waits ? &c->waiting : &c->ends[cause]);
    else if (!m->answered)
        ++*(waits ? &c->open : &c->beginnings[cause]);
}

static struct interval_event event_of(const struct entry *e, const struct mark *m)
{
    return (struct interval_event){.position = m->position,
                                   .key = e->key,
                                   .source = m->source,
                                   .clock = m->clock,
                                   .own = m->own,
                                   .at = {m->time, m->bound}};
}

static void forget_beginning(struct interval *in, const struct entry *e, const struct mark *m, bool evicted)
{
    bool complete = is_complete(in, m->answered);
    enum interval_cause cause = meets(in->lost[in->positions - 1], m->time, saturate_add(m->time, in->reach))
                                    ? INTERVAL_LOST
                                : evicted ? INTERVAL_EVICTED
                                          : INTERVAL_LATE;
    if (!complete) {
        int64_t *latest = evicted ? &in->evicted : &in->late;
        *latest = m->time > *latest ? m->time : *latest;
        count_forgotten(in, m, cause);
    }
    struct interval_event event = event_of(e, m);
    if (in->too_long && (complete || cause == INTERVAL_LATE))
        interval_late_keep(in->too_long, &event, m->answered);
}

/* Pairs an end that has found no beginning with one that was forgotten, if that is known. Else gives the cause. */
static bool pair_late(struct interval *in, const struct entry *e, const struct mark *m, enum interval_cause *cause)
{
    struct interval_late_beginning *b = late_of(in, e);
    if (!b || (b->answered & own_bit_of(in, m->source)))
        return false;
    bool passed = m->passed == INT64_MIN || b->is.at.ns <= m->passed; /* else it has not ended that */
    if (b->before > m->passed || (passed && (b->answered & bit_of(m->source))) ||
        is_over(in, b->is.at.ns, b->answered, m)) {
        *cause = INTERVAL_AMBIGUOUS;
        return false;
    }
    struct mark from = mark_of(&b->is);
    struct interval_time time = {in->ends[m->series],     INTERVAL_WHOLE,      time_between(&from, m),
                                 {from.source, from.own}, {m->source, m->own}, true};
    if (time.took.ns < 0)
        return false;
    in->counts.matched++;
    in->counts.beginnings[INTERVAL_LATE] -= b->answered == 0;
    answer(in, &b->answered, m->source);
    (void)pass(in, m->source, from.time);
    if (in->told)
        in->told(in->context, &time);
    return true;
}

static void forget_end(struct interval *in, const struct entry *e, const struct mark *m, bool evicted)
{
    bool several;
    if (is_told(m))
        return;
    enum interval_cause cause = INTERVAL_LATE;
    (void)begin_of(in, e, m, true, &several);
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next)
        several =
            several || (in->marks[at].position == 0 && is_over(in, in->marks[at].time, in->marks[at].answered, m));
    if (several)
        cause = INTERVAL_AMBIGUOUS;
    else if (meets(in->lost[0], saturate_sub(m->time, in->reach), m->time))
        cause = INTERVAL_LOST;
    else if (evicted || is_near(in, in->evicted, m->time))
        cause = INTERVAL_EVICTED;
    else if (pair_late(in, e, m, &cause))
        return;
    count_forgotten(in, m, cause);
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

/*
 * Whether `m` gives way to beginning `by`, which comes now: it has been remembered for long enough, or `by` begins anew
 * what it was a part of. By NULL all do.
 */
static bool gives_way(const struct interval *in, const struct mark *m, const struct mark *by, bool anew)
{
    if (!by || m->came <= saturate_sub(by->came, in->reach))
        return true;
    if (m->position == 0 || (is_end(in, m) && is_told(m) && !m->again))
        return (m->position == 0 ? m->source : m->of) == by->source;
    return anew && is_before(m, by);
}

/* Forgets what gives way to `by`: ends first, as the beginning of one may have been forgotten before. */
static void forget_marks(struct interval *in, struct entry *e, const struct mark *by, bool anew, bool evicted)
{
    for (int beginnings = 0; beginnings < 2; beginnings++)
        for (uint32_t *link = &e->marks; *link != NONE;) {
            uint32_t at = *link;
            struct mark *m = &in->marks[at];
            if ((m->position == 0) != beginnings || !gives_way(in, m, by, anew)) {
                link = &m->next;
                continue;
            }
            if (is_end(in, m))
                forget_end(in, e, m, evicted);
            else if (beginnings && !(by && m->source == by->source))
                forget_beginning(in, e, m, evicted);
            *link = m->next;
            e->count--;
            free_mark(in, at);
        }
}

/* Removes the oldest entry; `evicted`: before its time. */
static void forget_oldest(struct interval *in, bool evicted, int64_t now)
{
    struct entry *e = entry_at(in, 0);
    tell_all(in, e, true, now);
    forget_marks(in, e, NULL, false, evicted);
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

void interval_finish(struct interval *in, int64_t now, bool ended)
{
    interval_advance(in, now);
    in->closing = true;
    in->ended = ended;
    while (in->used > 0)
        forget_oldest(in, false, saturate_ns(now));
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

/* Adds a beginning. Ends that came again may be of it. */
static struct mark *begin(struct interval *in, struct entry *e, const struct mark *new)
{
    const struct mark *old = find_mark(in, e, new);
    in->counts.repeated[0] += old && !old->answered;
    forget_marks(in, e, new, old != NULL, false);
    e->came = new->came;
    for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
        struct mark *m = &in->marks[at];
        if (!m->again || is_before(m, new))
            continue;
        m->again = false;
        m->told = 0;
        count_waiting(in, m, false);
    }
    return add_mark(in, e, *new);
}

/* A record of the same process is there: the latest counts, but for ends that have, or may have, a beginning each. */
static void replace(struct interval *in, struct entry *e, struct mark *old, struct mark new)
{
    bool several = false, end = is_end(in, old), told = is_told(old);
    new.next = old->next;
    new.of = old->of;
    new.begun = old->begun;
    bool counts = end && (begin_of(in, e, told ? &new : old, true, &several) || several || (!told && late_of(in, e)));
    if (counts && !told)
        forget_end(in, e, old, false);
    else if (!told)
        count_waiting(in, old, true);
    new.again = end &&told && !counts;
    new.told = new.again ? old->told : 0;
    in->counts.repeated[new.position] += !counts;
    *old = new;
    count_waiting(in, old, false);
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
    new.came = now = saturate_ns(now);
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
    if (is_end(in, &new))
        new.passed = pass(in, new.source, saturate_sub(new.time, saturate_sub(new.own, event->started)));
    struct entry *e = entry_of(in, event->key, now);
    if (new.position == 0)
        mark = begin(in, e, &new);
    else if ((mark = find_mark(in, e, &new)))
        replace(in, e, mark, new);
    else
        mark = add_mark(in, e, new);
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
    if (number != NONE)
        interval_series_lose(in->series[number], ever ? INT64_MIN : until < now ? until : now, count);
}

/* ---- The statistic ----------------------------------------------------------------------------------------------- */

/* Whether an end in the window that ends at `now` may have had a beginning, which is gone. */
static bool may_have_begun(const struct interval *in, int64_t now)
{
    int64_t window = in->metric.tumbles ? 2 * in->metric.window : in->metric.window;
    int64_t since = saturate_sub(saturate_sub(now, window), in->reach);
    return meets(in->lost[0], since, now) || in->evicted >= since || in->late >= since || in->ambiguous >= since;
}

bool interval_value(struct interval *in, uint32_t end, uint32_t part, int64_t settle, int64_t now,
                    struct interval_value *v)
{
    int number = hash_index_find(&in->by_end, end, 0);
    now = saturate_ns(now);
    return number >= 0 && interval_has_part(in->positions, part) &&
           interval_series_value(in->series[number], part, may_have_begun(in, now), settle, now, v);
}

struct interval_counts interval_counts(const struct interval *in)
{
    struct interval_counts counts = in->counts;
    for (uint32_t i = 0; i < in->used; i++) {
        const struct entry *e = entry_at(in, i);
        for (uint32_t at = e->marks; at != NONE; at = in->marks[at].next) {
            counts.open += in->marks[at].position == 0 && !in->marks[at].answered;
            counts.waiting += is_end(in, &in->marks[at]) && !is_told(&in->marks[at]);
        }
    }
    return counts;
}
