// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/figure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What came in a grain; its number tells which: grain `number` is time [number, number + 1) * length. */
struct figure_grain {
    int64_t number;
    uint64_t count;
    double mean, min, max;
};

struct figure_sample {
    int64_t time;
    double value;
};

/* The samples of a quantile: a ring, oldest first, in the order in which they came. */
struct figure_samples {
    uint32_t first, count;
    uint32_t stride, left_out; /* every stride-th value is kept; how many were not since the last one */
    struct figure_sample at[FIGURE_SAMPLES];
    double scratch[FIGURE_SAMPLES];
};

struct figure {
    enum figure_kind kind;
    double share;
    int64_t window, length; /* of a grain */
    int64_t newest;
    bool any;
    double last;
    struct figure_samples *samples; /* of a quantile; else NULL */
    struct figure_grain grains[FIGURE_GRAINS];
};

int figure_new(enum figure_kind kind, double share, int64_t window, struct figure **out)
{
    struct figure *s = calloc(1, sizeof *s);
    if (s && kind == FIGURE_QUANTILE && !(s->samples = calloc(1, sizeof *s->samples))) {
        free(s);
        s = NULL;
    }
    if (!s)
        return BEZEL_ENOMEM;
    s->kind = kind;
    s->share = share;
    s->window = window;
    s->length = window / FIGURE_GRAINS > 0 ? window / FIGURE_GRAINS : 1;
    figure_reset(s);
    *out = s;
    return 0;
}

void figure_free(struct figure *s)
{
    if (s)
        free(s->samples);
    free(s);
}

void figure_reset(struct figure *s)
{
    s->any = false;
    for (int i = 0; i < FIGURE_GRAINS; i++)
        s->grains[i] = (struct figure_grain){.number = INT64_MIN};
    if (s->samples) {
        s->samples->count = s->samples->left_out = 0;
        s->samples->stride = 1;
    }
}

/* ---- What comes -------------------------------------------------------------------------------------------------- */

static int64_t grain_of(const struct figure *s, int64_t time)
{
    int64_t number = time / s->length;
    return time % s->length < 0 ? number - 1 : number;
}

static void add_to_grain(struct figure *s, int64_t time, const struct figure_grain *more)
{
    int64_t number = grain_of(s, time);
    struct figure_grain *g = &s->grains[((number % FIGURE_GRAINS) + FIGURE_GRAINS) % FIGURE_GRAINS];
    if (g->number > number) /* its window is over */
        return;
    if (g->number < number) {
        *g = *more;
        g->number = number;
        return;
    }
    g->count += more->count;
    g->mean += (more->mean - g->mean) * ((double)more->count / (double)g->count);
    g->min = fmin(g->min, more->min);
    g->max = fmax(g->max, more->max);
}

/* Half of the samples are enough, and every second one is as even over the window as all. */
static void halve(struct figure_samples *q)
{
    for (uint32_t i = 0; i < q->count / 2; i++)
        q->at[(q->first + i) % FIGURE_SAMPLES] = q->at[(q->first + 2 * i) % FIGURE_SAMPLES];
    q->count /= 2;
    q->stride *= 2;
}

static void add_sample(struct figure *s, int64_t time, double value)
{
    struct figure_samples *q = s->samples;
    while (q->count > 0 && q->at[q->first].time <= time - s->window) {
        q->first = (q->first + 1) % FIGURE_SAMPLES;
        q->count--;
    }
    if (q->count < FIGURE_SAMPLES / 4 && q->stride > 1)
        q->stride /= 2;
    if (++q->left_out < q->stride)
        return;
    q->left_out = 0;
    if (q->count == FIGURE_SAMPLES)
        halve(q);
    q->at[(q->first + q->count++) % FIGURE_SAMPLES] = (struct figure_sample){time, value};
}

void figure_add(struct figure *s, int64_t timestamp, int64_t now, double value)
{
    int64_t time = timestamp < now ? timestamp : now;
    if (!isfinite(value) || time <= now - s->window)
        return;
    if (!s->any || time >= s->newest) {
        s->newest = time;
        s->last = value;
        s->any = true;
    }
    add_to_grain(s, time, &(struct figure_grain){.count = 1, .mean = value, .min = value, .max = value});
    if (s->samples)
        add_sample(s, time, value);
}

void figure_add_many(struct figure *s, int64_t now, uint64_t n, double mean, double min, double max)
{
    assert(!s->samples);
    if (n == 0 || !isfinite(mean) || !isfinite(min) || !isfinite(max))
        return;
    s->newest = now;
    s->last = mean;
    s->any = true;
    add_to_grain(s, now, &(struct figure_grain){.count = n, .mean = mean, .min = min, .max = max});
}

/* ---- The figure -------------------------------------------------------------------------------------------------- */

static struct figure_grain sum_up(const struct figure *s, int64_t now)
{
    struct figure_grain all = {.min = INFINITY, .max = -INFINITY};
    int64_t end = grain_of(s, now);
    for (int i = 0; i < FIGURE_GRAINS; i++) {
        const struct figure_grain *g = &s->grains[i];
        if (g->count == 0 || g->number > end || g->number <= end - FIGURE_GRAINS)
            continue;
        all.count += g->count;
        all.mean += (g->mean - all.mean) * ((double)g->count / (double)all.count);
        all.min = fmin(all.min, g->min);
        all.max = fmax(all.max, g->max);
    }
    return all;
}

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

/* The value of rank `rank`, from 0, of `n`; they are put in another order. */
static double select_rank(double *values, uint32_t n, uint32_t rank)
{
    uint32_t low = 0, high = n - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, store = low;
        double pivot = values[middle];
        swap(&values[middle], &values[high]);
        for (uint32_t i = low; i < high; i++)
            if (values[i] < pivot ||
                (values[i] == pivot && i % 2)) /* of equals half: all alike must not be the worst */
                swap(&values[i], &values[store++]);
        swap(&values[store], &values[high]);
        if (rank == store)
            return values[rank];
        if (rank < store)
            high = store - 1;
        else
            low = store + 1;
    }
    return values[low];
}

static bool find_quantile(const struct figure *s, int64_t now, double *value)
{
    struct figure_samples *q = s->samples;
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->count; i++) {
        const struct figure_sample *sample = &q->at[(q->first + i) % FIGURE_SAMPLES];
        if (sample->time > now - s->window && sample->time <= now)
            q->scratch[n++] = sample->value;
    }
    if (n == 0)
        return false;
    double least = ceil(s->share * n);
    uint32_t rank = least < 1 ? 0 : least >= n ? n - 1 : (uint32_t)least - 1;
    *value = select_rank(q->scratch, n, rank);
    return true;
}

bool figure_value(struct figure *s, int64_t now, double *value, int64_t *newest)
{
    if (!s->any || s->newest <= now - s->window)
        return false;
    if (s->kind == FIGURE_QUANTILE && !find_quantile(s, now, value))
        return false;
    if (s->kind == FIGURE_LAST)
        *value = s->last;
    if (s->kind < FIGURE_LAST) {
        struct figure_grain all = sum_up(s, now);
        if (all.count == 0)
            return false;
        *value = s->kind == FIGURE_MEAN ? all.mean : s->kind == FIGURE_MIN ? all.min : all.max;
    }
    if (newest)
        *newest = s->newest;
    return true;
}
