// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/phases.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- steep changes ----------------------------------------------------------------------------------------------- */

enum { HALF = 4 }; /* values on each side that smoothing takes */

/* The average around number `i`, the nearest counting most; beyond an end its value goes on. */
static double smooth_at(const struct phases_curve *c, size_t n, size_t i)
{
    double sum = 0;
    for (int k = -HALF; k <= HALF; k++) {
        size_t at = k < 0 && (size_t)-k > i ? 0 : i + (size_t)k;
        sum += (HALF + 1 - abs(k)) * c->values[at < n ? at : n - 1];
    }
    return sum / ((HALF + 1) * (HALF + 1)) / c->most;
}

/* Adds the changes of a curve, smoothed: each rise or fall from one extreme to the next has one height. */
static void add_changes(const double *v, size_t n, double *b)
{
    for (size_t begin = 0, end; begin + 1 < n; begin = end) {
        bool rises = v[begin + 1] > v[begin];
        for (end = begin + 1; end + 1 < n && (v[end + 1] > v[end]) == rises && v[end + 1] != v[end];)
            end++;
        for (size_t i = begin + 1; i <= end; i++)
            b[i] += fabs(v[i] - v[i - 1]) * fabs(v[end] - v[begin]);
    }
}

int phases_changes(const struct phases_curve *curves, size_t count, size_t n, double *b)
{
    double *smooth = malloc((n + 1) * sizeof *smooth);
    if (!smooth)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < n; i++)
        b[i] = 0;
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < n; i++)
            smooth[i] = smooth_at(&curves[c], n, i);
        add_changes(smooth, n, b);
    }
    free(smooth);
    return 0;
}

/* Whether number `i` has the most of its surroundings, the first of equal ones. */
static bool is_peak(const double *b, size_t n, size_t i)
{
    for (size_t k = i > HALF ? i - HALF : 0; k < n && k <= i + HALF; k++)
        if (b[k] > b[i] || (k < i && b[k] == b[i]))
            return false;
    return true;
}

int phases_find(const struct phases_curve *curves, size_t count, size_t n, double threshold, size_t *at, size_t *found)
{
    const double step = 0.2 * 0.15 * 0.15;
    double *b = malloc((n + 1) * sizeof *b), most = 0;
    int err = b ? phases_changes(curves, count, n, b) : BEZEL_ENOMEM;
    for (size_t i = 0; i < n && !err; i++)
        most = b[i] > most ? b[i] : most;
    if (!(threshold > 0))
        threshold = most / 10 > step ? most / 10 : step;
    *found = 0;
    for (size_t i = 1; i < n && !err; i++)
        if (b[i] > threshold && is_peak(b, n, i))
            at[(*found)++] = i;
    free(b);
    return err;
}

/* ---- the least squares ------------------------------------------------------------------------------------------- */

struct sums {
    size_t n;
    double *of, *squares; /* of the first i values, for each curve one after the other */
};

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The standard deviation of what a curve has beside its steps: from its differences, of which few are steps. */
static double noise_of(const struct phases_curve *c, size_t n, double *room)
{
    for (size_t i = 1; i < n; i++)
        room[i - 1] = fabs(c->values[i] - c->values[i - 1]);
    qsort(room, n - 1, sizeof *room, by_value);
    double noise = room[(n - 1) / 2] / 0.6745 / sqrt(2), least = c->most / 50;
    return noise > least ? noise : least;
}

static void sum_up(struct sums *s, const struct phases_curve *curves, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        double *of = s->of + c * (s->n + 1), *squares = s->squares + c * (s->n + 1);
        double noise = noise_of(&curves[c], s->n, of);
        of[0] = squares[0] = 0;
        for (size_t i = 0; i < s->n; i++) {
            double v = curves[c].values[i] / noise;
            of[i + 1] = of[i] + v;
            squares[i + 1] = squares[i] + v * v;
        }
    }
}

/* The squared distances of the values from number `from` on, before `until`, to their mean. */
static double cost_of(const struct sums *s, size_t count, size_t from, size_t until)
{
    double cost = 0;
    for (size_t c = 0; c < count; c++) {
        const double *of = s->of + c * (s->n + 1), *squares = s->squares + c * (s->n + 1);
        double sum = of[until] - of[from];
        cost += squares[until] - squares[from] - sum * sum / (double)(until - from);
    }
    return cost;
}

/*
 * Sets, for each number of values, where the last part of the best partition of them begins. `open` are the numbers at
 * which that may be: one that is worse by the penalty now stays so, and is left out from then on.
 */
static void partition(const struct sums *s, size_t count, double penalty, double *best, size_t *last, size_t *open)
{
    size_t opens = 0;
    best[0] = -penalty;
    for (size_t until = 1; until <= s->n; until++) {
        size_t kept = 0;
        open[opens++] = until - 1;
        best[until] = INFINITY;
        for (size_t i = 0; i < opens; i++) {
            double is = best[open[i]] + cost_of(s, count, open[i], until) + penalty;
            if (is < best[until]) {
                best[until] = is;
                last[until] = open[i];
            }
        }
        for (size_t i = 0; i < opens; i++)
            if (best[open[i]] + cost_of(s, count, open[i], until) <= best[until])
                open[kept++] = open[i];
        opens = kept;
    }
}

int phases_split(const struct phases_curve *curves, size_t count, size_t n, double penalty, size_t *at, size_t *found)
{
    struct sums s = {.n = n};
    *found = 0;
    if (n < 2 || count == 0)
        return 0;
    s.of = malloc(2 * count * (n + 1) * sizeof *s.of);
    s.squares = s.of ? s.of + count * (n + 1) : NULL;
    double *best = malloc((n + 1) * sizeof *best);
    size_t *last = malloc(2 * (n + 1) * sizeof *last);
    int err = s.of && best && last ? 0 : BEZEL_ENOMEM;
    if (!err) {
        sum_up(&s, curves, count);
        partition(&s, count, penalty > 0 ? penalty : 3 * (double)(count + 1) * log((double)n), best, last,
                  last + n + 1);
        for (size_t i = n; last[i] > 0; i = last[i])
            at[(*found)++] = last[i];
    }
    for (size_t i = 0; i < *found / 2; i++) {
        size_t x = at[i];
        at[i] = at[*found - 1 - i];
        at[*found - 1 - i] = x;
    }
    free(s.of);
    free(best);
    free(last);
    return err;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static int by_time(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

size_t phases_join(int64_t *at, size_t count, int64_t from, int64_t until, size_t most)
{
    size_t n = 0;
    if (count)
        qsort(at, count, sizeof *at, by_time);
    for (size_t i = 0; i < count; i++)
        if (at[i] > from && at[i] < until && (n == 0 || at[i] > at[n - 1]))
            at[n++] = at[i];
    while (n + 1 > most) { /* the shortest one is joined to the one before it, the first one to the next */
        size_t shortest = 0;
        int64_t least = INT64_MAX;
        for (size_t i = 0; i <= n; i++) {
            int64_t length = (i < n ? at[i] : until) - (i ? at[i - 1] : from);
            shortest = length < least ? i : shortest;
            least = length < least ? length : least;
        }
        size_t gone = shortest ? shortest - 1 : 0;
        memmove(at + gone, at + gone + 1, (n - gone - 1) * sizeof *at);
        n--;
    }
    return n;
}
