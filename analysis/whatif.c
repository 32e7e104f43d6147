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

/* What may change with the change takes from no time to so many times as long: beyond twice, that is the wider side. */
static double widest(const struct whatif_change *change)
{
    return change->kind == WHATIF_TIMES && change->factor > 2 ? change->factor - 1 : 1;
}

/* How long it takes at least, if it takes `most`. */
static double take_least(struct whatif_run run, enum whatif_brief brief, bool differs, double most)
{
    run.brief = brief;
    double least = differs ? whatif_run(&run) : most;
    return least > most ? most : least;
}

/* Adds what instance `i` was, which the simulation says took `was`, and what it would be. */
static void add_instance(struct whatif *w, struct whatif_run run, double was, struct sums *s)
{
    double actual = (double)(run.is->until - run.is->from), then = isnan(was) ? was : whatif_run(&run);
    double brief = take_least(run, WHATIF_NO_WAITS, run.open && !isnan(then), then);
    double least = take_least(run, WHATIF_AHEAD, run.begun && !isnan(brief), brief);
    w->applies = w->applies || run.applies;
    w->lack = run.lack ? run.lack : w->lack;
    if (isnan(was) || isnan(then) || isnan(least)) {
        w->left_out++;
        return;
    }
    w->instances++;
    w->predicted += then;
    w->least += then - widest(run.change) * (then - least);
    w->ahead += widest(run.change) * (brief - least);
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
    w->ahead /= n;
    w->error = w->instances < WHATIF_LEAST || w->actual <= 0
                   ? (double)NAN
                   : (fabs(apart) + 2 * sqrt(variance > 0 ? variance / n : 0)) / w->actual;
}

void whatif_predict(const struct activity *a, const struct slow_choice *c, const struct whatif_change *changes,
                    size_t count, struct whatif *w)
{
    struct whatif_times times = {0};
    size_t most = count > 1 ? WHATIF_MOST_EACH : WHATIF_MOST, n = c->slow_count < most ? c->slow_count : most;
    double was[WHATIF_MOST];
    for (size_t i = 0; i < count; i++)
        times.on_cpus = times.on_cpus || changes[i].kind == WHATIF_MOVE;
    for (size_t i = 0; i < n; i++) {
        struct whatif_run run = {.a = a, .is = &c->slow[i], .times = &times, .mode = WHATIF_NOTED, .half = i & 1};
        (void)whatif_run(&run);
    }
    for (size_t i = 0; i < n; i++)
        was[i] = simulate_as_it_was((struct whatif_run){.a = a, .is = &c->slow[i], .times = &times}, i);
    for (size_t k = 0; k < count; k++) {
        struct sums sums = {0};
        w[k] = (struct whatif){0};
        for (size_t i = 0; i < n; i++)
            add_instance(&w[k], (struct whatif_run){.a = a, .is = &c->slow[i], .change = &changes[k], .times = &times},
                         was[i], &sums);
        settle(&w[k], &sums);
    }
    free(times.times);
    free(times.index.slots);
}

void whatif_compare(struct whatif *w, const struct whatif_change *change, const struct slow_terms *terms)
{
    bool alone = isnan(terms->usual), sleeps = change->name[0] || change->waits != PATH_SLEEP;
    double timed = 0, all = 0;
    for (size_t i = 0; i < terms->count; i++) {
        const struct slow_term *t = &terms->terms[i];
        bool for_time = t->is == PATH_SLEEP || (t->is == PATH_UNKNOWN && t->why == PATH_INTERRUPT);
        bool waits = t->is != PATH_RUNNING && t->is != PATH_READY && t->is != PATH_MONITOR;
        double less = waits && (for_time || !alone) ? (alone ? 0 : t->usual) - t->slow : 0;
        timed += for_time ? less : 0;
        all += less;
    }
    w->unlike = sleeps ? fmax(fabs(timed), all) : 0;
}

double whatif_error(const struct whatif *w)
{
    return w->error + (w->actual > 0 ? (w->predicted - w->least + w->unlike) / w->actual : 0);
}

bool whatif_is_known(const struct whatif *w)
{
    return w->applies && w->left_out <= w->instances && whatif_error(w) <= WHATIF_ERROR_MOST; /* false of NaN */
}
