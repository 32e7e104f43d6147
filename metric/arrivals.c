// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/arrivals.h"

#include "base/grow.h"

#include <stdlib.h>

enum { BLOCK = 128, VALUE_BYTES = PACKET_RECORD_BYTES + 8, STREAMS_MOST = 1024 };

/* Times or jitters, as records of one field: so a statistic takes them as it takes any. */
struct values {
    uint32_t count;
    uint8_t bytes[BLOCK * VALUE_BYTES];
};

void arrivals_end(struct arrivals *a)
{
    free(a->streams);
    *a = (struct arrivals){0};
}

void arrivals_break(struct arrivals *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        a->streams[i].any = a->streams[i].any_gap = false;
}

/* Where more threads came than live at once, the one that was silent the longest has ended. */
static struct arrivals_stream *oldest(struct arrivals *a)
{
    struct arrivals_stream *found = a->streams;
    for (uint32_t i = 1; i < a->count; i++)
        if (a->streams[i].last < found->last)
            found = &a->streams[i];
    return found;
}

static struct arrivals_stream *add_stream(struct arrivals *a)
{
    if (a->count == STREAMS_MOST)
        return oldest(a);
    if (!grow_by_one(&a->streams, a->count, sizeof *a->streams))
        return NULL;
    return &a->streams[a->count++];
}

/* Polls go from thread to thread: it is the last one, or the next. NULL: no memory. */
static struct arrivals_stream *find_stream(struct arrivals *a, const struct packet_run *run)
{
    for (uint32_t i = 0; i < a->count; i++, a->at++) {
        a->at = a->at < a->count ? a->at : 0;
        if (a->streams[a->at].stream == run->stream)
            return &a->streams[a->at];
    }
    struct arrivals_stream *s = add_stream(a);
    if (s)
        *s = (struct arrivals_stream){.stream = run->stream};
    return s;
}

/* No clock of ours comes so far; sums and differences of what is below do not overflow. */
static int64_t time_of(const struct packet_run *run, uint32_t i)
{
    const uint64_t most = UINT64_C(1) << 61, time = packet_run_time(run, i);
    return (int64_t)(time < most ? time : most);
}

/* ---- Times and jitters ------------------------------------------------------------------------------------------- */

static void flush(struct values *v, struct statistic *s, int64_t now)
{
    static const struct statistic_field field = {.at = 0, .scale = 1};
    if (v->count == 0)
        return;
    struct packet_run run = {.count = v->count, .stride = VALUE_BYTES, .value_count = 1, .first = v->bytes};
    statistic_records(s, &run, &field, now);
    v->count = 0;
}

static void put(struct values *v, int64_t time, int64_t value)
{
    bytes_put_u64(packet_put_record(v->bytes + (size_t)v->count++ * VALUE_BYTES, 0, (uint64_t)time), (uint64_t)value);
}

/* Whether the record at `time` gives a value: the first jitter without a period takes two times. */
static bool value_of(const struct experiment_metric *m, struct arrivals_stream *t, int64_t time, int64_t *value)
{
    int64_t gap = time - t->last, before = m->period ? m->period : t->gap;
    bool any = t->any && (m->arrivals == ARRIVALS_TIME || m->period || t->any_gap);
    *value = m->arrivals == ARRIVALS_TIME ? gap : gap > before ? gap - before : before - gap;
    t->any_gap = t->any;
    t->any = true;
    t->gap = gap;
    t->last = time;
    return any;
}

static void take_times(struct arrivals_stream *t, const struct experiment_metric *m, const struct packet_run *run,
                       struct statistic *s, int64_t now)
{
    struct values v;
    struct arrivals_stream local = *t;
    int64_t value;
    v.count = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        int64_t time = time_of(run, i);
        if (value_of(m, &local, time, &value))
            put(&v, time, value);
        if (v.count == BLOCK)
            flush(&v, s, now);
    }
    flush(&v, s, now);
    *t = local;
}

/* ---- Misses ------------------------------------------------------------------------------------------------------ */

/*
 * From a record on a deadline passes each period, until the next one comes. Those between `last` and `time` count, each
 * at its own time: at most one addition for each grain of the window, however long the silence was.
 */
static void add_misses(const struct experiment_metric *m, int64_t last, int64_t time, struct statistic *s)
{
    int64_t period = m->period, grain = m->window / STATISTIC_GRAINS, at = last + period;
    if (at < time - m->window)
        at += (time - m->window - at) / period * period;
    while (at < time) {
        int64_t end = (at / grain + 1) * grain, until = end < time ? end : time;
        int64_t n = (until - at + period - 1) / period;
        statistic_add_many(s, at, (uint64_t)n, 1, 1, 1);
        at += n * period;
    }
}

static void take_misses(struct arrivals_stream *t, const struct experiment_metric *m, const struct packet_run *run,
                        struct statistic *s)
{
    for (uint32_t i = 0; i < run->count; i++) {
        int64_t time = time_of(run, i);
        if (t->any && time - t->last > m->period)
            add_misses(m, t->last, time, s);
        t->any = true;
        t->last = time;
    }
}

/* ---- Values while they last -------------------------------------------------------------------------------------- */

/* Adds `value` from `last` to `time`, grain by grain, as far as the window reaches. */
static void add_lasting(const struct experiment_metric *m, int64_t last, int64_t time, double value,
                        struct statistic *s)
{
    int64_t grain = m->window / STATISTIC_GRAINS, at = last < time - m->window ? time - m->window : last;
    while (at < time) {
        int64_t end = (at / grain + 1) * grain, until = end < time ? end : time;
        statistic_add_many(s, at, (uint64_t)(until - at), value, value, value);
        at = until;
    }
}

static void take_lasting(struct arrivals_stream *t, const struct experiment_metric *m, const struct packet_run *run,
                         const struct statistic_field *field, struct statistic *s)
{
    for (uint32_t i = 0; i < run->count; i++) {
        int64_t time = time_of(run, i);
        if (t->any)
            add_lasting(m, t->last, time, t->value, s);
        t->any = true;
        t->last = time;
        t->value = statistic_read(run, i, field);
    }
}

double arrivals_missed(const struct experiment_metric *m, int64_t silent)
{
    return (double)((silent < m->window ? silent : m->window) / m->period);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

int64_t arrivals_take(struct arrivals *a, const struct experiment_metric *m, const struct packet_run *run,
                      const struct statistic_field *field, struct statistic *s, int64_t now)
{
    struct arrivals_stream *t = find_stream(a, run);
    int64_t first = time_of(run, 0);
    bool misses = t && t->missing != run->missing;
    if (!t)
        return first;
    if (misses)
        t->any = t->any_gap = false;
    t->missing = run->missing;
    if (m->kind == METRIC_MISSES)
        take_misses(t, m, run, s);
    else if (m->kind == METRIC_TIME_MEAN)
        take_lasting(t, m, run, field, s);
    else
        take_times(t, m, run, s, now);
    return misses ? first : INT64_MIN;
}
