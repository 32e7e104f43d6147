// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/sense.h"

#include <math.h>

#define SMOOTHING  0.2   /* of cost and use: a mean over about nine windows */
#define FLOWING    0.05  /* of the flow of records: what rose explains a cost for about a second */
#define SPREADING  0.1   /* of the spread */
#define SPREAD_MIN 0.05  /* ln: no window is surer than this */
#define LOOSE_MAX  1.0   /* ln, squared */
#define SURPRISE   0.15  /* ln: below it no deviation is a surprise ... */
#define SURPRISES  3.0   /* ... nor below so many mean deviations: 2.4 of the usual kind */
#define STARVED    0.5   /* of the polls that come however late: fewer, and the node is starved of CPU */
#define FAR_OFF    0.693 /* ln 2: so far below, with the budget kept whatever is thought, one window is enough */
#define PASSES     3e9   /* ns: a cost that rose for no reason to be seen, where polls are put off, may pass within */
#define MORE       2.0   /* times as many records as usual explain a cost that rose */
#define LATE_LASTS 3e9   /* ns: over such a time lateness is smoothed */
#define LATE_MAX   0.5   /* of the period: more is a hiccup, or a period that nobody can keep */
#define BASE_SHARE                                                                                                     \
    0.33 /* of the use, at most, that is taken for base: more is polls that are cheaper at another period */
#define BASE_BLENDING 0.5 /* of a new division into base and cost with the one before */
#define CONTRAST      0.5 /* rates must differ by this share for their uses to tell base from cost */
#define DOUBTS        2.0 /* mean deviations of one window that the smoothed estimate may be off by */

enum {
    STEP = 2,            /* surprising windows that agree */
    STEP_RECORDS = 10,   /* a poll, at least, that explain a cost: fewer are little beside the wake-up */
    LATE_POLLS = 4,      /* in a sampling interval: of fewer, how late they come is where it began */
    STARVED_WINDOWS = 3, /* that count for nothing */
    FIRST_WINDOWS = 5,   /* after a change: enough to compare with those before it */
};

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

/* One more of them on the same side: whether they are enough to be a step. */
static bool sense_agrees(struct policy_sense *s, double cost, double off)
{
    bool passes = s->put_off && off > 0 && !s->explained;
    uint32_t enough = s->kept && off < -FAR_OFF ? 1 : STEP;
    s->surprise = s->surprises > 0 ? exp(blend(log(s->surprise), log(cost), 1.0 / (1 + s->surprises))) : cost;
    s->surprised = s->surprises > 0 ? s->surprised + s->elapsed : s->elapsed;
    s->surprises++;
    return s->surprises >= enough && (!passes || s->surprised >= PASSES);
}

/*
 * How much a window counts. At a new period the cost may have changed by as much as the rate did, where base was taken
 * for cost: what is expected is then worth little beside what is measured. As in a Kalman filter.
 */
static double sense_gain(struct policy_sense *s)
{
    double chance = fmax(s->spread, SPREAD_MIN), gain = s->loose / (s->loose + chance * chance);
    s->loose *= 1 - gain;
    return fmax(SMOOTHING, gain);
}

static enum fit sense_learn_cost(struct policy_sense *s, double cost)
{
    if (!s->known || s->cost <= 0 || cost <= 0) {
        s->cost = s->known ? blend(s->cost, cost, SMOOTHING) : cost;
        s->known = true;
        return ORDINARY;
    }
    double off = log(cost / s->cost), before = s->surprises > 0 ? log(s->surprise / s->cost) : 0;
    double usual = fmax(SURPRISE, SURPRISES * hypot(s->spread, sqrt(s->loose)));
    bool surprising = fabs(off) > usual;
    if (before != 0 && !(surprising && before * off > 0)) { /* no step: chance is wider, by no more than a part */
        s->spread = blend(s->spread, fmin(fabs(before), 2 * usual), SPREADING);
        s->surprises = 0;
    }
    if (surprising && sense_agrees(s, cost, off)) {
        s->cost = s->surprise;
        s->surprises = 0;
        s->stepped = true;
        return STEPPED;
    }
    if (surprising)
        return SURPRISING;
    s->cost = blend(s->cost, cost, fmax(sense_gain(s), 1.0 / (2 + s->windows))); /* more while the period is new */
    s->spread = blend(s->spread, fabs(off), SPREADING);
    return ORDINARY;
}

/* A window with polls in it. */
static enum fit sense_polled(struct policy_sense *s, double use)
{
    double rate = s->polls / s->elapsed;
    if (s->windows == 0 && s->rate_then > 0)
        s->loose = fmin(pow(log(rate / s->rate_then) / 2, 2), LOOSE_MAX);
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
    double use = 100 * s->cpu / s->elapsed, flow = s->records / s->elapsed;
    enum fit fit = ORDINARY;
    s->explained = flow > MORE * s->flow && s->records > STEP_RECORDS * s->polls;
    s->flow = blend(s->flow, flow, FLOWING);
    if (s->polls > 0)
        fit = sense_polled(s, use);
    else if (on) /* a part of a period says no more than this */
        s->base = fmin(s->base, use);
    else
        s->base = blend(s->base, use, s->windows == 0 ? 1 : SMOOTHING);
    double share = s->windows == 0 || fit == STEPPED ? 1 : fit == ORDINARY ? SMOOTHING : 0;
    s->use = blend(s->use, use, share);
    s->rate = blend(s->rate, s->last_rate, share);
    if (s->windows < UINT32_MAX)
        s->windows++;
    if (s->windows == FIRST_WINDOWS && s->polls > 0)
        sense_divide(s);
    s->polls = s->records = s->cpu = s->elapsed = 0;
    s->put_off = false;
}

/*
 * What a node used that got no CPU for most of its polls tells nothing of their cost. Where that lasts, the period is
 * one that it cannot keep.
 */
static void sense_end_window(struct policy_sense *s, bool on, double period)
{
    double expected = s->elapsed / (period * (1 + LATE_MAX));
    bool starved = on && !s->put_off && expected >= LATE_POLLS && s->polls < STARVED * expected;
    s->starved = starved ? s->starved + 1 : 0;
    if (starved && s->starved <= STARVED_WINDOWS)
        s->polls = s->records = s->cpu = s->elapsed = 0;
    else
        sense_close(s, on);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* What uses up its budget is not late: where polls are put off, what was taken for lateness fades. */
static void sense_late(struct policy_member *m, const struct policy_measure *seen, double polls)
{
    double elapsed = (double)seen->elapsed, asked = (double)m->period;
    double late = fmin(fmax(0, elapsed / polls - asked), LATE_MAX * asked);
    if (m->on && (seen->put_off || seen->polls >= LATE_POLLS))
        m->sense.late = blend(m->sense.late, seen->put_off ? 0 : late, elapsed / (elapsed + LATE_LASTS));
}

void sense_step(struct policy_member *member, const struct policy_measure *seen)
{
    struct policy_sense *s = &member->sense;
    if (isnan(seen->cpu) || seen->elapsed == 0 || seen->unconfirmed)
        return;
    double elapsed = (double)seen->elapsed, period = (double)member->period;
    double polls = isnan(seen->polls) ? elapsed / period : seen->polls;
    sense_late(member, seen, polls);
    s->put_off = s->put_off || seen->put_off;
    s->kept = seen->kept;
    s->elapsed += elapsed;
    s->cpu += seen->cpu / 100 * elapsed;
    s->polls += member->on ? polls : 0;
    s->records += isnan(seen->records) ? 0 : seen->records;
    double least = fmax(SENSE_WINDOW, member->on ? period : 0);
    if (s->elapsed >= least && (!member->on || s->polls >= 1 || s->elapsed >= 4 * least))
        sense_end_window(s, member->on, period);
}

void sense_changed(struct policy_sense *s)
{
    s->before_rate =
        s->stepped || s->windows == 0 ? 0 : s->rate; /* across a step of the cost nothing can be compared */
    s->before_use = s->use;
    s->rate_then = s->last_rate;
    s->polls = s->records = s->cpu = s->elapsed = s->sum_rate = s->sum_use = s->last_rate = 0;
    s->windows = s->surprises = 0;
    s->put_off = false;
    s->stepped = false;
}

double sense_use(const struct policy_sense *s, int64_t period)
{
    double asked = (double)period;
    return s->known ? s->base + 100 * s->cost / (asked + fmin(s->late, LATE_MAX * asked)) : NAN;
}

int64_t sense_period(const struct policy_sense *s, double use, int64_t shortest, int64_t longest)
{
    if (!s->known)
        return 0;
    double room = use - s->base, real = 100 * s->cost / room, period = fmax(real - s->late, real / (1 + LATE_MAX));
    if (room <= 0 || period >= (double)longest)
        return longest;
    return period <= (double)shortest ? shortest : (int64_t)period;
}

double sense_doubt(const struct policy_sense *s, double least, double most)
{
    return fmin(fmax(least, DOUBTS * hypot(s->spread, sqrt(s->loose))), most);
}
