// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/figure_own.h"

#include <assert.h>
#include <string.h>

/* How many values of a run are looked at at a time. */
enum { BLOCK = 128 };

/* ---- Grains ------------------------------------------------------------------------------------------------------ */

/* The grain of `time`, emptied where it was an earlier one's; NULL: its window is over. */
static struct figure_grain *grain_at(struct figure *s, int64_t time)
{
    int64_t number = figure_grain_of(s, time);
    struct figure_grain *g = &s->grains[((number % FIGURE_GRAINS) + FIGURE_GRAINS) % FIGURE_GRAINS];
    if (g->number > number || number <= s->end - FIGURE_GRAINS)
        return NULL;
    if (g->number < number) {
        *g = (struct figure_grain){.number = number};
        for (int i = 0; i < FIGURE_LANES; i++)
            g->lanes[i] = figure_neutral(s->kind);
    }
    return g;
}

/* Inline, so that there is a loop for each kind. */
static inline __attribute__((always_inline)) void fold_all(enum figure_kind kind, struct figure_grain *g,
                                                           const double *values, uint32_t n)
{
    uint32_t i = 0;
    for (; i < n && (g->count + i) % FIGURE_LANES != 0; i++)
        g->lanes[(g->count + i) % FIGURE_LANES] = figure_fold(kind, g->lanes[(g->count + i) % FIGURE_LANES], values[i]);
    double lanes[FIGURE_LANES];
    memcpy(lanes, g->lanes, sizeof lanes);
    for (; n - i >= FIGURE_LANES; i += FIGURE_LANES)
        for (uint32_t k = 0; k < FIGURE_LANES; k++)
            lanes[k] = figure_fold(kind, lanes[k], values[i + k]);
    for (uint32_t k = 0; i < n; i++, k++)
        lanes[k] = figure_fold(kind, lanes[k], values[i]);
    memcpy(g->lanes, lanes, sizeof lanes);
    g->count += n;
}

/* False: there is none. */
static bool drop_oldest(struct figure *s)
{
    int oldest = -1;
    for (int i = 0; i < FIGURE_GRAINS; i++)
        if (s->grains[i].count > 0 && (oldest < 0 || s->grains[i].number < s->grains[oldest].number))
            oldest = i;
    if (oldest >= 0)
        figure_drop(s, oldest);
    return oldest >= 0;
}

/* Where there is no memory for all the oldest go: the window is then shorter, and right. */
static void add_to_histogram(struct figure *s, struct figure_grain *g, const double *values, uint32_t n)
{
    for (uint32_t done = 0; done < n && g->count < UINT32_MAX;) {
        uint32_t room = UINT32_MAX - (uint32_t)g->count, next = n - done < room ? n - done : room;
        uint32_t added = quantile_add(s->quantile, (unsigned)(g - s->grains), values + done, next);
        done += added;
        g->count += added;
        if (added < next && !drop_oldest(s))
            return;
    }
}

static void add_to_grain(struct figure *s, struct figure_grain *g, const double *values, uint32_t n)
{
    if (s->kind == FIGURE_QUANTILE)
        add_to_histogram(s, g, values, n);
    else if (s->kind == FIGURE_MEAN)
        fold_all(FIGURE_MEAN, g, values, n);
    else if (s->kind == FIGURE_MIN)
        fold_all(FIGURE_MIN, g, values, n);
    else
        fold_all(FIGURE_MAX, g, values, n);
}

/* ---- Values of a run --------------------------------------------------------------------------------------------- */

/* The value of a record; not finite: it has none. */
static inline __attribute__((always_inline)) double value_at(const struct packet_run *run, uint32_t i,
                                                             const struct figure_field *field)
{
    uint64_t bits = bytes_get_u64(run->first + (size_t)i * run->stride + PACKET_RECORD_BYTES + 8 * (size_t)field->at);
    double real;
    if (!field->is_float)
        return field->is_duration && (int64_t)bits < 0 ? (double)NAN : field->scale * (double)(int64_t)bits;
    memcpy(&real, &bits, sizeof real);
    return field->scale * real;
}

/* Inline, so that what `field` says is constant where the caller says so. Returns how many of the `n` have a value. */
static inline __attribute__((always_inline)) uint32_t read_as(const struct packet_run *run, uint32_t from, uint32_t n,
                                                              const struct figure_field *field, double *values)
{
    uint32_t found = 0;
    for (uint32_t i = from; i < from + n; i++) {
        values[found] = value_at(run, i, field);
        found += (field->is_float || field->is_duration) ? isfinite(values[found]) != 0 : 1;
    }
    return found;
}

static uint32_t read_values(const struct packet_run *run, uint32_t from, uint32_t n, const struct figure_field *f,
                            double *values)
{
    if (f->is_float)
        return read_as(run, from, n, &(struct figure_field){f->at, f->scale, true, false}, values);
    if (f->is_duration)
        return read_as(run, from, n, &(struct figure_field){f->at, f->scale, false, true}, values);
    return read_as(run, from, n, &(struct figure_field){f->at, f->scale, false, false}, values);
}

static int64_t time_at(const struct packet_run *run, uint32_t i, int64_t now)
{
    int64_t time = (int64_t)packet_run_time(run, i);
    return time < now ? time : now;
}

/* The first record after number `from` that is of another grain. */
static uint32_t next_grain(const struct figure *s, const struct packet_run *run, uint32_t from, int64_t now)
{
    int64_t number = figure_grain_of(s, time_at(run, from, now));
    return number < figure_grain_of(s, now) ? packet_run_seek(run, from, (number + 1) * s->length) : run->count;
}

static void add_to_grains(struct figure *s, const struct packet_run *run, uint32_t from,
                          const struct figure_field *field, int64_t now)
{
    double values[BLOCK];
    for (uint32_t end; from < run->count; from = end) {
        end = next_grain(s, run, from, now);
        struct figure_grain *g = NULL;
        for (uint32_t n; from < end; from += n) {
            n = end - from < BLOCK ? end - from : BLOCK;
            uint32_t found = read_values(run, from, n, field, values);
            if (found > 0 && (g || (g = grain_at(s, time_at(run, from, now)))))
                add_to_grain(s, g, values, found);
        }
    }
}

/* Takes in the last value of a run, from record `from` on. */
static void add_last(struct figure *s, const struct packet_run *run, uint32_t from, const struct figure_field *field,
                     int64_t now)
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

/* ---- What comes -------------------------------------------------------------------------------------------------- */

void figure_records(struct figure *s, const struct packet_run *run, const struct figure_field *field, int64_t now)
{
    if (field->at == FIGURE_NO_FIELD || (uint32_t)field->at >= run->value_count)
        return;
    uint32_t from = packet_run_seek(run, 0, now - s->window + 1);
    add_last(s, run, from, field, now);
    if (s->kind == FIGURE_QUANTILE)
        figure_advance(s, now);
    if (s->kind != FIGURE_LAST)
        add_to_grains(s, run, from, field, now);
}

void figure_add_many(struct figure *s, int64_t now, uint64_t n, double mean, double min, double max)
{
    assert(s->kind != FIGURE_QUANTILE);
    if (n == 0 || !isfinite(mean) || !isfinite(min) || !isfinite(max))
        return;
    s->newest = now;
    s->last = mean;
    s->any = true;
    struct figure_grain *g = grain_at(s, now);
    if (!g)
        return;
    double value = s->kind == FIGURE_MIN ? min : s->kind == FIGURE_MAX ? max : mean * (double)n;
    add_to_grain(s, g, &value, 1);
    g->count += n - 1;
}
