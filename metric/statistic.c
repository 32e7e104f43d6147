// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

#include "metric/statistic.h"

#include "config/experiment.h"
#include "metric/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of values of a run that are read at a time. */
enum { BLOCK = 128 };

/*
 * Value number i of a grain is folded into lane i modulo STATISTIC_LANES: so several can be folded at once, with the
 * same result as one by one.
 */
enum { STATISTIC_LANES = 4 };

/* The values of a grain. Grain `number` is time [number, number + 1) * length. */
struct statistic_grain {
    int64_t number;
    uint64_t count;
    double lanes[STATISTIC_LANES]; /* sums, least or largest values */
};

struct statistic {
    enum statistic_kind kind;
    double share;
    int64_t window, length; /* of a grain: of windows that follow one another, each is one grain */
    bool tumbles;
    int64_t newest;
    bool any;
    double last;
    struct quantile *quantile; /* NULL for other kinds */
    struct quantile *odd;      /* of odd windows, if these follow one another; else NULL */
    int64_t end;               /* of a quantile: the latest grain so far; never changed for other kinds */
    struct statistic_grain grains[STATISTIC_GRAINS];
};

/* ---- Grains ------------------------------------------------------------------------------------------------------ */

/* The number of the grain of `time`. */
static int64_t grain_of(const struct statistic *s, int64_t time)
{
    int64_t number = time / s->length;
    return time % s->length < 0 ? number - 1 : number;
}

/* The first grain that may still have a share in the value of a window, where grain `end` is the present one. */
static int64_t oldest_grain(const struct statistic *s, int64_t end)
{
    return s->tumbles ? end - 1 : end - STATISTIC_GRAINS + 1;
}

/* Whether grain `number` is of the window whose value is that while grain `end` is the present one. */
static bool is_in_window(const struct statistic *s, int64_t number, int64_t end)
{
    return number >= oldest_grain(s, end) && number <= (s->tumbles ? end - 1 : end);
}

/* Values from this time on may still count at `now`. */
static int64_t oldest_time(const struct statistic *s, int64_t now)
{
    return s->tumbles ? oldest_grain(s, grain_of(s, now)) * s->length : now - s->window + 1;
}

static bool is_empty(const struct statistic *s, int64_t now)
{
    return !s->any || s->newest < oldest_time(s, now);
}

/* The histogram that has the values of grain `number`. */
static struct quantile *quantile_of(const struct statistic *s, int64_t number)
{
    return s->odd && number % 2 != 0 ? s->odd : s->quantile;
}

static void drop_grain(struct statistic *s, int grain)
{
    quantile_drop(quantile_of(s, s->grains[grain].number), (unsigned)grain);
    s->grains[grain].count = 0;
}

/* For a quantile: drops the grains that are not in the window at `now`, nor in a later one. */
static void advance(struct statistic *s, int64_t now)
{
    int64_t end = grain_of(s, now);
    if (end <= s->end)
        return;
    bool turns = !s->tumbles && end / STATISTIC_GRAINS != s->end / STATISTIC_GRAINS;
    s->end = end;
    for (int i = 0; i < STATISTIC_GRAINS; i++)
        if (s->grains[i].count > 0 && s->grains[i].number < oldest_grain(s, end))
            drop_grain(s, i);
    if (turns)
        quantile_turn(s->quantile);
}

/* The initial value of a lane. */
static inline double neutral(enum statistic_kind kind)
{
    return kind == STATISTIC_MIN ? (double)INFINITY : kind == STATISTIC_MAX ? -(double)INFINITY : 0;
}

static inline double fold(enum statistic_kind kind, double lane, double value)
{
    if (kind == STATISTIC_MIN)
        return value < lane ? value : lane;
    if (kind == STATISTIC_MAX)
        return value > lane ? value : lane;
    return lane + value;
}

/* The grain of `time`, emptied if it holds an earlier one; NULL: `time` is before the window. */
static struct statistic_grain *grain_at(struct statistic *s, int64_t time)
{
    int64_t number = grain_of(s, time);
    struct statistic_grain *g = &s->grains[((number % STATISTIC_GRAINS) + STATISTIC_GRAINS) % STATISTIC_GRAINS];
    if (g->number > number || number < oldest_grain(s, s->end))
        return NULL;
    if (g->number < number) {
        *g = (struct statistic_grain){.number = number};
        for (int i = 0; i < STATISTIC_LANES; i++)
            g->lanes[i] = neutral(s->kind);
    }
    return g;
}

/* Inline: the compiler makes a loop for each kind. */
static inline __attribute__((always_inline)) void fold_values(enum statistic_kind kind, struct statistic_grain *g,
                                                              const double *values, uint32_t n)
{
    uint32_t i = 0;
    for (; i < n && (g->count + i) % STATISTIC_LANES != 0; i++)
        g->lanes[(g->count + i) % STATISTIC_LANES] = fold(kind, g->lanes[(g->count + i) % STATISTIC_LANES], values[i]);
    double lanes[STATISTIC_LANES];
    memcpy(lanes, g->lanes, sizeof lanes);
    for (; n - i >= STATISTIC_LANES; i += STATISTIC_LANES)
        for (uint32_t k = 0; k < STATISTIC_LANES; k++)
            lanes[k] = fold(kind, lanes[k], values[i + k]);
    for (uint32_t k = 0; i < n; i++, k++)
        lanes[k] = fold(kind, lanes[k], values[i]);
    memcpy(g->lanes, lanes, sizeof lanes);
    g->count += n;
}

/* False: every grain is empty. */
static bool drop_oldest(struct statistic *s)
{
    int oldest = -1;
    for (int i = 0; i < STATISTIC_GRAINS; i++)
        if (s->grains[i].count > 0 && (oldest < 0 || s->grains[i].number < s->grains[oldest].number))
            oldest = i;
    if (oldest >= 0)
        drop_grain(s, oldest);
    return oldest >= 0;
}

/* If memory is short, drops the oldest grains: the quantile is then right for a shorter window. */
static void add_to_histogram(struct statistic *s, struct statistic_grain *g, const double *values, uint32_t n)
{
    for (uint32_t done = 0; done < n && g->count < UINT32_MAX;) {
        uint32_t room = UINT32_MAX - (uint32_t)g->count, next = n - done < room ? n - done : room;
        uint32_t added = quantile_add(quantile_of(s, g->number), (unsigned)(g - s->grains), values + done, next);
        done += added;
        g->count += added;
        if (added < next && !drop_oldest(s))
            return;
    }
}

static void add_to_grain(struct statistic *s, struct statistic_grain *g, const double *values, uint32_t n)
{
    if (s->kind == STATISTIC_QUANTILE)
        add_to_histogram(s, g, values, n);
    else if (s->kind == STATISTIC_MEAN)
        fold_values(STATISTIC_MEAN, g, values, n);
    else if (s->kind == STATISTIC_MIN)
        fold_values(STATISTIC_MIN, g, values, n);
    else
        fold_values(STATISTIC_MAX, g, values, n);
}

/* ---- Values of a run --------------------------------------------------------------------------------------------- */

bool statistic_unknown_below(const struct dict_aspect *a, uint32_t i)
{
    return dict_is_duration(a, i) || experiment_sampler_of(a->name) != EXPERIMENT_SAMPLERS;
}

/* The value of record `i`; if it has none, a number that is not finite. */
static inline __attribute__((always_inline)) double value_at(const struct packet_run *run, uint32_t i,
                                                             const struct statistic_field *field)
{
    uint64_t bits = bytes_get_u64(run->first + (size_t)i * run->stride + PACKET_RECORD_BYTES + 8 * (size_t)field->at);
    double real;
    if (!field->is_float)
        return field->unknown_below && (int64_t)bits < 0 ? (double)NAN : field->scale * (double)(int64_t)bits;
    memcpy(&real, &bits, sizeof real);
    return field->scale * real;
}

double statistic_read(const struct packet_run *run, uint32_t i, const struct statistic_field *field)
{
    return value_at(run, i, field);
}

/* Inline, because callers pass a constant `field`. Returns how many of the `n` records have a value. */
static inline __attribute__((always_inline)) uint32_t read_as(const struct packet_run *run, uint32_t from, uint32_t n,
                                                              const struct statistic_field *field, double *values)
{
    uint32_t found = 0;
    for (uint32_t i = from; i < from + n; i++) {
        values[found] = value_at(run, i, field);
        found += (field->is_float || field->unknown_below) ? isfinite(values[found]) != 0 : 1;
    }
    return found;
}

static uint32_t read_values(const struct packet_run *run, uint32_t from, uint32_t n, const struct statistic_field *f,
                            double *values)
{
    if (f->is_float)
        return read_as(run, from, n, &(struct statistic_field){f->at, f->scale, true, false}, values);
    if (f->unknown_below)
        return read_as(run, from, n, &(struct statistic_field){f->at, f->scale, false, true}, values);
    return read_as(run, from, n, &(struct statistic_field){f->at, f->scale, false, false}, values);
}

static int64_t time_at(const struct packet_run *run, uint32_t i, int64_t now)
{
    int64_t time = (int64_t)packet_run_time(run, i);
    return time < now ? time : now;
}

/* The first record after number `from` that is of another grain. */
static uint32_t next_grain(const struct statistic *s, const struct packet_run *run, uint32_t from, int64_t now)
{
    int64_t number = grain_of(s, time_at(run, from, now));
    return number < grain_of(s, now) ? packet_run_seek(run, from, (number + 1) * s->length) : run->count;
}

static void add_to_grains(struct statistic *s, const struct packet_run *run, uint32_t from,
                          const struct statistic_field *field, int64_t now)
{
    double values[BLOCK];
    for (uint32_t end; from < run->count; from = end) {
        end = next_grain(s, run, from, now);
        struct statistic_grain *g = NULL;
        for (uint32_t n; from < end; from += n) {
            n = end - from < BLOCK ? end - from : BLOCK;
            uint32_t found = read_values(run, from, n, field, values);
            if (found > 0 && (g || (g = grain_at(s, time_at(run, from, now)))))
                add_to_grain(s, g, values, found);
        }
    }
}

/* Takes in the last value of a run, from record `from` on. */
static void add_last(struct statistic *s, const struct packet_run *run, uint32_t from,
                     const struct statistic_field *field, int64_t now)
{
    uint32_t i = run->count;
    while (i > from && !isfinite(value_at(run, i - 1, field)))
        i--;
    if (i == from || (s->any && time_at(run, i - 1, now) < s->newest))
        return;
    s->newest = time_at(run, i - 1, now);
    s->last = value_at(run, i - 1, field);
    s->any = true;
}

/* Of a grain, one value: lane 0, at the ns in it of lane 1. */
static void set_value(struct statistic_grain *g, double value, double at)
{
    g->count = 1;
    g->lanes[0] = value;
    g->lanes[1] = at;
}

/* Of a grain, the earliest value that it has. */
static void add_first(struct statistic *s, const struct packet_run *run, uint32_t from,
                      const struct statistic_field *field, int64_t now)
{
    for (uint32_t end; from < run->count; from = end) {
        end = next_grain(s, run, from, now);
        while (from < end && !isfinite(value_at(run, from, field)))
            from++;
        struct statistic_grain *g = from < end ? grain_at(s, time_at(run, from, now)) : NULL;
        double at = g ? (double)(time_at(run, from, now) - g->number * s->length) : 0;
        if (g && (g->count == 0 || g->lanes[1] > at))
            set_value(g, value_at(run, from, field), at);
    }
}

/* Of a grain, the latest value that it has. */
static void add_latest(struct statistic *s, double value, int64_t time)
{
    struct statistic_grain *g = grain_at(s, time);
    double at = g ? (double)(time - g->number * s->length) : 0;
    if (g && (g->count == 0 || g->lanes[1] <= at))
        set_value(g, value, at);
}

static void add_latest_of_all(struct statistic *s, const struct packet_run *run, uint32_t from,
                              const struct statistic_field *field, int64_t now)
{
    for (uint32_t end; from < run->count; from = end) {
        end = next_grain(s, run, from, now);
        uint32_t at = end;
        while (at > from && !isfinite(value_at(run, at - 1, field)))
            at--;
        if (at > from)
            add_latest(s, value_at(run, at - 1, field), time_at(run, at - 1, now));
    }
}

/* ---- Taking records in ------------------------------------------------------------------------------------------- */

void statistic_records(struct statistic *s, const struct packet_run *run, const struct statistic_field *field,
                       int64_t now)
{
    if (field->at == STATISTIC_NO_FIELD || (uint32_t)field->at >= run->value_count)
        return;
    uint32_t from = packet_run_seek(run, 0, oldest_time(s, now));
    add_last(s, run, from, field, now);
    if (s->kind == STATISTIC_QUANTILE)
        advance(s, now);
    if (s->kind == STATISTIC_FIRST)
        add_first(s, run, from, field, now);
    else if (s->kind == STATISTIC_LAST && s->tumbles)
        add_latest_of_all(s, run, from, field, now);
    else if (s->kind != STATISTIC_LAST)
        add_to_grains(s, run, from, field, now);
}

void statistic_add(struct statistic *s, double value, int64_t time, int64_t now)
{
    struct statistic_grain *g;
    time = time < now ? time : now;
    if (!isfinite(value) || time < oldest_time(s, now))
        return;
    if (!s->any || time >= s->newest) {
        s->newest = time;
        s->last = value;
        s->any = true;
    }
    if (s->kind == STATISTIC_QUANTILE)
        advance(s, now);
    if (s->kind == STATISTIC_LAST && s->tumbles)
        add_latest(s, value, time);
    else if (s->kind != STATISTIC_LAST && (g = grain_at(s, time)))
        add_to_grain(s, g, &value, 1);
}

void statistic_constant(struct statistic *s, const struct packet_run *run, double value, int64_t now)
{
    uint32_t from = packet_run_seek(run, 0, oldest_time(s, now));
    for (uint32_t end; from < run->count; from = end) {
        end = next_grain(s, run, from, now);
        statistic_add_many(s, time_at(run, end - 1, now), end - from, value, value, value);
    }
}

void statistic_add_many(struct statistic *s, int64_t now, uint64_t n, double mean, double min, double max)
{
    assert(s->kind != STATISTIC_QUANTILE);
    if (n == 0 || !isfinite(mean) || !isfinite(min) || !isfinite(max))
        return;
    s->newest = s->any && s->newest > now ? s->newest : now;
    s->last = mean;
    s->any = true;
    struct statistic_grain *g = grain_at(s, now);
    if (!g)
        return;
    double value = s->kind == STATISTIC_MIN ? min : s->kind == STATISTIC_MAX ? max : mean * (double)n;
    add_to_grain(s, g, &value, 1);
    g->count += n - 1;
}

/* ---- The value --------------------------------------------------------------------------------------------------- */

/* The least or largest value of all grains in the window; for a mean, the sum. */
static double fold_all(const struct statistic *s, int64_t now, uint64_t *count)
{
    double all = neutral(s->kind);
    int64_t end = grain_of(s, now);
    *count = 0;
    for (int i = 0; i < STATISTIC_GRAINS; i++) {
        const struct statistic_grain *g = &s->grains[i];
        if (g->count == 0 || !is_in_window(s, g->number, end))
            continue;
        *count += g->count;
        for (int k = 0; k < STATISTIC_LANES; k++)
            all = fold(s->kind, all, g->lanes[k]);
    }
    return all;
}

/* The value of the earliest grain in the window. */
static bool first_of_all(const struct statistic *s, int64_t now, double *value)
{
    const struct statistic_grain *first = NULL;
    int64_t end = grain_of(s, now);
    for (int i = 0; i < STATISTIC_GRAINS; i++) {
        const struct statistic_grain *g = &s->grains[i];
        if (g->count > 0 && is_in_window(s, g->number, end) && (!first || g->number < first->number))
            first = g;
    }
    *value = first ? first->lanes[0] : *value;
    return first;
}

/* The histogram of the window at `now`. */
static struct quantile *quantile_at(struct statistic *s, int64_t now)
{
    advance(s, now);
    return quantile_of(s, grain_of(s, now) - 1);
}

static bool mean_or_extreme(const struct statistic *s, int64_t now, double *value)
{
    uint64_t count;
    double all = fold_all(s, now, &count);
    if (count > 0)
        *value = s->kind == STATISTIC_MEAN ? all / (double)count : all;
    return count > 0;
}

bool statistic_value(struct statistic *s, int64_t now, double *value, int64_t *newest)
{
    bool has = !is_empty(s, now);
    if (has && s->kind == STATISTIC_QUANTILE)
        has = quantile_value(quantile_at(s, now), s->share, value);
    else if (has && (s->kind == STATISTIC_FIRST || (s->kind == STATISTIC_LAST && s->tumbles)))
        has = first_of_all(s, now, value);
    else if (has && s->kind == STATISTIC_LAST)
        *value = s->last;
    else if (has)
        has = mean_or_extreme(s, now, value);
    if (has && newest)
        *newest = s->tumbles ? grain_of(s, now) * s->length - 1 : s->newest;
    return has;
}

bool statistic_is_whole(const struct statistic *s, int64_t since, int64_t now)
{
    return !s->tumbles || oldest_time(s, now) >= since;
}

uint64_t statistic_count(const struct statistic *s, int64_t now)
{
    uint64_t count = 0;
    if (is_empty(s, now))
        return 0;
    if (s->kind == STATISTIC_LAST && !s->tumbles)
        return 1;
    (void)fold_all(s, now, &count);
    return count;
}

bool statistic_quantile(struct statistic *s, double share, int64_t now, double *value)
{
    return !is_empty(s, now) && quantile_value(quantile_at(s, now), share, value);
}

bool statistic_sum(const struct statistic *s, int64_t now, double *sum, uint64_t *count)
{
    if (is_empty(s, now))
        return false;
    *sum = fold_all(s, now, count);
    return *count > 0;
}

uint32_t statistic_histogram(struct statistic *s, int64_t now, uint8_t *to, uint32_t room)
{
    struct histogram h = {.coarser = HISTOGRAM_COARSE};
    size_t bytes = 0;
    if (is_empty(s, now))
        return 0;
    if (quantile_histogram(quantile_at(s, now), &h) == 0 && (bytes = histogram_pack(&h, NULL)) <= room)
        (void)histogram_pack(&h, to);
    histogram_free(&h, NULL);
    return bytes <= room ? (uint32_t)(bytes / HISTOGRAM_PACKED) : 0;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

int statistic_new(enum statistic_kind kind, double share, int64_t window, struct statistic **out)
{
    struct statistic *s = calloc(1, sizeof *s);
    if (s && kind == STATISTIC_QUANTILE && quantile_new(&s->quantile) != 0) {
        free(s);
        s = NULL;
    }
    if (!s)
        return BEZEL_ENOMEM;
    s->kind = kind;
    s->share = share;
    s->window = window;
    s->length = window / STATISTIC_GRAINS > 0 ? window / STATISTIC_GRAINS : 1;
    statistic_reset(s);
    *out = s;
    return 0;
}

int statistic_tumble(struct statistic *s)
{
    if (s->kind == STATISTIC_QUANTILE && !s->odd && quantile_new(&s->odd) != 0)
        return BEZEL_ENOMEM;
    s->tumbles = true;
    s->length = s->window;
    return 0;
}

void statistic_free(struct statistic *s)
{
    if (s) {
        quantile_free(s->quantile);
        quantile_free(s->odd);
    }
    free(s);
}

void statistic_reset(struct statistic *s)
{
    s->any = false;
    s->end = INT64_MIN + STATISTIC_GRAINS;
    for (int i = 0; i < STATISTIC_GRAINS; i++) {
        if (s->quantile)
            quantile_drop(s->quantile, (unsigned)i);
        if (s->odd)
            quantile_drop(s->odd, (unsigned)i);
        s->grains[i] = (struct statistic_grain){.number = INT64_MIN};
    }
}
