// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/control/load_shedding.h"

#include "base/clock_units.h"
#include "resmgr/control/cost_model.h"

#define PATIENCE     (20 * CLOCK_S)
#define PATIENCE_MAX (160 * CLOCK_S)

bool load_shedding_more(struct policy_member *m)
{
    struct policy_load_shedding *s = &m->load_shedding;
    if (!m->on || s->count >= s->levels)
        return false;
    retry_timer_fail(&s->retry, s->probed, PATIENCE, PATIENCE_MAX);
    s->count++;
    s->probed = false;
    cost_model_changed(&m->cost_model);
    return true;
}

void load_shedding_step(const struct policy_state *state, struct policy_member *m, const struct policy_measure *seen)
{
    struct policy_load_shedding *s = &m->load_shedding;
    if (!seen->unconfirmed)
        retry_timer_pass(&s->retry, seen->elapsed);
    if (!retry_timer_is_due(&s->retry) || !m->on || m->period >= state->period_max)
        return;
    if (s->count == 0) { /* nothing has been shed for long */
        s->retry.pause = 0;
        s->probed = false;
    } else {
        s->count--;
        s->probed = true;
        s->retry.waited = 0;
        cost_model_changed(&m->cost_model);
    }
}
