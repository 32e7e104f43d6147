// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/rerun.h"

#include <math.h>
#include <stdlib.h>

#define NOTHING 1e-6 /* ns: what is left by rounding */

/* The step that a thread is at; NULL: it is over. */
static struct rerun_step *step_of(const struct rerun *r, const struct rerun_thread *t)
{
    return t->done < t->count ? &r->steps[t->first + t->done] : NULL;
}

static bool is_done(const struct rerun *r, const struct rerun_thread *t, const struct rerun_step *s, double now)
{
    if (s->kind == RERUN_RECEIVE)
        return r->messages[s->message].arrives <= now + NOTHING; /* false of NaN */
    return s->kind == RERUN_SEND || t->left <= NOTHING;
}

/* Goes on to a step that takes time, or waits. Whether a message was sent meanwhile. */
static bool go_on(struct rerun *r, struct rerun_thread *t, double now)
{
    bool sent = false;
    for (struct rerun_step *s; (s = step_of(r, t)) != NULL; t->done++, t->begun = false) {
        if (!t->begun)
            t->left = s->ns;
        t->begun = true;
        if (!is_done(r, t, s, now))
            return sent;
        s->ends = now;
        if (s->kind == RERUN_SEND) {
            r->messages[s->message].arrives = now + r->messages[s->message].flight;
            sent = true;
        }
    }
    return sent;
}

static void go_on_all(struct rerun *r, double now)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < r->thread_count; i++)
            again |= go_on(r, &r->threads[i], now);
    }
}

/* How fast a thread at a step of CPU time gets on: 1, or its part of what its group has. */
static double speed(const struct rerun *r, const uint32_t *running, uint32_t group)
{
    return r->cpus[group] == 0 || running[group] <= r->cpus[group] ? 1 : (double)r->cpus[group] / running[group];
}

/* How long until something is done; infinite: nothing ever is. */
static double until_next(const struct rerun *r, uint32_t *running, double now)
{
    double least = INFINITY;
    for (size_t i = 0; i < r->group_count; i++)
        running[i] = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct rerun_step *s = step_of(r, &r->threads[i]);
        running[r->threads[i].group] += s && s->kind == RERUN_RUN;
    }
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct rerun_thread *t = &r->threads[i];
        const struct rerun_step *s = step_of(r, t);
        double takes = !s                         ? (double)INFINITY
                       : s->kind == RERUN_RUN     ? t->left / speed(r, running, t->group)
                       : s->kind == RERUN_RECEIVE ? r->messages[s->message].arrives - now
                                                  : t->left;
        least = takes < least ? takes : least; /* NaN is not */
    }
    return least;
}

bool rerun_simulate(struct rerun *r)
{
    uint32_t *running = calloc(r->group_count + 1, sizeof *running);
    double now = 0, takes = running ? 0 : (double)INFINITY;
    bool all = running != NULL;
    for (size_t i = 0; i < r->step_count; i++)
        r->steps[i].ends = (double)NAN;
    for (size_t i = 0; i < r->thread_count; i++) {
        r->threads[i].done = 0;
        r->threads[i].begun = false;
    }
    while (!isinf(takes)) {
        go_on_all(r, now);
        takes = until_next(r, running, now);
        for (size_t i = 0; i < r->thread_count && !isinf(takes); i++) {
            const struct rerun_step *s = step_of(r, &r->threads[i]);
            if (s && s->kind == RERUN_RUN)
                r->threads[i].left -= takes * speed(r, running, r->threads[i].group);
            else if (s && s->kind == RERUN_DELAY)
                r->threads[i].left -= takes;
        }
        now += isinf(takes) ? 0 : takes;
    }
    for (size_t i = 0; i < r->thread_count; i++)
        all = all && r->threads[i].done == r->threads[i].count;
    free(running);
    return all;
}

void rerun_fini(struct rerun *r)
{
    free(r->threads);
    free(r->steps);
    free(r->messages);
    free(r->cpus);
    *r = (struct rerun){0};
}
