// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/freshness.h"

#include "base/clock.h"
#include "resmgr/control/qos_backoff.h"

#include <math.h>

#define PATIENCE      (30 * CLOCK_S)
#define PATIENCE_MAX  (320 * CLOCK_S)
#define SPARE         0.5  /* of the bound, before more is asked of the limit */
#define STEP          1.25 /* by which the bound on the period grows */
#define AIM           1.25 /* beyond the limit, so that noise does not violate it again */
#define REDUCTION_MIN 2.0
#define REDUCTION_MAX 8.0

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

void freshness_step(struct policy_state *state, const struct policy_observation *seen, uint32_t i,
                    struct policy_actions *actions)
{
    struct policy_member *m = &state->members[i];
    struct policy_freshness *d = &m->freshness;
    const struct policy_limit *l = find_worst(seen, i);
    if (!l || !m->on)
        return;
    if (!seen->members[i].unconfirmed)
        retry_timer_pass(&d->retry, seen->members[i].elapsed);
    bool violated = l->state == LIMIT_VIOLATED;
    int64_t settling = qos_backoff_settling(state, seen, i);
    bool shows = d->retry.waited >= settling;
    bool stuck = m->period <= state->period_min || (d->longest > 0 && m->period > d->longest);
    d->held = violated ? 0 : d->held < settling ? d->held + seen->members[i].elapsed : d->held;
    d->settled = d->settled || d->held >= settling;
    if (violated && shows && stuck)
        d->starved = true;
    else if (violated && shows)
        shorten(state, m, l);
    else if (!violated && d->longest > 0 && policy_margin(l) > SPARE && retry_timer_is_due(&d->retry))
        lengthen(state, m);
    d->starved = d->starved && d->held < settling;
    actions->members[i].starved = d->starved;
}

int64_t freshness_bound(const struct policy_member *m, int64_t period)
{
    return m->freshness.longest > 0 && m->freshness.longest < period ? m->freshness.longest : period;
}
