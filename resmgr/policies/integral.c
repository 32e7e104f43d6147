// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Integral control in the log domain: ln T moves by a part of ln(target / use), which is how far, as a factor, the use
 * is off. It needs no model of what polling costs. The gain follows from the dead time: an integrator with d samples of
 * it is stable below 2 sin(pi / (2 (2 d + 1))); a third of that is taken. The integral is the period itself, which is
 * clamped: nothing winds up. The filter is the smoothed use since the last change.
 */
#include "resmgr/allowance.h"
#include "resmgr/demand.h"
#include "resmgr/resort.h"
#include "resmgr/rule.h"
#include "resmgr/sense.h"

#include <math.h>

#define GAIN         0.5
#define BAND_ABOVE   0.05 /* ln: within these nothing moves; the limit itself is 0.105 above the target */
#define BAND_BELOW   0.1
#define LENGTHEN_MAX 0.7 /* ln, a step */
#define SHORTEN_MAX  0.4
#define NO_USE       1e-3 /* percent: less is taken for this */

static int64_t next_period(const struct policy_state *s, uint32_t i, double budget)
{
    const struct policy_member *m = &s->members[i];
    int64_t shortest = allowance_desired(s, i, budget);
    if (m->allowance.shortest > shortest)
        shortest = m->allowance.shortest;
    if (m->period < m->allowance.shortest || !isfinite(budget))
        return shortest;
    if (m->sense.windows == 0)
        return m->period;
    double off = log(fmax(m->sense.use, NO_USE) / (ALLOWANCE_TARGET * budget));
    if (off >= -BAND_BELOW && off <= BAND_ABOVE)
        return m->period;
    double period = (double)m->period * exp(fmin(fmax(GAIN * off, -SHORTEN_MAX), LENGTHEN_MAX));
    return period < (double)shortest ? shortest : period > (double)s->period_max ? s->period_max : (int64_t)period;
}

void policy_rule_integral(struct policy_state *state, const struct policy_observation *seen,
                          struct policy_actions *actions)
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct policy_member *m = &state->members[i];
        double budget = allowance_budget(state, seen, i);
        demand_step(state, seen, i, actions);
        allowance_step(state, seen, i);
        resort_step(state, seen, i, budget, actions);
        if (m->on)
            m->period = next_period(state, i, budget);
    }
}
