// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Elastic compression (after Buttazzo et al., 1998): periods are springs. From the estimated cost of a poll follows the
 * period at which the use is ALLOWANCE_TARGET of the budget, and it is set at once: a decision rests on what polling
 * costs, not on how the last decision turned out, so a dead time does not make it swing. Where a budget is for all
 * members together and what they want exceeds it, each gives way in inverse proportion to its weight, and those that
 * reach their longest period give no more.
 *
 * A change is worth it only beyond what chance could make of the estimate; shortening waits until the last change
 * shows, and goes by steps. Where nothing is known of the cost, only qualities move the period, and only upwards.
 */
#include "resmgr/allowance.h"
#include "resmgr/resort.h"
#include "resmgr/rule.h"
#include "resmgr/sense.h"

#include <math.h>

#define WORTH_IT     0.0953 /* ln 1.1: a smaller change is none */
#define LENGTHEN_MAX 0.2    /* ln: chance excuses no more than this where it is to become longer ... */
#define SHORTEN_MAX  1.0    /* ... and this where shorter */
#define SHORTEN_STEP 4      /* by no more than this factor at once */

/* What a member wants while others do not matter. */
static int64_t want_alone(const struct policy_state *s, const struct policy_observation *seen, uint32_t i, double own)
{
    const struct policy_member *m = &s->members[i];
    int64_t shortest = allowance_desired(s, i, fmin(own, allowance_whole(seen)));
    if (m->allowance.shortest > shortest)
        shortest = m->allowance.shortest;
    if (!m->sense.known)
        return m->period > shortest ? m->period : shortest;
    return isfinite(own) ? sense_period(&m->sense, ALLOWANCE_TARGET * own, shortest, s->period_max) : shortest;
}

/* Compresses what the members want until it fits in `target` together. */
static void compress(const struct policy_state *s, double target, int64_t want[])
{
    double use[POLICY_MEMBERS_MAX], least[POLICY_MEMBERS_MAX];
    for (uint32_t i = 0; i < s->count; i++) {
        const struct policy_member *m = &s->members[i];
        bool counts = m->on && m->sense.known;
        use[i] = counts ? sense_use(&m->sense, want[i]) : 0;
        least[i] = counts ? sense_use(&m->sense, s->period_max) : 0;
    }
    for (uint32_t round = 0; round < s->count; round++) {
        double excess = -target, springs = 0;
        bool stuck = false;
        for (uint32_t i = 0; i < s->count; i++) {
            excess += use[i];
            springs += use[i] > least[i] ? 1 / s->members[i].weight : 0;
        }
        if (excess <= 0 || springs == 0)
            break;
        for (uint32_t i = 0; i < s->count; i++) {
            if (use[i] <= least[i])
                continue;
            use[i] -= excess / springs / s->members[i].weight;
            stuck = stuck || use[i] < least[i];
            use[i] = fmax(use[i], least[i]);
        }
        if (!stuck)
            break;
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (s->members[i].on && s->members[i].sense.known)
            want[i] = sense_period(&s->members[i].sense, use[i], want[i], s->period_max);
}

static void apply(const struct policy_state *s, const struct policy_observation *seen, uint32_t i,
                  struct policy_member *m, int64_t want)
{
    double change = log(sense_use(&m->sense, m->period) / sense_use(&m->sense, want)); /* of the use; NaN: unknown */
    if (m->period < m->allowance.shortest || change > sense_doubt(&m->sense, WORTH_IT, LENGTHEN_MAX))
        m->period = want;
    else if (-change > sense_doubt(&m->sense, WORTH_IT, SHORTEN_MAX) && m->since >= allowance_settling(s, seen, i))
        m->period = want > m->period / SHORTEN_STEP ? want : m->period / SHORTEN_STEP;
}

void policy_rule_elastic(struct policy_state *state, const struct policy_observation *seen,
                         struct policy_actions *actions)
{
    int64_t want[POLICY_MEMBERS_MAX];
    double whole = allowance_whole(seen);
    for (uint32_t i = 0; i < state->count; i++) {
        double own = allowance_own(seen, i);
        allowance_step(state, seen, i);
        resort_step(state, seen, i, own, actions);
        want[i] = want_alone(state, seen, i, own);
    }
    if (isfinite(whole)) {
        resort_whole(state, seen, whole, actions);
        compress(state, ALLOWANCE_TARGET * whole, want);
    }
    for (uint32_t i = 0; i < state->count; i++)
        if (state->members[i].on)
            apply(state, seen, i, &state->members[i], want[i]);
}
