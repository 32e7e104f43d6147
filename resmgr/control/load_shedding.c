// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/shed.h"

#include "base/clock.h"
#include "resmgr/sense.h"

#define PATIENCE     (20 * CLOCK_S)
#define PATIENCE_MAX (160 * CLOCK_S)

bool shed_more(struct policy_member *m)
{
    struct policy_shed *s = &m->shed;
    if (!m->on || s->count >= s->levels)
        return false;
    if (s->probed)
        s->patience = s->patience < PATIENCE_MAX / 2 ? s->patience * 2 : PATIENCE_MAX;
    else if (s->patience == 0)
        s->patience = PATIENCE;
    s->count++;
    s->probed = false;
    s->waited = 0;
    sense_changed(&m->sense);
    return true;
}

void shed_step(const struct policy_state *state, struct policy_member *m, const struct policy_measure *seen)
{
    struct policy_shed *s = &m->shed;
    if (s->waited < PATIENCE_MAX && !seen->unconfirmed)
        s->waited += seen->elapsed;
    if (s->waited < s->patience || !m->on || m->period >= state->period_max)
        return;
    if (s->count == 0) { /* all fits in again, and has for long */
        s->patience = 0;
        s->probed = false;
    } else {
        s->count--;
        s->probed = true;
        s->waited = 0;
        sense_changed(&m->sense);
    }
}
