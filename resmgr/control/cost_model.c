// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/cost_model.h"

#include <math.h>

#define SMOOTHING     0.2   /* of cost and use: a mean over about nine windows */
#define SPREADING     0.1   /* of the spread */
#define SPREAD_MIN    0.05  /* ln: no window is surer than this */
#define LOOSE_MAX     1.0   /* ln, squared */
#define SURPRISE      0.15  /* ln: below it no deviation is a surprise ... */
#define SURPRISES     3.0   /* ... nor below so many mean deviations: 2.4 of the usual kind */
#define DEARER        0.1   /* ln: nor below it where more is used than should be */
#define STARVED       0.5   /* of the polls that even a late node makes: with fewer it is starved of CPU */
#define FAR_OFF       0.693 /* ln 2: for so much less, one window is enough if the node itself keeps the budget */
#define LATE_LASTS    3e9   /* ns over which lateness is smoothed */
#define LATE_MAX      0.5   /* of the period: more is a hiccup, or the period cannot be kept */
#define BASE_SHARE    0.33  /* of the use that may count as base: more means that polls are cheaper at another period */
#define BASE_BLENDING 0.5   /* of a new division into base and cost with the one before */
#define BASE_IDLE     0.3   /* of the base that a window without polls shows: such work comes unevenly */
#define CONTRAST      0.5   /* relative difference of rates from which base and cost can be separated */
#define POLLS         8     /* in a window of a node that keeps the budget itself, at least, ... */
#define POLLS_WAIT    5e8   /* ... unless that takes longer than this, ns */
#define UNSURE        2.0   /* mean deviations of one window that the smoothed estimate may be off by */

enum {
    STEP = 2,            /* surprising windows that agree */
    LATE_POLLS = 4,      /* in a sampling interval: with fewer, lateness depends on where the interval began */
    STARVED_WINDOWS = 3, /* windows that are ignored */
    FIRST_WINDOWS = 5,   /* after a change: enough to compare with those before it */
};

static double blend(double old, double new, double share)
{
    return old + share * (new - old);
}

/* ---- One window -------------------------------------------------------------------------------------------------- */

/* Divides the use into base and cost, by comparing the first windows since the change with those before it. */
static void cost_model_divide(struct policy_cost_model *s)
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

/* How a measurement fits what was expected. */
enum fit { ORDINARY, SURPRISING, STEPPED };

/* One more surprising window on the same side: whether they are enough for a step. */
static bool cost_model_agrees(struct policy_cost_model *s, double cost, double off)
{
    uint32_t enough = s->kept && off < -FAR_OFF ? 1 : STEP;
    s->surprise = s->surprises > 0 ? exp(blend(log(s->surprise), log(cost), 1.0 / (1 + s->surprises))) : cost;
    s->surprises++;
    return s->surprises >= enough;
}

/*
 * The weight of a window, as in a Kalman filter. At a new period the cost per poll may have changed as much as the
 * rate, because base counted as cost; so the measurement is worth more than the expectation.
 */
static double cost_model_gain(struct policy_cost_model *s)
{
    double chance = fmax(s->spread, SPREAD_MIN), gain = s->loose / (s->loose + chance * chance);
    s->loose *= 1 - gain;
    return fmax(SMOOTHING, gain);
}

/* The first window of a node that keeps the budget may hold work that is done once: the cheaper of two counts. */
static enum fit cost_model_learn_first(struct policy_cost_model *s, double cost)
{
    if (s->kept && s->surprises == 0) {
        s->surprise = cost;
        s->surprises = 1;
        return SURPRISING;
    }
    s->cost = s->kept ? fmin(cost, s->surprise) : cost;
    s->surprises = 0;
    s->known = true;
    return ORDINARY;
}

static enum fit cost_model_learn_cost(struct policy_cost_model *s, double cost, double use)
{
    if (!s->known)
        return cost_model_learn_first(s, cost);
    if (s->cost <= 0 || cost <= 0) {
        s->cost = blend(s->cost, cost, SMOOTHING);
        return ORDINARY;
    }
    double off = log(cost / s->cost), before = s->surprises > 0 ? log(s->surprise / s->cost) : 0;
    double usual = fmax(SURPRISE, SURPRISES * hypot(s->spread, sqrt(s->loose)));
    bool surprising = fabs(off) > usual || (s->most > 0 && use > s->most && off > DEARER);
    if (before != 0 && !(surprising && before * off > 0)) { /* no step: the spread is larger, within bounds */
        s->spread = blend(s->spread, fmin(fabs(before), 2 * usual), SPREADING);
        s->surprises = 0;
    }
    if (surprising && cost_model_agrees(s, cost, off)) {
        s->cost = s->surprise;
        s->surprises = 0;
        s->stepped = true;
        return STEPPED;
    }
    if (surprising)
        return SURPRISING;
    s->cost = blend(s->cost, cost, fmax(cost_model_gain(s), 1.0 / (2 + s->windows))); /* more at a new period */
    s->spread = blend(s->spread, fabs(off), SPREADING);
    return ORDINARY;
}

/* A window with polls in it. */
static enum fit cost_model_polled(struct policy_cost_model *s, double use)
{
    double rate = s->polls / s->elapsed;
    if (s->windows == 0 && s->rate_then > 0)
        s->loose = fmin(pow(log(rate / s->rate_then) / 2, 2), LOOSE_MAX);
    s->last_rate = rate;
    s->base = fmin(s->base, use);
    enum fit fit = cost_model_learn_cost(s, (use - s->base) / 100 / rate, use);
    if (s->windows < FIRST_WINDOWS) {
        s->sum_rate += rate;
        s->sum_use += use;
    }
    return fit;
}

/*
 * A window in which all polls were deferred shows the base. If it shows more use than windows with polls do, the rest
 * is something else. What now counts as base no longer counts as cost of polls.
 */
static void cost_model_without_polls(struct policy_cost_model *s, double use)
{
    double base = blend(s->base, fmin(use, s->use), BASE_IDLE);
    if (s->rate > 0)
        s->cost = fmax(0, s->cost - (base - s->base) / 100 / s->rate);
    s->base = base;
}

static void cost_model_close(struct policy_cost_model *s, bool on)
{
    double use = 100 * s->cpu / s->elapsed;
    enum fit fit = ORDINARY;
    s->empty = on && s->deferred && s->polls <= 0 ? s->empty + 1 : 0;
    if (s->polls > 0)
        fit = cost_model_polled(s, use);
    else if (on && s->deferred)
        cost_model_without_polls(s, use);
    else if (on) /* less than a period: the use bounds the base */
        s->base = fmin(s->base, use);
    else
        s->base = blend(s->base, use, s->windows == 0 ? 1 : SMOOTHING);
    double share = s->windows == 0 || fit == STEPPED ? 1 : fit == ORDINARY ? SMOOTHING : 0;
    s->use = blend(s->use, use, share);
    s->rate = blend(s->rate, s->last_rate, share);
    if (s->windows < UINT32_MAX)
        s->windows++;
    if (s->windows == FIRST_WINDOWS && s->polls > 0)
        cost_model_divide(s);
    s->polls = s->cpu = s->elapsed = 0;
    s->deferred = false;
}

/*
 * The use of a node that got no CPU for most of its polls says nothing about their cost. If that lasts, the node cannot
 * keep the period, and its windows count.
 */
static void cost_model_end_window(struct policy_cost_model *s, bool on, double period)
{
    double expected = s->elapsed / (period * (1 + LATE_MAX));
    bool starved = on && !s->deferred && expected >= LATE_POLLS && s->polls < STARVED * expected;
    s->starved = starved ? s->starved + 1 : 0;
    if (starved && s->starved <= STARVED_WINDOWS)
        s->polls = s->cpu = s->elapsed = 0;
    else
        cost_model_close(s, on);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* A deferred poll is not late: while polls are deferred, the lateness fades. */
static void cost_model_late(struct policy_member *m, const struct policy_measure *seen, double polls)
{
    double elapsed = (double)seen->elapsed, asked = (double)m->period;
    double late = fmin(fmax(0, elapsed / polls - asked), LATE_MAX * asked);
    if (m->on && (seen->deferred || seen->polls >= LATE_POLLS))
        m->cost_model.late = blend(m->cost_model.late, seen->deferred ? 0 : late, elapsed / (elapsed + LATE_LASTS));
}

void cost_model_step(struct policy_member *member, const struct policy_measure *seen)
{
    struct policy_cost_model *s = &member->cost_model;
    if (isnan(seen->cpu) || seen->elapsed == 0 || seen->unconfirmed)
        return;
    double elapsed = (double)seen->elapsed, period = (double)member->period;
    double polls = isnan(seen->polls) ? elapsed / period : seen->polls;
    cost_model_late(member, seen, polls);
    s->deferred = s->deferred || seen->deferred;
    s->kept = seen->kept;
    s->elapsed += elapsed;
    s->cpu += seen->cpu / 100 * elapsed;
    s->polls += member->on ? polls : 0;
    bool waits = member->on && !s->deferred; /* for polls */
    double several = s->kept ? fmin(POLLS * period, POLLS_WAIT) : 0;
    double least = fmax(COST_MODEL_WINDOW, waits ? fmax(period, several) : 0);
    if (s->elapsed >= least && (!waits || s->polls >= 1 || s->elapsed >= 4 * least))
        cost_model_end_window(s, member->on, period);
}

void cost_model_changed(struct policy_cost_model *s)
{
    s->before_rate =
        s->stepped || s->windows == 0 ? 0 : s->rate; /* across a step of the cost nothing can be compared */
    s->before_use = s->use;
    s->rate_then = s->last_rate;
    s->polls = s->cpu = s->elapsed = s->sum_rate = s->sum_use = s->last_rate = 0;
    s->windows = s->surprises = 0;
    s->deferred = false;
    s->stepped = false;
}

double cost_model_use(const struct policy_cost_model *s, int64_t period)
{
    double asked = (double)period;
    return s->known ? s->base + 100 * s->cost / (asked + fmin(s->late, LATE_MAX * asked)) : NAN;
}

int64_t cost_model_period(const struct policy_cost_model *s, double use, int64_t shortest, int64_t longest)
{
    if (!s->known)
        return 0;
    double room = use - s->base, real = 100 * s->cost / room, period = fmax(real - s->late, real / (1 + LATE_MAX));
    if (room <= 0 || period >= (double)longest)
        return longest;
    return period <= (double)shortest ? shortest : (int64_t)period;
}

double cost_model_uncertainty(const struct policy_cost_model *s, double least, double most)
{
    return fmin(fmax(least, UNSURE * hypot(s->spread, sqrt(s->loose))), most);
}
