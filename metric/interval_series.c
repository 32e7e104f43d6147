// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/interval_series.h"

#include "base/saturate.h"
#include "metric/histogram.h"
#include "metric/statistic.h"

#include <math.h>
#include <stdlib.h>

enum { GRAINS = 64 };

/* Numbers of ends by the grain of their time. */
struct grain {
    int64_t number;
    uint64_t count;
};

struct interval_series {
    enum statistic_kind kind;
    double share;
    int64_t window;
    bool tumbles;
    struct statistic *values[INTERVAL_PARTS], *bounds[INTERVAL_PARTS];
    struct grain waiting[GRAINS], lost[GRAINS]; /* ends without a beginning; that were lost */
    uint64_t ever_lost;                         /* nobody knows when */
};

static enum statistic_kind kind_of(enum experiment_metric_kind kind)
{
    return kind == METRIC_MIN        ? STATISTIC_MIN
           : kind == METRIC_MAX      ? STATISTIC_MAX
           : kind == METRIC_LAST     ? STATISTIC_LAST
           : kind == METRIC_QUANTILE ? STATISTIC_QUANTILE
                                     : STATISTIC_MEAN;
}

static int new_statistic(const struct interval_series *s, enum statistic_kind kind, struct statistic **is)
{
    int err = statistic_new(kind, s->share, s->window, is);
    return !err && s->tumbles ? statistic_tumble(*is) : err;
}

struct interval_series *interval_series_new(const struct experiment_metric *m)
{
    struct interval_series *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->kind = kind_of(m->interval.statistic);
    s->share = m->share;
    s->window = m->window;
    s->tumbles = m->tumbles;
    for (uint32_t part = 0; part < INTERVAL_PARTS; part++)
        if (interval_has_part(m->interval.count, part) && (new_statistic(s, s->kind, &s->values[part]) != 0 ||
                                                           new_statistic(s, STATISTIC_MAX, &s->bounds[part]) != 0)) {
            interval_series_free(s);
            return NULL;
        }
    return s;
}

void interval_series_free(struct interval_series *s)
{
    for (int part = 0; s && part < INTERVAL_PARTS; part++) {
        statistic_free(s->values[part]);
        statistic_free(s->bounds[part]);
    }
    free(s);
}

static int64_t grain_of(const struct interval_series *s, int64_t time)
{
    int64_t length = s->tumbles ? s->window : s->window / GRAINS;
    return time / length - (time % length < 0);
}

static uint64_t add_counts(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* Counts `n` ends more, or with `less` fewer. */
static void count_grain(const struct interval_series *s, struct grain *grains, int64_t time, uint64_t n, bool less)
{
    int64_t number = grain_of(s, time);
    struct grain *g = &grains[((number % GRAINS) + GRAINS) % GRAINS];
    if (!less && (g->count == 0 || g->number < number))
        *g = (struct grain){.number = number};
    if (g->number != number)
        return;
    g->count = !less ? add_counts(g->count, n) : g->count > n ? g->count - n : 0;
}

static uint64_t sum_grains(const struct interval_series *s, const struct grain *grains, int64_t until, int64_t now)
{
    uint64_t sum = 0;
    int64_t end = grain_of(s, now), last = grain_of(s, until), first = end - GRAINS + 1;
    if (s->tumbles)
        first = last = end - 1;
    for (int i = 0; i < GRAINS; i++)
        if (grains[i].number >= first && grains[i].number <= last)
            sum = add_counts(sum, grains[i].count);
    return sum;
}

void interval_series_add(struct interval_series *s, uint32_t part, struct clock_reading took, int64_t time, int64_t now)
{
    statistic_add(s->values[part], (double)took.ns, time, now);
    statistic_add(s->bounds[part], (double)took.bound, time, now);
}

void interval_series_wait(struct interval_series *s, int64_t time, bool less)
{
    count_grain(s, s->waiting, time, 1, less);
}

void interval_series_lose(struct interval_series *s, int64_t time, uint64_t count)
{
    if (time == INT64_MIN)
        s->ever_lost = add_counts(s->ever_lost, count);
    else
        count_grain(s, s->lost, time, count, false);
}

/* The quantile of ranks among `count` known values and `unknown` others, of at least `least`. */
static void widen_quantile(const struct interval_series *s, struct statistic *of, double least, int64_t now,
                           struct interval_value *v)
{
    uint64_t rank = histogram_rank(add_counts(v->count, v->unknown), s->share);
    double count = (double)v->count;
    v->high = (double)INFINITY;
    if (rank > v->unknown)
        (void)statistic_quantile(of, ((double)(rank - v->unknown) - 0.5) / count, now, &least);
    if (rank <= v->count)
        (void)statistic_quantile(of, ((double)rank - 0.5) / count, now, &v->high);
    v->low = least >= 0 ? least * 32 / 33 : least * 32 / 31; /* the error of a quantile */
}

/* The whole of an unknown time is not negative; a stage may be. */
static void widen(const struct interval_series *s, struct statistic *of, bool whole, int64_t now,
                  struct interval_value *v)
{
    double least = whole ? fmin(v->value, 0) : -(double)INFINITY;
    v->low = v->high = v->value;
    if (s->kind == STATISTIC_QUANTILE)
        widen_quantile(s, of, least, now, v);
    else if (v->unknown > 0) {
        if (s->kind == STATISTIC_MEAN)
            v->low = least < 0 ? least : v->value * ((double)v->count / ((double)v->count + (double)v->unknown));
        else if (s->kind != STATISTIC_MAX)
            v->low = least;
        if (s->kind != STATISTIC_MIN)
            v->high = (double)INFINITY;
    }
}

bool interval_series_value(struct interval_series *s, uint32_t part, bool begun, int64_t settle, int64_t now,
                           struct interval_value *out)
{
    double bound = 0;
    struct interval_value v = {.value = (double)NAN, .high = (double)INFINITY, .newest = now};
    v.unknown = add_counts(s->ever_lost, sum_grains(s, s->lost, now, now));
    if (begun)
        v.unknown = add_counts(v.unknown, sum_grains(s, s->waiting, saturate_sub(now, settle), now));
    if (statistic_value(s->values[part], now, &v.value, &v.newest)) {
        v.count = statistic_count(s->values[part], now);
        widen(s, s->values[part], part == INTERVAL_WHOLE, now, &v);
        (void)statistic_value(s->bounds[part], now, &bound, NULL);
    }
    v.low -= bound;
    v.high += bound;
    if (v.count + v.unknown == 0)
        return false;
    *out = v;
    return true;
}
