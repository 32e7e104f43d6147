// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/figure_own.h"

#include <stdlib.h>

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

/* ---- The figure -------------------------------------------------------------------------------------------------- */

/* Of a mean the sum. */
static double fold_all(const struct figure *s, int64_t now, uint64_t *count)
{
    double all = figure_neutral(s->kind);
    int64_t end = figure_grain_of(s, now);
    *count = 0;
    for (int i = 0; i < FIGURE_GRAINS; i++) {
        const struct figure_grain *g = &s->grains[i];
        if (g->count == 0 || g->number > end || g->number <= end - FIGURE_GRAINS)
            continue;
        *count += g->count;
        for (int k = 0; k < FIGURE_LANES; k++)
            all = figure_fold(s->kind, all, g->lanes[k]);
    }
    return all;
}

/* False where there is no value. */
static bool sum_up(const struct figure *s, int64_t now, double *value)
{
    uint64_t count;
    double all = fold_all(s, now, &count);
    *value = s->kind == FIGURE_MEAN ? all / (double)count : all;
    return count > 0;
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
    if (s->kind < FIGURE_LAST && !sum_up(s, now, value))
        return false;
    if (newest)
        *newest = s->newest;
    return true;
}

bool figure_sum(const struct figure *s, int64_t now, double *sum, uint64_t *count)
{
    if (!s->any || s->newest <= now - s->window)
        return false;
    *sum = fold_all(s, now, count);
    return *count > 0;
}
