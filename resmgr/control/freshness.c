// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/freshness.h"

#include "base/clock_units.h"
#include "resmgr/control/cost_model.h"
#include "resmgr/control/qos_backoff.h"

#include <math.h>

#define PATIENCE      (30 * CLOCK_S)
#define PATIENCE_MAX  (320 * CLOCK_S)
#define SPARE         0.5  /* of the bound, before more is asked of the limit */
#define STEP          1.25 /* by which the bound on the period grows */
#define AIM           1.25 /* beyond the limit, so that noise does not violate it again */
#define REMEMBERED    10e9 /* ns: a rate at which rings filled fades by 1/e in this time */
#define NEXT_TO_FULL  0.9  /* of a ring: fuller than that none should be found, ... */
#define LATE          2.0  /* ... even by a poll that is so many times later than the mean */
#define REDUCTION_MIN 2.0
#define REDUCTION_MAX 8.0

enum {
    FORGIVEN = 32 /* divisor of the time for which a limit held: so much less counts against the time in violation */
};

/* The limit that is furthest from holding; NULL: none is known. */
static const struct policy_limit *find_worst(const struct policy_observation *seen, uint32_t i)
{
    const struct policy_limit *worst = NULL;
    for (const struct policy_limit *l = policy_first_about(seen, i); l; l = policy_next_about(seen, i, l)) {
        if (!l->on_flow || l->state == LIMIT_UNKNOWN)
            continue;
        if (!worst || l->state > worst->state || (l->state == worst->state && policy_margin(l) < policy_margin(worst)))
            worst = l;
    }
    return worst;
}

/*
 * The factor is proportional to how far off the limit is, within bounds, because records are late by about the period.
 * A limit that held until now gets the least factor: a hiccup may have violated it, whatever the period.
 */
static double reduction(const struct policy_freshness *d, const struct policy_limit *l)
{
    if (d->settled)
        return REDUCTION_MIN;
    double off = l->bound > 0 ? AIM * l->value / l->bound : REDUCTION_MAX;
    return fmin(fmax(off, REDUCTION_MIN), REDUCTION_MAX);
}

static void shorten(const struct policy_state *s, struct policy_member *m, const struct policy_limit *l)
{
    struct policy_freshness *d = &m->freshness;
    retry_timer_fail(&d->retry, d->probed, PATIENCE, PATIENCE_MAX);
    int64_t longest = (int64_t)((double)m->period / reduction(d, l));
    d->longest = longest > s->period_min ? longest : s->period_min;
    d->probed = d->settled = false;
}

static void lengthen(const struct policy_state *s, struct policy_member *m)
{
    struct policy_freshness *d = &m->freshness;
    d->longest = (int64_t)((double)d->longest * STEP);
    d->probed = true;
    d->retry.waited = 0;
    if (d->longest >= s->period_max)
        d->longest = 0;
}

/* How far the use in the window of its limit exceeds what the model expects, deferred polls included. */
static void note_excess(struct policy_member *m, const struct policy_observation *seen, uint32_t i)
{
    struct policy_freshness *d = &m->freshness;
    const struct policy_measure *measure = &seen->members[i];
    const struct policy_limit *l = policy_limits_of(seen, (int)i);
    while (l && (!l->on_cpu || l->state == LIMIT_UNKNOWN))
        l = policy_next_of(seen, l);
    if (!l || !m->cost_model.known)
        return;
    double elapsed = (double)measure->elapsed, lacking = fmax(0, elapsed / (double)m->period - measure->polls);
    double cost = measure->deferred ? 100 * lacking * m->cost_model.cost / elapsed : 0;
    d->deferred += fmin(1, elapsed / (double)l->window) * (cost - d->deferred);
    if (m->since >= l->window && m->cost_model.windows > 0)
        d->excess = fmax(d->excess, l->value + d->deferred - cost_model_use(&m->cost_model, m->period));
}

/* How fast rings fill, and how much more a window needs than the mean. Bursts are remembered for a while. */
static void note_peaks(struct policy_member *m, const struct policy_observation *seen, uint32_t i)
{
    struct policy_freshness *d = &m->freshness;
    const struct policy_measure *measure = &seen->members[i];
    if (measure->unconfirmed || measure->elapsed == 0)
        return;
    double fading = exp(-(double)measure->elapsed / REMEMBERED);
    d->filling *= fading;
    d->excess *= fading;
    d->filling = fmax(d->filling, measure->filling);
    note_excess(m, seen, i);
    d->free = measure->deferred ? 0 : d->free + measure->elapsed;
    if (measure->kept && measure->deferred) /* to poll more often is no help */
        d->longest = 0;
}

bool freshness_is_pressed(const struct policy_member *m, int64_t lately)
{
    return m->freshness.free < lately;
}

/* Whether polls come no more often, whatever the period: a budget is in the way, or they are late. */
static bool is_bound(const struct policy_member *m, const struct policy_measure *seen, int64_t settling)
{
    const struct policy_freshness *d = &m->freshness;
    if (!seen->kept)
        return d->longest > 0 && m->period > d->longest;
    bool late = 2 * seen->polls * (double)m->period < (double)seen->elapsed;
    return d->broken >= settling && (late || freshness_is_pressed(m, settling));
}

void freshness_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                    struct policy_actions *actions)
{
    struct policy_member *m = &state->members[i];
    struct policy_freshness *d = &m->freshness;
    const struct policy_limit *l = find_worst(seen, i);
    if (!l || !m->on)
        return;
    note_peaks(m, seen, i);
    if (!seen->members[i].unconfirmed)
        retry_timer_pass(&d->retry, seen->members[i].elapsed);
    bool violated = l->state == LIMIT_VIOLATED;
    int64_t settling = qos_backoff_settling(state, seen, i);
    bool shows = d->retry.waited >= settling;
    bool stuck = m->period <= state->period_min || is_bound(m, &seen->members[i], settling);
    bool deferred = seen->members[i].kept && freshness_is_pressed(m, settling);
    d->broken += violated ? seen->members[i].elapsed : -seen->members[i].elapsed / FORGIVEN;
    d->broken = d->broken > 0 ? d->broken : 0;
    d->held = violated ? 0 : d->held < settling ? d->held + seen->members[i].elapsed : d->held;
    d->settled = d->settled || d->held >= settling;
    if (violated && shows && stuck)
        d->starved = true;
    else if (violated && shows && !deferred) /* else that is why records were lost */
        shorten(state, m, l);
    else if (!violated && d->longest > 0 && policy_margin(l) > SPARE && retry_timer_is_due(&d->retry))
        lengthen(state, m);
    d->starved = d->starved && d->held < settling;
    actions->members[i].starved = d->starved;
}

int64_t freshness_lossless(const struct policy_member *m)
{
    const struct policy_freshness *d = &m->freshness;
    if (d->filling <= NEXT_TO_FULL / (double)INT64_MAX)
        return 0;
    double longest = NEXT_TO_FULL / d->filling;
    return (int64_t)fmax(longest - LATE * m->cost_model.late, longest / 2);
}

int64_t freshness_bound(const struct policy_member *m, int64_t period)
{
    return m->freshness.longest > 0 && m->freshness.longest < period ? m->freshness.longest : period;
}
