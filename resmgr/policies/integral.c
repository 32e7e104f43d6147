// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Integral control in the log domain: ln T moves by a part of ln(use / target), the factor by which the use is off. It
 * needs no model of what polling costs. The gain follows from the dead time: an integrator with a dead time of d
 * samples is stable below 2 sin(pi / (2 (2 d + 1))), and the gain is a third of that. The integral is the period
 * itself, which is clamped, so it does not wind up. The input is the use, smoothed since the last change.
 */
#include "resmgr/control/constraints.h"
#include "resmgr/control/qos_backoff.h"
#include "resmgr/policies/policy_internal.h"

#include <math.h>

#define GAIN         0.5
#define BAND_ABOVE   0.05 /* ln: within these nothing moves; the limit itself is 0.105 above the target */
#define BAND_BELOW   0.1
#define LENGTHEN_MAX 0.7 /* ln, a step */
#define SHORTEN_MAX  0.4
#define NO_USE       1e-3 /* percent: the least use to compute with */

static int64_t next_period(struct policy_member *m, const struct constraints *c)
{
    if (m->period < m->qos_backoff.shortest || !isfinite(c->budget))
        return c->shortest;
    if (m->cost_model.windows == 0)
        return m->period;
    double off = log(fmax(m->cost_model.use, NO_USE) / (QOS_BACKOFF_TARGET * c->budget));
    if (off >= -BAND_BELOW && off <= BAND_ABOVE)
        return m->period;
    double period = (double)m->period * exp(fmin(fmax(GAIN * off, -SHORTEN_MAX), LENGTHEN_MAX));
    return constraints_clamp(c, period);
}

void policy_rule_integral(struct policy_state *state, const struct policy_observation *seen,
                          struct policy_actions *actions)
{
    constraints_step_each(state, seen, actions, next_period);
}
