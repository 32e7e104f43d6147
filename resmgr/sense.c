// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/sense.h"

#include <math.h>

#define SMOOTHING     0.2  /* of cost and use: a mean over about nine windows */
#define SPREADING     0.1  /* of the spread */
#define SURPRISE      0.15 /* ln: below it no deviation is a surprise ... */
#define SURPRISES     4.0  /* ... nor below so many mean deviations */
#define BASE_SHARE    0.9  /* of the use, at most, that is taken for base */
#define BASE_BLENDING 0.5  /* of a new division into base and cost with the one before */
#define CONTRAST      0.5  /* rates must differ by this share for their uses to tell base from cost */
#define DOUBTS        2.0  /* mean deviations of one window that the smoothed estimate may be off by */

enum { FIRST_WINDOWS = 5 }; /* after a change: enough to compare with those before it */

static double blend(double old, double new, double share)
{
    return old + share * (new - old);
}

/* ---- One window -------------------------------------------------------------------------------------------------- */

/* What the first windows since the change used, against those before it, tells base from cost. */
static void sense_divide(struct policy_sense *s)
{
    double rate = s->sum_rate / FIRST_WINDOWS, use = s->sum_use / FIRST_WINDOWS;
    double apart = fabs(rate - s->before_rate);
    if (s->before_rate <= 0 || apart < CONTRAST * fmax(rate, s->before_rate))
        return;
    double slope = fmax(0, (use - s->before_use) / (rate - s->before_rate));
    double base = blend(s->base, fmin(fmax(0, use - slope * rate), BASE_SHARE * use), BASE_BLENDING);
    s->cost = fmax(0, (use - base) / 100 / rate);
    s->base = base;
}

/* What a measurement is, beside what was expected. */
enum fit { ORDINARY, SURPRISING, STEPPED };

static enum fit sense_learn_cost(struct policy_sense *s, double cost)
{
    if (!s->known || s->cost <= 0 || cost <= 0) {
        s->cost = s->known ? blend(s->cost, cost, SMOOTHING) : cost;
        s->known = true;
        return ORDINARY;
    }
    double off = log(cost / s->cost), before = s->surprise > 0 ? log(s->surprise / s->cost) : 0;
    bool surprising = fabs(off) > fmax(SURPRISE, SURPRISES * s->spread);
    if (surprising && before * off > 0) {
        s->cost = sqrt(cost * s->surprise);
        s->surprise = 0;
        s->stepped = true;
        return STEPPED;
    }
    if (before != 0) /* the one before was no step: chance is as wide as that */
        s->spread = blend(s->spread, fmin(fabs(before), 1), SPREADING);
    s->surprise = surprising ? cost : 0;
    if (surprising)
        return SURPRISING;
    s->cost = blend(s->cost, cost, fmax(SMOOTHING, 1.0 / (2 + s->windows))); /* more while the period is new */
    s->spread = blend(s->spread, fabs(off), SPREADING);
    return ORDINARY;
}

/* A window with polls in it. */
static enum fit sense_polled(struct policy_sense *s, double use)
{
    double rate = s->polls / s->elapsed;
    s->last_rate = rate;
    s->base = fmin(s->base, use);
    enum fit fit = sense_learn_cost(s, (use - s->base) / 100 / rate);
    if (s->windows < FIRST_WINDOWS) {
        s->sum_rate += rate;
        s->sum_use += use;
    }
    return fit;
}

static void sense_close(struct policy_sense *s, bool on)
{
    double use = 100 * s->cpu / s->elapsed;
    enum fit fit = ORDINARY;
    if (s->polls > 0)
        fit = sense_polled(s, use);
    else if (on) /* a part of a period says no more than this */
        s->base = fmin(s->base, use);
    else
        s->base = blend(s->base, use, s->windows == 0 ? 1 : SMOOTHING);
    if (s->windows == 0 || fit == STEPPED)
        s->use = use;
    else if (fit == ORDINARY)
        s->use = blend(s->use, use, SMOOTHING);
    if (s->windows < UINT32_MAX)
        s->windows++;
    if (s->windows == FIRST_WINDOWS && s->polls > 0)
        sense_divide(s);
    s->polls = s->cpu = s->elapsed = 0;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

void sense_step(struct policy_member *member, const struct policy_measure *seen)
{
    struct policy_sense *s = &member->sense;
    if (isnan(seen->cpu) || seen->elapsed == 0 || seen->unconfirmed)
        return;
    double elapsed = (double)seen->elapsed, period = (double)member->period;
    double polls = isnan(seen->polls) ? elapsed / period : seen->polls;
    s->elapsed += elapsed;
    s->cpu += seen->cpu / 100 * elapsed;
    s->polls += member->on ? polls : 0;
    double least = fmax(SENSE_WINDOW, member->on ? period : 0);
    if (s->elapsed >= least && (!member->on || s->polls >= 1 || s->elapsed >= 4 * least))
        sense_close(s, member->on);
}

void sense_changed(struct policy_sense *s)
{
    s->before_rate = s->stepped ? 0 : s->last_rate; /* across a step of the cost nothing can be compared */
    s->before_use = s->use;
    s->polls = s->cpu = s->elapsed = s->sum_rate = s->sum_use = s->surprise = s->last_rate = 0;
    s->windows = 0;
    s->stepped = false;
}

double sense_use(const struct policy_sense *s, int64_t period)
{
    return s->known ? s->base + 100 * s->cost / (double)period : NAN;
}

int64_t sense_period(const struct policy_sense *s, double use, int64_t shortest, int64_t longest)
{
    if (!s->known)
        return 0;
    double room = use - s->base, period = 100 * s->cost / room;
    if (room <= 0 || period >= (double)longest)
        return longest;
    return period <= (double)shortest ? shortest : (int64_t)period;
}

double sense_doubt(const struct policy_sense *s, double least, double most)
{
    return fmin(fmax(least, DOUBTS * s->spread), most);
}
