// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/rate.h"

#include "config/experiment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * A mark is a reading of the counter, with the records since the mark before it. Mark number i is stored at i modulo
 * RATE_MARKS; `marks` counts them all. Nothing is known of the time before the oldest mark that is kept.
 *
 * Each reading moves the newest mark, until it is a grain away from the mark before it; then the next reading begins a
 * new one. So two windows hold at most 2 * RATE_GRAINS + 2 marks, and the newest RATE_MARKS suffice.
 */
enum { RATE_MARKS = 256 };
static_assert(RATE_MARKS >= 2 * RATE_GRAINS + 4, "two windows of marks must be kept");

struct rate_times {
    uint64_t records;
    int64_t first, last; /* meaningful where records > 0 */
};

struct rate_mark {
    int64_t end;
    uint64_t attempts;
    uint64_t came;         /* all records, and those among them */
    struct rate_times own; /* that the rate is of */
};

/* Records by their own times, in parts of a RATE_FINE-th of the window: those of so many windows. */
enum { RATE_PARTS = EXPERIMENT_WINDOWS_TIMED * RATE_FINE };

struct rate_part {
    int64_t number;
    struct rate_times own;
};

struct rate {
    int64_t window;
    int64_t grain;           /* the latest window may be so much shorter */
    struct rate_part *parts; /* RATE_PARTS; NULL: rate_refine() was not called */
    bool is_chosen;          /* of some of the records: rate_new() */
    bool tumbles;
    bool started;
    int64_t slid_before, slid; /* up to when all records had come at the reading before, and at the last one */
    uint64_t nothing;          /* the counter before the first record: 0, or what it was at rate_begin() */
    int64_t since;             /* the first reading that found the counter above that */
    uint64_t marks;
    struct rate_mark open; /* records after the newest mark; its end and attempts are not known yet */
    struct rate_mark mark[RATE_MARKS];
};

/* The time from mark `from` to mark `to`; `missing`: counted attempts in it minus records that came, modulo 2^64. */
struct rate_span {
    uint64_t from, to;
    uint64_t missing;
};

static inline const struct rate_mark *rate_at(const struct rate *r, uint64_t number)
{
    return &r->mark[number % RATE_MARKS];
}

static inline struct rate_mark *rate_newest(struct rate *r)
{
    return &r->mark[(r->marks - 1) % RATE_MARKS];
}

static inline uint64_t rate_oldest(const struct rate *r)
{
    return r->marks > RATE_MARKS ? r->marks - RATE_MARKS : 0;
}

int rate_new(int64_t window, bool is_chosen, struct rate **r)
{
    *r = calloc(1, sizeof **r);
    if (!*r)
        return BEZEL_ENOMEM;
    (*r)->window = window;
    (*r)->grain = window / RATE_GRAINS;
    (*r)->is_chosen = is_chosen;
    return 0;
}

int rate_refine(struct rate *r, bool is_number)
{
    r->grain = is_number ? 0 : r->grain;
    r->parts = calloc(RATE_PARTS, sizeof *r->parts);
    return r->parts ? 0 : BEZEL_ENOMEM;
}

void rate_tumble(struct rate *r)
{
    r->tumbles = true;
}

void rate_free(struct rate *r)
{
    if (r)
        free(r->parts);
    free(r);
}

void rate_reset(struct rate *r)
{
    r->started = false;
    r->nothing = 0;
    r->slid = r->slid_before = 0;
    r->marks = 0;
    r->open.came = r->open.own.records = 0;
    if (r->parts)
        memset(r->parts, 0, RATE_PARTS * sizeof *r->parts);
}

void rate_begin(struct rate *r, uint64_t attempts)
{
    r->started = false;
    r->nothing = attempts;
}

static int64_t rate_part_length(const struct rate *r)
{
    return r->window / RATE_FINE > 0 ? r->window / RATE_FINE : 1;
}

static struct rate_part *rate_part_at(const struct rate *r, int64_t number)
{
    return &r->parts[(uint64_t)number % RATE_PARTS];
}

/* The mark that a record at `t` belongs to; `t` is after the oldest mark, and not after the newest. */
static struct rate_mark *rate_place(struct rate *r, int64_t t)
{
    uint64_t before = rate_oldest(r), at = r->marks - 1;
    while (at - before > 1) {
        uint64_t middle = before + (at - before) / 2;
        if (t <= rate_at(r, middle)->end)
            at = middle;
        else
            before = middle;
    }
    return &r->mark[at % RATE_MARKS];
}

/* Adds records that lie between `first` and `last` to a mark. */
static void rate_add(struct rate_times *t, uint64_t records, int64_t first, int64_t last)
{
    if (records == 0)
        return;
    if (t->records == 0 || first < t->first)
        t->first = first;
    if (t->records == 0 || last > t->last)
        t->last = last;
    t->records += records;
}

/* Adds records `from` to `until` - 1 of a run. */
static void rate_add_part(struct rate_times *t, const struct packet_run *run, uint32_t from, uint32_t until)
{
    if (from < until)
        rate_add(t, until - from, (int64_t)packet_run_time(run, from), (int64_t)packet_run_time(run, until - 1));
}

/* The same to a mark. `counts`: the rate is of them. */
static void rate_add_to_mark(struct rate_mark *m, const struct packet_run *run, uint32_t from, uint32_t until,
                             bool counts)
{
    m->came += until - from;
    if (counts)
        rate_add_part(&m->own, run, from, until);
}

/* The first record of a run, from number `from` on, that is after `time`. */
static uint32_t rate_seek(const struct packet_run *run, uint32_t from, int64_t time)
{
    return time < INT64_MAX ? packet_run_seek(run, from, time + 1) : run->count;
}

/* Adds records to the parts of their times; what is older than all parts is left out. */
static void rate_add_to_parts(struct rate *r, const struct packet_run *run)
{
    int64_t length = rate_part_length(r);
    for (uint32_t at = 0, until; at < run->count; at = until) {
        int64_t number = (int64_t)packet_run_time(run, at) / length;
        struct rate_part *p = rate_part_at(r, number);
        until = rate_seek(run, at + 1, number < INT64_MAX / length ? (number + 1) * length - 1 : INT64_MAX);
        if (p->number < number)
            *p = (struct rate_part){.number = number};
        if (p->number == number)
            rate_add_part(&p->own, run, at, until);
    }
}

static void rate_take(struct rate *r, const struct packet_run *run, bool counts)
{
    if (r->marks == 0)
        return;
    if (r->parts && counts)
        rate_add_to_parts(r, run);
    uint32_t at = rate_seek(run, 0, rate_at(r, rate_oldest(r))->end);
    while (at < run->count && (int64_t)packet_run_time(run, at) <= rate_newest(r)->end) {
        struct rate_mark *m = rate_place(r, (int64_t)packet_run_time(run, at));
        uint32_t until = rate_seek(run, at, m->end);
        rate_add_to_mark(m, run, at, until, counts);
        at = until;
    }
    rate_add_to_mark(&r->open, run, at, run->count, counts);
}

void rate_records(struct rate *r, const struct packet_run *run)
{
    rate_take(r, run, true);
}

void rate_others(struct rate *r, const struct packet_run *run)
{
    rate_take(r, run, false);
}

/* Whether a window ends between two times. */
static bool rate_is_edge(const struct rate *r, int64_t from, int64_t to)
{
    return r->tumbles && from / r->window != to / r->window;
}

/* Whether a reading at `now` begins a new mark. One that is the first of a window stays where it is. */
static bool rate_mark_due(const struct rate *r, int64_t now)
{
    if (r->marks < 2)
        return r->marks == 0 || now > rate_at(r, 0)->end;
    int64_t newest = rate_at(r, r->marks - 1)->end, before = rate_at(r, r->marks - 2)->end;
    return now > newest && (newest - before >= r->window / (r->tumbles ? RATE_GRAINS / 2 : RATE_GRAINS) ||
                            rate_is_edge(r, before, newest));
}

static uint64_t rate_missing(const struct rate *r, uint64_t number)
{
    uint64_t grown = rate_at(r, number)->attempts - rate_at(r, number - 1)->attempts;
    return grown - rate_at(r, number)->came;
}

static int64_t rate_length(const struct rate *r, const struct rate_span *s)
{
    return rate_at(r, s->to)->end - rate_at(r, s->from)->end;
}

/*
 * Moves the start of the span back until it is a window long; false if there are no readings from that long ago.
 * Instants jitter, so ten of 100 ms may be a little less than 1 s: an eleventh would hide the least of windows of 1 s.
 * A rate is as true of a grain less; of numbers rate_lowest() leaves the excess out.
 */
static bool rate_widen(const struct rate *r, struct rate_span *s)
{
    while (rate_length(r, s) < r->window - r->grain) {
        if (s->from == rate_oldest(r))
            return false;
        s->missing += rate_missing(r, s->from--);
    }
    bool is_first = rate_oldest(r) == 0 && rate_at(r, s->to - 1)->end - rate_at(r, 0)->end < r->window - r->grain;
    while (is_first && s->from > 0) /* what was made before the second mark is in no other one */
        s->missing += rate_missing(r, s->from--);
    return true;
}

static double rate_per_second(uint64_t n, int64_t ns)
{
    return (double)n * 1e9 / (double)ns;
}

/* The records of a span. */
static struct rate_times rate_sum(const struct rate *r, const struct rate_span *s)
{
    struct rate_times all = {0};
    for (uint64_t i = s->from + 1; i <= s->to; i++)
        rate_add(&all, rate_at(r, i)->own.records, rate_at(r, i)->own.first, rate_at(r, i)->own.last);
    return all;
}

/* The formula of the header, over `n` records from `first` to `last`. */
static double rate_mean(uint64_t n, int64_t first, int64_t last, int64_t start, int64_t end)
{
    if (n < 2)
        return rate_per_second(n, end - start);
    double least = rate_per_second(n + 1, end - start);
    const struct {
        uint64_t intervals;
        int64_t ns;
    } ways[] = {{n - 1, last - first}, {n, end - first}, {n, last - start}};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (ways[i].ns > 0 && rate_per_second(ways[i].intervals, ways[i].ns) < least)
            least = rate_per_second(ways[i].intervals, ways[i].ns);
    return least;
}

/* A record's time may be after its mark's: it was read just after `now`, or its writer invents times. */
static double rate_exact(const struct rate *r, const struct rate_span *s)
{
    const struct rate_times all = rate_sum(r, s);
    int64_t end = rate_at(r, s->to)->end;
    return rate_mean(all.records, all.first, all.last < end ? all.last : end, rate_at(r, s->from)->end, end);
}

/* The first mark of the window that mark `at` lies in; the oldest mark if that is not known. */
static uint64_t rate_edge(const struct rate *r, uint64_t at)
{
    while (at > rate_oldest(r) && !rate_is_edge(r, rate_at(r, at - 1)->end, rate_at(r, at)->end))
        at--;
    return at;
}

/*
 * The window that ends with mark `to`, the first of the next one: of windows that follow one another. False: it is not
 * known, or there was no reading in it.
 */
static bool rate_before(const struct rate *r, uint64_t to, struct rate_span *s)
{
    if (to == rate_oldest(r))
        return false;
    *s = (struct rate_span){.from = rate_edge(r, to - 1), .to = to};
    for (uint64_t i = s->from + 1; i <= to; i++)
        s->missing += rate_missing(r, i);
    return s->from > rate_oldest(r) && rate_at(r, to)->end / r->window - rate_at(r, s->from)->end / r->window == 1;
}

/* The latest window. False: none has passed. */
static bool rate_latest(const struct rate *r, int64_t now, struct rate_span *span)
{
    if (r->marks == 0 || now - rate_at(r, r->marks - 1)->end > r->window)
        return false;
    *span = (struct rate_span){.from = r->marks - 1, .to = r->marks - 1};
    if (r->tumbles)
        return !rate_is_edge(r, rate_at(r, span->to)->end, now) && rate_before(r, rate_edge(r, span->to), span);
    return rate_widen(r, span);
}

/*
 * Whether a window that ended at `end`, before the newest mark, is too old to stand for the latest one. Of some of the
 * records, those behind it would be in no window that anybody looks at, unless the next one reaches back to them.
 */
static bool rate_is_old(const struct rate *r, int64_t newest, int64_t end)
{
    return newest - end > (r->is_chosen ? r->window / 2 : r->window);
}

/* Moves the latest window, of those that slide, back to the latest one of which all records came. False: of none. */
static bool rate_go_back(const struct rate *r, struct rate_span *span)
{
    while ((int64_t)span->missing > 0) {
        span->missing -= rate_missing(r, span->to--);
        if (!rate_widen(r, span))
            return false;
    }
    return true;
}

/* Moves the latest window back to the latest one of which all records came. False: it ended too long ago. */
static bool rate_complete(const struct rate *r, struct rate_span *span)
{
    int64_t newest = rate_at(r, span->to)->end;
    if (r->tumbles)
        return (int64_t)span->missing <= 0 || (rate_before(r, span->from, span) && (int64_t)span->missing <= 0);
    return rate_go_back(r, span) && !rate_is_old(r, newest, rate_at(r, span->to)->end);
}

void rate_count(struct rate *r, uint64_t attempts, int64_t now)
{
    if (r->marks > 0 && attempts < rate_newest(r)->attempts)
        rate_reset(r);
    if (r->marks > 0 && now < rate_newest(r)->end)
        now = rate_newest(r)->end;
    if (r->marks > 0 && now > rate_newest(r)->end)
        r->slid_before = r->slid;
    if (rate_mark_due(r, now)) {
        r->marks++;
        rate_newest(r)->came = rate_newest(r)->own.records = 0;
    }
    struct rate_mark *m = rate_newest(r);
    m->end = now;
    m->attempts = attempts;
    m->came += r->open.came;
    rate_add(&m->own, r->open.own.records, r->open.own.first, r->open.own.last);
    r->open.came = r->open.own.records = 0;
    if (!r->started && attempts > r->nothing) {
        r->started = true;
        r->since = now;
    }
    struct rate_span span = {.from = r->marks - 1, .to = r->marks - 1};
    if (r->parts && rate_widen(r, &span) && rate_go_back(r, &span))
        r->slid = rate_at(r, span.to)->end;
}

static uint64_t rate_counted(const struct rate *r, const struct rate_span *s)
{
    return rate_at(r, s->to)->attempts - rate_at(r, s->from)->attempts;
}

/* The number of a span's records that are known: of chosen ones those that came. */
static uint64_t rate_known(const struct rate *r, const struct rate_span *s)
{
    return r->is_chosen ? rate_sum(r, s).records : rate_counted(r, s);
}

/* rate_value(), and the window that it is of. */
static bool rate_find(const struct rate *r, int64_t now, struct rate_span *span, double *per_second, double *resolution)
{
    if (!rate_latest(r, now, span))
        return false;
    int64_t length = rate_length(r, span);
    double unit = rate_per_second(1, length), counted = rate_per_second(rate_counted(r, span), length);
    *per_second = counted;
    *resolution = unit;
    if (!rate_complete(r, span))
        return !r->is_chosen;
    double exact = rate_exact(r, span), apart = exact - counted, most = unit * (1 + 1e-9);
    if (r->is_chosen || (apart <= most && apart >= -most)) {
        *per_second = exact;
        *resolution = 0;
    }
    return true;
}

bool rate_value(const struct rate *r, int64_t now, double *per_second, double *resolution)
{
    struct rate_span span;
    return rate_find(r, now, &span, per_second, resolution);
}

/* The records of part `number`, as far as it is kept. */
static const struct rate_times *rate_records_of(const struct rate *r, int64_t number)
{
    static const struct rate_times none;
    const struct rate_part *p = rate_part_at(r, number);
    return p->number == number ? &p->own : &none;
}

/* The records of parts `from` to `until` - 1. */
static uint64_t rate_records_in(const struct rate *r, int64_t from, int64_t until)
{
    uint64_t n = 0;
    for (int64_t i = from > until - RATE_PARTS ? from : until - RATE_PARTS; i < until; i++)
        n += rate_records_of(r, i)->records;
    return n;
}

/* Whether nothing had been made by mark `from` of a span. */
static bool rate_is_begin(const struct rate *r, const struct rate_span *span)
{
    return span->from == 0 && rate_at(r, 0)->attempts == 0;
}

/*
 * Whether each record that came is of the mark that counted it, as far as is known. A counter is read behind the time
 * that its reading has, so what is made in between is counted before its own mark. The first mark shows nothing of it,
 * unless nothing had been made by then.
 */
static bool rate_is_placed(const struct rate *r, const struct rate_span *span)
{
    return (rate_is_begin(r, span) || (span->from > rate_oldest(r) && (int64_t)rate_missing(r, span->from) <= 0)) &&
           (rate_length(r, span) / rate_part_length(r)) < RATE_PARTS - 1;
}

/*
 * How many of the `came` records of a span are, by their own times, outside of each of its windows that has the most.
 * Where they are not surely of their marks, those of the first parts and of the last one are not taken for outside.
 */
static uint64_t rate_outside(const struct rate *r, const struct rate_span *span, uint64_t came)
{
    int64_t length = rate_part_length(r), first = rate_at(r, span->from)->end / length,
            last = rate_at(r, span->to)->end / length, until = (rate_at(r, span->to)->end + 1) / length;
    bool placed = rate_is_placed(r, span);
    uint64_t later = placed ? rate_records_in(r, first + 1, last + 1) : 0, all = 0, window = 0, most = 0;
    uint64_t behind[RATE_FINE + 1] = {0}, begin = placed && came > later ? came - later : 0; /* of the first part */
    int64_t from = placed ? first : first + 2;
    until = placed ? last + 1 : until;
    for (from = from < until - RATE_PARTS ? until - RATE_PARTS : from; from < until; from++) {
        uint64_t *leaves = &behind[(uint64_t)from % (RATE_FINE + 1)], before = *leaves;
        *leaves = from == first ? begin : rate_records_of(r, from)->records;
        all += *leaves;
        window += *leaves - before;
        most = window > most ? window : most;
    }
    return all - most;
}

/*
 * The number of a span's records without those that, by their own times, are older than a window at its end: they are
 * among those of the first mark that is not older, too. Of these, what has not come counts.
 */
static uint64_t rate_lowest(const struct rate *r, struct rate_span span)
{
    int64_t from = rate_at(r, span.to)->end - r->window, length = rate_part_length(r);
    while (span.from + 1 < span.to && rate_at(r, span.from + 1)->end <= from)
        span.from++;
    const struct rate_mark *first = rate_at(r, span.from + 1);
    uint64_t all = rate_known(r, &span);
    uint64_t of_first = r->is_chosen ? first->own.records : first->attempts - rate_at(r, span.from)->attempts;
    uint64_t kept = rate_records_in(r, from / length, first->end / length + 2);
    uint64_t missing = rate_missing(r, span.from + 1);
    kept += !r->is_chosen && (int64_t)missing > 0 ? missing : 0;
    return of_first > kept ? all - (of_first - kept) : all;
}

/* Of windows of whole parts: the most records, the largest rate, and that of the last window. */
struct rate_slid {
    int64_t from, until; /* the parts that they consist of */
    uint64_t number;
    double highest, last;
};

/* All that consist of the parts from `from` to `until` - 1. False: there are too few. */
static bool rate_slide(const struct rate *r, int64_t from, int64_t until, struct rate_slid *s)
{
    int64_t length = rate_part_length(r), head = from;
    const struct rate_times *last = rate_records_of(r, from), *own;
    uint64_t n = 0;
    *s = (struct rate_slid){.from = from, .until = until};
    for (int64_t at = from, start = from - RATE_FINE + 1; at < until; at++, start++) {
        own = rate_records_of(r, at);
        n += own->records;
        last = own->records > 0 ? own : last;
        if (start < from)
            continue;
        while (head < at && (head < start || rate_records_of(r, head)->records == 0))
            head++;
        s->last = rate_mean(n, rate_records_of(r, head)->first, last->last, start * length, (at + 1) * length);
        s->highest = s->last > s->highest ? s->last : s->highest;
        s->number = n > s->number ? n : s->number;
        n -= rate_records_of(r, start)->records;
    }
    return until - from >= RATE_FINE;
}

/*
 * The same of those that ended since `since`, a reading, until the end of a window of which all records came; where
 * these are not all known, of those in that window.
 */
static bool rate_slide_since(const struct rate *r, const struct rate_span *span, int64_t since, struct rate_slid *s)
{
    int64_t length = rate_part_length(r);
    int64_t until = (rate_at(r, span->to)->end + 1) / length, from = since / length - RATE_FINE + 1, begin;
    struct rate_span wide = *span;
    while (since - rate_at(r, wide.from)->end < r->window && wide.from > rate_oldest(r))
        wide.missing += rate_missing(r, wide.from--);
    wide = (int64_t)wide.missing > 0 ? *span : wide;
    begin = rate_at(r, wide.from)->end / length + !rate_is_begin(r, &wide); /* of that part not all may have come */
    from = begin > from ? begin : from;
    int64_t kept = rate_at(r, r->marks - 1)->end / length - RATE_PARTS + 1;
    return rate_slide(r, from > kept ? from : kept, until, s) &&
           s->number <= rate_sum(r, &wide).records; /* else a writer invents times */
}

/* The same of those since the reading before, or since all records had come at that. False: no more have come. */
static bool rate_slide_new(const struct rate *r, struct rate_slid *s)
{
    struct rate_span span = {.from = r->marks - 1, .to = r->marks - 1};
    if (!r->parts || !rate_widen(r, &span) || !rate_go_back(r, &span) || rate_at(r, span.to)->end <= r->slid_before)
        return false;
    int64_t before = rate_at(r, span.to - 1)->end;
    return rate_slide_since(r, &span, before < r->slid_before ? before : r->slid_before, s);
}

bool rate_limit(const struct rate *r, int64_t now, bool at_most, double *per_second, double *resolution)
{
    struct rate_span span;
    struct rate_slid slid;
    if (!rate_find(r, now, &span, per_second, resolution))
        return false;
    bool longer = rate_length(r, &span) > r->window + r->grain; /* than a window, which may have had less */
    bool exact = *resolution <= 0;
    if (at_most ? !rate_slide_new(r, &slid)
                : !r->parts || !exact || !longer || !rate_slide_since(r, &span, rate_at(r, span.to - 1)->end, &slid))
        return true;
    int64_t length = rate_part_length(r), begin = rate_at(r, span.from)->end / length,
            end = at_most ? slid.until : rate_at(r, span.to)->end / length + 2;
    begin = at_most && slid.from > begin ? slid.from : begin;
    bool has_all =
        exact && longer && rate_records_in(r, begin, end) >= rate_sum(r, &span).records; /* no invented time */
    if (has_all || (at_most && slid.highest > *per_second - *resolution)) {
        *per_second = at_most ? slid.highest : slid.last;
        *resolution = 0;
    }
    return true;
}

bool rate_number(const struct rate *r, int64_t now, uint64_t *n, uint64_t *all, uint64_t *lowest)
{
    struct rate_span span;
    if (!rate_latest(r, now, &span) || (r->is_chosen && !rate_complete(r, &span)))
        return false;
    uint64_t came = rate_sum(r, &span).records, most, outside;
    *all = r->is_chosen ? came : rate_counted(r, &span);
    most = came > *all ? came : *all;
    outside = r->parts ? rate_outside(r, &span, came) : 0;
    *n = most - (outside < most ? outside : most); /* more than there are: a writer invents times */
    struct rate_slid slid;
    if (rate_slide_new(r, &slid) && slid.number > *n)
        *n = slid.number;
    *lowest = r->parts ? rate_lowest(r, span) : *all;
    return true;
}

/*
 * Before the first window, nothing is open: records of its end that are not read yet only put it off. The window that
 * would be complete is not full then, and lacks nothing.
 */
bool rate_is_open(const struct rate *r, int64_t now)
{
    struct rate_span span, before;
    if (!r->is_chosen || !rate_latest(r, now, &span))
        return false;
    uint64_t from = span.from;
    int64_t newest = rate_at(r, span.to)->end;
    if (rate_complete(r, &span))
        return false;
    if (r->tumbles)
        return rate_before(r, from, &before);
    return (int64_t)span.missing > 0 || rate_is_old(r, newest, rate_at(r, span.to)->end);
}

bool rate_starts(const struct rate *r, int64_t now)
{
    struct rate_span span;
    if (r->started && (rate_at(r, r->marks - 1)->end - r->since) / 4 > r->window)
        return false;
    if (!r->started || !rate_latest(r, now, &span))
        return true;
    return (r->is_chosen && !rate_complete(r, &span)) || rate_at(r, span.from)->end < r->since;
}

/* Of windows that follow one another, the known ones of that which ended with mark `to`, where it has no value: it is
 * the first one, of which there was a reading. */
static uint64_t rate_of_first(const struct rate *r, uint64_t to)
{
    struct rate_span first;
    if (!r->tumbles || to == rate_oldest(r) || rate_before(r, to, &first) ||
        rate_at(r, to)->end / r->window - rate_at(r, first.from)->end / r->window > 1)
        return 0;
    return rate_known(r, &first);
}

bool rate_least(const struct rate *r, int64_t now, uint64_t *n)
{
    if (r->marks == 0 || now - rate_at(r, r->marks - 1)->end > r->window)
        return false;
    struct rate_span span = {.from = r->marks - 1, .to = r->marks - 1};
    while (span.from > rate_oldest(r) && now - rate_at(r, span.from - 1)->end <= r->window &&
           !rate_is_edge(r, rate_at(r, span.from - 1)->end, now))
        span.from--;
    uint64_t known = rate_known(r, &span), of_first = rate_of_first(r, span.from);
    if (span.from == span.to && of_first == 0)
        return false;
    *n = known > of_first ? known : of_first;
    return true;
}
