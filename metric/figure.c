// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "metric/figure_own.h"

#include <stdlib.h>

int figure_new(enum figure_kind kind, double share, int64_t window, struct figure **out)
{
    struct figure *s = calloc(1, sizeof *s);
    if (s && kind == FIGURE_QUANTILE && quantile_new(&s->quantile) != 0) {
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
        quantile_free(s->quantile);
    free(s);
}

void figure_reset(struct figure *s)
{
    s->any = false;
    s->end = INT64_MIN + FIGURE_GRAINS;
    for (int i = 0; i < FIGURE_GRAINS; i++) {
        if (s->quantile)
            quantile_drop(s->quantile, (unsigned)i);
        s->grains[i] = (struct figure_grain){.number = INT64_MIN};
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

static bool find_quantile(struct figure *s, int64_t now, double *value)
{
    figure_advance(s, now);
    return quantile_value(s->quantile, s->share, value);
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
