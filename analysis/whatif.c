// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/whatif_internal.h"

#include <math.h>
#include <stdlib.h>

/*
 * How far off a prediction is, is seen where the truth is known: in the run as it was. There the simulation is given
 * what threads worked and sent in an instance, and of all that comes from outside what the other half of the instances
 * has on average; how long the instance took, it is not given. The instances of a half are every second one by length.
 */

struct sums {
    double actual, simulated, apart, squares; /* apart: of both */
};

/* Simulates instance `i` as it was. */
static double simulate_as_it_was(struct whatif_run run, size_t i)
{
    run.change = NULL;
    run.mode = WHATIF_TYPICAL;
    run.half = (i & 1) == 0;
    return whatif_run(&run);
}

/* Adds what instance `i` was and would be. */
static void add_instance(struct whatif *w, struct whatif_run run, size_t i, struct sums *s)
{
    double actual = (double)(run.is->until - run.is->from), was = simulate_as_it_was(run, i);
    double then = isnan(was) ? was : whatif_run(&run), least = then;
    if (run.unexplained && !isnan(then)) {
        run.brief = true;
        least = whatif_run(&run);
    }
    w->applies = w->applies || run.applies;
    if (isnan(was) || isnan(then) || isnan(least)) {
        w->left_out++;
        return;
    }
    w->instances++;
    w->predicted += then;
    w->least += least < then ? least : then;
    s->actual += actual;
    s->simulated += was;
    s->apart += was - actual;
    s->squares += (was - actual) * (was - actual);
}

/* From sums to means. The error is that of the mean: how far off it is, and twice its standard error. */
static void settle(struct whatif *w, const struct sums *s)
{
    double n = w->instances ? (double)w->instances : 1, apart = s->apart / n;
    double variance = n > 1 ? (s->squares - n * apart * apart) / (n - 1) : 0;
    w->actual = s->actual / n;
    w->simulated = s->simulated / n;
    w->predicted /= n;
    w->least /= n;
    w->error = w->instances < WHATIF_LEAST || w->actual <= 0
                   ? (double)NAN
                   : (fabs(apart) + 2 * sqrt(variance > 0 ? variance / n : 0)) / w->actual;
}

int whatif_predict(const struct activity *a, const struct slow_choice *c, const struct whatif_change *change,
                   struct whatif *w)
{
    struct whatif_times times = {0};
    struct sums sums = {0};
    size_t count = c->slow_count < WHATIF_MOST ? c->slow_count : WHATIF_MOST;
    *w = (struct whatif){0};
    for (size_t i = 0; i < count; i++) {
        struct whatif_run run = {.a = a, .is = &c->slow[i], .times = &times, .mode = WHATIF_NOTED, .half = i & 1};
        (void)whatif_run(&run);
    }
    for (size_t i = 0; i < count; i++)
        add_instance(w, (struct whatif_run){.a = a, .is = &c->slow[i], .change = change, .times = &times}, i, &sums);
    settle(w, &sums);
    free(times.times);
    free(times.index.slots);
    return 0;
}

double whatif_error(const struct whatif *w)
{
    return w->error + (w->actual > 0 ? (w->predicted - w->least) / w->actual : 0);
}

bool whatif_is_known(const struct whatif *w)
{
    return w->applies && w->left_out <= w->instances && whatif_error(w) <= WHATIF_ERROR_MOST; /* false of NaN */
}
